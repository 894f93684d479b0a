//! `CreateAcls` (key 30): adds access control entries; the controller answers, also by way of any
//! broker.
//!
//! v1 added the pattern type (KIP-290), v2 is flexible, v3 knows the resource type user (KIP-373).
//! The numeric codes are those of [`describe_acls`](super::describe_acls#codes).

use crate::prelude::*;

/// Adds entries, each on its own: some may be refused while others are stored.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(30), versions = 1..=3, flexible = 2.., listeners(broker, controller))]
pub struct CreateAclsRequest {
    /// The entries to add.
    pub creations: Vec<AclCreation>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One entry to add, in [`CreateAclsRequest`]; no code may be "any" or "match".
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AclCreation {
    /// The resource type (see the [codes](super::describe_acls#codes)).
    pub resource_type: i8,
    /// The resource's name or the prefix of names; `*` stands for all, the cluster is
    /// `kafka-cluster`.
    pub resource_name: ByteString,
    /// Whether the name is literal or a prefix (see the [codes](super::describe_acls#codes)).
    #[wire(versions = 1.., default = 3)]
    pub resource_pattern_type: i8,
    /// Whom the entry is about, such as `User:alice`; `User:*` is everyone.
    pub principal: ByteString,
    /// The address that the principal comes from; `*` is everywhere.
    pub host: ByteString,
    /// The operation (see the [codes](super::describe_acls#codes)).
    pub operation: i8,
    /// Whether the entry allows or denies (see the [codes](super::describe_acls#codes)).
    pub permission_type: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`CreateAclsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(30), versions = 1..=3, flexible = 2..)]
pub struct CreateAclsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each of the request, in its order.
    pub results: Vec<AclCreationResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One entry's outcome, in [`CreateAclsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AclCreationResult {
    /// Why the entry was not added; 0 when it was, or was there already.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
