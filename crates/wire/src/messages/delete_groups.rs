//! `DeleteGroups` (key 42): removes groups without members, with their committed offsets.
//!
//! v2 is flexible; v3 explains each failure in words, and has `GROUP_DELETION_FAILED` (new in
//! 4.4). Serves groups of every kind.

use crate::prelude::*;

/// Asks a coordinator to delete some of its groups.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(42), versions = 0..=3, flexible = 2.., listeners(broker))]
pub struct DeleteGroupsRequest {
    /// Ids of the groups to delete; each succeeds or fails alone.
    pub groups_names: Vec<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DeleteGroupsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(42), versions = 0..=3, flexible = 2..)]
pub struct DeleteGroupsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each group asked for.
    pub results: Vec<DeletableGroupResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of one group, in [`DeleteGroupsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeletableGroupResult {
    /// The group's id.
    pub group_id: ByteString,
    /// Why the group is still there: `NON_EMPTY_GROUP` while it has members,
    /// `GROUP_ID_NOT_FOUND`, `NOT_COORDINATOR` when another broker looks after it.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when there is no more to say than the code.
    #[wire(versions = 3.., nullable = 3.., default = None, ignorable)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
