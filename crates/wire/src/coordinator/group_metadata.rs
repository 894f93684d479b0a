//! Record type 2 of `__consumer_offsets`: a classic group as of its last completed rebalance.
//!
//! In the value, v1 added the rebalance timeout, v2 the time of the last change, v3 static members,
//! v4 is flexible. What happens between two rebalances, heartbeats above all, is not written.

use crate::prelude::*;

/// Names the group.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(2), versions = 0..=0)]
pub struct GroupMetadataKey {
    /// The group's id.
    pub group: ByteString,
}

/// The group's generation, members and assignment; a tombstone in its place means that the group
/// is gone.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(2), versions = 0..=4, flexible = 4..)]
pub struct GroupMetadataValue {
    /// What kind of members these are: `consumer`, `connect`; empty for a group that never had
    /// any.
    pub protocol_type: ByteString,
    /// Counts the completed rebalances; 0 for a group that never had members.
    pub generation: i32,
    /// The protocol, for consumers the assignor, that the members agreed on; `None` for a group
    /// without members.
    #[wire(nullable = ..)]
    pub protocol: Option<ByteString>,
    /// The id of the member that computed the assignment; `None` for a group without members.
    #[wire(nullable = ..)]
    pub leader: Option<ByteString>,
    /// When the group came into its present state, in Unix milliseconds; -1 when unknown. The
    /// retention of an empty group's offsets counts from here.
    #[wire(versions = 2.., default = -1, ignorable)]
    pub current_state_timestamp: i64,
    /// The members of this generation.
    pub members: Vec<MemberMetadata>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One member, in [`GroupMetadataValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct MemberMetadata {
    /// The id that the coordinator gave the member.
    pub member_id: ByteString,
    /// The id that a static member gave itself (`group.instance.id`); `None` for a dynamic one.
    #[wire(versions = 3.., nullable = 3.., default = None, ignorable)]
    pub group_instance_id: Option<ByteString>,
    /// The client id of its requests.
    pub client_id: ByteString,
    /// The address that it came from, as text.
    pub client_host: ByteString,
    /// Milliseconds that it may take to rejoin; -1, as v0 reads, stands for the session timeout.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub rebalance_timeout: i32,
    /// Milliseconds without heartbeat after which it counts as failed.
    pub session_timeout: i32,
    /// What the member offered for the chosen protocol: for consumers an int16 version and a
    /// `ConsumerProtocolSubscription`.
    pub subscription: Bytes,
    /// What the leader gave the member: for consumers an int16 version and a
    /// `ConsumerProtocolAssignment`.
    pub assignment: Bytes,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
