//! A broker joins the cluster. (CO-011 to CO-015, CO-019)

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use klamm_primitives::{BrokerEpoch, BrokerId, Offset, Uuid};
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use klamm_wire::metadata::register_broker::{BrokerEndpoint, BrokerFeature, RegisterBrokerRecord};
use thiserror::Error;

use crate::core::{Core, Decide, Decision};
use crate::error::ControllerError;
use crate::fencing;
use crate::image::{Endpoint, FeatureRange, MetadataImage, directory_id};

/// Registers a broker: at every start of its process, before its first heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterBroker {
    /// The broker.
    pub broker: BrokerId,
    /// The cluster that it thinks it is in.
    pub cluster_id: Arc<str>,
    /// Drawn at the start of its process.
    pub incarnation_id: Uuid,
    /// Where it can be reached.
    pub endpoints: Vec<Endpoint>,
    /// The feature levels that it can run.
    pub features: Vec<FeatureRange>,
    /// Its failure domain.
    pub rack: Option<Arc<str>>,
    /// The ids of its log directories that work.
    pub log_dirs: Vec<Uuid>,
    /// The ids of those that get no new replicas.
    pub cordoned_log_dirs: Vec<Uuid>,
}

/// A broker was not registered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegisterBrokerError {
    /// The controller could not do it.
    #[error(transparent)]
    Controller(#[from] ControllerError),
    /// It belongs to another cluster.
    #[error("the broker is of cluster {given}, and this is cluster {present}")]
    InconsistentClusterId {
        /// The cluster that it thinks it is in.
        given: Arc<str>,
        /// This one.
        present: Arc<str>,
    },
    /// Another process with this broker id is alive.
    #[error("broker {broker} is alive as incarnation {incarnation}")]
    Duplicate {
        /// The broker id.
        broker: BrokerId,
        /// The incarnation that is alive.
        incarnation: Uuid,
    },
    /// It cannot run a feature at the level that the cluster runs it at.
    #[error("the cluster runs {feature} at level {level}, and the broker cannot")]
    UnsupportedFeature {
        /// The feature.
        feature: Arc<str>,
        /// The level.
        level: i16,
    },
    /// It tells no log directory, a reserved id, or one twice.
    #[error("the log directory ids of the broker are not valid: {reason}")]
    InvalidDirectories {
        /// What is wrong.
        reason: &'static str,
    },
    /// One of its log directories is another broker's.
    #[error("log directory {directory} belongs to broker {owner}")]
    DirectoryTaken {
        /// The directory's id.
        directory: Uuid,
        /// Whose it is.
        owner: BrokerId,
    },
}

/// The feature that tells which records the log may hold.
const METADATA_VERSION: &str = "metadata.version";

/// The level that a broker has which names no range for it: the first that a log of records could
/// have.
const METADATA_VERSION_OLDEST: i16 = 1;

impl Decide for RegisterBroker {
    type Answer = Result<BrokerEpoch, RegisterBrokerError>;

    fn decide(
        self,
        core: &mut Core,
        image: &MetadataImage,
        now: Instant,
    ) -> Decision<Self::Answer> {
        let checked = self
            .check_identity(core, image, now)
            .and_then(|()| self.check_features(image))
            .and_then(|()| self.check_directories(image));
        if let Err(error) = checked {
            return Decision::unchanged(Err(error));
        }
        let former = image.broker(self.broker);
        if let Some(same) = former.filter(|it| it.incarnation_id == self.incarnation_id) {
            // It asks again, because the first answer was lost.
            return Decision::unchanged(Ok(same.epoch));
        }
        let mut records = match former {
            Some(former) if !former.is_fenced => fencing::leave_partitions(core, image, former.id),
            _ => Vec::new(),
        };
        core.sessions.forget(self.broker);
        let broker = self.broker;
        records.push(self.into_record());
        core.sessions.touch(broker, now, true, Offset::UNKNOWN);
        Decision {
            records,
            answer: Ok(BrokerEpoch::NONE),
        }
    }

