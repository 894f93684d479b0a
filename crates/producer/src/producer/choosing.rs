//! The partition of a record. (P2.3)

use std::num::NonZeroU32;
use std::sync::Arc;

use klamm_client::Topic;
use klamm_primitives::{PartitionIndex, partition_for_key};

use crate::accumulator::{TopicQueues, partition_count};
use crate::error::SendError;
use crate::partitioner::Choice;
use crate::partitioner::sticky::Candidate;
use crate::producer::Shared;
use crate::producer::send::Parts;

/// A partition, and how it came about.
#[derive(Clone, Copy)]
pub(super) struct Chosen {
    pub(super) partition: PartitionIndex,
    pub(super) is_sticky: bool,
    /// Whether a partitioner is asked once more if a new batch would be begun. (PR-033)
    pub(super) may_change: bool,
}

/// What a partitioner is told; `known` is missing if the topic has just gone from the metadata.
pub(super) fn choice<'a>(
    partition_count: NonZeroU32,
    known: Option<&'a Topic>,
    parts: Parts<'a>,
) -> Choice<'a> {
    Choice {
        topic: parts.topic,
        key: parts.key,
        value: parts.value,
        partition_count,
        available: known.map_or(&[], Topic::available_indices),
    }
}

impl<K, V> Shared<K, V> {
    /// The partition of a record: its own, else a partitioner's, else its key's, else the sticky
    /// one. (P2.3, PR-023)
    #[inline]
    pub(super) fn choose(
        &self,
        topic: &TopicQueues,
        count: NonZeroU32,
        parts: Parts<'_>,
    ) -> Result<Chosen, SendError> {
        let fixed = |partition| Chosen {
            partition,
            is_sticky: false,
            may_change: false,
        };
        if let Some(partition) = parts.asked_for {
            return Ok(fixed(partition));
        }
        if let Some(partitioner) = &self.partitioner {
            let cluster = self.client.metadata().look();
            let known = cluster.topic(parts.topic).map(|topic| &**topic);
            let partition = partitioner.partition(&choice(count, known, parts));
            if u32::try_from(partition.get()).map_or(true, |index| index >= count.get()) {
                return Err(SendError::NoSuchPartition {
                    topic: Arc::clone(parts.topic),
                    chosen: partition,
                    count: count.get(),
                });
            }
            return Ok(Chosen {
                may_change: true,
                ..fixed(partition)
            });
        }
        if let Some(key) = parts.key
            && !self.limits.ignore_keys
        {
            return Ok(fixed(partition_for_key(key, count)));
        }
        let sticky = topic.sticky().current(|| self.candidates(topic));
        Ok(Chosen {
            is_sticky: true,
            ..fixed(sticky.unwrap_or_default())
        })
    }

    /// How many partitions a topic has, if it is known: noted for each snapshot of the metadata, so
    /// that a record does not look into that.
    #[inline]
    pub(super) fn partition_count(&self, topic: &TopicQueues) -> Option<NonZeroU32> {
        let snapshot_number = self.client.metadata().snapshot_number();
        let noted = topic.partition_count(snapshot_number);
        noted.or_else(|| self.look_up_partition_count(topic, snapshot_number))
    }

    #[cold]
    fn look_up_partition_count(
        &self,
        topic: &TopicQueues,
        snapshot_number: u32,
    ) -> Option<NonZeroU32> {
        let cluster = self.client.metadata().look();
        let count = partition_count(cluster.topic(topic.name())?)?;
        topic.note_partition_count(snapshot_number, count);
        Some(count)
    }

    /// The partitions that the sticky choice may draw.
    #[cold]
    pub(super) fn candidates(&self, topic: &TopicQueues) -> Vec<Candidate> {
        let cluster = self.client.metadata().look();
        let known = cluster.topic(topic.name());
        known.map_or_else(Vec::new, |known| self.accumulator.candidates(topic, known))
    }
}
