//! `ControllerRegistration` (key 70): a controller tells the active one how it can be reached
//! and which feature levels it can run (KIP-919).
//!
//! The active controller writes what it learns as a `RegisterControllerRecord`; without it a
//! feature could be raised above what some standby can read.

use crate::prelude::*;

/// Registers a controller with the active controller, after each start and until it succeeds.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(70), versions = 0..=0, flexible = 0.., listeners(controller))]
pub struct ControllerRegistrationRequest {
    /// The node id of the controller that registers.
    pub controller_id: BrokerId,
    /// Drawn anew at each start of the process, so that a restart shows.
    pub incarnation_id: Uuid,
    /// Whether the controller is set up for a migration from `ZooKeeper`; false since 4.0.
    pub zk_migration_ready: bool,
    /// Where the controller can be reached, one entry for each listener name.
    pub listeners: Vec<Listener>,
    /// The feature levels that the controller can run, one entry for each feature name.
    pub features: Vec<Feature>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One endpoint of a controller, in [`ControllerRegistrationRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Listener {
    /// The listener's name.
    pub name: ByteString,
    /// Host name or address.
    pub host: ByteString,
    /// TCP port.
    pub port: u16,
    /// 0 `PLAINTEXT`, 1 `SSL`, 2 `SASL_PLAINTEXT`, 3 `SASL_SSL`.
    pub security_protocol: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The levels of one feature that a controller can run, in [`ControllerRegistrationRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Feature {
    /// The feature's name, `metadata.version` for instance.
    pub name: ByteString,
    /// The lowest level that the controller can run.
    pub min_supported_version: i16,
    /// The highest level that the controller can run.
    pub max_supported_version: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ControllerRegistrationRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(70), versions = 0..=0, flexible = 0..)]
pub struct ControllerRegistrationResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0 or what went wrong: `NOT_CONTROLLER` when another node is the active controller.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
