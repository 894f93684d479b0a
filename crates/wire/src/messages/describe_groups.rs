//! `DescribeGroups` (key 15): state and members of classic groups; answered by their coordinator.
//!
//! v1 added the throttle time, v3 the authorized operations (KIP-430), v4 the group instance id, v5
//! is flexible. Up to v5 a group that does not exist is described as `Dead`; v6 answers
//! `GROUP_ID_NOT_FOUND` with a message (KIP-1043).

use crate::prelude::*;

/// Asks for the state of some groups, all of which the receiver should coordinate.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(15), versions = 0..=6, flexible = 5.., listeners(broker))]
pub struct DescribeGroupsRequest {
    /// The groups to describe.
    pub groups: Vec<ByteString>,
    /// Whether to report which operations the caller may perform on each group.
    #[wire(versions = 3..)]
    pub include_authorized_operations: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeGroupsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(15), versions = 0..=6, flexible = 5..)]
pub struct DescribeGroupsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// One entry for each group asked for.
    pub groups: Vec<DescribedGroup>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One group's state, in [`DescribeGroupsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribedGroup {
    /// Why the group is not described; 0 when it is.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none.
    #[wire(versions = 6.., nullable = 6.., default = None)]
    pub error_message: Option<ByteString>,
    /// The group.
    pub group_id: ByteString,
    /// `Empty`, `PreparingRebalance`, `CompletingRebalance`, `Stable` or `Dead`; empty on error.
    pub group_state: ByteString,
    /// What the group is for, such as `consumer`; empty for a group that only stores offsets, and
    /// on error.
    pub protocol_type: ByteString,
    /// The protocol that the group chose; empty unless the group is stable.
    pub protocol_data: ByteString,
    /// The members.
    pub members: Vec<DescribedGroupMember>,
    /// The operations that the caller may perform: bit n stands for the access control operation
    /// of code n. `i32::MIN` when not asked for.
    #[wire(versions = 3.., default = i32::MIN)]
    pub authorized_operations: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One member, in [`DescribedGroup`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribedGroupMember {
    /// The member's id.
    pub member_id: ByteString,
    /// The member's group instance id; null for a dynamic member.
    #[wire(versions = 4.., nullable = 4.., default = None, ignorable)]
    pub group_instance_id: Option<ByteString>,
    /// The client id of the member's last request to join.
    pub client_id: ByteString,
    /// The address that the member joined from, as text.
    pub client_host: ByteString,
    /// What the member gave with the chosen protocol; empty unless the group is stable.
    pub member_metadata: Bytes,
    /// What the leader gave the member; empty unless the group is stable.
    pub member_assignment: Bytes,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
