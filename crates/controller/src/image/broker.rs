//! [`BrokerImage`]: a registered broker.

use std::sync::Arc;

use klamm_primitives::{BrokerEpoch, BrokerId, Uuid};
use klamm_wire::SecurityProtocol;

/// A broker as it is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerImage {
    /// The broker.
    pub id: BrokerId,
    /// The epoch of its registration: the offset of the record that made it.
    pub epoch: BrokerEpoch,
    /// Drawn anew at each start of its process.
    pub incarnation_id: Uuid,
    /// Where it can be reached, in its own order.
    pub endpoints: Vec<Endpoint>,
    /// The feature levels that it can run.
    pub features: Vec<FeatureRange>,
    /// Its failure domain.
    pub rack: Option<Arc<str>>,
    /// Whether it is known but neither leads nor is told to clients.
    pub is_fenced: bool,
    /// Whether it is about to stop and hands its leaderships over. Only registering anew ends
    /// this.
    pub in_controlled_shutdown: bool,
    /// The ids of its log directories that work; empty if they are not known.
    pub log_dirs: Vec<Uuid>,
    /// The ids of those that get no new replicas; `None` if they are not known.
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
}

impl BrokerImage {
    /// Where it is reached over the listener of this name.
    pub fn endpoint(&self, listener: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|it| &*it.listener == listener)
    }

    /// Whether it may lead and join an ISR: neither fenced nor about to stop.
    pub fn is_active(&self) -> bool {
        !self.is_fenced && !self.in_controlled_shutdown
    }

    /// Whether a replica in this directory of the broker can be used (KIP-858). It can where the
    /// broker has told none of its directories, and where it has not said yet which one the
    /// replica is in.
    pub fn has_online_directory(&self, directory: Uuid) -> bool {
        self.log_dirs.is_empty()
            || directory == directory_id::UNASSIGNED
            || directory == directory_id::MIGRATING
            || self.log_dirs.contains(&directory)
    }

    /// What is written for the directory of a replica that is placed on it now: its only
    /// directory, if it has told just that one.
    pub(crate) fn default_directory(&self) -> Uuid {
        match self.log_dirs.as_slice() {
            [] => directory_id::MIGRATING,
            [only] => *only,
            _ => directory_id::UNASSIGNED,
        }
    }

    /// The range that it names for a feature.
    pub fn feature(&self, name: &str) -> Option<&FeatureRange> {
        self.features.iter().find(|it| &*it.name == name)
    }
}

/// One listener of a broker, as others reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The listener's name.
    pub listener: Arc<str>,
    /// Host name or address.
    pub host: Arc<str>,
    /// TCP port.
    pub port: u16,
    /// How to speak there.
    pub security_protocol: SecurityProtocol,
}

/// The levels of a feature that a broker can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureRange {
    /// The feature.
    pub name: Arc<str>,
    /// The lowest level.
    pub level_min: i16,
    /// The highest level.
    pub level_max: i16,
}

/// Ids in the place of a directory's that say something of the replica (KIP-858). All ids below
/// 100 are reserved.
pub mod directory_id {
    use klamm_primitives::Uuid;

    /// The broker has not said yet where the replica is.
    pub const UNASSIGNED: Uuid = Uuid::ZERO;

    /// The directory is gone, and the broker has not said where else the replica is.
    pub const LOST: Uuid = Uuid::ONE;

    /// The replica is in a directory from the time before directories had ids.
    pub const MIGRATING: Uuid = Uuid::from_u128(2);

    /// Whether an id is kept for such uses, so that no directory has it.
    pub const fn is_reserved(id: &Uuid) -> bool {
        u128::from_be_bytes(*id.as_bytes()) < 100
    }
}
