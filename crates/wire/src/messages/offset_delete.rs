//! `OffsetDelete` (key 47): forgets offsets that a group has committed.
//!
//! One version, never flexible (KIP-496). In the answer the error stands before the throttle time.

use crate::prelude::*;

/// Asks a group's coordinator to forget the offsets of some partitions.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(47), versions = 0..=0, listeners(broker))]
pub struct OffsetDeleteRequest {
    /// The group whose offsets these are.
    pub group_id: ByteString,
    /// The partitions to forget, by topic.
    pub topics: Vec<OffsetDeleteRequestTopic>,
}

/// Partitions of one topic, in [`OffsetDeleteRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetDeleteRequestTopic {
    /// The topic's name.
    pub name: ByteString,
    /// The partitions of that topic to forget.
    pub partitions: Vec<OffsetDeleteRequestPartition>,
}

/// One partition, in [`OffsetDeleteRequestTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetDeleteRequestPartition {
    /// The partition whose committed offset to forget.
    pub partition_index: PartitionIndex,
}

/// Answers [`OffsetDeleteRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(47), versions = 0..=0)]
pub struct OffsetDeleteResponse {
    /// What concerns the group as a whole: `GROUP_ID_NOT_FOUND`, `NOT_COORDINATOR`, or
    /// `NON_EMPTY_GROUP` for a group with members that is no consumer group. The list of topics
    /// is then empty.
    pub error_code: ErrorCode,
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    #[wire(ignorable)]
    pub throttle_time_ms: i32,
    /// One entry for each topic asked for.
    pub topics: Vec<OffsetDeleteResponseTopic>,
}

/// What became of one topic, in [`OffsetDeleteResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetDeleteResponseTopic {
    /// The topic's name.
    pub name: ByteString,
    /// One entry for each partition asked for.
    pub partitions: Vec<OffsetDeleteResponsePartition>,
}

/// What became of one partition, in [`OffsetDeleteResponseTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetDeleteResponsePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// `GROUP_SUBSCRIBED_TO_TOPIC` when a member of the group reads the topic, so that its offset
    /// stays. Nothing to forget is no error.
    pub error_code: ErrorCode,
}
