//! Replicas that were assigned by hand, and the records of new partitions. (CO-038, CO-042,
//! CO-049, CO-050)

use klamm_primitives::{BrokerId, LeaderEpoch, PartitionIndex, TopicId};
use klamm_wire::metadata::partition::PartitionRecord;
use thiserror::Error;

use crate::image::MetadataImage;
use crate::partition_change::default_directory;

/// Replicas assigned by hand contradict one another or the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AssignmentError {
    /// The indexes do not run from 0 without gaps or repeats.
    #[error("partition {index} is assigned where {expected} should follow")]
    Indexes {
        /// What is there.
        index: PartitionIndex,
        /// What should be.
        expected: PartitionIndex,
    },
    /// There are more or fewer lists than new partitions.
    #[error("{given} lists of replicas for {expected} new partitions")]
    ListCount {
        /// Lists.
        given: usize,
        /// New partitions.
        expected: usize,
    },
    /// A list is empty.
    #[error("a list of replicas is empty")]
    Empty,
    /// Lists are of different lengths, or not of the topic's replication factor.
    #[error("a list of {given} replicas where others have {expected}")]
    UnequalLength {
        /// Its length.
        given: usize,
        /// What it should be.
        expected: usize,
    },
    /// A broker is in a list twice.
    #[error("broker {broker} is in a list of replicas twice")]
    Repeated {
        /// The broker.
        broker: BrokerId,
    },
    /// A broker is not registered.
    #[error("broker {broker} is not registered")]
    UnknownBroker {
        /// The broker.
        broker: BrokerId,
    },
    /// No broker of a list could lead: all are fenced or about to stop.
    #[error("no broker of a list of replicas is active")]
    NoneActive,
}

/// Checks a list; `len` is that of the others, if there are others.
pub(crate) fn check_replicas(
    image: &MetadataImage,
    replicas: &[BrokerId],
    len: Option<usize>,
) -> Result<(), AssignmentError> {
    if replicas.is_empty() {
        return Err(AssignmentError::Empty);
    }
    for (place, broker) in replicas.iter().enumerate() {
        let broker = *broker;
        if image.broker(broker).is_none() {
            return Err(AssignmentError::UnknownBroker { broker });
        }
        if replicas[..place].contains(&broker) {
            return Err(AssignmentError::Repeated { broker });
        }
    }
    match len {
        Some(expected) if expected != replicas.len() => Err(AssignmentError::UnequalLength {
            given: replicas.len(),
            expected,
        }),
        _ => Ok(()),
    }
}

/// The record of a new partition: its ISR are the active ones of the replicas, the first of which
/// leads. `None` where none is active.
pub(crate) fn new_partition(
    image: &MetadataImage,
    topic: TopicId,
    index: PartitionIndex,
    replicas: Vec<BrokerId>,
) -> Option<PartitionRecord> {
    let active = replicas.iter().copied().filter(|id| image.is_active(*id));
    let isr: Vec<_> = active.collect();
    let directories = replicas.iter().map(|id| default_directory(image, *id));
    Some(PartitionRecord {
        partition_id: index,
        topic_id: topic,
        leader: *isr.first()?,
        isr,
        leader_recovery_state: 0,
        leader_epoch: LeaderEpoch::new(0),
        partition_epoch: 0,
        directories: directories.collect(),
        replicas,
        ..PartitionRecord::default()
    })
}
