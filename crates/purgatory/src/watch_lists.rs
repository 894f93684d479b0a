//! Which operations wait under which key, in the order in which they came.

use hashbrown::HashTable;

use crate::list::{Linked, Links, List, following};
use crate::slab::{Key, Slab};

/// Where an operation is: its shard, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationRef {
    pub(crate) shard: u32,
    pub(crate) key: Key,
}

/// One finding under a key: the operation, and its entry in that key's list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watcher {
    pub(crate) entry: Key,
    pub(crate) operation: OperationRef,
}

/// The lists of one shard.
///
/// A key has a list as long as something waits under it, no longer. An entry may outlive its
/// operation, which is then found missing by its generation.
#[derive(Debug)]
pub(crate) struct WatchLists<K> {
    entries: Slab<Entry>,
    keys: Slab<KeyList<K>>,
    /// Indices into `keys`, by the hash of the key.
    by_key: HashTable<u32>,
}

#[derive(Debug)]
struct Entry {
    links: Links,
    /// Index into `keys`.
    key: u32,
    operation: OperationRef,
}

#[derive(Debug)]
struct KeyList<K> {
    key: K,
    hash: u64,
    list: List,
}

impl Linked for Entry {
    fn links(&self) -> &Links {
        &self.links
    }

    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl<K> WatchLists<K> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Slab::new(),
            keys: Slab::new(),
            by_key: HashTable::new(),
        }
    }

    /// How many entries there are, over all keys.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many keys something waits under.
    pub(crate) fn keys(&self) -> usize {
        self.keys.len()
    }

    /// Takes an entry out, and forgets its key with the last one. False if it has gone before.
    pub(crate) fn remove(&mut self, entry: Key) -> bool {
        let found = self.entries.contains(entry);
        if found {
            let index = self.entries.at(entry.index).key;
            let key = self.keys.at_mut(index);
            key.list.unlink(&mut self.entries, entry.index);
            self.entries.take_at(entry.index);
            if key.list.is_empty() {
                let hash = key.hash;
                if let Ok(occupied) = self.by_key.find_entry(hash, |&other| other == index) {
                    occupied.remove();
                }
                self.keys.take_at(index);
            }
        }
        found
    }

    /// Bytes that one entry takes, with its place in the slab.
    #[cfg(test)]
    pub(crate) const fn bytes_per_entry() -> usize {
        size_of::<Entry>() + 4
    }
}

impl<K: Eq> WatchLists<K> {
    /// Appends an entry for `operation` to the list of `key`.
    pub(crate) fn add(&mut self, hash: u64, key: &K, operation: OperationRef) -> Key
    where
        K: Clone,
    {
        let index = self.find(hash, key).unwrap_or_else(|| {
            let list = KeyList {
                key: key.clone(),
                hash,
                list: List::EMPTY,
            };
            let index = self.keys.insert(list).index;
            self.by_key
                .insert_unique(hash, index, |&other| self.keys.at(other).hash);
            index
        });
        let entry = self.entries.insert(Entry {
            links: Links::UNLINKED,
            key: index,
            operation,
        });
        let list = &mut self.keys.at_mut(index).list;
        list.push_back(&mut self.entries, entry.index);
        entry
    }

    /// The list of `key`, if anything waits there.
    pub(crate) fn find(&self, hash: u64, key: &K) -> Option<u32> {
        self.by_key
            .find(hash, |&index| self.keys.at(index).key == *key)
            .copied()
    }

    /// Appends all entries of a list that [`find`](Self::find) returned, oldest first.
    pub(crate) fn collect(&self, list: u32, found: &mut Vec<Watcher>) {
        let mut next = self.keys.at(list).list.first();
        while let Some(index) = next {
            found.push(Watcher {
                entry: self.entries.key_at(index),
                operation: self.entries.at(index).operation,
            });
            next = following(&self.entries, index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(count: usize) -> Vec<OperationRef> {
        let mut slab = Slab::new();
        (0..count)
            .map(|_| OperationRef {
                shard: 0,
                key: slab.insert(()),
            })
            .collect()
    }

    fn under(lists: &WatchLists<&str>, hash: u64, key: &'static str) -> Vec<OperationRef> {
        let mut found = Vec::new();
        if let Some(list) = lists.find(hash, &key) {
            lists.collect(list, &mut found);
        }
        found.iter().map(|watcher| watcher.operation).collect()
    }

    #[test]
    fn entries_of_one_key_are_found_oldest_first_and_others_are_not() {
        let operations = operations(4);
        let mut lists = WatchLists::new();
        // One hash for both keys: they must be told apart all the same.
        lists.add(7, &"a", operations[0]);
        lists.add(7, &"b", operations[1]);
        let middle = lists.add(7, &"a", operations[2]);
        lists.add(7, &"a", operations[3]);
        assert_eq!(
            under(&lists, 7, "a"),
            [operations[0], operations[2], operations[3]]
        );
        assert!(lists.remove(middle) && !lists.remove(middle));
        assert_eq!(under(&lists, 7, "a"), [operations[0], operations[3]]);
        assert_eq!(under(&lists, 7, "b"), [operations[1]]);
        assert_eq!((lists.len(), lists.keys()), (3, 2));
    }

    #[test]
    fn a_key_is_forgotten_with_its_last_entry_and_can_come_back() {
        let operations = operations(2);
        let mut lists = WatchLists::new();
        let first = lists.add(1, &"a", operations[0]);
        lists.remove(first);
        assert_eq!((lists.len(), lists.keys()), (0, 0));
        assert_eq!(lists.find(1, &"a"), None);
        lists.add(1, &"a", operations[1]);
        assert_eq!(under(&lists, 1, "a"), [operations[1]]);
    }

    #[test]
    fn many_keys_survive_the_growth_of_the_table() {
        let operation = operations(1)[0];
        let mut lists = WatchLists::new();
        // Few distinct hashes, so that removal must tell equal ones apart too.
        let entries: Vec<Key> = (0..1000u64)
            .map(|key| lists.add(key % 10, &key, operation))
            .collect();
        assert!((0..1000).all(|key| lists.find(key % 10, &key).is_some()));
        for entry in &entries[..999] {
            assert!(lists.remove(*entry));
        }
        assert_eq!(lists.find(9, &999).is_some(), lists.keys() == 1);
    }
}
