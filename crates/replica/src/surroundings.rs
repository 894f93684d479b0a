//! [`Surroundings`]: what every partition knows of its broker and of the others.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hashbrown::HashMap;
use klamm_controller::MetadataImage;
use klamm_primitives::{BrokerEpoch, BrokerId};

/// What the partitions of one broker have in common.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// This broker.
    pub(crate) local: BrokerId,
    /// `replica.lag.time.max.ms`
    pub(crate) lag_max: Duration,
    brokers: ArcSwap<Brokers>,
}

/// The brokers of the cluster, as far as in-sync sets are concerned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Brokers(HashMap<BrokerId, Broker>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Broker {
    epoch: BrokerEpoch,
    is_fenced: bool,
    is_stopping: bool,
}

impl Surroundings {
    pub(crate) fn new(local: BrokerId, lag_max: Duration) -> Self {
        Self {
            local,
            lag_max,
            brokers: ArcSwap::default(),
        }
    }

    /// Takes over what the image says of the brokers.
    pub(crate) fn learn(&self, image: &MetadataImage) {
        let of = |it: &klamm_controller::BrokerImage| Broker {
            epoch: it.epoch,
            is_fenced: it.is_fenced,
            is_stopping: it.in_controlled_shutdown,
        };
        let brokers = image.brokers().map(|it| (it.id, of(it))).collect();
        self.brokers.store(Arc::new(Brokers(brokers)));
    }

    /// Whether a follower may be in an ISR: alive, not on its way out, and the incarnation that
    /// has fetched, if one has. (RE-059)
    pub(crate) fn is_eligible(&self, id: BrokerId, fetched_with: BrokerEpoch) -> bool {
        let brokers = self.brokers.load();
        brokers.0.get(&id).is_some_and(|broker| {
            let is_this_one = fetched_with == BrokerEpoch::NONE || fetched_with == broker.epoch;
            !broker.is_fenced && !broker.is_stopping && is_this_one
        })
    }

    /// Whether the controller counts the broker among the living.
    pub(crate) fn is_alive(&self, id: BrokerId) -> bool {
        let brokers = self.brokers.load();
        brokers.0.get(&id).is_some_and(|broker| !broker.is_fenced)
    }

    /// The epoch of this broker.
    pub(crate) fn local_epoch(&self) -> BrokerEpoch {
        let brokers = self.brokers.load();
        let local = brokers.0.get(&self.local);
        local.map_or(BrokerEpoch::NONE, |broker| broker.epoch)
    }
}
