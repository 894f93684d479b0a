//! `ShareGroupHeartbeat` (key 76): how a consumer joins, stays in and leaves a share group, whose
//! members consume the same partitions side by side (KIP-932).
//!
//! Both sides name only what changed since the last exchange and leave the rest null. v0 was an
//! early form that 4.1 dropped.

use crate::prelude::*;

/// Tells the group's coordinator that a member is alive, and what it wants.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(76), versions = 1..=1, flexible = 0.., listeners(broker))]
pub struct ShareGroupHeartbeatRequest {
    /// The group.
    pub group_id: ByteString,
    /// The member's id, made up by the member before it joins and kept for its lifetime.
    pub member_id: ByteString,
    /// The epoch that the last answer gave. 0 joins the group, -1 leaves it.
    pub member_epoch: i32,
    /// The member's rack, for assignors that mind it; null for none or unchanged.
    #[wire(nullable = .., default = None)]
    pub rack_id: Option<ByteString>,
    /// The topics subscribed to; null is unchanged.
    #[wire(nullable = .., default = None)]
    pub subscribed_topic_names: Option<Vec<ByteString>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ShareGroupHeartbeatRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(76), versions = 1..=1, flexible = 0..)]
pub struct ShareGroupHeartbeatResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0 or what went wrong. `FENCED_MEMBER_EPOCH` and `UNKNOWN_MEMBER_ID` mean: join anew with
    /// epoch 0.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// The member's id, given back; null where it is not told.
    #[wire(nullable = .., default = None)]
    pub member_id: Option<ByteString>,
    /// The epoch that the member's next heartbeat has to carry.
    pub member_epoch: i32,
    /// Milliseconds until the next heartbeat is expected.
    pub heartbeat_interval_ms: i32,
    /// What the member shall fetch from: all of it, not a difference. Null is unchanged.
    #[wire(nullable = .., default = None)]
    pub assignment: Option<Assignment>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What a member shall fetch from, in [`ShareGroupHeartbeatResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Assignment {
    /// The partitions, one entry for each topic; other members may have the same ones.
    pub topic_partitions: Vec<TopicPartitions>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Some partitions of one topic, in [`Assignment`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicPartitions {
    /// The topic.
    pub topic_id: TopicId,
    /// Which of its partitions.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
