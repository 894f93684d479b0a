//! [`Visit`]: one call's way through the shards, from lock to lock.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::Purgatory;
use crate::operation::DelayedOperation;
use crate::shard::{AskedMeanwhile, Found, ShardState};
use crate::sync::{MutexGuard, ThreadToken};
use crate::watch_lists::OperationRef;

/// How often an operation is asked again because it checked its own keys while it was asked.
/// More than one, so that it may move something on in a few steps; bounded, so that one which
/// always does so does not hang.
const OWN_ROUNDS_MAX: u8 = 8;

/// Holds at most one shard's lock, and keeps what is to be done after leaving it.
pub(super) struct Visit<'p, K, Op> {
    purgatory: &'p Purgatory<K, Op>,
    held: Option<(u32, MutexGuard<'p, ShardState<K, Op>>)>,
    purge: bool,
    wake: bool,
    panic: Option<Box<dyn Any + Send>>,
}

impl<'p, K, Op> Visit<'p, K, Op> {
    pub(super) fn new(purgatory: &'p Purgatory<K, Op>) -> Self {
        Self {
            purgatory,
            held: None,
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

    /// Leaves all locks, and does what had to wait for that. The last thing that a call does.
    ///
    /// # Panics
    /// With the first panic of an operation that was asked.
    #[inline]
    pub(super) fn finish(&mut self) {
        self.held = None;
        if self.wake {
            self.purgatory.alarm.wake();
        }
        if self.purge {
            self.purgatory.purge();
        }
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
    }

    /// Sets the timer of the operation at `index` of `shard`.
    pub(super) fn set_timer(&mut self, shard: u32, index: u32, deadline: u64) {
        let alarm = &self.purgatory.alarm;
        let state = self.hold(shard);
        let visit = state.set_timer(index, deadline, alarm.now());
        self.wake |= alarm.lower(shard, &mut state.visit, visit);
    }

    /// Asks an operation that was found under a key which is being checked whether it can finish.
    /// True if it is no more.
    #[inline]
    pub(super) fn check(
        &mut self,
        operation: OperationRef,
        me: ThreadToken,
        done: &mut Vec<Op::Done>,
    ) -> bool
    where
        Op: DelayedOperation,
    {
        let state = self.hold(operation.shard);
        match state.take(operation.key, me) {
            Found::Here(op) => match self.ask(operation, op, Op::try_complete) {
                Answer::Done(outcome) => {
                    done.push(outcome);
                    true
                }
                Answer::Panicked => true,
                Answer::Waits => false,
            },
            Found::Out => {
                state.ask_holder(operation.key, me);
                false
            }
            Found::Gone => true,
        }
    }

    /// Asks an operation that is out until it has finished, or nothing was missed and it is back
    /// in its place. Returns its outcome, if any; holds its shard's lock at the end.
    pub(super) fn ask<D>(
        &mut self,
        home: OperationRef,
        mut operation: Op,
        question: impl Fn(&mut Op) -> Option<D>,
    ) -> Answer<D> {
        let mut own_rounds = 0;
        loop {
            self.held = None;
            // A panicking operation is dropped and never seen again, so that it does not matter
            // in what state it is.
            let answer = match catch_unwind(AssertUnwindSafe(|| question(&mut operation))) {
                Ok(None) => match self.put_back(home, operation, &mut own_rounds) {
                    None => return Answer::Waits,
                    Some(must_be_asked) => {
                        operation = must_be_asked;
                        continue;
                    }
                },
                Ok(Some(done)) => Answer::Done(done),
                Err(panic) => {
                    self.panic.get_or_insert(panic);
                    Answer::Panicked
                }
            };
            drop(operation);
            self.remove_place(home);
            return answer;
        }
    }

    /// Puts an unfinished operation back into its place, unless it must be asked again because a
    /// key of it was checked meanwhile.
    pub(super) fn put_back(
        &mut self,
        home: OperationRef,
        operation: Op,
        own_rounds: &mut u8,
    ) -> Option<Op> {
        let index = home.key.index;
        let state = self.hold(home.shard);
        match state.asked_meanwhile(index) {
            AskedMeanwhile::ByOthers => return Some(operation),
            AskedMeanwhile::ByItsHolder if *own_rounds < OWN_ROUNDS_MAX => {
                *own_rounds += 1;
                return Some(operation);
            }
            AskedMeanwhile::ByItsHolder | AskedMeanwhile::No => {}
        }
        let waiting = state.operations.at_mut(index);
        waiting.operation = Some(operation);
        if std::mem::take(&mut waiting.expired) {
            self.set_timer(home.shard, index, 0);
        }
        None
    }

    /// Removes the place of an operation that has finished. Entries of it are taken out later.
    pub(super) fn remove_place(&mut self, home: OperationRef) {
        if let Some(entries) = self.hold(home.shard).remove(home.key.index) {
            self.purge |= self.purgatory.leftovers.add(&entries);
        }
    }
}

/// What came of asking.
pub(super) enum Answer<D> {
    Done(D),
    Waits,
    /// It is no more, and without an outcome.
    Panicked,
}
