//! One shard: the watch lists of some keys, and the operations whose first key is among them,
//! with their timers, all under one lock.

use crate::alarm::NEVER;
use crate::leftovers::EntryRef;
use crate::list::List;
use crate::slab::{Key, Slab};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, ThreadToken};
use crate::tick_wheel::{TickWheel, Timed, Timer};
use crate::watch_lists::{KeyHash, OperationRef, Seat, Seated, WatchLists, Watcher};

/// A shard behind its lock.
///
/// At most one shard is locked by a thread at a time. Under the lock, code of the keys runs
/// (`Eq`, `Clone`, `Drop`) but none of the operations, not even their `Drop`. One leaf lock
/// is taken under it, that of the leftovers.
#[derive(Debug)]
// Aligned to two cache lines, so that neighbours' locks do not share one, and in this order, so that
// the counter lies beside the lock.
#[repr(C, align(128))]
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
                operations: Slab::new(),
                timers: TickWheel::new(slots),
                watch: WatchLists::new(),
                spare: Vec::new(),
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
#[repr(C)] // What is used by each call comes first, and so lies in few cache lines.
pub(crate) struct ShardState<K, Op> {
    /// How often a key of this shard was checked.
    pub(crate) checks: u64,
    /// The tick at which the alarm will have the timers visited, at the latest.
    pub(crate) visit: u64,
    pub(crate) operations: Slab<Waiting<Op>>,
    pub(crate) timers: TickWheel,
    pub(crate) watch: WatchLists<K>,
    /// An empty buffer for the next check that finds several, so that it allocates nothing.
    pub(crate) spare: Vec<Watcher>,
}

/// An operation that has entered and is not finished.
#[derive(Debug)]
pub(crate) struct Waiting<Op> {
    timer: Timer,
    watch: Watch,
    /// `None` while the thread `holder` has it out, to ask it something. Only that thread puts
    /// it back or removes this place.
    pub(crate) operation: Option<Op>,
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
pub(crate) enum Watch {
    /// Under one key, in its own shard, being in the list itself.
    One(Seat),
    /// By these entries: under several keys, or under one that was checked while it entered; none
    /// yet while it enters.
    Several(Box<[EntryRef]>),
}

impl<Op> Timed for Waiting<Op> {
    #[cfg(test)]
    fn timer(&self) -> &Timer {
        &self.timer
    }

    #[inline]
    fn timer_mut(&mut self) -> &mut Timer {
        &mut self.timer
    }
}

impl<Op> Seated for Waiting<Op> {
    #[inline]
    fn seat(&self) -> &Seat {
        match &self.watch {
            Watch::One(seat) => seat,
            Watch::Several(_) => unreachable!("an operation with entries is in no list itself"),
        }
    }

    #[inline]
    fn seat_mut(&mut self) -> &mut Seat {
        match &mut self.watch {
            Watch::One(seat) => seat,
            Watch::Several(_) => unreachable!("an operation with entries is in no list itself"),
        }
    }
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
    /// Makes a place for an operation, watches it under one key and sets its timer, all at once.
    /// `now` is as for [`catch_up`](Self::catch_up).
    /// Returns the tick of the timers' first visit, [`NEVER`] without a deadline.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        operation: Op,
        holder: ThreadToken,
        (hash, key): (KeyHash, &K),
        deadline: Option<u64>,
        now: u64,
    ) -> u64
    where
        K: Eq + Clone,
    {
        self.catch_up(now);
        let operations = &mut self.operations;
        let index = operations.next_index();
        let seat = self.watch.add_operation(operations, hash, key, index);
        operations.insert(Waiting {
            timer: Timer::OFF,
            watch: Watch::One(seat),
            operation: Some(operation),
            holder,
            asked: false,
            asked_by_holder: false,
            expired: false,
        });
        match deadline {
            Some(deadline) => self.timers.start(operations, index, deadline),
            None => NEVER,
        }
    }

    /// Makes a place for an operation that the calling thread keeps in hand for now. It is in no
    /// list and has no timer.
    pub(crate) fn make_place(&mut self, holder: ThreadToken) -> Key {
        self.operations.insert(Waiting {
            timer: Timer::OFF,
            watch: Watch::Several(Box::default()),
            operation: None,
            holder,
            asked: false,
            asked_by_holder: false,
            expired: false,
        })
    }

    /// Watches an operation of any shard under one key of several.
    pub(crate) fn watch_by_entry(&mut self, hash: KeyHash, key: &K, operation: OperationRef) -> Key
    where
        K: Eq + Clone,
    {
        self.watch
            .add_entry(&mut self.operations, hash, key, operation)
    }

    /// Notes by which entries the operation at `index` is watched.
    pub(crate) fn set_entries(&mut self, index: u32, entries: Box<[EntryRef]>) {
        self.operations.at_mut(index).watch = Watch::Several(entries);
    }

