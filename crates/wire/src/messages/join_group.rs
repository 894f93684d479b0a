//! `JoinGroup` (key 11): becomes or stays a member of a classic group; answered by its coordinator
//! when the rebalance has gathered all members.
//!
//! v1 tells the rebalance timeout apart from the session timeout, v2 added the throttle time, v4
//! makes a new member ask twice (`MEMBER_ID_REQUIRED` hands out the id, KIP-394), v5 added the
//! group instance id (KIP-345), v6 is flexible, v7 answers the protocol type and may leave the
//! protocol name null (KIP-559), v8 gives a reason (KIP-800), v9 may tell the leader to keep the
//! assignment (KIP-814).

use crate::prelude::*;

/// Asks to take part in the group's next generation.
///
/// The answer waits until the other members have joined, at most the rebalance timeout.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(11), versions = 0..=9, flexible = 6.., listeners(broker))]
pub struct JoinGroupRequest {
    /// The group to join.
    pub group_id: ByteString,
    /// Milliseconds without a heartbeat after which the member is taken for dead; within the
    /// broker's `group.min.session.timeout.ms` and `group.max.session.timeout.ms`.
    pub session_timeout_ms: i32,
    /// Milliseconds that the coordinator waits for this member in a rebalance; absent in v0.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub rebalance_timeout_ms: i32,
    /// The id that the coordinator gave; empty for the first attempt.
    pub member_id: ByteString,
    /// The member's own lasting name, which makes it static: it may restart within the session
    /// timeout without a rebalance. Null for a dynamic member.
    #[wire(versions = 5.., nullable = 5.., default = None)]
    pub group_instance_id: Option<ByteString>,
    /// What the group is for: `consumer`, `connect`, or a name of the application's own. All
    /// members must give the same.
    pub protocol_type: ByteString,
    /// The assignment protocols that the member knows, the preferred one first; the coordinator
    /// chooses one that all members know.
    pub protocols: Vec<JoinGroupRequestProtocol>,
    /// Why the member (re)joins, for the broker's log; null when it gives none.
    #[wire(versions = 8.., nullable = 8.., default = None, ignorable)]
    pub reason: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One protocol that the member knows, in [`JoinGroupRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct JoinGroupRequestProtocol {
    /// The protocol's name; for consumers an assignor's, such as `range`.
    pub name: ByteString,
    /// What the assignor needs to know of the member; for consumers a subscription of the embedded
    /// consumer protocol. The coordinator passes it on unread.
    pub metadata: Bytes,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`JoinGroupRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(11), versions = 0..=9, flexible = 6..)]
pub struct JoinGroupResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    #[wire(versions = 2.., ignorable)]
    pub throttle_time_ms: i32,
    /// Why the member did not join; 0 when it did.
    pub error_code: ErrorCode,
    /// The generation that begins; -1 on error.
    #[wire(default = -1)]
    pub generation_id: i32,
    /// The group's protocol type; null on error.
    #[wire(versions = 7.., nullable = 7.., default = None, ignorable)]
    pub protocol_type: Option<ByteString>,
    /// The protocol that the coordinator chose. On error there is none: empty up to v6, null from
    /// v7 on; readers take both for the same.
    #[wire(nullable = 7..)]
    pub protocol_name: Option<ByteString>,
    /// Member id of the group's leader, who computes the assignment; empty on error.
    pub leader: ByteString,
    /// Tells the leader, a static member who came back, to send no new assignment.
    #[wire(versions = 9..)]
    pub skip_assignment: bool,
    /// The id of the asking member; with `MEMBER_ID_REQUIRED` the one to join with.
    pub member_id: ByteString,
    /// All members, for the leader; empty for every other member.
    pub members: Vec<JoinGroupResponseMember>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One member as the leader sees it, in [`JoinGroupResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct JoinGroupResponseMember {
    /// The member's id.
    pub member_id: ByteString,
    /// The member's group instance id; null for a dynamic member.
    #[wire(versions = 5.., nullable = 5.., default = None, ignorable)]
    pub group_instance_id: Option<ByteString>,
    /// What the member gave with the chosen protocol.
    pub metadata: Bytes,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

impl JoinGroupRequest {
    /// Milliseconds that the coordinator waits for this member in a rebalance: in v0, which has no
    /// such field, the session timeout.
    pub fn rebalance_timeout_ms_in(&self, version: i16) -> i32 {
        if version == 0 {
            self.session_timeout_ms
        } else {
            self.rebalance_timeout_ms
        }
    }
}

impl JoinGroupResponse {
    /// Says "no protocol chosen" as `version` does: empty up to v6, null from v7 on.
    #[must_use]
    pub fn for_version(mut self, version: i16) -> Self {
        self.protocol_name = match self.protocol_name {
            None if version < 7 => Some(ByteString::new()),
            Some(name) if version >= 7 && name.is_empty() => None,
            kept => kept,
        };
        self
    }
}

/// Whether `id` may be a `group.instance.id`: 1 to 249 ASCII letters, digits, `.`, `_` and `-`, but
/// neither `.` nor `..`.
pub fn is_legal_group_instance_id(id: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=249).contains(&id.len()) && id != "." && id != ".." && id.bytes().all(is_legal)
}
