//! `DeleteRecords` (key 21): drops the records before an offset; answered by each partition's
//! leader.
//!
//! v1 lets the client, not the broker, wait out the throttle time; v2 is flexible.

use crate::prelude::*;

/// Raises the log start offset of partitions. Answered when every replica that is alive has
/// raised its own, or at the time-out.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(21), versions = 0..=2, flexible = 2.., listeners(broker))]
pub struct DeleteRecordsRequest {
    /// The topics to delete from.
    pub topics: Vec<DeleteRecordsTopic>,
    /// Milliseconds to wait for the replicas.
    pub timeout_ms: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic, in [`DeleteRecordsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeleteRecordsTopic {
    /// The topic's name.
    pub name: ByteString,
    /// The partitions to delete from.
    pub partitions: Vec<DeleteRecordsPartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition, in [`DeleteRecordsTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeleteRecordsPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The first offset to keep; -1 stands for the high watermark.
    pub offset: Offset,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DeleteRecordsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(21), versions = 0..=2, flexible = 2..)]
pub struct DeleteRecordsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each topic of the request.
    pub topics: Vec<DeleteRecordsTopicResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's outcome, in [`DeleteRecordsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeleteRecordsTopicResult {
    /// The topic's name.
    pub name: ByteString,
    /// One entry for each partition of the request.
    pub partitions: Vec<DeleteRecordsPartitionResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's outcome, in [`DeleteRecordsTopicResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeleteRecordsPartitionResult {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The lowest log start offset among the replicas that are alive; -1 on error.
    pub low_watermark: Offset,
    /// Why the records are not surely gone; 0 when they are.
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
