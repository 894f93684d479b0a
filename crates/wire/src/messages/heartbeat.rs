//! `Heartbeat` (key 12): a member of a classic group says that it lives; answered by the group's
//! coordinator.
//!
//! v1 added the throttle time, v3 the group instance id (KIP-345), v4 is flexible.

use crate::prelude::*;

/// Keeps a member's session alive, and asks whether a rebalance is due.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(12), versions = 0..=4, flexible = 4.., listeners(broker))]
pub struct HeartbeatRequest {
    /// The group.
    pub group_id: ByteString,
    /// The generation that the member is in.
    pub generation_id: i32,
    /// The member's id.
    pub member_id: ByteString,
    /// The member's group instance id; null for a dynamic member.
    #[wire(versions = 3.., nullable = 3.., default = None)]
    pub group_instance_id: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`HeartbeatRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(12), versions = 0..=4, flexible = 4..)]
pub struct HeartbeatResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// 0 when all is well; `REBALANCE_IN_PROGRESS` asks the member to join again.
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
