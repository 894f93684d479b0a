//! When each shard's wheel must be visited, and whom to wake if that becomes earlier.

use std::task::Waker;

use crate::sync::{AtomicU64, Mutex, Ordering};

/// No wheel has anything to do.
const NEVER: u64 = u64::MAX;

/// For each shard the tick at which its wheel must next be visited, and the driver that waits
/// for the earliest of them.
///
/// A shard's tick is written under that shard's lock only, and read without. It may be too early
/// (what waited may have finished), never too late. The waker's lock is a leaf: nothing else is
/// locked under it.
///
/// No wake-up is lost. Whoever lowers a shard's tick writes it and then reads and lowers `armed`
/// in one step; whoever is about to wait sets `armed` to [`NEVER`] in one step and then reads the
/// ticks. Of these two steps one comes first: if the latter, the former sees [`NEVER`] and wakes;
/// if the former, its tick is seen.
#[derive(Debug)]
pub(crate) struct Alarm {
    visits: Box<[AtomicU64]>,
    /// The driver needs no waking for this tick or a later one. 0 while there is no driver.
    armed: AtomicU64,
    waker: Mutex<Option<Waker>>,
}

impl Alarm {
    pub(crate) fn new(shards: u32) -> Self {
        Self {
            visits: (0..shards).map(|_| AtomicU64::new(NEVER)).collect(),
            armed: AtomicU64::new(0),
            waker: Mutex::new(None),
        }
    }

    /// The tick at which a shard must be visited, at the earliest.
    #[inline]
    pub(crate) fn visit(&self, shard: u32) -> u64 {
        self.visits[shard as usize].load(Ordering::Acquire)
    }

    /// Whether any visit is to be made by `now`, shard by shard.
    pub(crate) fn due(&self, now: u64) -> impl Iterator<Item = u32> {
        (0..)
            .zip(&self.visits)
            .filter(move |(_, visit)| visit.load(Ordering::Acquire) <= now)
            .map(|(shard, _)| shard)
    }

    /// The shard to be visited first, and when.
    pub(crate) fn earliest(&self) -> Option<(u32, u64)> {
        (0..)
            .zip(&self.visits)
            .map(|(shard, visit)| (shard, visit.load(Ordering::Acquire)))
            .min_by_key(|(_, visit)| *visit)
            .filter(|(_, visit)| *visit != NEVER)
    }

    /// Under the shard's lock: something was added that must be visited at `visit`. If true, the
    /// caller calls [`Alarm::wake`] after leaving the lock.
    #[inline]
    #[must_use]
    pub(crate) fn lower(&self, shard: u32, visit: u64) -> bool {
        let slot = &self.visits[shard as usize];
        if visit >= slot.load(Ordering::Relaxed) {
            return false;
        }
        slot.store(visit, Ordering::Release);
        visit < self.armed.fetch_min(visit, Ordering::AcqRel)
    }

    /// Under the shard's lock: what its wheel says. Not earlier than the last value, so nobody
    /// needs waking.
    pub(crate) fn set(&self, shard: u32, visit: Option<u64>) {
        self.visits[shard as usize].store(visit.unwrap_or(NEVER), Ordering::Release);
    }

    /// Wakes the driver, if one waits.
    pub(crate) fn wake(&self) {
        let waker = self.waker.lock().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// From here on any tick that is lowered wakes `waker`. To be followed by a look at the
    /// ticks, and by [`Alarm::arm`] with what it showed.
    pub(crate) fn register(&self, waker: &Waker) {
        let mut current = self.waker.lock();
        if !current.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *current = Some(waker.clone());
        }
        drop(current);
        self.armed.swap(NEVER, Ordering::AcqRel);
    }

    /// The registered waker needs waking only for ticks before `visit`.
    pub(crate) fn arm(&self, visit: Option<u64>) {
        self.armed.store(visit.unwrap_or(NEVER), Ordering::Release);
    }
}
