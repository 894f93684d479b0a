//! `WriteShareGroupState` (key 85): stores changes to the state of share-partitions (KIP-932).
//!
//! The leader of a partition sends it to the share coordinator. v1 added the count of completed
//! deliveries, from which a share group's lag is computed (KIP-1226).

use crate::prelude::*;

/// Stores what changed in some of a share group's partitions.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(85), versions = 0..=1, flexible = 0.., listeners(broker))]
pub struct WriteShareGroupStateRequest {
    /// The share group.
    pub group_id: ByteString,
    /// The partitions, by topic.
    pub topics: Vec<WriteStateData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The partitions of one topic, in [`WriteShareGroupStateRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct WriteStateData {
    /// The topic.
    pub topic_id: TopicId,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The changes of one partition, in [`WriteStateData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionData {
    /// The partition.
    pub partition: PartitionIndex,
    /// The epoch of the state, as it was read.
    pub state_epoch: i32,
    /// The epoch in which the sender leads the partition.
    pub leader_epoch: LeaderEpoch,
    /// The first offset that may still be delivered; -1 leaves the stored one.
    pub start_offset: Offset,
    /// How many offsets from the start offset on need no further delivery; -1 when the sender
    /// does not know.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub delivery_complete_count: i32,
    /// The ranges whose state changed; what is not named stays as stored.
    pub state_batches: Vec<StateBatch>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A range of offsets that share one state, in [`PartitionData`].
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

/// Answers [`WriteShareGroupStateRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(85), versions = 0..=1, flexible = 0..)]
pub struct WriteShareGroupStateResponse {
    /// The outcomes, by topic.
    pub results: Vec<WriteStateResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcomes of one topic, in [`WriteShareGroupStateResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct WriteStateResult {
    /// The topic.
    pub topic_id: TopicId,
    /// The outcome for each partition.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcome for one partition, in [`WriteStateResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionResult {
    /// The partition.
    pub partition: PartitionIndex,
    /// 0 or what went wrong: `FENCED_STATE_EPOCH` or `FENCED_LEADER_EPOCH` when the sender is
    /// no longer the one who may write.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
