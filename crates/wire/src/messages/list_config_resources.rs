//! `ListConfigResources` (key 74): the names of the resources that have settings of their own.
//!
//! v0 knows one kind only, the client metrics subscriptions (KIP-714). v1 covers other kinds as
//! well, lets the client choose among them, and tells the kind of each resource (KIP-1142).
//! Kinds are numbered as in `DescribeConfigs`: 2 topic, 4 broker, 8 broker logger, 16 client
//! metrics, 32 group.

use crate::prelude::*;

/// Asks any broker for the names of resources that can carry settings.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(74), versions = 0..=1, flexible = 0.., listeners(broker))]
pub struct ListConfigResourcesRequest {
    /// The kinds of resource wanted; an empty list wants all that the broker can list. v0
    /// always means client metrics.
    #[wire(versions = 1..)]
    pub resource_types: Vec<i8>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ListConfigResourcesRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(74), versions = 0..=1, flexible = 0..)]
pub struct ListConfigResourcesResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0 or what went wrong: `UNSUPPORTED_VERSION` for a kind that the broker cannot list.
    pub error_code: ErrorCode,
    /// The resources, in no given order.
    pub config_resources: Vec<ConfigResource>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One resource, in [`ListConfigResourcesResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ConfigResource {
    /// The resource's name; for a broker its id in decimal.
    pub resource_name: ByteString,
    /// The resource's kind; 16 (client metrics) where v0 does not tell.
    #[wire(versions = 1.., default = 16, ignorable)]
    pub resource_type: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
