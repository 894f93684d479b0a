//! Topics are created. (CO-035 to CO-045)

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use klamm_primitives::{BrokerId, PartitionIndex, TopicId, Uuid};
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use klamm_wire::metadata::config::ConfigRecord;
use klamm_wire::metadata::topic::TopicRecord;
use thiserror::Error;

use super::assignment::{AssignmentError, check_replicas, new_partition};
use super::topic_name::{Colliding, InvalidTopicName, check_name};
use crate::core::{Core, Decide, Decision};
use crate::image::{ConfigResource, MetadataImage, Settings};
use crate::options::InvalidSetting;
use crate::placement::Placement;

/// Creates topics, each for itself: good ones are created although others are refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreateTopics {
    /// The topics.
    pub topics: Vec<NewTopic>,
    /// Only says what would be done.
    pub validate_only: bool,
}

/// A topic to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: Arc<str>,
    /// How many partitions; -1 for the default, and with `assignments`.
    pub partition_count: i32,
    /// How many replicas of each; -1 for the default, and with `assignments`.
    pub replication_factor: i16,
    /// Where the replicas go; empty to leave that to the controller.
    pub assignments: Vec<ManualAssignment>,
    /// Its settings. No value may be `None`; requests can say that, so it is refused here.
    pub settings: GivenSettings,
}

/// Settings as a request gives them: names, and values where there are any.
pub type GivenSettings = Vec<(Arc<str>, Option<Arc<str>>)>;

impl NewTopic {
    /// A topic of which everything is left to the defaults.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            partition_count: -1,
            replication_factor: -1,
            assignments: Vec::new(),
            settings: Vec::new(),
        }
    }
}

/// The replicas of one partition, assigned by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManualAssignment {
    /// The partition.
    pub partition: PartitionIndex,
    /// Its replicas, the preferred leader first.
    pub replicas: Vec<BrokerId>,
}

/// A topic that was created, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedTopic {
    /// Its name.
    pub name: Arc<str>,
    /// Its id; [`Uuid::ZERO`] where it was only validated.
    pub id: TopicId,
    /// How many partitions.
    pub partition_count: i32,
    /// How many replicas of each.
    pub replication_factor: i16,
    /// Its own settings; the defaults are the broker's to add.
    pub settings: Settings,
}

/// A topic was not created.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CreateTopicError {
    /// There is one of this name.
    #[error("a topic of this name exists")]
    Exists,
    /// The request names it twice.
    #[error("the request names the topic more than once")]
    NamedTwice,
    /// It cannot have this name.
    #[error(transparent)]
    InvalidName(#[from] InvalidTopicName),
    /// The number of partitions is 0, or below -1.
    #[error("{count} partitions")]
    InvalidPartitionCount {
        /// The number.
        count: i32,
    },
    /// More partitions than one request may make.
    #[error("more than {PARTITION_COUNT_MAX} partitions in one request")]
    TooManyPartitions,
    /// The number of replicas is 0, below -1, or greater than the number of brokers.
    #[error("{factor} replicas, and {usable} brokers could hold one")]
    InvalidReplicationFactor {
        /// The number.
        factor: i16,
        /// Brokers that could hold a replica.
        usable: usize,
    },
    /// All brokers are fenced.
    #[error("all brokers are fenced or about to stop")]
    NoActiveBroker,
    /// Replicas are assigned by hand and numbers are given, too.
    #[error("numbers of partitions and of replicas must be -1 where replicas are assigned")]
    NumbersBesideAssignments,
    /// The replicas assigned by hand are not valid.
    #[error(transparent)]
    InvalidAssignment(#[from] AssignmentError),
    /// A setting is not valid.
    #[error(transparent)]
    InvalidSetting(#[from] InvalidSetting),
}

/// Partitions that one request may create, so that none holds the controller up for long.
pub(crate) const PARTITION_COUNT_MAX: usize = 10_000;

impl Decide for CreateTopics {
    type Answer = Vec<Result<CreatedTopic, CreateTopicError>>;

    fn decide(
        self,
        core: &mut Core,
        image: &MetadataImage,
        _now: Instant,
    ) -> Decision<Self::Answer> {
        let twice = named_twice(&self.topics);
        let mut making = Making {
            colliding: Colliding::default(),
            placement: Placement::new(image, &mut core.rng),
            left: PARTITION_COUNT_MAX,
            image,
            core,
        };
        let mut records = Vec::new();
        let mut create = |topic: NewTopic| {
            if twice.contains(&topic.name) {
                return Err(CreateTopicError::NamedTwice);
            }
            let (created, made) = making.create(topic)?;
            records.extend(made);
            Ok(created)
        };
        let mut answer: Self::Answer = self.topics.into_iter().map(&mut create).collect();
        if self.validate_only {
            records.clear();
            for created in answer.iter_mut().flatten() {
                created.id = Uuid::ZERO;
            }
        }
        Decision { records, answer }
    }

    fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }
}

fn named_twice(topics: &[NewTopic]) -> BTreeSet<Arc<str>> {
    let mut names = BTreeSet::new();
    let repeated = topics.iter().filter(|topic| !names.insert(&topic.name));
    repeated.map(|topic| topic.name.clone()).collect()
}

/// What the topics of one request share.
struct Making<'a> {
    core: &'a mut Core,
    image: &'a MetadataImage,
    placement: Placement,
    colliding: Colliding,
    /// Partitions that the request may still make.
    left: usize,
}

