//! `AlterConfigs` (key 33): replaces all settings of a resource: those not named go back to their
//! defaults. `IncrementalAlterConfigs` touches only what it names and should be preferred. Answered
//! by the controller, also by way of any broker.
//!
//! v1 lets the client wait out the throttle time, v2 is flexible.

use crate::prelude::*;

/// Replaces settings, resource by resource: each is altered whole or not at all.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(33), versions = 0..=2, flexible = 2.., listeners(broker, controller))]
pub struct AlterConfigsRequest {
    /// The resources to alter.
    pub resources: Vec<AlterConfigsResource>,
    /// Whether only to check the request, altering nothing.
    pub validate_only: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One resource to alter, in [`AlterConfigsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterConfigsResource {
    /// The resource type (see the [codes](super::describe_configs#codes)).
    pub resource_type: i8,
    /// The resource's name; for a broker its id in decimal, or empty for all brokers.
    pub resource_name: ByteString,
    /// All settings that the resource is to have.
    pub configs: Vec<AlterableConfig>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One setting, in [`AlterConfigsResource`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterableConfig {
    /// The setting's name.
    pub name: ByteString,
    /// The value, as text. Null is legal on the wire; brokers refuse it.
    #[wire(nullable = ..)]
    pub value: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`AlterConfigsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(33), versions = 0..=2, flexible = 2..)]
pub struct AlterConfigsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each resource of the request.
    pub responses: Vec<AlterConfigsResourceResponse>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One resource's outcome, in [`AlterConfigsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterConfigsResourceResponse {
    /// Why the resource was not altered; 0 when it was.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// The resource type (see the [codes](super::describe_configs#codes)).
    pub resource_type: i8,
    /// The resource's name.
    pub resource_name: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
