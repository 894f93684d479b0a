//! Every order of the steps of two threads, by loom:
//! `RUSTFLAGS="--cfg loom" cargo test -p klamm-purgatory --test loom --release`, with a target
//! directory of its own, since the flag rebuilds everything.
//!
//! Each model is one race, as small as it can be made. Keys 1 and 2 are in different shards of
//! two (a unit test sees to that), so that operations under both reach across shards.
#![cfg(loom)]

use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicUsize, Ordering as StdOrdering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use klamm_purgatory::{DelayedOperation, Purgatory, PurgatoryConfig, WheelConfig};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

/// Finishes once its flag is up.
struct Op {
    ready: Arc<AtomicBool>,
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Completed,
    Expired,
}

impl DelayedOperation for Op {
    type Done = Outcome;

    fn try_complete(&mut self) -> Option<Outcome> {
        // Relaxed: that the flag is seen must come from the purgatory's own ordering.
        let ready = self.ready.load(Ordering::Relaxed);
        ready.then_some(Outcome::Completed)
    }

    fn expire(&mut self) -> Outcome {
        Outcome::Expired
    }
}

#[derive(Clone)]
struct Model {
    purgatory: Arc<Purgatory<u8, Op>>,
    ready: Arc<AtomicBool>,
    start: Instant,
}

impl Model {
    fn new(shards: u32) -> Self {
        let config = PurgatoryConfig {
            wheel: WheelConfig {
                slots: 2,
                ..WheelConfig::default()
            },
            shards,
            purge_interval: 0,
            hash_seed: 2,
            ..PurgatoryConfig::default()
        };
        let start = Instant::now();
        Self {
            purgatory: Arc::new(Purgatory::new(start, config).unwrap()),
            ready: Arc::new(AtomicBool::new(false)),
            start,
        }
    }

    fn enter(&self, keys: &[u8]) -> usize {
        self.enter_with(Arc::clone(&self.ready), keys)
    }

    fn enter_with(&self, ready: Arc<AtomicBool>, keys: &[u8]) -> usize {
        let deadline = self.start + Duration::from_millis(1);
        let op = Op { ready };
        let entered = self
            .purgatory
            .try_complete_else_watch(op, keys, Some(deadline));
        usize::from(entered.unwrap().is_some())
    }

    fn make_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    fn check(&self, key: u8) -> usize {
        self.purgatory.check(&key, &mut Vec::new())
    }

    fn expire(&self) -> usize {
        let after = self.start + Duration::from_millis(1);
        let mut done = Vec::new();
        self.purgatory.advance(after, &mut done);
        done.iter()
            .filter(|done| **done == Outcome::Expired)
            .count()
    }

    /// How many were taken out, and how many were left to others.
    fn cancel(&self, key: u8) -> usize {
        self.purgatory.cancel(&key).operations.len()
    }

    fn assert_empty(&self) {
        assert_eq!(self.purgatory.delayed(), 0);
        assert_eq!(self.purgatory.watched(), 0);
        assert_eq!(self.purgatory.watched_keys(), 0);
        assert_eq!(self.purgatory.next_deadline(), None);
    }
}

/// Runs a race for an operation that waits under one key, and for one under two in two shards.
/// The two sides return how often they finished it.
fn race(
    ready: bool,
    one: fn(&Model) -> usize,
    other: fn(&Model) -> usize,
    then: fn(&Model) -> usize,
) {
    for (shards, keys) in [(1, &[1][..]), (2, &[2, 1][..])] {
        loom::model(move || {
            let model = Model::new(shards);
            assert_eq!(model.enter(keys), 0);
            if ready {
                model.make_ready();
            }
            let there = model.clone();
            let thread = thread::spawn(move || other(&there));
            let here = one(&model);
            let there = thread.join().unwrap();
            assert_eq!(here + there + then(&model), 1);
            model.assert_empty();
        });
    }
}

fn nothing(_: &Model) -> usize {
    0
}

#[test]
fn pu_002_one_of_two_checks_completes_it() {
    race(
        true,
        |model| model.check(1),
        |model| model.check(1),
        nothing,
    );
}

#[test]
fn pu_002_one_of_two_checks_by_different_keys_completes_it() {
    race(
        true,
        |model| model.check(1),
        |model| model.check(2) + model.check(1),
        nothing,
    );
}

#[test]
fn pu_002_a_check_or_its_timeout_finishes_it() {
    race(true, |model| model.check(1), Model::expire, nothing);
}

/// An operation that is not ready: being asked, its time comes; it must still expire.
#[test]
fn pu_002_a_check_in_vain_does_not_lose_its_timeout() {
    race(false, |model| model.check(1), Model::expire, Model::expire);
}

#[test]
fn pu_002_a_check_or_cancelling_finishes_it() {
    race(
        true,
        |model| model.check(1),
        |model| model.cancel(1),
        nothing,
    );
}

/// Cancelled while it is asked in vain, it stays, and a second call has it.
#[test]
fn pu_002_what_cancelling_leaves_to_a_check_can_be_cancelled_later() {
    race(
        false,
        |model| model.check(1),
        |model| model.cancel(1),
        |model| model.cancel(1),
    );
}

#[test]
fn pu_002_its_timeout_or_cancelling_finishes_it() {
    race(false, Model::expire, |model| model.cancel(1), nothing);
}

