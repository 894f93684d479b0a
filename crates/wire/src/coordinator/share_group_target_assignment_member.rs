//! Record type 13 of `__consumer_offsets`: what a member of a share group shall read.

use crate::prelude::*;

/// Names the member.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(13), versions = 0..=0)]
pub struct ShareGroupTargetAssignmentMemberKey {
    /// The group's id.
    pub group_id: ByteString,
    /// The member's id.
    pub member_id: ByteString,
}

/// The member's target; a tombstone in its place means that the member left.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(13), versions = 0..=0, flexible = 0..)]
pub struct ShareGroupTargetAssignmentMemberValue {
    /// The partitions that the member shall have, by topic; others may have the same.
    pub topic_partitions: Vec<TopicPartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`ShareGroupTargetAssignmentMemberValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicPartition {
    /// The topic's id.
    pub topic_id: TopicId,
    /// The partitions of that topic.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
