//! `AlterShareGroupOffsets` (key 91): moves a share group to other offsets (KIP-932).
//!
//! The group must have no members; what was known of single records is forgotten.

use crate::prelude::*;

/// Sets start offsets of a share group; answered by the group's coordinator.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(91), versions = 0..=0, flexible = 0.., listeners(broker))]
pub struct AlterShareGroupOffsetsRequest {
    /// The group.
    pub group_id: ByteString,
    /// The partitions to move, by topic.
    pub topics: Vec<AlterShareGroupOffsetsRequestTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The partitions of one topic, in [`AlterShareGroupOffsetsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterShareGroupOffsetsRequestTopic {
    /// The topic's name.
    pub topic_name: ByteString,
    /// Its partitions.
    pub partitions: Vec<AlterShareGroupOffsetsRequestPartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition to move, in [`AlterShareGroupOffsetsRequestTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterShareGroupOffsetsRequestPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The first offset to deliver from now on.
    pub start_offset: Offset,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`AlterShareGroupOffsetsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(91), versions = 0..=0, flexible = 0..)]
pub struct AlterShareGroupOffsetsResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0, or why nothing was changed: `NON_EMPTY_GROUP` while the group has members.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// The outcomes, by topic.
    pub responses: Vec<AlterShareGroupOffsetsResponseTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcomes of one topic, in [`AlterShareGroupOffsetsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterShareGroupOffsetsResponseTopic {
    /// The topic's name.
    pub topic_name: ByteString,
    /// The topic's id; zero for an unknown topic.
    pub topic_id: TopicId,
    /// The outcome for each partition.
    pub partitions: Vec<AlterShareGroupOffsetsResponsePartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcome for one partition, in [`AlterShareGroupOffsetsResponseTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterShareGroupOffsetsResponsePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// 0 or what went wrong.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
