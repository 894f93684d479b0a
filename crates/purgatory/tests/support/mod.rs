//! What the tests share: an operation that is finished from outside, a place to begin, a clock
//! that is set by hand.

#![allow(
    dead_code,
    reason = "each test program compiles this for itself and uses a part of it"
)]

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use klamm_purgatory::{Clock, DelayedOperation, Purgatory, PurgatoryConfig};

/// Some instant to count from.
#[expect(
    clippy::disallowed_methods,
    reason = "an `Instant` can be had in no other way; tests only add to it"
)]
pub(crate) fn an_instant() -> Instant {
    Instant::now()
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The outside of an operation: makes it ready, and counts what is done to it.
#[derive(Debug, Default)]
pub(crate) struct Handle {
    pub(crate) ready: AtomicBool,
    pub(crate) asked: AtomicUsize,
    pub(crate) expired: AtomicUsize,
    pub(crate) dropped: AtomicUsize,
}

impl Handle {
    pub(crate) fn make_ready(&self) {
        self.ready.store(true, Ordering::SeqCst);
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn expired(&self) -> usize {
        self.expired.load(Ordering::SeqCst)
    }

    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }
}

/// An operation that can finish once its handle says so.
#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) id: usize,
    pub(crate) handle: Arc<Handle>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Outcome {
    Completed(usize),
    Expired(usize),
}

impl Op {
    pub(crate) fn new(id: usize) -> (Self, Arc<Handle>) {
        let handle = Arc::new(Handle::default());
        let op = Self {
            id,
            handle: Arc::clone(&handle),
        };
        (op, handle)
    }
}

impl DelayedOperation for Op {
    type Done = Outcome;

    fn try_complete(&mut self) -> Option<Outcome> {
        self.handle.asked.fetch_add(1, Ordering::SeqCst);
        let ready = self.handle.ready.load(Ordering::SeqCst);
        ready.then_some(Outcome::Completed(self.id))
    }

    fn expire(&mut self) -> Outcome {
        self.handle.expired.fetch_add(1, Ordering::SeqCst);
        Outcome::Expired(self.id)
    }
}

impl Drop for Op {
    fn drop(&mut self) {
        self.handle.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

/// A purgatory of such operations, and the instant at which its time begins.
pub(crate) struct Setting<K> {
    pub(crate) purgatory: Arc<Purgatory<K, Op>>,
    pub(crate) start: Instant,
}

impl<K: std::hash::Hash + Eq + Clone> Setting<K> {
    pub(crate) fn new() -> Self {
        Self::with(PurgatoryConfig::default())
    }

    pub(crate) fn with(config: PurgatoryConfig) -> Self {
        let start = an_instant();
        let purgatory = Arc::new(Purgatory::new(start, config).unwrap());
        Self { purgatory, start }
    }

    /// Enters an operation that is not ready, at the start, with a timeout.
    pub(crate) fn enter(&self, id: usize, keys: &[K], timeout: Duration) -> Arc<Handle> {
        self.enter_at(Duration::ZERO, id, keys, timeout)
    }

    /// As [`Setting::enter`], some time `after` the start.
    pub(crate) fn enter_at(
        &self,
        after: Duration,
        id: usize,
        keys: &[K],
        timeout: Duration,
    ) -> Arc<Handle> {
        let (op, handle) = Op::new(id);
        let now = self.start + after;
        let deadline = now.checked_add(timeout);
        let entered = self.purgatory.try_complete_else_watch(op, keys, deadline);
        assert_eq!(entered.unwrap(), None);
        handle
    }

    pub(crate) fn check(&self, key: &K) -> Vec<Outcome> {
        let mut done = Vec::new();
        let completed = self.purgatory.check(key, &mut done);
        assert_eq!(completed, done.len());
        done
    }

    /// Moves the time to `after` the start.
    pub(crate) fn advance(&self, after: Duration) -> Vec<Outcome> {
        let mut done = Vec::new();
        let expired = self.purgatory.advance(self.start + after, &mut done);
        assert_eq!(expired, done.len());
        done
    }

    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.purgatory.watched(), self.purgatory.delayed())
    }
}

/// A clock that stands still until it is set; the clones show the same time.
#[derive(Debug, Clone)]
pub(crate) struct HandClock(Arc<Mutex<Hands>>);

#[derive(Debug)]
struct Hands {
    now: Instant,
    sleepers: Vec<Waker>,
}

impl HandClock {
    pub(crate) fn new(now: Instant) -> Self {
        Self(Arc::new(Mutex::new(Hands {
            now,
            sleepers: Vec::new(),
        })))
    }

    pub(crate) fn move_on(&self, by: Duration) {
        let sleepers = {
            let mut hands = self.0.lock().unwrap();
            hands.now += by;
            std::mem::take(&mut hands.sleepers)
        };
        sleepers.into_iter().for_each(Waker::wake);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Instant {
        self.0.lock().unwrap().now
    }

    fn sleep_until(&self, deadline: Option<Instant>) -> impl Future<Output = ()> + Send + 'static {
        let hands = Arc::clone(&self.0);
        poll_fn(move |cx| {
            let mut hands = hands.lock().unwrap();
            if deadline.is_some_and(|deadline| hands.now >= deadline) {
                return Poll::Ready(());
            }
            hands.sleepers.push(cx.waker().clone());
            Poll::Pending
        })
    }
}
