//! [`TopicQueues`]: the queues of one topic, and what its partitions share.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use klamm_primitives::{PartitionIndex, TopicPartition};
use klamm_records::{Codec, CompressionRatios};
use parking_lot::Mutex;

use crate::accumulator::queue::PartitionQueue;
use crate::partitioner::sticky::Sticky;

/// How many queues the first segment has places for; each further one has twice as many.
const FIRST_SEGMENT: usize = 8;

/// So many segments have a place for each partition index that there can be.
const SEGMENTS: usize = 29;

/// Places for queues, empty until a partition is used.
type Segment = Box<[OnceLock<Arc<PartitionQueue>>]>;

/// The queues by partition index; those that were never used are missing. Places never move, so
/// that looking at one, which each record does, is two loads and no count of who looks.
#[derive(Default)]
struct Queues([OnceLock<Segment>; SEGMENTS]);

impl Queues {
    /// The segment of a partition, and the place in it.
    fn place(partition: PartitionIndex) -> Option<(usize, usize)> {
        let at = usize::try_from(partition.get()).ok()? + FIRST_SEGMENT;
        let segment = (at / FIRST_SEGMENT).ilog2() as usize;
        Some((segment, at - (FIRST_SEGMENT << segment)))
    }

    #[inline]
    fn get(&self, partition: PartitionIndex) -> Option<&Arc<PartitionQueue>> {
        let (segment, place) = Self::place(partition)?;
        self.0[segment].get()?[place].get()
    }

    fn get_or_add(
        &self,
        partition: PartitionIndex,
        make: impl FnOnce() -> Arc<PartitionQueue>,
    ) -> &Arc<PartitionQueue> {
        let (segment, place) = Self::place(partition).expect("partitions are checked before");
        let empty = || (0..FIRST_SEGMENT << segment).map(|_| OnceLock::new());
        let segment = self.0[segment].get_or_init(|| empty().collect());
        segment[place].get_or_init(make)
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<PartitionQueue>> {
        let segments = self.0.iter().filter_map(OnceLock::get);
        segments.flat_map(|places| places.iter().filter_map(OnceLock::get))
    }
}

/// The queues of one topic.
pub(crate) struct TopicQueues {
    name: Arc<str>,
    /// Read for each record; one is added under the accumulator's growth lock.
    queues: Queues,
    sticky: Sticky,
    /// How many partitions the topic has, in the lower half, by the snapshot of the metadata whose
    /// number is in the upper one; 0 before that was looked up.
    partition_count: AtomicU64,
    /// Held by the sender, for a batch that was compressed.
    ratios: Mutex<CompressionRatios>,
    /// The estimate for the codec in use, as the bits of an `f32`: read for each new batch.
    expected_ratio: AtomicU32,
}

impl TopicQueues {
    pub(crate) fn new(name: Arc<str>, sticky: Sticky) -> Self {
        Self {
            name,
            queues: Queues::default(),
            sticky,
            partition_count: AtomicU64::new(0),
            ratios: Mutex::default(),
            expected_ratio: AtomicU32::new(1.0_f32.to_bits()),
        }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// How many partitions the topic has by the snapshot with that number, if it was noted.
    #[inline]
    pub(crate) fn partition_count(&self, snapshot_number: u32) -> Option<NonZeroU32> {
        let noted = self.partition_count.load(Ordering::Relaxed);
        let is_current = noted >> 32 == u64::from(snapshot_number);
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
        NonZeroU32::new(noted as u32).filter(|_| is_current)
    }

    /// Notes how many partitions the topic has by a snapshot that is not older than the number.
    pub(crate) fn note_partition_count(&self, snapshot_number: u32, count: NonZeroU32) {
        let noted = u64::from(snapshot_number) << 32 | u64::from(count.get());
        self.partition_count.store(noted, Ordering::Relaxed);
    }

    pub(crate) fn sticky(&self) -> &Sticky {
        &self.sticky
    }

    pub(crate) fn queue(&self, partition: PartitionIndex) -> Option<Arc<PartitionQueue>> {
        self.queues.get(partition).cloned()
    }

    /// Looks at a queue, if it is there, without a share in it.
    #[inline]
    pub(crate) fn with_queue<T>(
        &self,
        partition: PartitionIndex,
        look: impl FnOnce(&Arc<PartitionQueue>) -> T,
    ) -> Option<T> {
        self.queues.get(partition).map(look)
    }

    /// To be called under the accumulator's growth lock.
    pub(crate) fn queue_or_add(
        &self,
        partition: PartitionIndex,
        closed: bool,
    ) -> Arc<PartitionQueue> {
        let make = || {
            let name = TopicPartition::new(Arc::clone(&self.name), partition);
            Arc::new(PartitionQueue::new(name, closed))
        };
        Arc::clone(self.queues.get_or_add(partition, make))
    }

    /// All that were used.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &Arc<PartitionQueue>> {
        self.queues.iter()
    }

    /// What part of their size records are expected to keep when compressed. (PR-048)
    pub(crate) fn expected_ratio(&self) -> f32 {
        f32::from_bits(self.expected_ratio.load(Ordering::Relaxed))
    }

    /// Takes into account what a batch really kept.
    pub(crate) fn observe(&self, codec: Codec, ratio: f32) {
        let mut ratios = self.ratios.lock();
        ratios.observe(codec, ratio);
        let estimate = ratios.estimate(codec).to_bits();
        self.expected_ratio.store(estimate, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_partition_has_a_place_of_its_own() {
        let mut places = HashSet::new();
        for partition in 0..10_000 {
            let (segment, place) = Queues::place(partition.into()).unwrap();
            assert!(place < FIRST_SEGMENT << segment);
            assert!(places.insert((segment, place)));
        }
        let (last, _) = Queues::place(i32::MAX.into()).unwrap();
        assert_eq!(last + 1, SEGMENTS);
        assert_eq!(Queues::place((-1).into()), None);
    }

    #[test]
    fn a_queue_is_made_once_and_found_again() {
        let queues = TopicQueues::new("t".into(), Sticky::new(1, 1).unwrap());
        assert!(queues.queue(1_000.into()).is_none());
        let made = queues.queue_or_add(1_000.into(), false);
        assert!(Arc::ptr_eq(&made, &queues.queue_or_add(1_000.into(), true)));
        assert!(Arc::ptr_eq(&made, &queues.queue(1_000.into()).unwrap()));
        assert_eq!(queues.queues().count(), 1);
        assert_eq!(queues.with_queue(999.into(), |_| ()), None);
    }

    #[test]
    fn a_count_of_partitions_holds_for_the_snapshot_that_it_was_seen_in() {
        let queues = TopicQueues::new("t".into(), Sticky::new(1, 1).unwrap());
        assert_eq!(queues.partition_count(0), None);
        let count = NonZeroU32::new(7);
        queues.note_partition_count(u32::MAX, count.unwrap());
        assert_eq!(queues.partition_count(u32::MAX), count);
        assert_eq!(queues.partition_count(0), None);
    }
}
