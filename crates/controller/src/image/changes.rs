//! [`ImageChanges`]: what differs between two images.

use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use klamm_primitives::{BrokerId, PartitionIndex, TopicId};

use super::{ConfigResource, MetadataImage, PartitionImage, TopicImage};

/// What differs between an image and an older one, in the order of names or numbers.
///
/// A topic that was deleted and made again under its name is both deleted and created: it has
/// another id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageChanges {
    /// Topics that the older image does not have, as they are now.
    pub topics_created: Vec<Arc<TopicImage>>,
    /// Topics with partitions that were added or changed.
    pub topics_changed: Vec<TopicChange>,
    /// Topics that are gone, as they were.
    pub topics_deleted: Vec<Arc<TopicImage>>,
    /// Brokers that came, went or changed.
    pub brokers: Vec<BrokerId>,
    /// Resources of which some setting changed; those of deleted topics among them.
    pub settings: Vec<ConfigResource>,
}

impl ImageChanges {
    /// Whether nothing changed but the offset, the features and the next producer id.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A topic before and after its partitions changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicChange {
    /// As it was.
    pub old: Arc<TopicImage>,
    /// As it is now; it has no fewer partitions.
    pub new: Arc<TopicImage>,
}

impl TopicChange {
    /// The partitions that were added or changed, by rising index.
    pub fn partitions(&self) -> impl Iterator<Item = PartitionDifference<'_>> {
        let (old, new) = (&self.old.partitions, &self.new.partitions);
        (0..).zip(new).filter_map(|(index, new)| {
            let before = old.get(usize::try_from(index).ok()?);
            (before != Some(new)).then(|| PartitionDifference {
                index: PartitionIndex::new(index),
                old: before.map(AsRef::as_ref),
                new,
            })
        })
    }
}

/// A partition that was added or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionDifference<'a> {
    /// Its index.
    pub index: PartitionIndex,
    /// As it was; `None` if it was added.
    pub old: Option<&'a PartitionImage>,
    /// As it is now.
    pub new: &'a PartitionImage,
}

impl MetadataImage {
    /// What differs from an older image of the same cluster. What the two share is not walked
    /// over: the cost goes with what changed, not with how much there is.
    #[must_use]
    pub fn changes_since(&self, older: &Self) -> ImageChanges {
        let mut changes = ImageChanges {
            brokers: changed_keys(&older.brokers, &self.brokers),
            settings: changed_keys(&older.settings, &self.settings),
            ..ImageChanges::default()
        };
        for difference in older.topics.diff(&self.topics) {
            match difference {
                DiffItem::Add(_, new) => changes.topics_created.push(new.clone()),
                DiffItem::Remove(_, old) => changes.topics_deleted.push(old.clone()),
                DiffItem::Update { old, new } => changes.topics_changed.push(TopicChange {
                    old: old.1.clone(),
                    new: new.1.clone(),
                }),
            }
        }
        let by_name =
            |topic: &Arc<TopicImage>| -> (Arc<str>, TopicId) { (topic.name.clone(), topic.id) };
        changes.topics_created.sort_by_key(by_name);
        changes.topics_deleted.sort_by_key(by_name);
        changes
            .topics_changed
            .sort_by_key(|change| by_name(&change.new));
        changes
    }
}

fn changed_keys<K: Ord + Clone, V: PartialEq>(old: &OrdMap<K, V>, new: &OrdMap<K, V>) -> Vec<K> {
    old.diff(new)
        .map(|difference| match difference {
            DiffItem::Add(key, _) | DiffItem::Remove(key, _) => key.clone(),
            DiffItem::Update { new, .. } => new.0.clone(),
        })
        .collect()
}
