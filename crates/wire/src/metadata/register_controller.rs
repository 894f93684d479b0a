//! `RegisterControllerRecord` (type 27) and `UnregisterControllerRecord` (type 29): which
//! controllers there are (KIP-919).
//!
//! Being registered is not being a voter: the voters stand in control records of the log.

use crate::prelude::*;

/// Registers a controller, or replaces all that was known of one.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(27), versions = 0..=0, flexible = 0..)]
pub struct RegisterControllerRecord {
    /// The controller's node id.
    pub controller_id: BrokerId,
    /// Drawn anew at each start of the controller's process, so that a restart shows.
    pub incarnation_id: Uuid,
    /// Whether the controller is set up for a migration from `ZooKeeper`; false since 4.0.
    pub zk_migration_ready: bool,
    /// Where the controller can be reached, one entry for each listener name.
    pub end_points: Vec<ControllerEndpoint>,
    /// The feature levels that the controller can run, one entry for each feature name.
    pub features: Vec<ControllerFeature>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One endpoint of a controller, in [`RegisterControllerRecord`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ControllerEndpoint {
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

/// The levels of one feature that a controller can run, in [`RegisterControllerRecord`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ControllerFeature {
    /// The feature's name.
    pub name: ByteString,
    /// The lowest level.
    pub min_supported_version: i16,
    /// The highest level.
    pub max_supported_version: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Forgets a controller that will not come back.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(29), versions = 0..=0, flexible = 0..)]
pub struct UnregisterControllerRecord {
    /// The controller's node id.
    pub controller_id: BrokerId,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
