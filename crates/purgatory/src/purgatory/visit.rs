//! [`Visit`]: one call's way through the shards, from lock to lock.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::Purgatory;
use crate::shard::{AskedMeanwhile, Entries, ShardState, Taken};
use crate::slab::Key;
use crate::sync::MutexGuard;
use crate::watch_lists::Watcher;

/// How often an operation is asked again because it checked its own keys while it was asked.
/// More than one, so that it may move something on in a few steps; bounded, so that one which
/// always does so does not hang.
const OWN_ROUNDS_MAX: u8 = 8;

/// Holds at most one shard's lock, and keeps what is to be done after leaving it.
pub(super) struct Visit<'p, K, Op> {
    purgatory: &'p Purgatory<K, Op>,
    held: Option<(u32, MutexGuard<'p, ShardState<K, Op>>)>,
    /// Entries that led to operations which finished, and are under several keys.
    pub(super) gone: Vec<Key>,
    purge: bool,
    wake: bool,
    panic: Option<Box<dyn Any + Send>>,
}

impl<'p, K, Op> Visit<'p, K, Op> {
    pub(super) fn new(purgatory: &'p Purgatory<K, Op>) -> Self {
        Self {
            purgatory,
            held: None,
            gone: Vec::new(),
            purge: false,
            wake: false,
            panic: None,
        }
    }

    /// The state of `shard`, whose lock is held from here on; any other is left first.
    #[inline]
    pub(super) fn hold(&mut self, shard: u32) -> &mut ShardState<K, Op> {
        if self.held.as_ref().is_none_or(|(held, _)| *held != shard) {
            self.held = None;
            self.held = Some((shard, self.purgatory.shards[shard as usize].lock()));
        }
        let (_, state) = self.held.as_mut().expect("set above");
        state
    }

    /// Leaves all locks, and does what had to wait for that.
    ///
    /// # Panics
    /// With the first panic of an operation that was asked.
    pub(super) fn finish(mut self) {
        self.held = None;
        if self.wake {
            self.purgatory.alarm.wake();
        }
        if self.purge {
            self.purgatory.purge();
        }
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
    }

    /// Gives the operation at `key` of `shard` a timer.
    pub(super) fn set_timer(&mut self, shard: u32, key: Key, now: u64, deadline: u64) {
        let alarm = &self.purgatory.alarm;
        let state = self.hold(shard);
        if state.visit > now {
            state.timers.catch_up(now);
        }
        let (timer, visit) = state.timers.insert(deadline, key.index);
        state.waiting.at_mut(key.index).timer = Some(timer);
        self.wake |= alarm.lower(shard, &mut state.visit, visit);
    }

    /// Asks the operations of `batch`, all out of places of the shard `home`, until each has
    /// finished or nothing was missed and it is back in its place. Appends outcomes to `done` and
    /// returns how many. Empties the batch; holds `home` at the end.
    pub(super) fn ask<D>(
        &mut self,
        home: u32,
        batch: &mut Vec<Taken<Op>>,
        done: &mut Vec<D>,
        mut question: impl FnMut(&mut Op) -> Option<D>,
    ) -> usize {
        let before = done.len();
        while !batch.is_empty() {
            self.held = None;
            for taken in batch.iter_mut() {
                // A panicking operation is dropped and never seen again, so that it does not
                // matter in what state it is.
                let answer = catch_unwind(AssertUnwindSafe(|| {
                    let answer = question(taken.operation.as_mut()?);
                    if answer.is_some() {
                        taken.operation = None;
                    }
                    answer
                }));
                match answer {
                    Ok(answer) => done.extend(answer),
                    Err(panic) => {
                        taken.operation = None;
                        self.panic.get_or_insert(panic);
                    }
                }
            }
            batch.retain_mut(|taken| {
                if taken.operation.is_some() {
                    self.put_back_or_keep(home, taken, false)
                } else {
                    self.remove_place(home, taken.key, taken.entry);
                    false
                }
            });
        }
        done.len() - before
    }

    /// Puts an unfinished operation back into its place, unless it must be asked again: because
    /// a key of it was checked meanwhile, or because the caller says so. True if it was kept.
    pub(super) fn put_back_or_keep(
        &mut self,
        home: u32,
        taken: &mut Taken<Op>,
        must_ask: bool,
    ) -> bool {
        let index = taken.key.index;
        let state = self.hold(home);
        let again = match state.asked_meanwhile(index) {
            AskedMeanwhile::ByOthers => true,
            AskedMeanwhile::ByItsHolder if taken.own_rounds < OWN_ROUNDS_MAX => {
                taken.own_rounds += 1;
                true
            }
            AskedMeanwhile::ByItsHolder | AskedMeanwhile::No => must_ask,
        };
        if !again {
            let waiting = state.waiting.at_mut(index);
            waiting.operation = taken.operation.take();
            if std::mem::take(&mut waiting.expired) {
                self.set_timer(home, taken.key, 0, 0);
            }
        }
        again
    }

    /// Removes the place of an operation that has finished, its timer, and what leads to it:
    /// its only entry at once, or of several the one in hand (at the end, its list being in
    /// another shard perhaps) and the others later.
    pub(super) fn remove_place(&mut self, home: u32, key: Key, entry: Option<Key>) {
        let state = self.hold(home);
        let waiting = state.waiting.take_at(key.index);
        if let Some(timer) = waiting.timer {
            state.timers.remove(timer);
        }
        match waiting.entries {
            Entries::One(only) => {
                state.watch.remove(only);
            }
            Entries::Many(entries) => {
                self.gone.extend(entry);
                self.purge |= self.purgatory.leftovers.add(&entries);
            }
        }
    }
}

/// Watchers in stretches whose operations are in one shard.
pub(super) fn runs_by_home(found: &[Watcher]) -> impl Iterator<Item = (u32, &[Watcher])> {
    found
        .chunk_by(|one, next| one.operation.shard == next.operation.shard)
        .map(|run| (run[0].operation.shard, run))
}
