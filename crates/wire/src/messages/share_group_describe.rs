//! `ShareGroupDescribe` (key 77): state, members and assignments of share groups (KIP-932).
//!
//! v0 was an early form that 4.1 dropped.

use crate::prelude::*;

/// Asks the coordinator of some share groups how they are.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(77), versions = 1..=1, flexible = 0.., listeners(broker))]
pub struct ShareGroupDescribeRequest {
    /// The groups to describe, all of them coordinated by the broker that is asked.
    pub group_ids: Vec<ByteString>,
    /// Whether to report the operations that the caller may perform.
    pub include_authorized_operations: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ShareGroupDescribeRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(77), versions = 1..=1, flexible = 0..)]
pub struct ShareGroupDescribeResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// One entry for each group asked for.
    pub groups: Vec<DescribedGroup>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One group, in [`ShareGroupDescribeResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribedGroup {
    /// 0, or why the group is not described: `GROUP_ID_NOT_FOUND` also for a group of another
    /// kind. The fields behind the group id then have no meaning.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// The group.
    pub group_id: ByteString,
    /// `Empty`, `Stable` or `Dead`; empty where there is an error.
    pub group_state: ByteString,
    /// Rises whenever members, subscriptions or the topics' partitions change.
    pub group_epoch: i32,
    /// The group epoch for which the assignment was computed; less than `group_epoch` while a
    /// new one is due.
    pub assignment_epoch: i32,
    /// The assignor that the group uses.
    pub assignor_name: ByteString,
    /// The members.
    pub members: Vec<Member>,
    /// The operations that the caller may perform, a bit for each operation's code;
    /// `i32::MIN` when that was not asked for.
    #[wire(default = i32::MIN)]
    pub authorized_operations: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One member of a group, in [`DescribedGroup`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Member {
    /// The member's id.
    pub member_id: ByteString,
    /// The member's rack; null when it named none.
    #[wire(nullable = .., default = None)]
    pub rack_id: Option<ByteString>,
    /// The group epoch up to which the member has taken over its assignment.
    pub member_epoch: i32,
    /// The client id of the member's requests.
    pub client_id: ByteString,
    /// The address that the member connects from.
    pub client_host: ByteString,
    /// The topics subscribed to.
    pub subscribed_topic_names: Vec<ByteString>,
    /// What the member fetches from.
    pub assignment: Assignment,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What a member fetches from, in [`Member`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Assignment {
    /// The partitions, one entry for each topic.
    pub topic_partitions: Vec<TopicPartitions>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Some partitions of one topic, in [`Assignment`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicPartitions {
    /// The topic's id.
    pub topic_id: TopicId,
    /// The topic's name at the time of the answer.
    pub topic_name: ByteString,
    /// Which of its partitions.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
