//! `DescribeAcls` (key 29): the access control entries that match a filter; answered by any broker
//! or controller.
//!
//! v1 added the pattern type (KIP-290), v2 is flexible, v3 knows the resource type user (KIP-373).
//!
//! # Codes
//!
//! The three messages about access control share these numbers. 0 is always "unknown": what a
//! reader takes a number for that it has never heard of.
//!
//! - Resource type: 1 any, 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token,
//!   7 user.
//! - Pattern type: 1 any, 2 match, 3 literal, 4 prefixed.
//! - Operation: 1 any, 2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster
//!   action, 10 describe configs, 11 alter configs, 12 idempotent write, 13 create tokens,
//!   14 describe tokens, 15 two-phase commit.
//! - Permission type: 1 any, 2 deny, 3 allow.
//!
//! "Any" and "match" stand in filters alone. A filter of pattern type "any" wants the resource
//! name just as it is in the entry; "match" wants every entry that applies to a resource of that
//! name: literal, prefixed, and the literal name `*`.

use crate::prelude::*;

/// Asks for the entries that match every part of a filter.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(29), versions = 1..=3, flexible = 2.., listeners(broker, controller))]
pub struct DescribeAclsRequest {
    /// The resource type (see the [codes](self#codes)).
    pub resource_type_filter: i8,
    /// The resource's name; null matches every name.
    #[wire(nullable = ..)]
    pub resource_name_filter: Option<ByteString>,
    /// How the name is to be understood (see the [codes](self#codes)); literal by default.
    #[wire(versions = 1.., default = 3)]
    pub pattern_type_filter: i8,
    /// The principal, such as `User:alice`; null matches every principal.
    #[wire(nullable = ..)]
    pub principal_filter: Option<ByteString>,
    /// The host; null matches every host.
    #[wire(nullable = ..)]
    pub host_filter: Option<ByteString>,
    /// The operation (see the [codes](self#codes)).
    pub operation: i8,
    /// Whether to allow or deny (see the [codes](self#codes)).
    pub permission_type: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeAclsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(29), versions = 1..=3, flexible = 2..)]
pub struct DescribeAclsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    pub throttle_time_ms: i32,
    /// Why there is no answer; 0 when there is.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// The matching entries, by the resource that they protect.
    pub resources: Vec<DescribeAclsResource>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One resource, or pattern of resources, in [`DescribeAclsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeAclsResource {
    /// The resource type (see the [codes](self#codes)).
    pub resource_type: i8,
    /// The resource's name or the prefix of names; `*` stands for all.
    pub resource_name: ByteString,
    /// Whether the name is literal or a prefix (see the [codes](self#codes)).
    #[wire(versions = 1.., default = 3)]
    pub pattern_type: i8,
    /// The resource's entries.
    pub acls: Vec<AclDescription>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One access control entry, in [`DescribeAclsResource`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AclDescription {
    /// Whom the entry is about, such as `User:alice`; `User:*` is everyone.
    pub principal: ByteString,
    /// The address that the principal comes from; `*` is everywhere.
    pub host: ByteString,
    /// The operation (see the [codes](self#codes)).
    pub operation: i8,
    /// Whether the entry allows or denies (see the [codes](self#codes)).
    pub permission_type: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
