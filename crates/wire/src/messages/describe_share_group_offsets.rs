//! `DescribeShareGroupOffsets` (key 90): how far share groups have come (KIP-932).
//!
//! v1 added the lag (KIP-1226).

use crate::prelude::*;

/// Asks the coordinator of some share groups where they stand.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(90), versions = 0..=1, flexible = 0.., listeners(broker))]
pub struct DescribeShareGroupOffsetsRequest {
    /// The groups, all of them coordinated by the broker that is asked.
    pub groups: Vec<DescribeShareGroupOffsetsRequestGroup>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One group asked for, in [`DescribeShareGroupOffsetsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeShareGroupOffsetsRequestGroup {
    /// The group.
    pub group_id: ByteString,
    /// The topics asked for; null is all that the group has a start offset of.
    #[wire(nullable = ..)]
    pub topics: Option<Vec<DescribeShareGroupOffsetsRequestTopic>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic asked for, in [`DescribeShareGroupOffsetsRequestGroup`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeShareGroupOffsetsRequestTopic {
    /// The topic's name.
    pub topic_name: ByteString,
    /// Which of its partitions.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeShareGroupOffsetsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(90), versions = 0..=1, flexible = 0..)]
pub struct DescribeShareGroupOffsetsResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// One entry for each group asked for.
    pub groups: Vec<DescribeShareGroupOffsetsResponseGroup>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One group, in [`DescribeShareGroupOffsetsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeShareGroupOffsetsResponseGroup {
    /// The group.
    pub group_id: ByteString,
    /// Where it stands, by topic; empty where the whole group has an error.
    pub topics: Vec<DescribeShareGroupOffsetsResponseTopic>,
    /// 0, or why nothing is told of the group.
    pub error_code: ErrorCode,
    /// The group's error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic, in [`DescribeShareGroupOffsetsResponseGroup`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeShareGroupOffsetsResponseTopic {
    /// The topic's name.
    pub topic_name: ByteString,
    /// The topic's id; zero for an unknown topic.
    pub topic_id: TopicId,
    /// Its partitions.
    pub partitions: Vec<DescribeShareGroupOffsetsResponsePartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition, in [`DescribeShareGroupOffsetsResponseTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeShareGroupOffsetsResponsePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The first offset that may still be delivered; -1 when the group has none here.
    pub start_offset: Offset,
    /// The latest leader epoch that touched the group's state here.
    pub leader_epoch: LeaderEpoch,
    /// How many records are still to be delivered and settled; -1 when that is not known.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub lag: i64,
    /// 0 or what went wrong.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
