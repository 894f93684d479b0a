//! [`Core`]: what the deciders have in common, and the trait of a request.

use std::sync::Arc;
use std::time::Instant;

use fastrand::Rng;
use klamm_primitives::{BrokerId, Offset};
use klamm_wire::metadata::ClusterMetadataRecord as Record;

use crate::image::{ConfigResource, MetadataImage, TopicImage};
use crate::options::{ControllerOptions, SettingRules, UNCLEAN_ELECTION};
use crate::partition_change::Election;
use crate::sessions::Sessions;

/// The state of the active controller beside the image: sessions and chance. Owned by the
/// controller's task.
pub(crate) struct Core {
    pub(crate) options: ControllerOptions,
    pub(crate) rules: Arc<dyn SettingRules>,
    pub(crate) sessions: Sessions,
    pub(crate) rng: Rng,
}

/// What a request comes to: records to write, and the answer once they are committed.
#[derive(Debug)]
pub(crate) struct Decision<A> {
    pub(crate) records: Vec<Record>,
    pub(crate) answer: A,
}

impl<A> Decision<A> {
    /// An answer that changes nothing.
    pub(crate) fn unchanged(answer: A) -> Self {
        Self {
            records: Vec::new(),
            answer,
        }
    }
}

/// A request to the controller. Deciding is pure but for sessions and chance; nothing of it is
/// visible before its records are replayed (CO-002).
pub(crate) trait Decide: Send + 'static {
    /// What the caller gets.
    type Answer: Send + 'static;

    /// Comes to a decision against an image in which everything decided before is applied.
    fn decide(self, core: &mut Core, image: &MetadataImage, now: Instant)
    -> Decision<Self::Answer>;

    /// Whether there is nothing to do, so that it is answered even when it is late (CO-004).
    fn is_empty(&self) -> bool {
        false
    }

    /// Whether the request's records must be the last ones at their offset.
    fn needs_offset(&self) -> bool {
        false
    }

    /// Fills in what is known once the records are committed.
    fn committed(_answer: &mut Self::Answer, _offset: Offset) {}
}

impl Core {
    pub(crate) fn new(options: ControllerOptions, rules: Arc<dyn SettingRules>) -> Self {
        Self {
            sessions: Sessions::new(options.session_timeout),
            rng: Rng::with_seed(options.seed),
            options,
            rules,
        }
    }

    /// A number out of all that there are.
    pub(crate) fn random_u128(&mut self) -> u128 {
        self.rng.u128(..)
    }

    /// How leaders of a topic are elected when brokers come and go (CO-068).
    pub(crate) fn election(&self, image: &MetadataImage, topic: &TopicImage) -> Election {
        let of = |resource: &ConfigResource| {
            let value = image.setting(resource, UNCLEAN_ELECTION)?;
            value.parse::<bool>().ok()
        };
        let is_allowed = of(&ConfigResource::Topic(topic.name.clone()))
            .or_else(|| of(&ConfigResource::AllBrokers))
            .unwrap_or(self.options.unclean_election);
        if is_allowed {
            Election::Unclean
        } else {
            Election::Clean
        }
    }

    /// The controller of this node has become the active one.
    pub(crate) fn activate(&mut self, image: &MetadataImage, now: Instant) {
        let unfenced = image.brokers().filter(|broker| !broker.is_fenced);
        let ids: Vec<BrokerId> = unfenced.map(|broker| broker.id).collect();
        self.sessions.restart(ids.into_iter(), now);
    }
}
