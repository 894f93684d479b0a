//! One shard: the watch lists of some keys, and the operations whose first key is among them,
//! with their timers, all under one lock.

use crate::alarm::NEVER;
use crate::leftovers::EntryRef;
use crate::slab::{Key, Slab};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, ThreadToken};
use crate::tick_wheel::TickWheel;
use crate::watch_lists::{WatchLists, Watcher};

/// A shard behind its lock.
///
/// At most one shard is locked by a thread at a time. Under the lock, code of the keys runs
/// (`Eq`, `Clone`, `Drop`) but none of the operations, not even their `Drop`. One leaf lock
/// is taken under it, that of the leftovers.
#[derive(Debug)]
#[repr(align(128))] // Two cache lines, so that neighbours' locks do not share one.
pub(crate) struct Shard<K, Op> {
    /// What [`ShardState::checks`] was last, to be read without the lock.
    checks: AtomicU64,
    state: Mutex<ShardState<K, Op>>,
}

impl<K, Op> Shard<K, Op> {
    pub(crate) fn new(slots: u32) -> Self {
        Self {
            checks: AtomicU64::new(0),
            state: Mutex::new(ShardState {
                checks: 0,
                visit: NEVER,
                waiting: Slab::new(),
                timers: TickWheel::new(slots),
                watch: WatchLists::new(),
                spare: Buffers::default(),
            }),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ShardState<K, Op>> {
        self.state.lock()
    }

    /// How often a key here was checked up to now. What was changed before such a check began is
    /// visible to whoever has seen the check counted.
    #[inline]
    pub(crate) fn checks(&self) -> u64 {
        self.checks.load(Ordering::Acquire)
    }

    /// Counts a check, under the lock that `state` stands for.
    #[inline]
    pub(crate) fn count_check(&self, state: &mut ShardState<K, Op>) {
        state.checks = state.checks.wrapping_add(1);
        self.checks.store(state.checks, Ordering::Release);
    }
}

/// What a shard's lock guards.
#[derive(Debug)]
pub(crate) struct ShardState<K, Op> {
    /// How often a key of this shard was checked.
    pub(crate) checks: u64,
    /// The tick at which the alarm will have the timers visited, at the latest.
    pub(crate) visit: u64,
    pub(crate) waiting: Slab<Waiting<Op>>,
    /// Indices into `waiting`.
    pub(crate) timers: TickWheel<u32>,
    pub(crate) watch: WatchLists<K>,
    spare: Buffers<Op>,
}

/// An operation that has entered and is not finished.
#[derive(Debug)]
pub(crate) struct Waiting<Op> {
    /// `None` while the thread `holder` has it out, to ask it something. Only that thread puts
    /// it back or removes this place.
    pub(crate) operation: Option<Op>,
    pub(crate) entries: Entries,
    pub(crate) timer: Option<Key>,
    holder: ThreadToken,
    /// While it was out, another thread checked one of its keys.
    asked: bool,
    /// While it was out, its holder checked one of its keys.
    asked_by_holder: bool,
    /// While it was out, its time came.
    pub(crate) expired: bool,
}

/// Where an operation is watched.
#[derive(Debug)]
pub(crate) enum Entries {
    /// Under one key, in the shard of the operation.
    One(Key),
    /// Under several keys, or under none yet.
    Many(Box<[EntryRef]>),
}

/// What became of an operation that somebody looked for.
#[derive(Debug)]
pub(crate) enum Found<Op> {
    /// It was waiting, and is the caller's now.
    Here(Op),
    /// Some thread, perhaps this one, has it out.
    Out,
    /// It has finished.
    Gone,
}

/// Why the holder of an operation must ask it again before putting it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskedMeanwhile {
    No,
    ByItsHolder,
    ByOthers,
}

impl<K, Op> ShardState<K, Op> {
    /// Makes a place for an operation that the calling thread has in hand.
    pub(crate) fn enter(&mut self, holder: ThreadToken) -> Key {
        self.waiting.insert(Waiting {
            operation: None,
            entries: Entries::Many(Box::default()),
            timer: None,
            holder,
            asked: false,
            asked_by_holder: false,
            expired: false,
        })
    }

