//! [`TopicQueues`]: the queues of one topic, and what its partitions share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arc_swap::ArcSwap;
use klamm_primitives::{PartitionIndex, TopicPartition};
use klamm_records::{Codec, CompressionRatios};
use parking_lot::Mutex;

use crate::accumulator::queue::PartitionQueue;
use crate::partitioner::sticky::Sticky;

/// The queues by partition index; those that were never used are missing.
type Queues = Vec<Option<Arc<PartitionQueue>>>;

/// The queues of one topic.
pub(crate) struct TopicQueues {
    name: Arc<str>,
    /// Read for each record; a queue is added by putting a new list in its place, under the
    /// accumulator's growth lock.
    queues: ArcSwap<Queues>,
    sticky: Sticky,
    /// Held by the sender, for a batch that was compressed.
    ratios: Mutex<CompressionRatios>,
    /// The estimate for the codec in use, as the bits of an `f32`: read for each new batch.
    expected_ratio: AtomicU32,
}

impl TopicQueues {
    pub(crate) fn new(name: Arc<str>, sticky: Sticky) -> Self {
        Self {
            name,
            queues: ArcSwap::default(),
            sticky,
            ratios: Mutex::default(),
            expected_ratio: AtomicU32::new(1.0_f32.to_bits()),
        }
    }

    pub(crate) fn sticky(&self) -> &Sticky {
        &self.sticky
    }

    pub(crate) fn queue(&self, partition: PartitionIndex) -> Option<Arc<PartitionQueue>> {
        let at = usize::try_from(partition.get()).ok()?;
        self.queues.load().get(at)?.clone()
    }

    /// Looks at a queue, if it is there, without a share in it.
    #[inline]
    pub(crate) fn with_queue<T>(
        &self,
        partition: PartitionIndex,
        look: impl FnOnce(&Arc<PartitionQueue>) -> T,
    ) -> Option<T> {
        let at = usize::try_from(partition.get()).ok()?;
        self.queues.load().get(at)?.as_ref().map(look)
    }

    /// To be called under the accumulator's growth lock.
    pub(crate) fn queue_or_add(
        &self,
        partition: PartitionIndex,
        closed: bool,
    ) -> Arc<PartitionQueue> {
        if let Some(queue) = self.queue(partition) {
            return queue;
        }
        let at = usize::try_from(partition.get()).expect("partitions are checked before");
        let name = TopicPartition::new(Arc::clone(&self.name), partition);
        let queue = Arc::new(PartitionQueue::new(name, closed));
        let mut more = Queues::clone(&self.queues.load());
        if more.len() <= at {
            more.resize(at + 1, None);
        }
        more[at] = Some(Arc::clone(&queue));
        self.queues.store(Arc::new(more));
        queue
    }

    pub(crate) fn with_queues<T>(
        &self,
        look: impl FnOnce(&[Option<Arc<PartitionQueue>>]) -> T,
    ) -> T {
        look(&self.queues.load())
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
