//! The partition of a record. (P2.3)

use std::num::NonZeroU32;
use std::sync::Arc;

use klamm_client::Topic;
use klamm_primitives::{PartitionIndex, partition_for_key};

use crate::accumulator::{TopicQueues, partition_count};
use crate::error::SendError;
use crate::partitioner::Choice;
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

pub(super) fn choice<'a>(known: &'a Topic, parts: Parts<'a>) -> Choice<'a> {
    Choice {
        topic: parts.topic,
        key: parts.key,
        value: parts.value,
        partition_count: partition_count(known).unwrap_or(NonZeroU32::MIN),
        available: known.available_indices(),
    }
}

impl<K, V> Shared<K, V> {
    /// The partition of a record: its own, else a partitioner's, else its key's, else the sticky
    /// one. (P2.3, PR-023)
    #[inline]
    pub(super) fn choose(
        &self,
        topic: &TopicQueues,
        known: &Topic,
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
        let count = partition_count(known).unwrap_or(NonZeroU32::MIN);
        if let Some(partitioner) = &self.partitioner {
            let partition = partitioner.partition(&choice(known, parts));
            if known.partition(partition).is_none() {
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
        let sticky = self.accumulator.sticky_partition(topic, known);
        Ok(Chosen {
            is_sticky: true,
            ..fixed(sticky.unwrap_or_default())
        })
    }
}
