//! `ConsumerGroupHeartbeat` (key 68): how a consumer joins, stays in and leaves a group whose
//! partitions the broker assigns (KIP-848).
//!
//! One exchange does what `JoinGroup`, `SyncGroup`, `Heartbeat` and `LeaveGroup` do for classic
//! groups. Both sides name only what changed since the last exchange and leave the rest null.
//! v1 added the subscription by regular expression, and from v1 on the member chooses its own id.

use crate::prelude::*;

/// Tells the group's coordinator that a member is alive, and what it wants and owns.
///
/// A member's first request, and the first after it was fenced, must be complete: everything
/// that applies to it is set. Later ones carry only what changed.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(68), versions = 0..=1, flexible = 0.., listeners(broker))]
pub struct ConsumerGroupHeartbeatRequest {
    /// The group.
    pub group_id: ByteString,
    /// The member's id, kept for as long as the member lives. In v0 it is empty in the first
    /// request and the answer brings one; from v1 the member makes one up before it joins.
    pub member_id: ByteString,
    /// The epoch that the last answer gave. 0 joins the group, -1 leaves it, -2 leaves it as a
    /// static member who means to come back.
    pub member_epoch: i32,
    /// The name of a static member (`group.instance.id`); null for a dynamic member or unchanged.
    #[wire(nullable = .., default = None)]
    pub instance_id: Option<ByteString>,
    /// The member's rack, for assignors that mind it; null for none or unchanged.
    #[wire(nullable = .., default = None)]
    pub rack_id: Option<ByteString>,
    /// How many milliseconds the coordinator gives the member to let go of partitions; -1 is
    /// unchanged.
    #[wire(default = -1)]
    pub rebalance_timeout_ms: i32,
    /// The topics subscribed to by name; null is unchanged.
    #[wire(nullable = .., default = None)]
    pub subscribed_topic_names: Option<Vec<ByteString>>,
    /// A pattern in RE2 syntax that the broker matches against all topic names; null is
    /// unchanged, empty takes the pattern away.
    #[wire(versions = 1.., nullable = 1.., default = None)]
    pub subscribed_topic_regex: Option<ByteString>,
    /// The broker-side assignor that the member asks for, `uniform` or `range` for instance;
    /// null leaves the choice to the group or is unchanged.
    #[wire(nullable = .., default = None)]
    pub server_assignor: Option<ByteString>,
    /// All partitions that the member owns at this moment, by which it acknowledges an
    /// assignment or a loss; null is unchanged.
    #[wire(nullable = .., default = None)]
    pub topic_partitions: Option<Vec<TopicPartitions>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ConsumerGroupHeartbeatRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(68), versions = 0..=1, flexible = 0..)]
pub struct ConsumerGroupHeartbeatResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0 or what went wrong. `FENCED_MEMBER_EPOCH` and `UNKNOWN_MEMBER_ID` mean: drop all
    /// partitions and join anew with epoch 0.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// The member's id, told when the member joins; null otherwise.
    #[wire(nullable = .., default = None)]
    pub member_id: Option<ByteString>,
    /// The epoch that the member's next heartbeat has to carry.
    pub member_epoch: i32,
    /// Milliseconds until the next heartbeat is expected.
    pub heartbeat_interval_ms: i32,
    /// What the member shall own from now on: all of it, not a difference. Null is unchanged.
    #[wire(nullable = .., default = None)]
    pub assignment: Option<Assignment>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What a member may own, in [`ConsumerGroupHeartbeatResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Assignment {
    /// Partitions that no other member holds any more, thus free to be consumed at once.
    pub topic_partitions: Vec<TopicPartitions>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Some partitions of one topic, in both directions.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicPartitions {
    /// The topic.
    pub topic_id: TopicId,
    /// Which of its partitions.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
