//! `RegisterBrokerRecord` (type 0) and `UnregisterBrokerRecord` (type 1): which brokers belong to
//! the cluster.
//!
//! Of the registration v1 added the controlled shutdown, v2 the mark of a migration from
//! `ZooKeeper`, v3 the log directories (KIP-858), v4 the cordoned ones (KIP-1066).

use crate::prelude::*;

/// Registers a broker, or replaces all that was known of one.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(0), versions = 0..=4, flexible = 0..)]
pub struct RegisterBrokerRecord {
    /// The broker.
    pub broker_id: BrokerId,
    /// Whether the broker was one of `ZooKeeper`'s, in a migration; false since 4.0.
    #[wire(versions = 2..)]
    pub is_migrating_zk_broker: bool,
    /// Drawn anew at each start of the broker's process, so that a restart shows.
    pub incarnation_id: Uuid,
    /// The epoch of this registration: the offset of this record.
    pub broker_epoch: BrokerEpoch,
    /// Where the broker can be reached, one entry for each listener name.
    pub end_points: Vec<BrokerEndpoint>,
    /// The feature levels that the broker can run, one entry for each feature name.
    pub features: Vec<BrokerFeature>,
    /// The broker's rack; null when it has none.
    #[wire(nullable = ..)]
    pub rack: Option<ByteString>,
    /// Whether the broker is fenced: known, but neither leading nor told to clients. Brokers
    /// start so.
    #[wire(default = true)]
    pub fenced: bool,
    /// Whether the broker is about to stop and hands its leaderships over.
    #[wire(versions = 1..)]
    pub in_controlled_shutdown: bool,
    /// The ids of the broker's log directories that work; empty when they are not known.
    #[wire(versions = 3.., tag = 0)]
    pub log_dirs: Vec<Uuid>,
    /// The ids of log directories that get no new replicas; null when they are not known.
    #[wire(versions = 4.., nullable = 4.., tag = 1, default = None)]
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One endpoint of a broker, in [`RegisterBrokerRecord`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct BrokerEndpoint {
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

/// The levels of one feature that a broker can run, in [`RegisterBrokerRecord`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct BrokerFeature {
    /// The feature's name.
    pub name: ByteString,
    /// The lowest level.
    pub min_supported_version: i16,
    /// The highest level.
    pub max_supported_version: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Takes a broker out of the cluster.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(1), versions = 0..=0, flexible = 0..)]
pub struct UnregisterBrokerRecord {
    /// The broker.
    pub broker_id: BrokerId,
    /// The epoch of the registration that ends.
    pub broker_epoch: BrokerEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
