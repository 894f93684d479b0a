//! Which operations wait under which key, in the order in which they came.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as TableEntry;

use crate::list::{Links, List, Nodes};
use crate::slab::{Key, PLACES_MAX, Slab};

/// Where an operation is: its shard, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationRef {
    pub(crate) shard: u32,
    pub(crate) key: Key,
}

/// One finding under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Watcher {
    pub(crate) operation: OperationRef,
    /// The entry that leads to it, if it is not in the list itself.
    pub(crate) entry: Option<Key>,
}

/// The lists of one shard.
///
/// An operation under one key is itself in that key's list. One under several keys has an entry
/// for each, which may outlive it; it is then found missing by its generation. A key has a list
/// as long as something is in it, no longer.
///
/// The operations lie in a slab of the owner's, the same for all calls. In the lists, an entry's
/// index has the highest bit set, and an operation's has not.
#[derive(Debug)]
pub(crate) struct WatchLists<K> {
    entries: Slab<Entry>,
    keys: Slab<KeyList<K>>,
    /// Indices into `keys`, by the hash of the key.
    by_key: HashTable<u32>,
    /// How many operations are in lists themselves.
    operations: usize,
}

/// Set in the number of a list's node if that is an entry.
const ENTRY: u32 = PLACES_MAX;

/// The part of an operation's place by which it is in a list.
#[derive(Debug)]
pub(crate) struct Seat {
    links: Links,
    /// Index into `keys`.
    key: u32,
}

/// A place with a seat in it. It is only asked for the seat while it is in a list.
pub(crate) trait Seated {
    fn seat(&self) -> &Seat;
    fn seat_mut(&mut self) -> &mut Seat;
}

#[derive(Debug)]
struct Entry {
    seat: Seat,
    operation: OperationRef,
}

#[derive(Debug)]
struct KeyList<K> {
    key: K,
    hash: u64,
    list: List,
}

/// Where the nodes of the lists lie.
struct Seats<'a, O> {
    operations: &'a mut Slab<O>,
    entries: &'a mut Slab<Entry>,
}

impl<O: Seated> Nodes for Seats<'_, O> {
    #[inline]
    fn links_mut(&mut self, node: u32) -> &mut Links {
        if node & ENTRY == 0 {
            &mut self.operations.at_mut(node).seat_mut().links
        } else {
            &mut self.entries.at_mut(node & !ENTRY).seat.links
        }
    }
}

impl<K> WatchLists<K> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Slab::new(),
            keys: Slab::new(),
            by_key: HashTable::new(),
            operations: 0,
        }
    }

    /// How many operations and entries are in lists, over all keys.
    pub(crate) fn len(&self) -> usize {
        self.operations + self.entries.len()
    }

    /// How many keys something waits under.
    pub(crate) fn keys(&self) -> usize {
        self.keys.len()
    }

    /// Takes out an operation that is in a list itself, or was until it was taken from its slab.
    #[inline]
    pub(crate) fn remove_operation<O: Seated>(&mut self, operations: &mut Slab<O>, seat: &Seat) {
        self.operations -= 1;
        self.leave(operations, seat);
    }

    /// Takes out an entry. False if it has gone before.
    pub(crate) fn remove_entry<O: Seated>(&mut self, operations: &mut Slab<O>, entry: Key) -> bool {
        let removed = self.entries.take(entry);
        let found = removed.is_some();
        if let Some(Entry { seat, .. }) = removed {
            self.leave(operations, &seat);
        }
        found
    }

    /// Closes the gap that a node leaves, and forgets the key with the last one.
    #[inline]
    fn leave<O: Seated>(&mut self, operations: &mut Slab<O>, seat: &Seat) {
        let mut seats = Seats {
            operations,
            entries: &mut self.entries,
        };
        let key = self.keys.at_mut(seat.key);
        key.list.close_gap(&mut seats, seat.links);
        if key.list.is_empty() {
            let hash = key.hash;
            let this_one = |&index: &u32| index == seat.key;
            if let Ok(occupied) = self.by_key.find_entry(hash, this_one) {
                occupied.remove();
            }
            self.keys.take_at(seat.key);
        }
    }

    /// Bytes that one entry takes, with its place in the slab.
    #[cfg(test)]
    pub(crate) const fn bytes_per_entry() -> usize {
        Slab::<Entry>::BYTES_PER_VALUE
    }
}

