//! Record type 8 of `__consumer_offsets`: what a member of a consumer group reads at present.
//!
//! Written at each step from the old assignment to the target.

use crate::prelude::*;

/// Names the member.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(8), versions = 0..=0)]
pub struct ConsumerGroupCurrentMemberAssignmentKey {
    /// The group's id.
    pub group_id: ByteString,
    /// The member's id.
    pub member_id: ByteString,
}

/// The member's epoch and partitions; a tombstone in its place means that the member left.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(8), versions = 0..=0, flexible = 0..)]
pub struct ConsumerGroupCurrentMemberAssignmentValue {
    /// The epoch that the member's next heartbeat has to name; -2 for a static member that is
    /// away.
    pub member_epoch: i32,
    /// The epoch before that one. A heartbeat may still name it, for the answer that told the new
    /// one may have been lost.
    pub previous_member_epoch: i32,
    /// 0: nothing left to do. 1: the member owes partitions. 2: partitions of its target are still
    /// with other members. 127: unknown to the writer.
    pub state: i8,
    /// The partitions that the member has.
    pub assigned_partitions: Vec<TopicPartitions>,
    /// The partitions that the member must give up before it may move to its target's epoch.
    pub partitions_pending_revocation: Vec<TopicPartitions>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`ConsumerGroupCurrentMemberAssignmentValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicPartitions {
    /// The topic's id.
    pub topic_id: TopicId,
    /// The partitions of that topic.
    pub partitions: Vec<PartitionIndex>,
    /// For each entry of `partitions` the member epoch in which the member got it, by which late
    /// commits are judged (KIP-1251). Empty, as an absent field reads, or `None` where the writer
    /// did not tell.
    #[wire(nullable = .., tag = 0)]
    pub assignment_epochs: Option<Vec<i32>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
