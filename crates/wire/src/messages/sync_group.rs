//! `SyncGroup` (key 14): the leader of a classic group hands in the assignment, every member
//! fetches its own part; answered by the group's coordinator.
//!
//! v1 added the throttle time, v3 the group instance id (KIP-345), v4 is flexible, v5 repeats the
//! protocol's type and name, so that a member learns of a mismatch (KIP-559).

use crate::prelude::*;

/// Asks for the member's assignment in a generation that has just begun.
///
/// A follower's answer waits until the leader has sent its request.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(14), versions = 0..=5, flexible = 4.., listeners(broker))]
pub struct SyncGroupRequest {
    /// The group.
    pub group_id: ByteString,
    /// The generation, as the answer to joining gave it.
    pub generation_id: i32,
    /// The member's id.
    pub member_id: ByteString,
    /// The member's group instance id; null for a dynamic member.
    #[wire(versions = 3.., nullable = 3.., default = None)]
    pub group_instance_id: Option<ByteString>,
    /// The group's protocol type as the member believes it; null when it does not say.
    #[wire(versions = 5.., nullable = 5.., default = None, ignorable)]
    pub protocol_type: Option<ByteString>,
    /// The chosen protocol as the member believes it; null when it does not say.
    #[wire(versions = 5.., nullable = 5.., default = None, ignorable)]
    pub protocol_name: Option<ByteString>,
    /// Every member's assignment, from the leader; empty from all others.
    pub assignments: Vec<SyncGroupRequestAssignment>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One member's assignment, in [`SyncGroupRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct SyncGroupRequestAssignment {
    /// The member.
    pub member_id: ByteString,
    /// What the leader gave it; for consumers an assignment of the embedded consumer protocol. The
    /// coordinator passes it on unread.
    pub assignment: Bytes,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`SyncGroupRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(14), versions = 0..=5, flexible = 4..)]
pub struct SyncGroupResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// Why there is no assignment; 0 when there is.
    pub error_code: ErrorCode,
    /// The group's protocol type; null on error.
    #[wire(versions = 5.., nullable = 5.., default = None, ignorable)]
    pub protocol_type: Option<ByteString>,
    /// The chosen protocol; null on error.
    #[wire(versions = 5.., nullable = 5.., default = None, ignorable)]
    pub protocol_name: Option<ByteString>,
    /// What the leader gave this member; empty on error, and where it gave nothing.
    pub assignment: Bytes,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