    fn needs_offset(&self) -> bool {
        true
    }

    /// The broker epoch is the offset of the registration.
    fn committed(answer: &mut Self::Answer, offset: Offset) {
        if let Ok(epoch @ BrokerEpoch::NONE) = answer {
            *epoch = offset.get().into();
        }
    }
}

impl RegisterBroker {
    fn check_identity(
        &self,
        core: &Core,
        image: &MetadataImage,
        now: Instant,
    ) -> Result<(), RegisterBrokerError> {
        if self.cluster_id != *image.cluster_id() {
            return Err(RegisterBrokerError::InconsistentClusterId {
                given: self.cluster_id.clone(),
                present: image.cluster_id().clone(),
            });
        }
        match image.broker(self.broker) {
            Some(former)
                if former.incarnation_id != self.incarnation_id
                    && !former.in_controlled_shutdown
                    && core.sessions.is_alive(self.broker, now) =>
            {
                Err(RegisterBrokerError::Duplicate {
                    broker: self.broker,
                    incarnation: former.incarnation_id,
                })
            }
            _ => Ok(()),
        }
    }

    fn check_features(&self, image: &MetadataImage) -> Result<(), RegisterBrokerError> {
        for (name, level) in image.features() {
            let range = self.features.iter().find(|it| it.name == *name);
            let is_supported = match range {
                Some(range) => (range.level_min..=range.level_max).contains(&level),
                None => &**name == METADATA_VERSION && level == METADATA_VERSION_OLDEST,
            };
            if !is_supported {
                return Err(RegisterBrokerError::UnsupportedFeature {
                    feature: name.clone(),
                    level,
                });
            }
        }
        Ok(())
    }

    fn check_directories(&self, image: &MetadataImage) -> Result<(), RegisterBrokerError> {
        let invalid = |reason| Err(RegisterBrokerError::InvalidDirectories { reason });
        if self.log_dirs.is_empty() {
            return invalid("there is none");
        }
        if self.log_dirs.iter().any(directory_id::is_reserved) {
            return invalid("a reserved id is among them");
        }
        let unique: BTreeSet<_> = self.log_dirs.iter().collect();
        if unique.len() < self.log_dirs.len() {
            return invalid("one is there twice");
        }
        let others = image.brokers().filter(|other| other.id != self.broker);
        for other in others {
            let taken = other.log_dirs.iter().find(|it| unique.contains(it));
            if let Some(directory) = taken {
                return Err(RegisterBrokerError::DirectoryTaken {
                    directory: *directory,
                    owner: other.id,
                });
            }
        }
        Ok(())
    }

    /// A broker begins fenced (CO-013). Its epoch is left open: the offset is not known yet.
    fn into_record(self) -> Record {
        let end_points = self.endpoints.iter().map(|endpoint| BrokerEndpoint {
            name: (&*endpoint.listener).into(),
            host: (&*endpoint.host).into(),
            port: endpoint.port,
            security_protocol: endpoint.security_protocol.number(),
            ..BrokerEndpoint::default()
        });
        let features = self.features.iter().map(|feature| BrokerFeature {
            name: (&*feature.name).into(),
            min_supported_version: feature.level_min,
            max_supported_version: feature.level_max,
            ..BrokerFeature::default()
        });
        RegisterBrokerRecord {
            broker_id: self.broker,
            incarnation_id: self.incarnation_id,
            broker_epoch: BrokerEpoch::NONE,
            end_points: end_points.collect(),
            features: features.collect(),
            rack: self.rack.as_deref().map(Into::into),
            fenced: true,
            log_dirs: self.log_dirs,
            cordoned_log_dirs: Some(self.cordoned_log_dirs),
            ..RegisterBrokerRecord::default()
        }
        .into()
    }
}