impl<K: Eq + Clone> WatchLists<K> {
    /// Appends the operation that is at `index`, or will be, to the list of `key`; it must be given
    /// the seat that is returned.
    #[inline]
    #[must_use]
    pub(crate) fn add_operation<O: Seated>(
        &mut self,
        operations: &mut Slab<O>,
        hash: u64,
        key: &K,
        index: u32,
    ) -> Seat {
        self.operations += 1;
        self.join(operations, hash, key, index)
    }

    /// Appends an entry for an operation of this shard or another one to the list of `key`.
    pub(crate) fn add_entry<O: Seated>(
        &mut self,
        operations: &mut Slab<O>,
        hash: u64,
        key: &K,
        operation: OperationRef,
    ) -> Key {
        let index = self.entries.next_index();
        let seat = self.join(operations, hash, key, index | ENTRY);
        self.entries.insert(Entry { seat, operation })
    }

    /// Appends a node to the list of `key`.
    #[inline]
    fn join<O: Seated>(&mut self, operations: &mut Slab<O>, hash: u64, key: &K, node: u32) -> Seat {
        let keys = &mut self.keys;
        let index = match self.by_key.entry(
            hash,
            |&index| keys.at(index).key == *key,
            |&other| keys.at(other).hash,
        ) {
            TableEntry::Occupied(occupied) => *occupied.get(),
            TableEntry::Vacant(vacant) => {
                let added = keys.insert(KeyList {
                    key: key.clone(),
                    hash,
                    list: List::EMPTY,
                });
                vacant.insert(added.index);
                added.index
            }
        };
        let mut seats = Seats {
            operations,
            entries: &mut self.entries,
        };
        let list = &mut self.keys.at_mut(index).list;
        let links = list.append(&mut seats, node);
        Seat { links, key: index }
    }

    /// The list of `key`, if anything waits there.
    #[inline]
    pub(crate) fn find(&self, hash: u64, key: &K) -> Option<u32> {
        self.by_key
            .find(hash, |&index| self.keys.at(index).key == *key)
            .copied()
    }

    /// What is in a list which [`find`](Self::find) returned, if that is a single operation itself.
    #[inline]
    pub(crate) fn only_operation<O: Seated>(
        &self,
        operations: &Slab<O>,
        shard: u32,
        list: u32,
    ) -> Option<Watcher> {
        let node = self.keys.at(list).list.only()?;
        (node & ENTRY == 0).then(|| {
            let key = operations.key_at(node);
            let operation = OperationRef { shard, key };
            let entry = None;
            Watcher { operation, entry }
        })
    }