    /// Takes an operation out of its place if it is there.
    pub(crate) fn take(&mut self, key: Key, holder: ThreadToken) -> Found<Op> {
        match self.waiting.get_mut(key) {
            None => Found::Gone,
            Some(waiting) => match waiting.operation.take() {
                None => Found::Out,
                Some(operation) => {
                    waiting.holder = holder;
                    Found::Here(operation)
                }
            },
        }
    }

    /// Leaves word for whoever has the operation out that `asker` has checked one of its keys.
    pub(crate) fn ask_holder(&mut self, key: Key, asker: ThreadToken) {
        if let Some(waiting) = self.waiting.get_mut(key) {
            if waiting.holder == asker {
                waiting.asked_by_holder = true;
            } else {
                waiting.asked = true;
            }
        }
    }

    /// Whether word was left at `index` since the last call.
    pub(crate) fn asked_meanwhile(&mut self, index: u32) -> AskedMeanwhile {
        let waiting = self.waiting.at_mut(index);
        let by_others = std::mem::take(&mut waiting.asked);
        let by_holder = std::mem::take(&mut waiting.asked_by_holder);
        match (by_others, by_holder) {
            (true, _) => AskedMeanwhile::ByOthers,
            (false, true) => AskedMeanwhile::ByItsHolder,
            (false, false) => AskedMeanwhile::No,
        }
    }

    /// The timer of the operation at `index` has fired and is no more. Takes the operation out,
    /// unless somebody else has it, who then finds word of it.
    pub(crate) fn time_is_up(&mut self, index: u32, holder: ThreadToken) -> Option<(Key, Op)> {
        let key = self.waiting.key_at(index);
        let waiting = self.waiting.at_mut(index);
        waiting.timer = None;
        let operation = waiting.operation.take();
        if operation.is_some() {
            waiting.holder = holder;
        } else {
            waiting.expired = true;
        }
        operation.map(|operation| (key, operation))
    }

    /// Buffers to work with, those of an earlier call where they are here.
    pub(crate) fn lend_buffers(&mut self) -> Buffers<Op> {
        std::mem::take(&mut self.spare)
    }

    pub(crate) fn return_buffers(&mut self, buffers: Buffers<Op>) {
        debug_assert!(buffers.batch.is_empty());
        if buffers.found.capacity() <= Buffers::<Op>::KEPT_MAX {
            self.spare = buffers;
            self.spare.found.clear();
            self.spare.gone.clear();
        }
    }
}

/// What a check collects on its way. A shard keeps one set, so that a check allocates nothing.
#[derive(Debug)]
pub(crate) struct Buffers<Op> {
    /// All that was found under the key.
    pub(crate) found: Vec<Watcher>,
    /// Operations that are out at the moment.
    pub(crate) batch: Vec<Taken<Op>>,
    /// Entries under the checked key to be taken out at the end.
    pub(crate) gone: Vec<Key>,
}

impl<Op> Buffers<Op> {
    /// Longer lists are rare; their buffers are given back to the allocator.
    const KEPT_MAX: usize = 1024;
}

impl<Op> Default for Buffers<Op> {
    fn default() -> Self {
        Self {
            found: Vec::new(),
            batch: Vec::new(),
            gone: Vec::new(),
        }
    }
}

/// An operation that is out of its place.
#[derive(Debug)]
pub(crate) struct Taken<Op> {
    /// Its place.
    pub(crate) key: Key,
    /// The entry that led to it, where a check did.
    pub(crate) entry: Option<Key>,
    /// `None` once it has finished.
    pub(crate) operation: Option<Op>,
    /// How often it was asked again because its holder had checked its keys.
    pub(crate) own_rounds: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_operation_takes_under_120_bytes_beside_itself() {
        // Its place with a generation, its entry in one list, its timer.
        let place = size_of::<Waiting<[u64; 8]>>() - 64 + 4;
        let entry = WatchLists::<u64>::bytes_per_entry();
        let timer = TickWheel::<u32>::bytes_per_value();
        assert_eq!((place, entry, timer), (52, 28, 32));
    }

    #[test]
    fn an_idle_shard_takes_under_400_bytes() {
        assert_eq!(size_of::<Shard<u64, [u64; 8]>>(), 384);
    }
}
