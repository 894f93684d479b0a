//! Entries that finished operations left under keys which nobody has checked since.

use crate::slab::Key;
use crate::sync::Mutex;

/// Entries left are purged at this number at the latest, however few operations left them, so
/// that operations with very many keys do not hold memory in proportion.
const ENTRIES_LEFT_MAX: usize = 8192;

/// An entry in the watch lists of a shard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryRef {
    pub(crate) shard: u32,
    pub(crate) entry: Key,
}

/// The entries of finished operations, each at most once. Some may have been taken out since by
/// a check of their key.
///
/// An operation under one key leaves none: its list is under the same lock as the operation. The
/// lock here is a leaf, taken under a shard's lock and once an operation with several keys.
#[derive(Debug)]
pub(crate) struct Leftovers {
    interval: usize,
    left: Mutex<Left>,
}

#[derive(Debug, Default)]
struct Left {
    operations: usize,
    entries: Vec<EntryRef>,
}

impl Leftovers {
    pub(crate) fn new(interval: usize) -> Self {
        Self {
            interval,
            left: Mutex::new(Left::default()),
        }
    }

    /// Notes the entries of one finished operation. True if it is time to purge.
    pub(crate) fn add(&self, entries: &[EntryRef]) -> bool {
        let mut left = self.left.lock();
        left.operations += 1;
        left.entries.extend_from_slice(entries);
        left.operations > self.interval || left.entries.len() > ENTRIES_LEFT_MAX
    }

    /// All entries noted, in order of their shards; none of them is kept.
    pub(crate) fn take(&self) -> Vec<EntryRef> {
        let mut entries = std::mem::take(&mut *self.left.lock()).entries;
        entries.sort_unstable_by_key(|left| left.shard);
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::Slab;

    fn entry(shard: u32) -> EntryRef {
        let entry = Slab::new().insert(());
        EntryRef { shard, entry }
    }

    #[test]
    fn pu_028_it_is_time_to_purge_after_as_many_operations_as_were_allowed() {
        let leftovers = Leftovers::new(2);
        let entries = [entry(5), entry(1)];
        assert!(!leftovers.add(&entries));
        assert!(!leftovers.add(&entries));
        assert!(leftovers.add(&entries));
        let shards: Vec<u32> = leftovers.take().iter().map(|left| left.shard).collect();
        assert_eq!(shards, [1, 1, 1, 5, 5, 5]);
        assert!(!leftovers.add(&entries));
    }

    #[test]
    fn operations_with_very_many_keys_are_purged_sooner() {
        let leftovers = Leftovers::new(1000);
        let entries = vec![entry(0); ENTRIES_LEFT_MAX];
        assert!(!leftovers.add(&entries));
        assert!(leftovers.add(&entries[..1]));
    }
}
