//! [`PartitionQueue`]: the batches of one partition, the oldest first.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use klamm_primitives::{PartitionIndex, TopicPartition};
use parking_lot::{Mutex, MutexGuard};

use crate::batch::Boxed;
use crate::idempotence::SequenceOrder;

/// The batches of one partition.
pub(crate) struct PartitionQueue {
    name: TopicPartition,
    /// How many batches there are, for whoever looks without the lock.
    queued: AtomicU32,
    /// Whether the partition's broker takes no data, so that the sticky choice leaves it out.
    avoided: AtomicBool,
    /// Held to append one record, or to look at, take or put back one batch. Nothing else is
    /// locked under it but the list of incomplete batches and the pool's books, and nothing is
    /// called that could wait.
    state: Mutex<QueueState>,
}

/// What the lock guards.
pub(crate) struct QueueState {
    pub(crate) batches: VecDeque<Boxed>,
    /// Whether the sender knows of this queue.
    pub(crate) listed: bool,
    /// Nothing is taken out while a batch of this partition is in flight, where order rests on
    /// that. (PR-080)
    pub(crate) muted: bool,
    /// Nothing is appended any more.
    pub(crate) closed: bool,
}

impl PartitionQueue {
    pub(crate) fn new(name: TopicPartition, closed: bool) -> Self {
        Self {
            name,
            queued: AtomicU32::new(0),
            avoided: AtomicBool::new(false),
            state: Mutex::new(QueueState {
                batches: VecDeque::new(),
                listed: false,
                muted: false,
                closed,
            }),
        }
    }

    pub(crate) fn name(&self) -> &TopicPartition {
        &self.name
    }

    pub(crate) fn index(&self) -> PartitionIndex {
        self.name.partition
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }

    /// How many batches there are, as of a moment ago.
    pub(crate) fn len(&self) -> u32 {
        self.queued.load(Ordering::Relaxed)
    }

    /// Publishes how many batches there are.
    pub(crate) fn count(&self, state: &QueueState) {
        let count = u32::try_from(state.batches.len()).unwrap_or(u32::MAX);
        self.queued.store(count, Ordering::Relaxed);
    }

    pub(crate) fn is_avoided(&self) -> bool {
        self.avoided.load(Ordering::Relaxed)
    }

    pub(crate) fn avoid(&self, avoided: bool) {
        self.avoided.store(avoided, Ordering::Relaxed);
    }

    /// Puts a batch back to be sent again: at the head or, where batches have sequences, behind
    /// those that come before it. (P7.2, PR-075)
    pub(crate) fn put_back(&self, batch: Boxed) -> bool {
        let mut state = self.lock();
        let at = match batch.stamp() {
            None => 0,
            Some(stamp) => {
                let comes_first = |queued: &Boxed| {
                    queued
                        .stamp()
                        .is_some_and(|queued| queued.base_sequence.is_before(stamp.base_sequence))
                };
                state
                    .batches
                    .iter()
                    .take_while(|queued| comes_first(queued))
                    .count()
            }
        };
        state.batches.insert(at, batch);
        self.count(&state);
        !std::mem::replace(&mut state.listed, true)
    }
}
