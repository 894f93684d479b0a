//! `ReadShareGroupStateSummary` (key 87): the start offsets of share-partitions, without the
//! state of single ranges (KIP-932).
//!
//! The coordinator of a share group sends it to the share coordinator to answer an admin
//! client's `DescribeShareGroupOffsets`. v1 added the count of completed deliveries (KIP-1226).

use crate::prelude::*;

/// Reads where some of a share group's partitions stand.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(87), versions = 0..=1, flexible = 0.., listeners(broker))]
pub struct ReadShareGroupStateSummaryRequest {
    /// The share group.
    pub group_id: ByteString,
    /// The partitions, by topic.
    pub topics: Vec<ReadStateSummaryData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The partitions of one topic, in [`ReadShareGroupStateSummaryRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ReadStateSummaryData {
    /// The topic.
    pub topic_id: TopicId,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition to read, in [`ReadStateSummaryData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionData {
    /// The partition.
    pub partition: PartitionIndex,
    /// The leader epoch of the partition as the sender knows it.
    pub leader_epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ReadShareGroupStateSummaryRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(87), versions = 0..=1, flexible = 0..)]
pub struct ReadShareGroupStateSummaryResponse {
    /// The summaries, by topic.
    pub results: Vec<ReadStateSummaryResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The summaries of one topic, in [`ReadShareGroupStateSummaryResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ReadStateSummaryResult {
    /// The topic.
    pub topic_id: TopicId,
    /// The summary of each partition.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Where one partition stands, in [`ReadStateSummaryResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionResult {
    /// The partition.
    pub partition: PartitionIndex,
    /// 0 or what went wrong; the numbers then have no meaning.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// The epoch of the state.
    pub state_epoch: i32,
    /// The latest leader epoch that read or wrote the state.
    pub leader_epoch: LeaderEpoch,
    /// The first offset that may still be delivered; -1 when the partition has no start yet.
    pub start_offset: Offset,
    /// How many offsets from the start offset on need no further delivery; -1 when that is not
    /// known.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub delivery_complete_count: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
