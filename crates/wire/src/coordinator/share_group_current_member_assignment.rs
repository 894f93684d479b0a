//! Record type 14 of `__consumer_offsets`: what a member of a share group reads at present.
//!
//! Members share partitions, so none has to wait for another to give one up.

use crate::prelude::*;

/// Names the member.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(14), versions = 0..=0)]
pub struct ShareGroupCurrentMemberAssignmentKey {
    /// The group's id.
    pub group_id: ByteString,
    /// The member's id.
    pub member_id: ByteString,
}

/// The member's epoch and partitions; a tombstone in its place means that the member left.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(14), versions = 0..=0, flexible = 0..)]
pub struct ShareGroupCurrentMemberAssignmentValue {
    /// The epoch that the member's next heartbeat has to name.
    pub member_epoch: i32,
    /// The epoch before that one. A heartbeat may still name it, for the answer that told the new
    /// one may have been lost.
    pub previous_member_epoch: i32,
    /// 0: nothing left to do, the only state that members of share groups come into. The other
    /// numbers are those of a consumer group's member.
    pub state: i8,
    /// The partitions that the member has.
    pub assigned_partitions: Vec<TopicPartitions>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`ShareGroupCurrentMemberAssignmentValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicPartitions {
    /// The topic's id.
    pub topic_id: TopicId,
    /// The partitions of that topic.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
