//! `BrokerRegistration` (key 62): a broker that starts makes itself known to the controller.
//!
//! Flexible from the start. v1 served the migration from `ZooKeeper`, v2 added the log directories
//! (KIP-858), v3 the epoch before a clean shutdown (KIP-966); v4 can tell features that start at
//! level 0, which lower versions leave out of the list. The broker stays fenced until its
//! heartbeats show that it has caught up.

use crate::prelude::*;

/// Registers a broker; sent to the active controller.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(62), versions = 0..=4, flexible = 0.., listeners(controller))]
pub struct BrokerRegistrationRequest {
    /// The broker's id. One that a live broker has is `DUPLICATE_BROKER_REGISTRATION`.
    pub broker_id: BrokerId,
    /// The cluster that the broker was formatted for; another one than the controller's is
    /// `INCONSISTENT_CLUSTER_ID`.
    pub cluster_id: ByteString,
    /// Drawn at random when the process starts, so that a repeated request is told from a new
    /// process.
    pub incarnation_id: Uuid,
    /// Where clients and other brokers can reach this one.
    pub listeners: Vec<Listener>,
    /// The feature levels that this broker's software can work at.
    pub features: Vec<Feature>,
    /// The rack or zone that the broker stands in; `None` when not told.
    #[wire(nullable = ..)]
    pub rack: Option<ByteString>,
    /// Whether the broker still runs on `ZooKeeper`; `false` ever since there is none.
    #[wire(versions = 1..)]
    pub is_migrating_zk_broker: bool,
    /// The broker's log directories that are online.
    #[wire(versions = 2.., ignorable)]
    pub log_dirs: Vec<Uuid>,
    /// The registration that the broker shut down in an orderly way, which proves that it lost
    /// nothing; -1 when it did not.
    #[wire(versions = 3.., default = -1, ignorable)]
    pub previous_broker_epoch: BrokerEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One address of the broker, in [`BrokerRegistrationRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Listener {
    /// The listener's name.
    pub name: ByteString,
    /// The host name or address that it advertises.
    pub host: ByteString,
    /// The TCP port that it advertises.
    pub port: u16,
    /// 0 is plaintext, 1 TLS, 2 SASL over plaintext, 3 SASL over TLS.
    pub security_protocol: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The levels of one feature, in [`BrokerRegistrationRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Feature {
    /// The feature's name, such as `metadata.version`.
    pub name: ByteString,
    /// The lowest level that the broker can work at.
    pub min_supported_version: i16,
    /// The highest level that the broker can work at.
    pub max_supported_version: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`BrokerRegistrationRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(62), versions = 0..=4, flexible = 0..)]
pub struct BrokerRegistrationResponse {
    /// Milliseconds for which the broker should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// Why the broker is not registered: `DUPLICATE_BROKER_REGISTRATION`,
    /// `INCONSISTENT_CLUSTER_ID`, `UNSUPPORTED_VERSION` for features that it lacks.
    pub error_code: ErrorCode,
    /// Names this registration in all that the broker sends from now on; -1 after an error.
    #[wire(default = -1)]
    pub broker_epoch: BrokerEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
