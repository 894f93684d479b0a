//! [`Purgatory`]: where operations wait until something happens to one of their keys, or until
//! their time is up.
//!
//! How an operation is asked. It is taken out of its place under the shard's lock, asked without
//! any lock, and put back, or its place removed, under the lock again. Whoever wants to ask it
//! meanwhile finds it out and leaves word; whoever has it out finds the word on putting it back,
//! and asks again. So an operation is asked by one thread at a time, finishes once, misses no
//! check, and nobody ever waits for anybody inside [`DelayedOperation::try_complete`].
//!
//! How no check is missed on entering. An operation is asked before it is in any list. A check of
//! one of its keys between then and its being in that key's list would not find it. Each shard
//! therefore counts its checks: if the counts of all its keys are what they were before it was
//! asked, nothing can have been missed; otherwise it is asked once more.

mod visit;

use std::hash::{BuildHasher, Hash};
use std::task::Waker;
use std::time::Instant;

use foldhash::quality::FixedState;

use crate::alarm::Alarm;
use crate::config::{ConfigError, PurgatoryConfig};
use crate::leftovers::{EntryRef, Leftovers};
use crate::operation::DelayedOperation;
use crate::shard::{Found, Shard, ShardState};
use crate::sync::ThreadToken;
use crate::ticks::Ticks;
use crate::watch_lists::{KeyHash, OperationRef, Watcher};
use visit::{Answer, Visit};

/// Delayed operations, watched under keys and bounded by timers.
///
/// All methods may be called from any thread, also from inside an operation. None blocks, but
/// for locks that are held for a few steps and never while an operation's code runs. All hand
/// back what finished as values, for the caller to act on once it has left its own locks. (Leave
/// those before a check too if an operation takes them in
/// [`try_complete`](DelayedOperation::try_complete).)
///
/// Keys are plain values: their `Hash`, `Eq`, `Clone` and `Drop` must not call back.
///
/// A waiting operation takes 64 to 72 bytes beside itself, and, if it has several keys, 40 for
/// each of them; a key that something waits under takes 20 to 50 beside itself, the more the
/// emptier its table is. Finishing early frees the operation and its timer at once, and its
/// entries under other keys when those are checked, or when [`PurgatoryConfig::purge_interval`]
/// is exceeded.
#[derive(Debug)]
pub struct Purgatory<K, Op> {
    shards: Box<[Shard<K, Op>]>,
    alarm: Alarm,
    leftovers: Leftovers,
    ticks: Ticks,
    hasher: FixedState,
}

/// What [`Purgatory::cancel`] took out.
#[derive(Debug, PartialEq, Eq)]
pub struct Cancelled<Op> {
    /// The operations, as they are, oldest first.
    pub operations: Vec<Op>,
    /// How many were just being asked, by another thread or by a caller further up in this one,
    /// and stay where they are. Unless they finish by that, another call finds them.
    pub being_asked: usize,
}

/// An operation was to be watched under no key at all. It is handed back, not asked.
#[derive(thiserror::Error)]
#[error("an operation must be watched under at least one key")]
pub struct NoKeys<Op>(pub Op);

impl<Op> std::fmt::Debug for NoKeys<Op> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NoKeys(..)")
    }
}

impl<K, Op> Purgatory<K, Op> {
    /// An empty purgatory whose time begins at `start`.
    ///
    /// # Errors
    /// Each variant of [`ConfigError`] for the field that it names.
    pub fn new(start: Instant, config: PurgatoryConfig) -> Result<Self, ConfigError> {
        let tick = config.wheel.tick;
        let slots = config.wheel.check_slots()?;
        if config.shards == 0 {
            return Err(ConfigError::NoShards);
        }
        Ok(Self {
            shards: (0..config.shards).map(|_| Shard::new(slots)).collect(),
            alarm: Alarm::new(config.shards),
            leftovers: Leftovers::new(config.purge_interval),
            ticks: Ticks::new(start, tick).ok_or(ConfigError::Tick(tick))?,
            hasher: FixedState::with_seed(config.hash_seed),
        })
    }

    /// How many operations wait.
    ///
    /// Counts shard by shard: exact only while nobody else is at work.
    pub fn delayed(&self) -> usize {
        self.sum(|state| state.operations.len())
    }

    /// How many entries there are under all keys: one for each key of each waiting operation,
    /// and those of finished ones that are not yet purged. Exact as [`delayed`](Self::delayed).
    pub fn watched(&self) -> usize {
        self.sum(|state| state.watch.len())
    }

    /// How many keys have entries. Exact as [`delayed`](Self::delayed).
    pub fn watched_keys(&self) -> usize {
        self.sum(|state| state.watch.keys())
    }

    fn sum(&self, count: impl Fn(&ShardState<K, Op>) -> usize) -> usize {
        self.shards.iter().map(|shard| count(&shard.lock())).sum()
    }

    /// When to call [`advance`](Self::advance) next; `None` if nothing that waits has a deadline
    /// which an [`Instant`] can name.
    ///
    /// Never later than the earliest deadline, rounded up to a tick; it may be earlier, as with
    /// [`TimingWheel::next_deadline`](crate::TimingWheel::next_deadline).
    pub fn next_deadline(&self) -> Option<Instant> {
        self.ticks.instant_of(self.next_visit()?)
    }

