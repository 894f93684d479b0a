//! `ReadShareGroupState` (key 84): reads the stored state of share-partitions (KIP-932).
//!
//! The leader of a partition sends it to the share coordinator before it first serves a share
//! group. Reading also fences: the leader epoch is kept, and writes by former leaders fail.

use crate::prelude::*;

/// Reads the state of some of a share group's partitions.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(84), versions = 0..=0, flexible = 0.., listeners(broker))]
pub struct ReadShareGroupStateRequest {
    /// The share group.
    pub group_id: ByteString,
    /// The partitions, by topic.
    pub topics: Vec<ReadStateData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The partitions of one topic, in [`ReadShareGroupStateRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ReadStateData {
    /// The topic.
    pub topic_id: TopicId,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition to read, in [`ReadStateData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionData {
    /// The partition.
    pub partition: PartitionIndex,
    /// The epoch in which the sender leads the partition.
    pub leader_epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ReadShareGroupStateRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(84), versions = 0..=0, flexible = 0..)]
pub struct ReadShareGroupStateResponse {
    /// The states, by topic.
    pub results: Vec<ReadStateResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The states of one topic, in [`ReadShareGroupStateResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ReadStateResult {
    /// The topic.
    pub topic_id: TopicId,
    /// The state of each partition.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The state of one partition, in [`ReadStateResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionResult {
    /// The partition.
    pub partition: PartitionIndex,
    /// 0 or what went wrong; the state then has no meaning.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// The epoch of the state, which later writes have to name.
    pub state_epoch: i32,
    /// The first offset that may still be delivered; all before it are settled. -1 when the
    /// partition has no start yet.
    pub start_offset: Offset,
    /// What is known of offsets from `start_offset` on. Offsets in no batch are available and
    /// were never delivered.
    pub state_batches: Vec<StateBatch>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A range of offsets that share one state, in [`PartitionResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct StateBatch {
    /// The first offset of the range.
    pub first_offset: Offset,
    /// The last offset of the range, part of it.
    pub last_offset: Offset,
    /// 0 available, 2 acknowledged, 4 archived (never delivered again).
    pub delivery_state: i8,
    /// How many times the records have been delivered.
    pub delivery_count: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
