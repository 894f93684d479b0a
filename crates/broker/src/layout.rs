//! [`Layout`]: which partitions a request named, in its order, and what has become of those that
//! got no further.
//!
//! Answers name every partition of the request once and in its order (AP-001, AP-020). What can be
//! told at once is noted here; the others are passed on, and their results, which come back in
//! the order in which they were passed on, are put between.

use std::sync::Arc;

use klamm_controller::{MetadataImage, TopicImage};
use klamm_primitives::{PartitionIndex, TopicId, TopicPartition};
use klamm_wire::ErrorCode;

/// Which partitions a request named, and what has become of those that got no further. Holds
/// nothing of the request's own bytes.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) topics: Vec<TopicLayout>,
}

/// A topic of the request.
#[derive(Debug)]
pub(crate) struct TopicLayout {
    /// Its name; empty if it was named by an id that is not known.
    pub(crate) name: Arc<str>,
    /// Its id, as the request or else the metadata has it.
    pub(crate) id: TopicId,
    pub(crate) partitions: Vec<PartitionLayout>,
}

/// A partition of the request: passed on, or refused.
#[derive(Debug)]
pub(crate) struct PartitionLayout {
    pub(crate) index: PartitionIndex,
    pub(crate) refused: Option<ErrorCode>,
}

/// How a request named a topic.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Named<'a> {
    Name(&'a str),
    Id(TopicId),
}

impl<'a> Named<'a> {
    /// By id from some version on, by name before.
    pub(crate) fn by_version(version: i16, ids_since: i16, name: &'a str, id: TopicId) -> Self {
        if version >= ids_since {
            Self::Id(id)
        } else {
            Self::Name(name)
        }
    }

    fn find(self, image: &MetadataImage) -> Option<&Arc<TopicImage>> {
        match self {
            Self::Name(name) => image.topic(name),
            Self::Id(id) => image.topic_by_id(id),
        }
    }

    /// What is answered if there is no such topic.
    fn unknown(self) -> ErrorCode {
        match self {
            Self::Name(_) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            Self::Id(_) => ErrorCode::UNKNOWN_TOPIC_ID,
        }
    }
}

impl Layout {
    pub(crate) fn with_capacity(topics: usize) -> Self {
        Self {
            topics: Vec::with_capacity(topics),
        }
    }

    /// Begins a topic. Its partitions follow by [`TopicLayout::partition`] on what comes back.
    pub(crate) fn topic<'a>(
        &'a mut self,
        image: &'a MetadataImage,
        named: Named<'_>,
        partitions: usize,
    ) -> OpenTopic<'a> {
        let topic = named.find(image);
        let (name, id) = match (topic, named) {
            (Some(topic), _) => (topic.name.clone(), topic.id),
            (None, Named::Name(name)) => (name.into(), TopicId::ZERO),
            (None, Named::Id(id)) => ("".into(), id),
        };
        self.topics.push(TopicLayout {
            name,
            id,
            partitions: Vec::with_capacity(partitions),
        });
        OpenTopic {
            layout: self.topics.last_mut().expect("it was just added"),
            topic: topic.map(AsRef::as_ref),
            unknown: named.unknown(),
        }
    }

    /// Refuses all partitions, those that would have been passed on included.
    pub(crate) fn refuse_all(&mut self, code: ErrorCode) {
        for partition in self.topics.iter_mut().flat_map(|it| &mut it.partitions) {
            partition.refused = Some(code);
        }
    }

    /// Whether some partition was refused.
    pub(crate) fn has_refused(&self) -> bool {
        let mut partitions = self.topics.iter().flat_map(|topic| &topic.partitions);
        partitions.any(|it| it.refused.is_some())
    }
}

/// A topic whose partitions are being noted.
pub(crate) struct OpenTopic<'a> {
    layout: &'a mut TopicLayout,
    topic: Option<&'a TopicImage>,
    unknown: ErrorCode,
}

impl OpenTopic<'_> {
    /// Notes a partition: its name if the cluster has it, to be passed on, or else why not.
    pub(crate) fn partition(&mut self, index: PartitionIndex) -> Option<TopicPartition> {
        let known = self.topic.and_then(|topic| topic.partition(index));
        let refused = match (self.topic, known) {
            (None, _) => Some(self.unknown),
            (Some(_), None) => Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            (Some(_), Some(_)) => None,
        };
        self.layout
            .partitions
            .push(PartitionLayout { index, refused });
        let name = || TopicPartition::new(self.layout.name.clone(), index);
        refused.is_none().then(name)
    }

    /// Refuses the partition that was noted last.
    pub(crate) fn refuse(&mut self, code: ErrorCode) {
        if let Some(last) = self.layout.partitions.last_mut() {
            last.refused = Some(code);
        }
    }
}

#[cfg(test)]
mod tests {
    use klamm_primitives::{Offset, Uuid};
    use klamm_wire::metadata::partition::PartitionRecord;
    use klamm_wire::metadata::topic::TopicRecord;

    use super::*;

    fn image() -> MetadataImage {
        let topic = TopicRecord {
            name: "clicks".into(),
            topic_id: Uuid::from_u128(7),
            ..TopicRecord::default()
        };
        let partition = PartitionRecord {
            partition_id: PartitionIndex::new(0),
            topic_id: Uuid::from_u128(7),
            replicas: vec![1.into()],
            isr: vec![1.into()],
            leader: 1.into(),
            ..PartitionRecord::default()
        };
        let records = [topic.into(), partition.into()];
        MetadataImage::new("c")
            .apply(&records, Offset::ZERO)
            .unwrap()
    }

    #[test]
    fn what_the_cluster_does_not_know_is_refused_by_how_it_was_named() {
        let image = image();
        let mut layout = Layout::default();
        let mut noted = |named, index| {
            let mut topic = layout.topic(&image, named, 1);
            topic.partition(PartitionIndex::new(index))
        };
        let clicks = TopicPartition::new("clicks", PartitionIndex::new(0));
        assert_eq!(noted(Named::Name("clicks"), 0), Some(clicks.clone()));
        assert_eq!(noted(Named::Id(Uuid::from_u128(7)), 0), Some(clicks));
        assert_eq!(noted(Named::Name("clicks"), 1), None);
        assert_eq!(noted(Named::Name("clicks"), -1), None);
        assert_eq!(noted(Named::Name("none"), 0), None);
        assert_eq!(noted(Named::Id(Uuid::from_u128(8)), 0), None);
        assert_eq!(noted(Named::Id(Uuid::ZERO), 0), None);
        let refused = layout.topics.iter().map(|it| it.partitions[0].refused);
        let codes: Vec<_> = refused.map(|it| it.map_or(0, ErrorCode::get)).collect();
        assert_eq!(codes, [0, 0, 3, 3, 3, 100, 100]);
        assert!(layout.has_refused());
        assert_eq!(
            layout.topics[5].id,
            Uuid::from_u128(8),
            "as it was asked for"
        );
        assert_eq!(&*layout.topics[4].name, "none");
    }
}
