//! `ListGroups` (key 16): the groups that one broker coordinates; ask every broker for all.
//!
//! v1 added the throttle time, v3 is flexible, v4 added states and a filter by them (KIP-518), v5
//! types and a filter by them (KIP-848).

use crate::prelude::*;

/// Asks for the groups that the receiver coordinates.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(16), versions = 0..=5, flexible = 3.., listeners(broker))]
pub struct ListGroupsRequest {
    /// Only groups in one of these states, case ignored, such as `Stable` or `Empty`; empty for
    /// all. Matches nothing by a name that the broker does not know.
    #[wire(versions = 4..)]
    pub states_filter: Vec<ByteString>,
    /// Only groups of one of these types, case ignored: `classic`, `consumer`, `share`, `streams`;
    /// empty for all.
    #[wire(versions = 5..)]
    pub types_filter: Vec<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ListGroupsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(16), versions = 0..=5, flexible = 3..)]
pub struct ListGroupsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// Why the list may be incomplete or empty, for instance while the broker still loads its
    /// groups; 0 when it is whole.
    pub error_code: ErrorCode,
    /// The groups that the filters let through and the caller may describe.
    pub groups: Vec<ListedGroup>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One group, in [`ListGroupsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ListedGroup {
    /// The group.
    pub group_id: ByteString,
    /// What the group is for, such as `consumer`; empty for a group that only stores offsets.
    pub protocol_type: ByteString,
    /// The group's state by name, such as `Stable`.
    #[wire(versions = 4.., ignorable)]
    pub group_state: ByteString,
    /// The group's type by name, such as `classic`.
    #[wire(versions = 5.., ignorable)]
    pub group_type: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
