//! `DescribeConfigs` (key 32): the settings of topics, brokers, groups and others, and where each
//! comes from; any node answers, save that a broker's own settings are answered by that broker.
//!
//! v1 added synonyms and the source of a setting (KIP-226), v2 lets the client wait out the
//! throttle time, v3 added types and documentation (KIP-569), v4 is flexible.
//!
//! # Codes
//!
//! Resource types, here and in the messages that alter settings: 2 topic, 4 broker, 8 a broker's
//! log levels, 16 client metrics, 32 group.
//!
//! | source | where the value was set |
//! |---|---|
//! | 1 | for this topic |
//! | 2 | for this broker, while it ran |
//! | 3 | for all brokers, while they ran |
//! | 4 | in the broker's file |
//! | 5 | nowhere: the built-in value |
//! | 6 | a log level, while the broker ran |
//! | 7 | for a client metrics subscription |
//! | 8 | for this group |

use crate::prelude::*;

/// Asks for settings.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(32), versions = 1..=4, flexible = 4.., listeners(broker, controller))]
pub struct DescribeConfigsRequest {
    /// The resources asked for.
    pub resources: Vec<DescribeConfigsResource>,
    /// Whether to report, for each setting, all that could have given its value.
    #[wire(versions = 1..)]
    pub include_synonyms: bool,
    /// Whether to report what each setting means.
    #[wire(versions = 3..)]
    pub include_documentation: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One resource asked for, in [`DescribeConfigsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeConfigsResource {
    /// The resource type (see the [codes](self#codes)).
    pub resource_type: i8,
    /// The topic's name, the broker's id in decimal (empty: what is set for all brokers), the
    /// group's id, ...
    pub resource_name: ByteString,
    /// The names of the settings asked for; null asks for all.
    #[wire(nullable = ..)]
    pub configuration_keys: Option<Vec<ByteString>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeConfigsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(32), versions = 1..=4, flexible = 4..)]
pub struct DescribeConfigsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each resource asked for.
    pub results: Vec<DescribeConfigsResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One resource's settings, in [`DescribeConfigsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeConfigsResult {
    /// Why the settings are not given; 0 when they are.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// The resource type (see the [codes](self#codes)).
    pub resource_type: i8,
    /// The resource's name, as the request gave it.
    pub resource_name: ByteString,
    /// The settings; empty on error.
    pub configs: Vec<DescribeConfigsResourceResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One setting, in [`DescribeConfigsResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeConfigsResourceResult {
    /// The setting's name.
    pub name: ByteString,
    /// The value in force, as text; null when it is sensitive or there is none.
    #[wire(nullable = ..)]
    pub value: Option<ByteString>,
    /// Whether the setting cannot be altered while the broker runs.
    pub read_only: bool,
    /// Where the value comes from (see the [codes](self#codes)); -1 when it is not told.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub config_source: i8,
    /// Whether the value is a secret, and therefore left out.
    pub is_sensitive: bool,
    /// All that could have given the value, the one in force first; empty when not asked for.
    #[wire(versions = 1.., ignorable)]
    pub synonyms: Vec<DescribeConfigsSynonym>,
    /// The type of the value: 0 unknown, 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7
    /// list, 8 class, 9 password.
    #[wire(versions = 3.., ignorable)]
    pub config_type: i8,
    /// What the setting means; null when not asked for or not known.
    #[wire(versions = 3.., nullable = .., ignorable)]
    pub documentation: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One place that could have given a value, in [`DescribeConfigsResourceResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeConfigsSynonym {
    /// The name that the setting has there: a topic's `retention.ms` is a broker's
    /// `log.retention.ms`.
    #[wire(versions = 1..)]
    pub name: ByteString,
    /// The value there, as text; null when it is sensitive.
    #[wire(versions = 1.., nullable = ..)]
    pub value: Option<ByteString>,
    /// The place (see the [codes](self#codes)).
    #[wire(versions = 1..)]
    pub source: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
