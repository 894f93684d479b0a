//! Record type 15 of `__consumer_offsets`: for which partitions a share group has delivery state.
//!
//! That state lies with the share coordinator, in `__share_group_state`; the group coordinator has
//! it set up before a partition is read, and removed afterwards. A partition is only assigned once
//! it is initialized.

use crate::prelude::*;

/// Names the group.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(15), versions = 0..=0)]
pub struct ShareGroupStatePartitionMetadataKey {
    /// The group's id.
    pub group_id: ByteString,
}

/// How far the setting up is; a tombstone in its place means that the group has no state left.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(15), versions = 0..=0, flexible = 0..)]
pub struct ShareGroupStatePartitionMetadataValue {
    /// The partitions whose state has been asked for, and not yet confirmed.
    pub initializing_topics: Vec<TopicPartitionsInfo>,
    /// The partitions that have state.
    pub initialized_topics: Vec<TopicPartitionsInfo>,
    /// The topics whose state is being removed.
    pub deleting_topics: Vec<TopicInfo>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`ShareGroupStatePartitionMetadataValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicPartitionsInfo {
    /// The topic's id.
    pub topic_id: TopicId,
    /// The topic's name.
    pub topic_name: ByteString,
    /// The partitions of that topic.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic, in [`ShareGroupStatePartitionMetadataValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicInfo {
    /// The topic's id.
    pub topic_id: TopicId,
    /// The topic's name.
    pub topic_name: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
