//! `ConsumerGroupDescribe` (key 69): state, members and assignments of groups whose partitions
//! the broker assigns (KIP-848).
//!
//! Classic groups are unknown here; `DescribeGroups` is theirs. v1 tells which of the two
//! protocols a member speaks, since a group that is being migrated has members of both.

use crate::prelude::*;

/// Asks the coordinator of some groups how they are.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(69), versions = 0..=1, flexible = 0.., listeners(broker))]
pub struct ConsumerGroupDescribeRequest {
    /// The groups to describe, all of them coordinated by the broker that is asked.
    pub group_ids: Vec<ByteString>,
    /// Whether to report the operations that the caller may perform.
    pub include_authorized_operations: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ConsumerGroupDescribeRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(69), versions = 0..=1, flexible = 0..)]
pub struct ConsumerGroupDescribeResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// One entry for each group asked for.
    pub groups: Vec<DescribedGroup>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One group, in [`ConsumerGroupDescribeResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribedGroup {
    /// 0, or why the group is not described: `GROUP_ID_NOT_FOUND` also for a classic group.
    /// The fields behind the group id then have no meaning.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// The group.
    pub group_id: ByteString,
    /// `Empty`, `Assigning`, `Reconciling`, `Stable` or `Dead`; empty where there is an error.
    pub group_state: ByteString,
    /// Rises whenever members, subscriptions or the topics' partitions change.
    pub group_epoch: i32,
    /// The group epoch for which the target assignment was computed; less than `group_epoch`
    /// while a new one is due.
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
    /// The name of a static member; null for a dynamic one.
    #[wire(nullable = .., default = None)]
    pub instance_id: Option<ByteString>,
    /// The member's rack; null when it named none.
    #[wire(nullable = .., default = None)]
    pub rack_id: Option<ByteString>,
    /// The group epoch up to which the member has taken over its assignment.
    pub member_epoch: i32,
    /// The client id of the member's requests.
    pub client_id: ByteString,
    /// The address that the member connects from.
    pub client_host: ByteString,
    /// The topics subscribed to by name.
    pub subscribed_topic_names: Vec<ByteString>,
    /// The pattern subscribed to; null when there is none.
    #[wire(nullable = .., default = None)]
    pub subscribed_topic_regex: Option<ByteString>,
    /// What the member owns.
    pub assignment: Assignment,
    /// What the member will own once all members have let go of what they must.
    pub target_assignment: Assignment,
    /// Which protocol the member speaks: 0 classic, 1 consumer, -1 not known.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub member_type: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What a member owns or will own, in [`Member`].
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
