//! What is asked of [`ReplicaManager::delete_records`](crate::ReplicaManager::delete_records), and
//! what it answers.

use std::sync::Arc;
use std::time::Duration;

use klamm_primitives::{Offset, TopicPartition};
use thiserror::Error;

use crate::NotServed;

/// Deletes the oldest records of some partitions.
#[derive(Debug, Clone)]
pub struct DeleteRecordsRequest {
    /// How long to wait for the followers.
    pub timeout: Duration,
    /// The partitions, and before which offset; `None` is before the high watermark (-1).
    pub entries: Vec<(TopicPartition, Option<Offset>)>,
}

/// What became of one partition's part, at its place in the request.
#[derive(Debug, Clone)]
pub struct PartitionDeleted {
    /// Which partition.
    pub partition: TopicPartition,
    /// The low watermark: the smallest log start offset over the replicas that live.
    pub result: Result<Offset, DeleteRecordsError>,
}

/// Records were not deleted, or not on all replicas.
#[derive(Debug, Clone, Error)]
pub enum DeleteRecordsError {
    /// The partition is not led here.
    #[error(transparent)]
    NotServed(#[from] NotServed),
    /// The topic's policy keeps records until compaction. `POLICY_VIOLATION`. (RE-090)
    #[error("cleanup.policy lacks delete")]
    PolicyViolation,
    /// The offset is below 0 or above the high watermark. `OFFSET_OUT_OF_RANGE`.
    #[error("offset {offset} is not within 0 to {high_watermark}")]
    OffsetOutOfRange {
        /// What was asked for.
        offset: Offset,
        /// The high watermark.
        high_watermark: Offset,
    },
    /// The log refused. `KAFKA_STORAGE_ERROR`.
    #[error(transparent)]
    Log(#[from] Arc<klamm_log::ChangeError>),
    /// The records are gone here, and the time was up before all followers knew.
    /// `REQUEST_TIMED_OUT`.
    #[error("the request's time is up")]
    TimedOut,
}

/// What [`ReplicaManager::delete_records`](crate::ReplicaManager::delete_records) has come to.
#[must_use]
pub enum DeleteRecordsOutcome<W> {
    /// This is the answer.
    Done(Vec<PartitionDeleted>),
    /// It must wait; give it a ticket and pass both to
    /// [`ReplicaManager::wait_delete_records`](crate::ReplicaManager::wait_delete_records).
    Waits(W),
}
