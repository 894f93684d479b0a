//! `InitializeShareGroupState` (key 83): begins the stored state of share-partitions (KIP-932).
//!
//! The coordinator of a share group sends it to the share coordinator, which keeps the state of
//! a group's partitions in `__share_group_state`, when the group comes upon new partitions or
//! when its offsets are reset.

use crate::prelude::*;

/// Sets the start of some of a share group's partitions, before any member fetches from them.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(83), versions = 0..=0, flexible = 0.., listeners(broker))]
pub struct InitializeShareGroupStateRequest {
    /// The share group.
    pub group_id: ByteString,
    /// The partitions, by topic.
    pub topics: Vec<InitializeStateData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The partitions of one topic, in [`InitializeShareGroupStateRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct InitializeStateData {
    /// The topic.
    pub topic_id: TopicId,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The start of one partition, in [`InitializeStateData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionData {
    /// The partition.
    pub partition: PartitionIndex,
    /// The epoch of the state that begins; a lower one than is stored is fenced.
    pub state_epoch: i32,
    /// The first offset to deliver; -1 leaves it to the first fetch, by the group's reset rule.
    pub start_offset: Offset,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`InitializeShareGroupStateRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(83), versions = 0..=0, flexible = 0..)]
pub struct InitializeShareGroupStateResponse {
    /// The outcomes, by topic.
    pub results: Vec<InitializeStateResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcomes of one topic, in [`InitializeShareGroupStateResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct InitializeStateResult {
    /// The topic.
    pub topic_id: TopicId,
    /// The outcome for each partition.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcome for one partition, in [`InitializeStateResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionResult {
    /// The partition.
    pub partition: PartitionIndex,
    /// 0 or what went wrong: `FENCED_STATE_EPOCH` when a higher state epoch is stored.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