/// The word that is left for whoever has it out is found.
#[test]
fn pu_006_a_check_that_finds_it_being_asked_is_not_lost() {
    race(
        false,
        |model| model.check(1),
        |model| {
            model.make_ready();
            model.check(1)
        },
        nothing,
    );
}

/// Entering against the very event that it waits for (PU-009, PU-010).
fn enter_against_check(shards: u32, keys: &'static [u8], checked: u8) {
    loom::model(move || {
        let model = Model::new(shards);
        let there = model.clone();
        let thread = thread::spawn(move || {
            there.make_ready();
            there.check(checked)
        });
        let here = model.enter(keys);
        assert_eq!(here + thread.join().unwrap(), 1);
        model.assert_empty();
    });
}

#[test]
fn pu_010_a_check_while_it_enters_under_one_key_is_not_missed() {
    enter_against_check(1, &[1], 1);
}

#[test]
fn pu_010_a_check_of_its_first_key_while_it_enters_is_not_missed() {
    enter_against_check(2, &[1, 2], 1);
}

#[test]
fn pu_010_a_check_of_its_second_key_while_it_enters_is_not_missed() {
    enter_against_check(2, &[1, 2], 2);
}

/// Its timer starts only when it is in all its lists, so that nothing of it is left in any.
#[test]
fn pu_010_its_time_may_come_while_it_enters() {
    loom::model(|| {
        let model = Model::new(2);
        let there = model.clone();
        let thread = thread::spawn(move || there.expire());
        assert_eq!(model.enter(&[1, 2]), 0);
        assert_eq!(thread.join().unwrap() + model.expire(), 1);
        model.assert_empty();
    });
}

#[test]
fn pu_019_adding_to_a_key_that_is_being_forgotten_is_not_lost() {
    loom::model(|| {
        let model = Model::new(1);
        model.enter(&[1]);
        model.make_ready();
        let there = model.clone();
        let thread = thread::spawn(move || there.check(1));
        let second = Arc::new(AtomicBool::new(false));
        assert_eq!(model.enter_with(Arc::clone(&second), &[1]), 0);
        assert_eq!(thread.join().unwrap(), 1);
        assert_eq!(model.purgatory.watched(), 1);
        second.store(true, Ordering::Relaxed);
        assert_eq!(model.check(1), 1);
        model.assert_empty();
    });
}

/// An entry left behind is purged while its key is checked: it goes once, and nothing else does.
#[test]
fn pu_028_a_purge_and_a_check_of_the_same_key_agree() {
    loom::model(|| {
        let model = Model::new(2);
        model.enter(&[1, 2]);
        model.make_ready();
        let waiting = Arc::new(AtomicBool::new(false));
        assert_eq!(model.enter_with(Arc::clone(&waiting), &[2]), 0);
        let there = model.clone();
        // Finishes the first, and purges what it leaves under key 2.
        let thread = thread::spawn(move || there.check(1));
        let here = model.check(2);
        assert_eq!(here + thread.join().unwrap(), 1);
        assert_eq!(model.purgatory.watched(), 1);
        waiting.store(true, Ordering::Relaxed);
        assert_eq!(model.check(2), 1);
        model.assert_empty();
    });
}

#[derive(Default)]
struct CountedWaker(AtomicUsize);

impl Wake for CountedWaker {
    fn wake(self: StdArc<Self>) {
        self.0.fetch_add(1, StdOrdering::SeqCst);
    }
}

/// Covers PU-025: whoever goes to sleep until the next deadline either sees it or is woken.
#[test]
fn pu_025_a_driver_that_goes_to_sleep_does_not_miss_an_earlier_deadline() {
    loom::model(|| {
        let model = Model::new(2);
        let there = model.clone();
        let thread = thread::spawn(move || there.enter(&[1]));
        let woken = StdArc::new(CountedWaker::default());
        let waker = Waker::from(StdArc::clone(&woken));
        let next = model.purgatory.watch_next_deadline(&waker);
        thread.join().unwrap();
        let deadline = model.start + Duration::from_millis(1);
        let sees_it = next.is_some_and(|next| next <= deadline);
        assert!(sees_it || woken.0.load(StdOrdering::SeqCst) > 0);
    });
}

/// As above, with another operation waiting, whose later deadline it sleeps for.
#[test]
fn pu_025_a_sleeping_driver_that_looks_again_does_not_miss_an_earlier_deadline() {
    loom::model(|| {
        let model = Model::new(2);
        let op = Op {
            ready: Arc::clone(&model.ready),
        };
        let late = model.start + Duration::from_millis(50);
        let entered = model
            .purgatory
            .try_complete_else_watch(op, &[2], Some(late));
        assert!(entered.unwrap().is_none());
        let woken = StdArc::new(CountedWaker::default());
        let waker = Waker::from(StdArc::clone(&woken));
        model.purgatory.watch_next_deadline(&waker);

        let there = model.clone();
        let thread = thread::spawn(move || there.enter(&[1]));
        let next = model.purgatory.watch_next_deadline(&waker);
        thread.join().unwrap();
        let deadline = model.start + Duration::from_millis(1);
        let sees_it = next.is_some_and(|next| next <= deadline);
        assert!(sees_it || woken.0.load(StdOrdering::SeqCst) > 0);
    });
}
