//! A broker takes a block of producer ids. (CO-085, CO-086)

use std::time::Instant;

use klamm_primitives::{BrokerEpoch, BrokerId, ProducerId};
use klamm_wire::metadata::producer_ids::ProducerIdsRecord;
use thiserror::Error;

use super::broker_epoch::{StaleBrokerEpoch, check_epoch};
use crate::core::{Core, Decide, Decision};
use crate::error::ControllerError;
use crate::image::MetadataImage;

/// Asks for a block of producer ids that nobody else will ever have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocateProducerIds {
    /// The broker that will give them out.
    pub broker: BrokerId,
    /// The epoch of its registration.
    pub epoch: BrokerEpoch,
}

/// Producer ids in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerIdBlock {
    /// The first one.
    pub first: ProducerId,
    /// How many there are.
    pub count: i32,
}

/// No producer ids were handed out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProducerIdsError {
    /// The controller could not do it.
    #[error(transparent)]
    Controller(#[from] ControllerError),
    /// The broker speaks under another epoch than its own, or is not registered.
    #[error(transparent)]
    StaleEpoch(#[from] StaleBrokerEpoch),
    /// No whole block is left of the 63-bit numbers.
    #[error("no producer ids are left behind {next}")]
    UsedUp {
        /// The first one that is free.
        next: ProducerId,
    },
}

/// Ids in a block.
const BLOCK_LEN: i32 = 1000;

impl Decide for AllocateProducerIds {
    type Answer = Result<ProducerIdBlock, ProducerIdsError>;

    fn decide(
        self,
        _core: &mut Core,
        image: &MetadataImage,
        _now: Instant,
    ) -> Decision<Self::Answer> {
        if let Err(stale) = check_epoch(image, self.broker, self.epoch) {
            return Decision::unchanged(Err(stale.into()));
        }
        let first = image.next_producer_id();
        let Some(next) = first.get().checked_add(BLOCK_LEN.into()) else {
            return Decision::unchanged(Err(ProducerIdsError::UsedUp { next: first }));
        };
        let record = ProducerIdsRecord {
            broker_id: self.broker,
            broker_epoch: self.epoch,
            next_producer_id: next.into(),
            ..ProducerIdsRecord::default()
        };
        Decision {
            records: vec![record.into()],
            answer: Ok(ProducerIdBlock {
                first,
                count: BLOCK_LEN,
            }),
        }
    }
}