    /// As [`next_deadline`](Self::next_deadline), and wakes `waker` as soon as an operation enters
    /// whose deadline makes it earlier. For a driver that sleeps until then.
    ///
    /// There is one waker; the last one given counts. It may be woken for nothing.
    pub fn watch_next_deadline(&self, waker: &Waker) -> Option<Instant> {
        self.alarm.register(waker);
        let next = self.next_visit();
        self.alarm.arm(next);
        self.ticks.instant_of(next?)
    }

    /// The first tick at which a shard has anything to do. The alarm may still name a tick whose
    /// operation has finished; the shard itself knows better, and is asked.
    fn next_visit(&self) -> Option<u64> {
        loop {
            let (shard, noted) = self.alarm.earliest()?;
            let mut state = self.shards[shard as usize].lock();
            let visit = state.timers.next_visit();
            if visit.is_some_and(|visit| visit <= noted) {
                return visit;
            }
            self.alarm.raise(shard, &mut state.visit, visit);
        }
    }

    /// Takes out all entries that finished operations have left under their keys; returns how
    /// many. This happens by itself, see [`PurgatoryConfig::purge_interval`].
    pub fn purge(&self) -> usize {
        let mut visit = Visit::new(self);
        self.leftovers
            .take()
            .into_iter()
            .filter(|left| visit.hold(left.shard).remove_entry(left.entry))
            .count()
    }
}

