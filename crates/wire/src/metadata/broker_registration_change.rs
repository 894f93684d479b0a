//! `BrokerRegistrationChangeRecord` (type 17): a change to a registered broker; and the older
//! `FenceBrokerRecord` (type 7) and `UnfenceBrokerRecord` (type 8), which it took the place of.
//!
//! Of the change v1 added the controlled shutdown, v2 the log directories (KIP-858), v3 the
//! cordoned ones (KIP-1066). Partitions are changed by records of their own, written before.

use crate::prelude::*;

/// Changes parts of a broker's registration; what is at its default stays as it was.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(17), versions = 0..=3, flexible = 0..)]
pub struct BrokerRegistrationChangeRecord {
    /// The broker.
    pub broker_id: BrokerId,
    /// The epoch of the registration that changes.
    pub broker_epoch: BrokerEpoch,
    /// 1 fences the broker, -1 unfences it, 0 is no change.
    #[wire(tag = 0)]
    pub fenced: i8,
    /// 1 begins the controlled shutdown, 0 is no change. There is no way back but to register.
    #[wire(versions = 1.., tag = 1)]
    pub in_controlled_shutdown: i8,
    /// The ids of all log directories that work; empty is no change.
    #[wire(versions = 2.., tag = 2)]
    pub log_dirs: Vec<Uuid>,
    /// The ids of all log directories that get no new replicas; null is no change.
    #[wire(versions = 3.., nullable = 3.., tag = 3, default = None)]
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Fences a broker; only in logs that began with an early metadata version.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(7), versions = 0..=0, flexible = 0..)]
pub struct FenceBrokerRecord {
    /// The broker.
    pub id: BrokerId,
    /// The epoch of its registration.
    pub epoch: BrokerEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Unfences a broker; only in logs that began with an early metadata version.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(8), versions = 0..=0, flexible = 0..)]
pub struct UnfenceBrokerRecord {
    /// The broker.
    pub id: BrokerId,
    /// The epoch of its registration.
    pub epoch: BrokerEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
