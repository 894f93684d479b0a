//! [`MetadataImage`]: what the cluster is, at one offset of its metadata log.

mod apply;
mod broker;
mod changes;
mod config;
mod records;
mod topic;

use std::sync::Arc;

use imbl::{OrdMap, Vector};
use klamm_primitives::{BrokerId, Offset, PartitionIndex, ProducerId, TopicId};

pub use self::apply::ApplyError;
pub use self::broker::{BrokerImage, Endpoint, FeatureRange, directory_id};
pub use self::changes::{ImageChanges, PartitionDifference, TopicChange};
pub use self::config::{ConfigResource, Settings};
pub use self::topic::{PartitionImage, Recovery, TopicImage};

/// The brokers, topics, settings and the rest of the cluster's metadata, as the records up to one
/// offset of the metadata log have made them.
///
/// Immutable and meant to be shared in an `Arc`; a clone costs a few counts. The maps are
/// persistent: an image that follows from another by [`MetadataImage::apply`] shares with it all
/// that did not change, and [`MetadataImage::changes_since`] passes over what is shared. All
/// iteration is in the order of names or numbers, so that whoever decides by an image decides
/// the same each time.
///
/// ```
/// use klamm_controller::MetadataImage;
/// use klamm_primitives::{Offset, Uuid};
/// use klamm_wire::metadata::topic::TopicRecord;
///
/// let empty = MetadataImage::new("a-cluster");
/// let topic = TopicRecord { name: "clicks".into(), topic_id: Uuid::ONE, ..TopicRecord::default() };
/// let image = empty.apply(&[topic.into()], Offset::new(7))?;
/// assert_eq!(image.topic("clicks").map(|topic| topic.id), Some(Uuid::ONE));
/// assert_eq!((empty.topic("clicks"), image.offset()), (None, Offset::new(7)));
/// # Ok::<(), klamm_controller::ApplyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataImage {
    offset: Offset,
    cluster_id: Arc<str>,
    brokers: OrdMap<BrokerId, Arc<BrokerImage>>,
    topic_ids: OrdMap<Arc<str>, TopicId>,
    topics: OrdMap<TopicId, Arc<TopicImage>>,
    /// The topics that were deleted last, in that order.
    deleted: Vector<TopicId>,
    settings: OrdMap<ConfigResource, Arc<Settings>>,
    features: OrdMap<Arc<str>, i16>,
    next_producer_id: ProducerId,
}

/// How many deleted topics an image remembers. A broker deletes the files of a topic as soon as it
/// learns of it, so only those count that were deleted while it did not run. One that was forgotten
/// costs a person a look at what is left of it, and nothing else.
pub const DELETED_TOPICS_MAX: usize = 100_000;

impl MetadataImage {
    /// The image before the first record of the metadata log of this cluster. The cluster's id
    /// is not in the log: every node keeps it in its directories.
    pub fn new(cluster_id: impl Into<Arc<str>>) -> Self {
        Self {
            offset: Offset::UNKNOWN,
            cluster_id: cluster_id.into(),
            brokers: OrdMap::new(),
            topic_ids: OrdMap::new(),
            topics: OrdMap::new(),
            deleted: Vector::new(),
            settings: OrdMap::new(),
            features: OrdMap::new(),
            next_producer_id: ProducerId::new(0),
        }
    }

    /// The offset of the last record in it, inclusive; [`Offset::UNKNOWN`] before the first.
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// Whether no record but such that change nothing has been applied.
    pub fn is_empty(&self) -> bool {
        let empty = Self {
            offset: self.offset,
            ..Self::new(self.cluster_id.clone())
        };
        *self == empty
    }

    /// The cluster's id.
    pub fn cluster_id(&self) -> &Arc<str> {
        &self.cluster_id
    }

    /// A broker, fenced or not; `None` if it is not registered.
    pub fn broker(&self, id: BrokerId) -> Option<&Arc<BrokerImage>> {
        self.brokers.get(&id)
    }

    /// All registered brokers by rising id.
    pub fn brokers(&self) -> impl Iterator<Item = &Arc<BrokerImage>> {
        self.brokers.values()
    }

    /// Whether a broker may lead and join an ISR: registered, neither fenced nor about to stop.
    pub fn is_active(&self, id: BrokerId) -> bool {
        self.broker(id).is_some_and(|broker| broker.is_active())
    }

    /// A topic by its name.
    pub fn topic(&self, name: &str) -> Option<&Arc<TopicImage>> {
        self.topics.get(self.topic_ids.get(name)?)
    }

    /// A topic by its id.
    pub fn topic_by_id(&self, id: TopicId) -> Option<&Arc<TopicImage>> {
        self.topics.get(&id)
    }

    /// All topics by rising name.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<TopicImage>> {
        self.topic_ids.values().filter_map(|id| self.topics.get(id))
    }

    /// How many topics there are.
    pub fn topic_count(&self) -> usize {
        self.topics.len()
    }

    /// The ids of topics that were deleted, the longest ago first; the last
    /// [`DELETED_TOPICS_MAX`] are known. A log that is found to be of one of them is rubbish: the
    /// broker was stopped after the deletion was agreed on, and before the files were gone.
    pub fn deleted_topics(&self) -> impl Iterator<Item = TopicId> {
        self.deleted.iter().copied()
    }

    /// A partition by its topic's name.
    pub fn partition(&self, topic: &str, partition: PartitionIndex) -> Option<&PartitionImage> {
        self.topic(topic)?.partition(partition)
    }

    /// What was set for a resource, without any default; `None` if nothing was.
    pub fn settings(&self, resource: &ConfigResource) -> Option<&Arc<Settings>> {
        self.settings.get(resource)
    }

    /// One setting of a resource, without any default.
    pub fn setting(&self, resource: &ConfigResource, name: &str) -> Option<&Arc<str>> {
        self.settings.get(resource)?.get(name)
    }

    /// The level at which the whole cluster runs a feature; 0 if it is off.
    pub fn feature_level(&self, name: &str) -> i16 {
        self.features.get(name).copied().unwrap_or(0)
    }

    /// All features that are on, by rising name, with their levels.
    pub fn features(&self) -> impl Iterator<Item = (&Arc<str>, i16)> {
        self.features.iter().map(|(name, level)| (name, *level))
    }

    /// The first producer id that is in no block handed out yet.
    pub fn next_producer_id(&self) -> ProducerId {
        self.next_producer_id
    }
}
