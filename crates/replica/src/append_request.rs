//! What is asked of [`ReplicaManager::append`](crate::ReplicaManager::append), and what it answers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use klamm_primitives::{Offset, TopicId, TopicPartition};
use klamm_records::ValidationError;
use thiserror::Error;

use crate::NotServed;

/// Records for some partitions, as a produce request brings them.
#[derive(Debug, Clone)]
pub struct AppendRequest {
    /// `acks` as it is on the wire: 0 and 1 for the leader alone, -1 for all in-sync replicas.
    /// Others are refused for each partition.
    pub acks: i16,
    /// How long to wait for the other replicas, or for the leader's disk.
    pub timeout: Duration,
    /// Who sends them.
    pub origin: Origin,
    /// Whether batches may be compressed by zstd: produce requests from version 7 on.
    pub zstd_allowed: bool,
    /// The partitions, each at most once, and what is appended to them: one batch each.
    pub entries: Vec<AppendEntry>,
}

/// One partition's part of an [`AppendRequest`].
#[derive(Debug, Clone)]
pub struct AppendEntry {
    /// Where to.
    pub partition: TopicPartition,
    /// The topic's id; `None` in versions that name topics by their names alone.
    pub topic_id: Option<TopicId>,
    /// The batch, as it came. It is written from here, without a copy.
    pub records: Bytes,
}

/// Who appends as a client of a leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// An ordinary client: sequences are judged, internal topics are closed.
    Client,
    /// A coordinator of this broker: transaction markers and its own records.
    Coordinator,
}

/// What became of one partition's part. Stands in the answer at the place that the
/// [`AppendEntry`] had in the request.
#[derive(Debug, Clone)]
pub struct PartitionAppended {
    /// Where to.
    pub partition: TopicPartition,
    /// Where the records are, or why they are not.
    pub result: Result<AppendedRecords, AppendError>,
}

/// Records that were appended, or had been before and were sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendedRecords {
    /// The first record's offset.
    pub first_offset: Offset,
    /// The last record's offset.
    pub last_offset: Offset,
    /// The time that the leader gave them, in Unix milliseconds; `None` where the topic keeps
    /// the time of the producer.
    pub log_append_time_ms: Option<i64>,
    /// The log start offset.
    pub log_start_offset: Offset,
}

/// Records were not appended, or not as surely as asked for.
#[derive(Debug, Clone, Error)]
pub enum AppendError {
    /// The partition is not served here.
    #[error(transparent)]
    NotServed(#[from] NotServed),
    /// The topic was deleted, and another one has its name by now. `UNKNOWN_TOPIC_ID`. (KIP-516)
    #[error("the topic has another id")]
    UnknownTopicId,
    /// `acks` is none of -1, 0 and 1. `INVALID_REQUIRED_ACKS`. (RE-031)
    #[error("acks {acks} is none of -1, 0 and 1")]
    InvalidRequiredAcks {
        /// What the request says.
        acks: i16,
    },
    /// Clients do not write to internal topics. `INVALID_TOPIC_EXCEPTION`. (RE-039)
    #[error("the topic is internal")]
    InternalTopic,
    /// `acks` is -1 and fewer replicas are in sync than the topic asks for; nothing was written.
    /// `NOT_ENOUGH_REPLICAS`. (RE-033)
    #[error("{in_sync} replicas in sync, {min_in_sync} are needed")]
    NotEnoughReplicas {
        /// How many are in sync.
        in_sync: usize,
        /// How many must be.
        min_in_sync: usize,
    },
    /// The records are in the log and on all replicas in sync, which have become too few
    /// meanwhile. `NOT_ENOUGH_REPLICAS_AFTER_APPEND`. (RE-115)
    #[error("appended, but to {in_sync} replicas in sync, {min_in_sync} are needed")]
    NotEnoughReplicasAfterAppend {
        /// How many are in sync.
        in_sync: usize,
        /// How many must be.
        min_in_sync: usize,
    },
    /// The records are in the log, and the time was up before they were as safe as asked for.
    /// `REQUEST_TIMED_OUT`.
    #[error("the request's time is up")]
    TimedOut,
    /// The batch is not one that may be appended; [`ValidationError`] says which code that is.
    #[error(transparent)]
    Invalid(#[from] Arc<ValidationError>),
    /// The log refused the batch or failed; by its variant.
    #[error(transparent)]
    Log(#[from] Arc<klamm_log::AppendError>),
}

/// What [`ReplicaManager::append`](crate::ReplicaManager::append) has come to.
#[must_use]
pub enum AppendOutcome<W> {
    /// This is the answer. With `acks` 0 nobody reads it but for errors.
    Done(Vec<PartitionAppended>),
    /// It must wait; give it a ticket and pass both to
    /// [`ReplicaManager::wait_produce`](crate::ReplicaManager::wait_produce).
    Waits(W),
}