impl<K, Op> Purgatory<K, Op>
where
    K: Hash + Eq + Clone,
    Op: DelayedOperation,
{
    /// Asks `operation` whether it can finish at once, and if not, watches it under all `keys`
    /// until one is checked with success, or `deadline` comes. `None` as deadline is without
    /// limit, which is what `now.checked_add(timeout)` gives when it overflows.
    ///
    /// Returns the outcome if it could finish; it was then in no list. If a key is checked while
    /// it enters, it is asked once more, and the outcome of that is returned too. A deadline that
    /// has passed makes it expire with the next [`advance`](Self::advance), not here.
    ///
    /// A key given twice is watched twice.
    ///
    /// # Errors
    /// [`NoKeys`] hands the operation back if `keys` is empty.
    pub fn try_complete_else_watch(
        &self,
        mut operation: Op,
        keys: &[K],
        deadline: Option<Instant>,
    ) -> Result<Option<Op::Done>, NoKeys<Op>> {
        let Some((first, others)) = keys.split_first() else {
            return Err(NoKeys(operation));
        };
        let (home, hash) = self.locate(first);
        let checks_before = others
            .iter()
            .map(|other| self.shard(self.locate(other).0).checks())
            .fold(self.shard(home).checks(), u64::wrapping_add);
        if let Some(done) = operation.try_complete() {
            return Ok(Some(done));
        }

        let deadline = deadline.map(|deadline| self.ticks.not_before(deadline));
        let me = ThreadToken::current();
        if others.is_empty() {
            let mut state = self.shard(home).lock();
            if state.checks == checks_before {
                // The common case in one go: one key, and nothing was missed.
                let now = self.alarm.now();
                let visit = state.enter(operation, me, (hash, first), deadline, now);
                let wake = self.alarm.lower(home, &mut state.visit, visit);
                drop(state);
                if wake {
                    self.alarm.wake();
                }
                return Ok(None);
            }
        }
        Ok(self.watch_by_entries(operation, keys, checks_before, deadline))
    }

    /// Watches an operation, which has been asked in vain, under `keys` by an entry for each, and
    /// asks it again if there was a check since their counts added up to `checks_before`.
    fn watch_by_entries(
        &self,
        operation: Op,
        keys: &[K],
        checks_before: u64,
        deadline: Option<u64>,
    ) -> Option<Op::Done> {
        let (first, others) = keys.split_first()?;
        let (home, hash) = self.locate(first);
        let me = ThreadToken::current();
        let mut visit = Visit::new(self);
        let state = visit.hold(home);
        let key = state.make_place(me);
        let itself = OperationRef { shard: home, key };
        let mut checks_after = state.checks;
        let mut entries = Vec::with_capacity(keys.len());
        let entry = state.watch_by_entry(hash, first, itself);
        entries.push(EntryRef { shard: home, entry });
        for other in others {
            let (shard, hash) = self.locate(other);
            let state = visit.hold(shard);
            checks_after = checks_after.wrapping_add(state.checks);
            let entry = state.watch_by_entry(hash, other, itself);
            entries.push(EntryRef { shard, entry });
        }
        let state = visit.hold(home);
        state.set_entries(key.index, entries.into_boxed_slice());
        if let Some(deadline) = deadline {
            visit.set_timer(home, key.index, deadline);
        }

        // Nothing was missed if no check came before the entries were there (the counts) and none
        // since (word left at the operation's place). Counts only grow, so equal sums say that
        // each is equal.
        let must_be_asked = if checks_before == checks_after {
            visit.put_back(itself, operation, &mut 0)
        } else {
            Some(operation)
        };
        let done = match must_be_asked.map(|op| visit.ask(itself, op, Op::try_complete)) {
            Some(Answer::Done(done)) => Some(done),
            Some(Answer::Waits | Answer::Panicked) | None => None,
        };
        visit.finish();
        done
    }

    /// Something happened to `key`: asks all operations that wait under it, oldest first, whether
    /// they can finish now. Appends the outcomes of those that could to `done` and returns how
    /// many; these are this call's own, nobody else gets them.
    ///
    /// Another thread that is just asking one of them does so again, and gets the outcome.
    ///
    /// An operation may check its own keys while it is asked. It is then asked again, up to eight
    /// times; one that never stops doing so is left waiting.
    pub fn check(&self, key: &K, done: &mut Vec<Op::Done>) -> usize {
        let me = ThreadToken::current();
        let (shard, hash) = self.locate(key);
        let mut visit = Visit::new(self);
        let state = visit.hold(shard);
        self.shard(shard).count_check(state);
        let list = state.watch.find(hash, key);
        if list.is_empty() {
            return 0;
        }
        // One operation a key is common, and needs no list of what was found.
        let only = state.only_operation(list).map(|key| Watcher {
            operation: OperationRef { shard, key },
            entry: None,
        });
        let mut several = Vec::new();
        let found = if let Some(only) = &only {
            std::slice::from_ref(only)
        } else {
            several = std::mem::take(&mut state.spare);
            state.collect(shard, list, &mut several);
            &several
        };

        let before = done.len();
        for Watcher { operation, entry } in found {
            let gone = visit.check(*operation, me, done);
            if let (true, Some(entry)) = (gone, entry) {
                visit.hold(shard).remove_entry(*entry);
            }
        }
        if only.is_none() {
            visit.hold(shard).keep_spare(several);
        }
        visit.finish();
        done.len() - before
    }

    /// Moves the time to `now` and makes all operations expire whose deadline has come. Appends
    /// their outcomes to `done` and returns how many. A `now` that lies back is harmless.
    ///
    /// An operation that is just being asked by another thread expires with the next call, if it
    /// has not finished; [`next_deadline`](Self::next_deadline) names it again.
    pub fn advance(&self, now: Instant, done: &mut Vec<Op::Done>) -> usize {
        let me = ThreadToken::current();
        let now = self.ticks.begun_at(now);
        self.alarm.tell(now);
        let mut visit = Visit::new(self);
        let mut due = Vec::new();
        let before = done.len();
        for shard in self.alarm.due(now) {
            let state = visit.hold(shard);
            state.advance_timers(now, &mut due);
            let next = state.timers.next_visit();
            self.alarm.raise(shard, &mut state.visit, next);
            for key in due.drain(..) {
                let expired = visit.hold(shard).take(key, me);
                match expired {
                    Found::Here(op) => {
                        let operation = OperationRef { shard, key };
                        let expire = |op: &mut Op| Some(op.expire());
                        if let Answer::Done(outcome) = visit.ask(operation, op, expire) {
                            done.push(outcome);
                        }
                    }
                    Found::Out => visit.hold(shard).note_expired(key),
                    Found::Gone => {}
                }
            }
        }
        visit.finish();
        done.len() - before
    }

    /// Takes all operations that wait under `key` out, from their other keys and their timers
    /// too, and hands them back as they are.
    pub fn cancel(&self, key: &K) -> Cancelled<Op> {
        let me = ThreadToken::current();
        let (shard, hash) = self.locate(key);
        let mut visit = Visit::new(self);
        let mut found = Vec::new();
        let state = visit.hold(shard);
        let list = state.watch.find(hash, key);
        state.collect(shard, list, &mut found);
        let mut cancelled = Cancelled {
            operations: Vec::new(),
            being_asked: 0,
        };
        for Watcher { operation, entry } in found {
            match visit.hold(operation.shard).take(operation.key, me) {
                Found::Here(op) => {
                    cancelled.operations.push(op);
                    visit.remove_place(operation);
                }
                Found::Out => {
                    cancelled.being_asked += 1;
                    continue;
                }
                Found::Gone => {}
            }
            if let Some(entry) = entry {
                visit.hold(shard).remove_entry(entry);
            }
        }
        visit.finish();
        cancelled
    }

    fn shard(&self, shard: u32) -> &Shard<K, Op> {
        &self.shards[shard as usize]
    }

    /// The shard of a key, and its hash. The shard is drawn from the upper half of the hash and
    /// the place in that shard's table from the rest, so that one does not thin out the other.
    #[inline]
    fn locate(&self, key: &K) -> (u32, KeyHash) {
        let [upper, lower] = halves(self.hasher.hash_one(key));
        let shards = self.shards.len() as u64;
        let [shard, _] = halves(u64::from(upper) * shards);
        (shard, KeyHash(lower))
    }
}

/// The upper and the lower half of a number.
#[inline]
fn halves(number: u64) -> [u32; 2] {
    let low =
        |number: u64| u32::try_from(number & u64::from(u32::MAX)).expect("all else is masked away");
    [low(number >> 32), low(number)]
}

#[cfg(all(test, not(loom)))]
mod tests;