    /// Appends all that is in a list which [`find`](Self::find) returned to `found`, oldest first.
    /// `shard` is the number of this shard, where operations that are in the list themselves are.
    pub(crate) fn collect<O: Seated>(
        &self,
        operations: &Slab<O>,
        shard: u32,
        list: u32,
        found: &mut Vec<Watcher>,
    ) {
        let mut next = self.keys.at(list).list.first();
        while let Some(node) = next {
            let index = node & !ENTRY;
            let (seat, watcher) = if node & ENTRY == 0 {
                let key = operations.key_at(index);
                let operation = OperationRef { shard, key };
                let entry = None;
                (operations.at(index).seat(), Watcher { operation, entry })
            } else {
                let entry = self.entries.at(index);
                let watcher = Watcher {
                    operation: entry.operation,
                    entry: Some(self.entries.key_at(index)),
                };
                (&entry.seat, watcher)
            };
            found.push(watcher);
            next = seat.links.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place(Seat);

    impl Seated for Place {
        fn seat(&self) -> &Seat {
            &self.0
        }

        fn seat_mut(&mut self) -> &mut Seat {
            &mut self.0
        }
    }

    /// Lists with operations of a shard numbered 3, all with the same hash for all keys, so that
    /// keys must be told apart all the same.
    struct Lists {
        places: Slab<Place>,
        lists: WatchLists<&'static str>,
    }

    const HASH: u64 = 7;

    impl Lists {
        fn new() -> Self {
            Self {
                places: Slab::new(),
                lists: WatchLists::new(),
            }
        }

        fn add_operation(&mut self, key: &'static str) -> Watcher {
            let index = self.places.next_index();
            let seat = self
                .lists
                .add_operation(&mut self.places, HASH, &key, index);
            let place = self.places.insert(Place(seat));
            Watcher {
                operation: OperationRef {
                    shard: 3,
                    key: place,
                },
                entry: None,
            }
        }

        fn add_entry(&mut self, key: &'static str) -> Watcher {
            let operation = OperationRef {
                shard: 5,
                key: Slab::new().insert(()),
            };
            let entry = self
                .lists
                .add_entry(&mut self.places, HASH, &key, operation);
            Watcher {
                operation,
                entry: Some(entry),
            }
        }

        fn remove(&mut self, watcher: Watcher) -> bool {
            if let Some(entry) = watcher.entry {
                return self.lists.remove_entry(&mut self.places, entry);
            }
            let place = self.places.take(watcher.operation.key).unwrap();
            self.lists.remove_operation(&mut self.places, &place.0);
            true
        }

        fn under(&self, key: &'static str) -> Vec<Watcher> {
            let mut found = Vec::new();
            if let Some(list) = self.lists.find(HASH, &key) {
                self.lists.collect(&self.places, 3, list, &mut found);
            }
            found
        }
    }

    #[test]
    fn what_is_under_one_key_is_found_oldest_first_and_the_rest_is_not() {
        let mut lists = Lists::new();
        let first = lists.add_entry("a");
        let other = lists.add_operation("b");
        let middle = lists.add_operation("a");
        let last = lists.add_entry("a");
        assert_eq!(lists.under("a"), [first, middle, last]);
        assert_eq!(lists.under("b"), [other]);
        lists.remove(middle);
        assert_eq!(lists.under("a"), [first, last]);
        assert!(lists.remove(first) && !lists.remove(first));
        assert_eq!(lists.under("a"), [last]);
        assert_eq!((lists.lists.len(), lists.lists.keys()), (2, 2));
    }

    #[test]
    fn a_key_is_forgotten_with_the_last_that_waited_and_can_come_back() {
        let mut lists = Lists::new();
        for _ in 0..2 {
            let entry = lists.add_entry("a");
            let operation = lists.add_operation("a");
            lists.remove(entry);
            assert_eq!(lists.lists.keys(), 1);
            lists.remove(operation);
            assert_eq!((lists.lists.len(), lists.lists.keys()), (0, 0));
            assert_eq!(lists.lists.find(HASH, &"a"), None);
        }
    }

    #[test]
    fn many_keys_survive_the_growth_of_the_table() {
        let mut places: Slab<Place> = Slab::new();
        let mut lists = WatchLists::new();
        let operation = OperationRef {
            shard: 0,
            key: Slab::new().insert(()),
        };
        // Few distinct hashes, so that removal must tell equal ones apart too.
        let entries: Vec<Key> = (0..1000u64)
            .map(|key| lists.add_entry(&mut places, key % 10, &key, operation))
            .collect();
        assert!((0..1000).all(|key| lists.find(key % 10, &key).is_some()));
        for (key, entry) in (0..).zip(entries) {
            assert!(lists.remove_entry(&mut places, entry));
            assert_eq!(lists.find(key % 10, &key), None);
        }
        assert_eq!(lists.keys(), 0);
    }
}
