//! [`Sticky`]: the built-in choice for records without a key.
//!
//! All of them go to one partition until about a batch's worth of bytes has gone there, then
//! another is drawn: batches get full, and over time all partitions get their share. Partitions
//! whose queues are long, because their brokers are slow, are drawn less often (KIP-794).

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use fastrand::Rng;
use klamm_primitives::PartitionIndex;
use parking_lot::Mutex;

/// No partition has been drawn yet.
const NONE: i32 = -1;

/// The sticky choice of one topic.
///
/// Read without a lock. It is changed by whoever holds the lock of the current partition's queue,
/// so that a record that was appended under that lock, after [`is_current`](Self::is_current) was
/// true under it, belongs there.
#[derive(Debug)]
pub(crate) struct Sticky {
    /// The partition, or [`NONE`].
    current: AtomicI32,
    /// Bytes that went there since it was drawn.
    produced: AtomicUsize,
    /// Bytes after which another is drawn.
    stay_bytes: usize,
    /// For the draws, which are rare.
    rng: Mutex<Rng>,
}

/// A partition that may be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) partition: PartitionIndex,
    /// How many batches wait there.
    pub(crate) queued: u32,
}

impl Sticky {
    /// Draws another partition after `stay_bytes`. `None` for 0 bytes, with which it would never
    /// settle.
    pub(crate) fn new(stay_bytes: usize, seed: u64) -> Option<Self> {
        (stay_bytes > 0).then(|| Self {
            current: AtomicI32::new(NONE),
            produced: AtomicUsize::new(0),
            stay_bytes,
            rng: Mutex::new(Rng::with_seed(seed)),
        })
    }

    /// The partition where records go, drawing one if there is none. A topic without partitions
    /// has none.
    pub(crate) fn current(
        &self,
        candidates: impl FnOnce() -> Vec<Candidate>,
    ) -> Option<PartitionIndex> {
        let current = self.current.load(Ordering::Acquire);
        if current != NONE {
            return Some(current.into());
        }
        let drawn = self.draw(&candidates())?;
        // Another task may have drawn at the same time: the first one counts.
        let first =
            self.current
                .compare_exchange(NONE, drawn.get(), Ordering::AcqRel, Ordering::Acquire);
        Some(first.map_or_else(PartitionIndex::new, |_| drawn))
    }

    /// Whether records still go there. To be asked under the lock of that partition's queue.
    pub(crate) fn is_current(&self, partition: PartitionIndex) -> bool {
        self.current.load(Ordering::Acquire) == partition.get()
    }

    /// Counts what was appended to the current partition, and draws another when enough was.
    /// While its last batch has room it stays, up to twice the bytes, so that it does not leave
    /// small batches behind. To be called under the lock of that partition's queue.
    pub(crate) fn appended(
        &self,
        bytes: usize,
        last_batch_is_full: bool,
        candidates: impl FnOnce() -> Vec<Candidate>,
    ) {
        // Only one at a time is here, by the lock; the atomics are for those who look.
        let produced = self.produced.load(Ordering::Relaxed) + bytes;
        let enough = produced >= self.stay_bytes && last_batch_is_full;
        if !enough && produced < self.stay_bytes.saturating_mul(2) {
            self.produced.store(produced, Ordering::Relaxed);
            return;
        }
        if let Some(drawn) = self.draw(&candidates()) {
            self.produced.store(0, Ordering::Relaxed);
            self.current.store(drawn.get(), Ordering::Release);
        }
    }

    fn draw(&self, candidates: &[Candidate]) -> Option<PartitionIndex> {
        let [first, others @ ..] = candidates else {
            return None;
        };
        if others.is_empty() {
            return Some(first.partition);
        }
        let weights = weights(candidates);
        let total: u64 = weights.clone().sum();
        let mut point = self.rng.lock().u64(0..total);
        for (candidate, weight) in candidates.iter().zip(weights) {
            match point.checked_sub(weight) {
                Some(rest) => point = rest,
                None => return Some(candidate.partition),
            }
        }
        None
    }
}

/// How likely each is to be drawn: the longest queue and one, less its own.
fn weights(candidates: &[Candidate]) -> impl Iterator<Item = u64> + Clone {
    let longest = candidates.iter().map(|candidate| candidate.queued).max();
    let above = u64::from(longest.unwrap_or(0)) + 1;
    candidates
        .iter()
        .map(move |candidate| above - u64::from(candidate.queued))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(queued: &[u32]) -> Vec<Candidate> {
        (0..)
            .zip(queued)
            .map(|(index, queued)| Candidate {
                partition: PartitionIndex::new(index),
                queued: *queued,
            })
            .collect()
    }

    fn drawn(queued: &[u32], count: u32) -> Vec<u32> {
        let sticky = Sticky::new(1, 3).unwrap();
        let candidates = candidates(queued);
        let mut counts = vec![0; queued.len()];
        for _ in 0..count {
            let drawn = sticky.draw(&candidates).unwrap().get();
            counts[usize::try_from(drawn).unwrap()] += 1;
        }
        counts
    }

    /// Covers PR-029, C079.
    #[test]
    fn short_queues_are_drawn_more_often() {
        let of = |queued: &[u32]| weights(&candidates(queued)).collect::<Vec<_>>();
        assert_eq!(of(&[1, 7, 2]), [7, 1, 6]);
        assert_eq!(of(&[5, 0, 3, 0, 1]), [1, 6, 3, 6, 5]);
        assert_eq!(of(&[4, 4]), [1, 1]);
        for (count, expected) in drawn(&[1, 7, 2], 14_000)
            .into_iter()
            .zip([7_000, 1_000, 6_000])
        {
            assert!(count.abs_diff(expected) < 300, "{count} of {expected}");
        }
    }

    #[test]
    fn pr_025_it_stays_for_a_batchs_worth_and_then_draws_at_random() {
        let sticky = Sticky::new(1000, 1).unwrap();
        let three = || candidates(&[0, 0, 0]);
        let mut changes = [0; 3];
        let mut current = sticky.current(three).unwrap();
        for _ in 0..3000 {
            for _ in 0..9 {
                sticky.appended(100, true, three);
                assert!(sticky.is_current(current));
            }
            sticky.appended(100, true, three);
            current = sticky.current(three).unwrap();
            changes[usize::try_from(current.get()).unwrap()] += 1;
        }
        assert!(
            changes.iter().all(|count| (900..1100).contains(count)),
            "{changes:?}"
        );
    }

    #[test]
    fn a_batch_with_room_keeps_it_up_to_twice_the_bytes() {
        let sticky = Sticky::new(1000, 1).unwrap();
        let two = || candidates(&[0, 0]);
        sticky.current(two).unwrap();
        sticky.appended(1999, false, || panic!("nothing is drawn"));
        sticky.appended(1, false, two);
        assert_eq!(sticky.produced.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn pr_026_a_single_partition_or_none_is_no_failure() {
        let sticky = Sticky::new(1, 1).unwrap();
        assert_eq!(sticky.current(Vec::new), None);
        let one = || candidates(&[9]);
        assert_eq!(sticky.current(one), Some(0.into()));
        sticky.appended(100, true, one);
        assert_eq!(sticky.current(one), Some(0.into()));
        sticky.appended(100, true, Vec::new);
        assert_eq!(sticky.current(one), Some(0.into()));
    }

    #[test]
    fn pr_035_it_cannot_be_made_to_stay_for_nothing() {
        assert!(Sticky::new(0, 1).is_none());
    }
}
