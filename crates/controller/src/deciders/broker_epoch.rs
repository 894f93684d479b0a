//! The check that every request with a broker epoch begins with. (CO-017)

use std::sync::Arc;

use klamm_primitives::{BrokerEpoch, BrokerId};
use thiserror::Error;

use crate::image::{BrokerImage, MetadataImage};

/// A broker speaks under an epoch that is not, or no longer, its own. It must register anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("broker {broker} says that its epoch is {given}, and it is {present:?}")]
pub struct StaleBrokerEpoch {
    /// The broker.
    pub broker: BrokerId,
    /// The epoch that it says.
    pub given: BrokerEpoch,
    /// Its epoch; `None` if it is not registered.
    pub present: Option<BrokerEpoch>,
}

/// The broker, if it speaks under its present epoch.
pub(crate) fn check_epoch(
    image: &MetadataImage,
    broker: BrokerId,
    given: BrokerEpoch,
) -> Result<&Arc<BrokerImage>, StaleBrokerEpoch> {
    let found = image.broker(broker);
    found
        .filter(|found| found.epoch == given)
        .ok_or_else(|| StaleBrokerEpoch {
            broker,
            given,
            present: found.map(|it| it.epoch),
        })
}
