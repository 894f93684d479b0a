//! `DeleteAcls` (key 31): removes the access control entries that match filters; the controller
//! answers, also by way of any broker.
//!
//! v1 added the pattern type (KIP-290), v2 is flexible, v3 knows the resource type user (KIP-373).
//! The numeric codes are those of [`describe_acls`](super::describe_acls#codes).

use crate::prelude::*;

/// Removes entries.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(31), versions = 1..=3, flexible = 2.., listeners(broker, controller))]
pub struct DeleteAclsRequest {
    /// The filters; an entry goes if it matches one of them.
    pub filters: Vec<DeleteAclsFilter>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One filter, in [`DeleteAclsRequest`]: it matches the entries that match every part of it.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeleteAclsFilter {
    /// The resource type (see the [codes](super::describe_acls#codes)).
    pub resource_type_filter: i8,
    /// The resource's name; null matches every name.
    #[wire(nullable = ..)]
    pub resource_name_filter: Option<ByteString>,
    /// How the name is to be understood (see the [codes](super::describe_acls#codes)); literal by
    /// default.
    #[wire(versions = 1.., default = 3)]
    pub pattern_type_filter: i8,
    /// The principal, such as `User:alice`; null matches every principal.
    #[wire(nullable = ..)]
    pub principal_filter: Option<ByteString>,
    /// The host; null matches every host.
    #[wire(nullable = ..)]
    pub host_filter: Option<ByteString>,
    /// The operation (see the [codes](super::describe_acls#codes)).
    pub operation: i8,
    /// Whether to allow or deny (see the [codes](super::describe_acls#codes)).
    pub permission_type: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DeleteAclsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(31), versions = 1..=3, flexible = 2..)]
pub struct DeleteAclsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each filter of the request, in its order.
    pub filter_results: Vec<DeleteAclsFilterResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One filter's outcome, in [`DeleteAclsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeleteAclsFilterResult {
    /// Why the filter was not applied; 0 when it was, even if nothing matched.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// The entries that matched.
    pub matching_acls: Vec<DeleteAclsMatchingAcl>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One access control entry that matched, in [`DeleteAclsFilterResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeleteAclsMatchingAcl {
    /// Why the entry was not removed; 0 when it was.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// The resource type (see the [codes](super::describe_acls#codes)).
    pub resource_type: i8,
    /// The resource's name or the prefix of names; `*` stands for all.
    pub resource_name: ByteString,
    /// Whether the name is literal or a prefix (see the [codes](super::describe_acls#codes)).
    #[wire(versions = 1.., default = 3)]
    pub pattern_type: i8,
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
