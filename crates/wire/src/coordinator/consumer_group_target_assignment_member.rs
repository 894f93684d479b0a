//! Record type 7 of `__consumer_offsets`: what a member of a consumer group shall read.
//!
//! The aim, not the present state: see
//! [`consumer_group_current_member_assignment`](super::consumer_group_current_member_assignment).

use crate::prelude::*;

/// Names the member.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(7), versions = 0..=0)]
pub struct ConsumerGroupTargetAssignmentMemberKey {
    /// The group's id.
    pub group_id: ByteString,
    /// The member's id.
    pub member_id: ByteString,
}

/// The member's target; a tombstone in its place means that the member left.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(7), versions = 0..=0, flexible = 0..)]
pub struct ConsumerGroupTargetAssignmentMemberValue {
    /// The partitions that the member shall have, by topic.
    pub topic_partitions: Vec<TopicPartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`ConsumerGroupTargetAssignmentMemberValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicPartition {
    /// The topic's id.
    pub topic_id: TopicId,
    /// The partitions of that topic.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
