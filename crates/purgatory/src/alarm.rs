//! When each shard's wheel must be visited, and whom to wake if that becomes earlier.

use std::task::Waker;

use crate::sync::{AtomicU64, Mutex, Ordering};

/// No wheel has anything to do.
pub(crate) const NEVER: u64 = u64::MAX;

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
    /// The latest tick that anybody has told. Where no driver has had anything to do for long, it
    /// lies back, and a timer that is set then is visited early, once.
    now: AtomicU64,
    visits: Box<[AtomicU64]>,
    /// The driver needs no waking for this tick or a later one. 0 while there is no driver.
    armed: AtomicU64,
    waker: Mutex<Option<Waker>>,
}

impl Alarm {
    pub(crate) fn new(shards: u32) -> Self {
        Self {
            now: AtomicU64::new(0),
            visits: (0..shards).map(|_| AtomicU64::new(NEVER)).collect(),
            armed: AtomicU64::new(0),
            waker: Mutex::new(None),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Tells the time.
    pub(crate) fn tell(&self, now: u64) {
        self.now.fetch_max(now, Ordering::Relaxed);
    }

    /// The shards to be visited by `now`.
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

    /// Under the lock of `shard`, whose state keeps what was noted last in `noted`: something was
    /// added that must be visited at `visit`. If true, a driver sleeps for longer than that, and
    /// the caller calls [`Alarm::wake`] after leaving the lock.
    #[inline]
    #[must_use]
    pub(crate) fn lower(&self, shard: u32, noted: &mut u64, visit: u64) -> bool {
        if visit >= *noted {
            return false;
        }
        *noted = visit;
        self.visits[shard as usize].store(visit, Ordering::Release);
        visit < self.armed.fetch_min(visit, Ordering::AcqRel)
    }

    /// As [`Alarm::lower`], after a look at the wheel, which is not to be visited before `visit`.
    pub(crate) fn raise(&self, shard: u32, noted: &mut u64, visit: Option<u64>) {
        let visit = visit.unwrap_or(NEVER);
        debug_assert!(visit >= *noted);
        *noted = visit;
        self.visits[shard as usize].store(visit, Ordering::Release);
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
