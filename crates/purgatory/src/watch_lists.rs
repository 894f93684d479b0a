//! Which operations wait under which key, in the order in which they came.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as TableEntry;

use crate::list::{Links, List, Nodes};
use crate::slab::{Key, PLACES_KEPT_MAX, PLACES_MAX, Slab};

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

/// What of a key's hash finds the key within its shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyHash(pub(crate) u32);

impl KeyHash {
    /// As the table wants it, which looks at the lowest bits and the highest ones.
    #[inline]
    fn spread(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.0)
    }
}

/// The lists of one shard.
///
/// An operation under one key is itself in that key's list. One under several keys has an entry
/// for each, which may outlive it; it is then found missing by its generation. A key has a list
/// as long as something is in it, no longer.
///
/// The operations lie in a slab of the owner's, the same for all calls. In the lists, an entry's
/// index has the highest bit set, and an operation's has not.
///
/// A node knows the hash of its key, and not where the key is: only when it leaves an end of its
/// list must the list itself change, and then the one to change is that which ends with it.
#[derive(Debug)]
#[repr(C)] // As in the shard: what is used by each call comes first.
pub(crate) struct WatchLists<K> {
    by_key: HashTable<KeyList<K>>,
    /// How many operations are in lists themselves.
    operations: usize,
    entries: Slab<Entry>,
}

/// Set in the number of a list's node if that is an entry.
const ENTRY: u32 = PLACES_MAX;

/// The part of an operation's place by which it is in a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seat {
    links: Links,
    hash: KeyHash,
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
    hash: KeyHash,
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
        self.by_key.len()
    }

    /// Takes the operation at `index`, which is in a list itself, out of that list.
    #[inline]
    pub(crate) fn remove_operation<O: Seated>(&mut self, operations: &mut Slab<O>, index: u32) {
        let seat = *operations.at(index).seat();
        self.leave(operations, index, seat);
        self.operations -= 1;
    }

    /// Takes out an entry. False if it has gone before.
    pub(crate) fn remove_entry<O: Seated>(&mut self, operations: &mut Slab<O>, entry: Key) -> bool {
        let removed = self.entries.take(entry);
        let found = removed.is_some();
        if let Some(Entry { seat, .. }) = removed {
            self.leave(operations, entry.index | ENTRY, seat);
        }
        found
    }

    /// Closes the gap that a node leaves, and forgets the key with the last one.
    #[inline]
    fn leave<O: Seated>(&mut self, operations: &mut Slab<O>, node: u32, seat: Seat) {
        let mut seats = Seats {
            operations,
            entries: &mut self.entries,
        };
        if seat.links.close_inner_gap(&mut seats) {
            return;
        }
        let its_own = |known: &KeyList<K>| known.list.ends_with(node);
        let Ok(mut key) = self.by_key.find_entry(seat.hash.spread(), its_own) else {
            unreachable!("a list at whose end a node is has its key in the table");
        };
        let list = &mut key.get_mut().list;
        list.close_gap(&mut seats, seat.links);
        if list.is_empty() {
            key.remove();
            // As a slab does: a burst leaves nothing behind.
            if self.by_key.is_empty() && self.by_key.capacity() > PLACES_KEPT_MAX {
                self.by_key = HashTable::new();
            }
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
        hash: KeyHash,
        key: &K,
        index: u32,
    ) -> Seat {
        let links = self.join(operations, hash, key, index);
        self.operations += 1;
        Seat { links, hash }
    }

    /// Appends an entry for an operation of this shard or another one to the list of `key`.
    pub(crate) fn add_entry<O: Seated>(
        &mut self,
        operations: &mut Slab<O>,
        hash: KeyHash,
        key: &K,
        operation: OperationRef,
    ) -> Key {
        let index = self.entries.next_index();
        let links = self.join(operations, hash, key, index | ENTRY);
        let seat = Seat { links, hash };
        self.entries.insert(Entry { seat, operation })
    }

    /// Appends a node to the list of `key`.
    #[inline]
    fn join<O: Seated>(
        &mut self,
        operations: &mut Slab<O>,
        hash: KeyHash,
        key: &K,
        node: u32,
    ) -> Links {
        let mut seats = Seats {
            operations,
            entries: &mut self.entries,
        };
        match self.by_key.entry(
            hash.spread(),
            |known| known.hash == hash && known.key == *key,
            |known| known.hash.spread(),
        ) {
            TableEntry::Occupied(mut known) => known.get_mut().list.append(&mut seats, node),
            TableEntry::Vacant(vacant) => {
                let mut list = List::EMPTY;
                let links = list.append(&mut seats, node);
                let key = key.clone();
                vacant.insert(KeyList { key, hash, list });
                links
            }
        }
    }

    /// The list of `key`, as it is now; empty if nothing waits there.
    #[inline]
    pub(crate) fn find(&self, hash: KeyHash, key: &K) -> List {
        self.by_key
            .find(hash.spread(), |known| {
                known.hash == hash && known.key == *key
            })
            .map_or(List::EMPTY, |known| known.list)
    }
}

impl<K> WatchLists<K> {
    /// What is in a list which [`find`](Self::find) returned, if that is a single operation itself.
    #[inline]
    pub(crate) fn only_operation<O: Seated>(operations: &Slab<O>, list: List) -> Option<Key> {
        let node = list.only()?;
        (node & ENTRY == 0).then(|| operations.key_at(node))
    }

    /// Appends all that is in a list which [`find`](Self::find) returned to `found`, oldest first.
    /// `shard` is the number of this shard, where operations that are in the list themselves are.
    pub(crate) fn collect<O: Seated>(
        &self,
        operations: &Slab<O>,
        shard: u32,
        list: List,
        found: &mut Vec<Watcher>,
    ) {
        let mut next = list.first();
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

    const HASH: KeyHash = KeyHash(7);

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
            let index = watcher.operation.key.index;
            self.lists.remove_operation(&mut self.places, index);
            self.places.remove_at(index);
            true
        }

        fn under(&self, key: &'static str) -> Vec<Watcher> {
            let mut found = Vec::new();
            let list = self.lists.find(HASH, &key);
            self.lists.collect(&self.places, 3, list, &mut found);
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
            assert!(lists.lists.find(HASH, &"a").is_empty());
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
        let hash = |key: u32| KeyHash(key % 10);
        let entries: Vec<Key> = (0..1000)
            .map(|key| lists.add_entry(&mut places, hash(key), &key, operation))
            .collect();
        assert!((0..1000).all(|key| !lists.find(hash(key), &key).is_empty()));
        for (key, entry) in (0..).zip(entries) {
            assert!(lists.remove_entry(&mut places, entry));
            assert!(lists.find(hash(key), &key).is_empty());
        }
        assert_eq!(lists.keys(), 0);
        assert_eq!(lists.by_key.capacity(), 0, "a burst leaves nothing behind");
    }
}
