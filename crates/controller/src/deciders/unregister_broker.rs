//! A broker leaves the cluster for good. (CO-016)

use std::time::Instant;

use klamm_primitives::BrokerId;
use klamm_wire::metadata::register_broker::UnregisterBrokerRecord;
use thiserror::Error;

use crate::core::{Core, Decide, Decision};
use crate::error::ControllerError;
use crate::fencing;
use crate::image::MetadataImage;

/// Takes a broker out of the cluster; others lead what it led.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnregisterBroker {
    /// The broker.
    pub broker: BrokerId,
}

/// A broker was not unregistered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnregisterBrokerError {
    /// The controller could not do it.
    #[error(transparent)]
    Controller(#[from] ControllerError),
    /// There is no such broker.
    #[error("broker {broker} is not registered")]
    NotRegistered {
        /// The broker.
        broker: BrokerId,
    },
}

impl Decide for UnregisterBroker {
    type Answer = Result<(), UnregisterBrokerError>;

    fn decide(
        self,
        core: &mut Core,
        image: &MetadataImage,
        _now: Instant,
    ) -> Decision<Self::Answer> {
        let Some(broker) = image.broker(self.broker) else {
            let broker = self.broker;
            return Decision::unchanged(Err(UnregisterBrokerError::NotRegistered { broker }));
        };
        let mut records = fencing::leave_partitions(core, image, broker.id);
        let record = UnregisterBrokerRecord {
            broker_id: broker.id,
            broker_epoch: broker.epoch,
            ..UnregisterBrokerRecord::default()
        };
        records.push(record.into());
        core.sessions.forget(broker.id);
        Decision {
            records,
            answer: Ok(()),
        }
    }
}
