//! `DeleteShareGroupState` (key 86): forgets the stored state of share-partitions (KIP-932).
//!
//! The coordinator of a share group sends it to the share coordinator when the group, its
//! offsets of a topic, or the topic itself is deleted.

use crate::prelude::*;

/// Forgets the state of some of a share group's partitions.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(86), versions = 0..=0, flexible = 0.., listeners(broker))]
pub struct DeleteShareGroupStateRequest {
    /// The share group.
    pub group_id: ByteString,
    /// The partitions, by topic.
    pub topics: Vec<DeleteStateData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The partitions of one topic, in [`DeleteShareGroupStateRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeleteStateData {
    /// The topic.
    pub topic_id: TopicId,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition to forget, in [`DeleteStateData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionData {
    /// The partition.
    pub partition: PartitionIndex,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DeleteShareGroupStateRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(86), versions = 0..=0, flexible = 0..)]
pub struct DeleteShareGroupStateResponse {
    /// The outcomes, by topic.
    pub results: Vec<DeleteStateResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcomes of one topic, in [`DeleteShareGroupStateResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeleteStateResult {
    /// The topic.
    pub topic_id: TopicId,
    /// The outcome for each partition.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcome for one partition, in [`DeleteStateResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionResult {
    /// The partition.
    pub partition: PartitionIndex,
    /// 0 or what went wrong.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
