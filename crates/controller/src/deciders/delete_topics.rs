//! Topics are deleted. (CO-046, CO-047)

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use klamm_primitives::TopicId;
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use klamm_wire::metadata::topic::RemoveTopicRecord;
use thiserror::Error;

use crate::core::{Core, Decide, Decision};
use crate::image::{MetadataImage, TopicImage};

/// Deletes topics with their partitions and settings, each for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteTopics {
    /// The topics.
    pub topics: Vec<TopicSelector>,
}

/// A topic, by its name or by its id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TopicSelector {
    /// By name.
    Name(Arc<str>),
    /// By id.
    Id(TopicId),
}

impl TopicSelector {
    /// The topic that is meant.
    pub(crate) fn find<'a>(&self, image: &'a MetadataImage) -> Option<&'a Arc<TopicImage>> {
        match self {
            Self::Name(name) => image.topic(name),
            Self::Id(id) => image.topic_by_id(*id),
        }
    }
}

/// A topic that was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedTopic {
    /// The name that it had.
    pub name: Arc<str>,
    /// Its id.
    pub id: TopicId,
}

/// A topic was not deleted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeleteTopicError {
    /// There is none of this name.
    #[error("there is no topic {name}")]
    UnknownName {
        /// The name.
        name: Arc<str>,
    },
    /// There is none with this id.
    #[error("there is no topic with id {id}")]
    UnknownId {
        /// The id.
        id: TopicId,
    },
    /// The request means it twice.
    #[error("the request means the topic more than once")]
    NamedTwice,
    /// `delete.topic.enable` is false.
    #[error("topics may not be deleted")]
    Disabled,
}

impl Decide for DeleteTopics {
    type Answer = Vec<Result<DeletedTopic, DeleteTopicError>>;

    fn decide(
        self,
        core: &mut Core,
        image: &MetadataImage,
        _now: Instant,
    ) -> Decision<Self::Answer> {
        let twice = meant_twice(&self.topics, image);
        let mut records = Vec::new();
        let mut delete = |selector: TopicSelector| {
            if !core.options.may_delete_topics {
                return Err(DeleteTopicError::Disabled);
            }
            let Some(topic) = selector.find(image) else {
                return Err(match selector {
                    TopicSelector::Name(name) => DeleteTopicError::UnknownName { name },
                    TopicSelector::Id(id) => DeleteTopicError::UnknownId { id },
                });
            };
            if twice.contains(&topic.id) {
                return Err(DeleteTopicError::NamedTwice);
            }
            records.push(Record::from(RemoveTopicRecord {
                topic_id: topic.id,
                ..RemoveTopicRecord::default()
            }));
            Ok(DeletedTopic {
                name: topic.name.clone(),
                id: topic.id,
            })
        };
        let answer = self.topics.into_iter().map(&mut delete).collect();
        Decision { records, answer }
    }

    fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }
}

fn meant_twice(topics: &[TopicSelector], image: &MetadataImage) -> BTreeSet<TopicId> {
    let ids = topics.iter().filter_map(|it| Some(it.find(image)?.id));
    let mut seen = BTreeSet::new();
    ids.filter(|id| !seen.insert(*id)).collect()
}