impl Making<'_> {
    /// The topic, and its records: the topic, its settings, its partitions. (CO-040)
    fn create(&mut self, topic: NewTopic) -> Result<(CreatedTopic, Vec<Record>), CreateTopicError> {
        check_name(&topic.name)?;
        if self.image.topic(&topic.name).is_some() {
            return Err(CreateTopicError::Exists);
        }
        let settings = self.checked_settings(&topic)?;
        self.colliding.check_and_note(self.image, &topic.name)?;
        let replicas = if topic.assignments.is_empty() {
            self.place(&topic)?
        } else {
            self.assigned(&topic)?
        };

        let id = self.new_topic_id();
        let mut records = vec![Record::from(TopicRecord {
            name: (&*topic.name).into(),
            topic_id: id,
            ..TopicRecord::default()
        })];
        for (name, value) in &settings {
            let resource = ConfigResource::Topic(topic.name.clone());
            records.push(setting_record(&resource, name, Some(value)));
        }
        let (partition_count, replication_factor) = (replicas.len(), replicas[0].len());
        for (index, replicas) in (0..).zip(replicas) {
            let partition = new_partition(self.image, id, PartitionIndex::new(index), replicas);
            records.push(partition.ok_or(AssignmentError::NoneActive)?.into());
        }
        let created = CreatedTopic {
            name: topic.name,
            id,
            partition_count: i32::try_from(partition_count).unwrap_or(i32::MAX),
            replication_factor: i16::try_from(replication_factor).unwrap_or(i16::MAX),
            settings,
        };
        Ok((created, records))
    }

    fn checked_settings(&self, topic: &NewTopic) -> Result<Settings, InvalidSetting> {
        let mut settings = Settings::new();
        for (name, value) in &topic.settings {
            let Some(value) = value else {
                return Err(InvalidSetting {
                    name: name.clone(),
                    reason: "it has no value".to_owned(),
                });
            };
            settings.insert(name.clone(), value.clone());
        }
        let resource = ConfigResource::Topic(topic.name.clone());
        self.core.rules.check(&resource, &settings)?;
        Ok(settings)
    }

    /// The replicas of each partition, chosen here.
    fn place(&mut self, topic: &NewTopic) -> Result<Vec<Vec<BrokerId>>, CreateTopicError> {
        let options = &self.core.options;
        let count = match topic.partition_count {
            -1 => options.partition_count,
            count => count,
        };
        let factor = match topic.replication_factor {
            -1 => options.replication_factor,
            factor => factor,
        };
        let partition_count = usize::try_from(count).ok().filter(|count| *count > 0);
        let partition_count =
            partition_count.ok_or(CreateTopicError::InvalidPartitionCount { count })?;
        let usable = self.placement.usable_count();
        let replica_count = usize::try_from(factor).ok();
        let replica_count = replica_count
            .filter(|count| (1..=usable).contains(count))
            .ok_or(CreateTopicError::InvalidReplicationFactor { factor, usable })?;
        if self.placement.active_count() == 0 {
            return Err(CreateTopicError::NoActiveBroker);
        }
        self.take_partitions(partition_count)?;
        let rng = &mut self.core.rng;
        let partitions = 0..partition_count;
        Ok(partitions
            .map(|_| self.placement.next(replica_count, rng))
            .collect())
    }

    /// The replicas of each partition, assigned by hand.
    fn assigned(&mut self, topic: &NewTopic) -> Result<Vec<Vec<BrokerId>>, CreateTopicError> {
        if topic.partition_count != -1 || topic.replication_factor != -1 {
            return Err(CreateTopicError::NumbersBesideAssignments);
        }
        self.take_partitions(topic.assignments.len())?;
        let mut assignments: Vec<_> = topic.assignments.iter().collect();
        assignments.sort_by_key(|assignment| assignment.partition);
        let len = assignments.first().map(|first| first.replicas.len());
        for (expected, assignment) in (0..).map(PartitionIndex::new).zip(&assignments) {
            let index = assignment.partition;
            if index != expected {
                return Err(AssignmentError::Indexes { index, expected }.into());
            }
            check_replicas(self.image, &assignment.replicas, len)?;
        }
        let replicas = assignments.into_iter().map(|it| it.replicas.clone());
        Ok(replicas.collect())
    }

    fn take_partitions(&mut self, count: usize) -> Result<(), CreateTopicError> {
        let left = self.left.checked_sub(count);
        self.left = left.ok_or(CreateTopicError::TooManyPartitions)?;
        Ok(())
    }

    fn new_topic_id(&mut self) -> TopicId {
        loop {
            let id = Uuid::from_random(self.core.random_u128());
            if self.image.topic_by_id(id).is_none() {
                return id;
            }
        }
    }
}

/// The record that sets a resource's setting, or with `None` takes it back.
pub(crate) fn setting_record(
    resource: &ConfigResource,
    name: &str,
    value: Option<&Arc<str>>,
) -> Record {
    ConfigRecord {
        resource_type: resource.kind(),
        resource_name: (&*resource.name()).into(),
        name: name.into(),
        value: value.map(|value| (&**value).into()),
        ..ConfigRecord::default()
    }
    .into()
}
