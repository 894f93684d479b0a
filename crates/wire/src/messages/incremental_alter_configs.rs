//! `IncrementalAlterConfigs` (key 44): changes single settings and leaves the others alone.
//!
//! v1 is flexible. Takes the place of `AlterConfigs`, which replaces all settings of a resource at
//! once (KIP-339). A broker passes changes on to the active controller, but carries out those to
//! its own loggers itself.

use crate::prelude::*;

/// Changes settings of some resources.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(44), versions = 0..=1, flexible = 1.., listeners(broker, controller))]
pub struct IncrementalAlterConfigsRequest {
    /// The resources to change; one entry a resource, each succeeds or fails alone.
    pub resources: Vec<AlterConfigsResource>,
    /// Whether to check only, and to change nothing.
    pub validate_only: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The changes to one resource, in [`IncrementalAlterConfigsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterConfigsResource {
    /// What is configured: 2 a topic, 4 a broker, 8 a broker's loggers, 16 a client metrics
    /// subscription, 32 a group.
    pub resource_type: i8,
    /// The topic's name, broker's id in decimal and so on. Empty for a broker: the defaults of
    /// all brokers.
    pub resource_name: ByteString,
    /// The settings to change; all of them or, after an error, none.
    pub configs: Vec<AlterableConfig>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One setting to change, in [`AlterConfigsResource`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterableConfig {
    /// The setting's name, such as `retention.ms`.
    pub name: ByteString,
    /// 0 sets the value, 1 goes back to the default, 2 adds to a list, 3 takes from a list. The
    /// last two are refused for settings that are no lists.
    pub config_operation: i8,
    /// The value, or the list's entries parted by commas; `None` where the value goes back to the
    /// default.
    #[wire(nullable = ..)]
    pub value: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`IncrementalAlterConfigsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(44), versions = 0..=1, flexible = 1..)]
pub struct IncrementalAlterConfigsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each resource asked for.
    pub responses: Vec<AlterConfigsResourceResponse>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of one resource, in [`IncrementalAlterConfigsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterConfigsResourceResponse {
    /// Why nothing of this resource was changed, such as `INVALID_CONFIG`.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// The resource's type, as in the request.
    pub resource_type: i8,
    /// The resource's name, as in the request.
    pub resource_name: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