    /// Takes out an entry; false if it has gone before.
    pub(crate) fn remove_entry(&mut self, entry: Key) -> bool {
        self.watch.remove_entry(&mut self.operations, entry)
    }

    /// Appends all that is in a list to `found`; `shard` is the number of this one.
    pub(crate) fn collect(&self, shard: u32, list: List, found: &mut Vec<Watcher>) {
        self.watch.collect(&self.operations, shard, list, found);
    }

    /// What is in a list, if that is one operation and no entry.
    #[inline]
    pub(crate) fn only_operation(&self, list: List) -> Option<Key> {
        WatchLists::<K>::only_operation(&self.operations, list)
    }

    /// Moves the timers on to `now`, the time that was told last, if that passes over nothing.
    #[inline]
    fn catch_up(&mut self, now: u64) {
        if self.visit > now {
            self.timers.catch_up(now);
        }
    }

    /// Sets the timer of the operation at `index`; `now` is as for [`catch_up`](Self::catch_up).
    /// Returns the tick of the timers' first visit.
    pub(crate) fn set_timer(&mut self, index: u32, deadline: u64, now: u64) -> u64 {
        self.catch_up(now);
        self.timers.restart(&mut self.operations, index, deadline)
    }

    /// Moves the timers' time, and appends the operations whose time is up.
    pub(crate) fn advance_timers(&mut self, now: u64, due: &mut Vec<Key>) {
        self.timers
            .advance(&mut self.operations, now, |operations, index| {
                due.push(operations.key_at(index));
            });
    }

    /// Removes the place of a finished operation that the calling thread has out, its timer, and
    /// its seat in a list. Of an operation that has several entries, returns those.
    #[inline]
    pub(crate) fn remove(&mut self, index: u32) -> Option<Box<[EntryRef]>> {
        self.timers.stop(&mut self.operations, index);
        let entries = match &mut self.operations.at_mut(index).watch {
            Watch::One(_) => {
                self.watch.remove_operation(&mut self.operations, index);
                None
            }
            Watch::Several(entries) => Some(std::mem::take(entries)),
        };
        self.operations.remove_at(index);
        match entries.as_deref() {
            // A single one is for a key of this shard, as the first one always is.
            Some([only]) => {
                self.remove_entry(only.entry);
                None
            }
            _ => entries,
        }
    }

    /// Takes an operation out of its place, to be put back or removed by the calling thread.
    #[inline]
    pub(crate) fn take(&mut self, key: Key, holder: ThreadToken) -> Found<Op> {
        let Some(waiting) = self.operations.get_mut(key) else {
            return Found::Gone;
        };
        match waiting.operation.take() {
            None => Found::Out,
            Some(operation) => {
                waiting.holder = holder;
                Found::Here(operation)
            }
        }
    }

    /// Leaves word for whoever has the operation out that `asker` has checked one of its keys.
    pub(crate) fn ask_holder(&mut self, key: Key, asker: ThreadToken) {
        if let Some(waiting) = self.operations.get_mut(key) {
            if waiting.holder == asker {
                waiting.asked_by_holder = true;
            } else {
                waiting.asked = true;
            }
        }
    }

    /// Whether word was left at `index` since the last call.
    pub(crate) fn asked_meanwhile(&mut self, index: u32) -> AskedMeanwhile {
        let waiting = self.operations.at_mut(index);
        let by_others = std::mem::take(&mut waiting.asked);
        let by_holder = std::mem::take(&mut waiting.asked_by_holder);
        match (by_others, by_holder) {
            (true, _) => AskedMeanwhile::ByOthers,
            (false, true) => AskedMeanwhile::ByItsHolder,
            (false, false) => AskedMeanwhile::No,
        }
    }

    /// Leaves word for whoever has the operation out that its time has come.
    pub(crate) fn note_expired(&mut self, key: Key) {
        if let Some(waiting) = self.operations.get_mut(key) {
            waiting.expired = true;
        }
    }

    /// Takes the buffer of a check back.
    pub(crate) fn keep_spare(&mut self, mut found: Vec<Watcher>) {
        if found.capacity() <= SPARE_MAX {
            found.clear();
            self.spare = found;
        }
    }
}

/// Longer lists are rare; their buffers are given back to the allocator.
const SPARE_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_operation_takes_64_bytes_beside_itself_and_28_for_each_of_several_entries() {
        assert_eq!(Slab::<Waiting<Box<u64>>>::BYTES_PER_VALUE - 8, 64);
        // An operation without any invalid value takes 8 more, to tell that it is out.
        assert_eq!(Slab::<Waiting<[u64; 8]>>::BYTES_PER_VALUE - 64, 72);
        assert_eq!(WatchLists::<u64>::bytes_per_entry(), 28);
    }

    #[test]
    fn an_idle_shard_takes_four_cache_lines() {
        assert_eq!(size_of::<Shard<u64, [u64; 8]>>(), 256);
    }
}
