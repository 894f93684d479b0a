//! Topics get more partitions. (CO-048 to CO-050)

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use klamm_primitives::{BrokerId, PartitionIndex};
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use thiserror::Error;

use super::assignment::{AssignmentError, check_replicas, new_partition};
use super::create_topics::PARTITION_COUNT_MAX;
use crate::core::{Core, Decide, Decision};
use crate::image::{MetadataImage, TopicImage};
use crate::placement::Placement;

/// Adds partitions to topics, each for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreatePartitions {
    /// The topics.
    pub topics: Vec<NewPartitions>,
    /// Only says what would be done.
    pub validate_only: bool,
}

/// More partitions for one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPartitions {
    /// The topic.
    pub topic: Arc<str>,
    /// How many it shall have in all.
    pub count: i32,
    /// The replicas of each new one; `None` to leave that to the controller.
    pub assignments: Option<Vec<Vec<BrokerId>>>,
}

/// Partitions were not added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CreatePartitionsError {
    /// There is no such topic.
    #[error("there is no topic {topic}")]
    UnknownTopic {
        /// The name.
        topic: Arc<str>,
    },
    /// The request names the topic twice.
    #[error("the request names the topic more than once")]
    NamedTwice,
    /// The new number is not greater than the present one.
    #[error("{count} partitions in all, and there are {present}")]
    NotMore {
        /// What was asked for.
        count: i32,
        /// What there is.
        present: usize,
    },
    /// More partitions than one request may make.
    #[error("more than {PARTITION_COUNT_MAX} partitions in one request")]
    TooManyPartitions,
    /// There are fewer brokers than replicas, or all are fenced.
    #[error("{factor} replicas, and of {usable} brokers that could hold one {active} are active")]
    InvalidReplicationFactor {
        /// Replicas of the topic's partitions.
        factor: usize,
        /// Brokers that could hold a replica.
        usable: usize,
        /// Those of them that could lead.
        active: usize,
    },
    /// The replicas assigned by hand are not valid.
    #[error(transparent)]
    InvalidAssignment(#[from] AssignmentError),
}

impl Decide for CreatePartitions {
    type Answer = Vec<Result<(), CreatePartitionsError>>;

    fn decide(
        self,
        core: &mut Core,
        image: &MetadataImage,
        _now: Instant,
    ) -> Decision<Self::Answer> {
        let mut names = BTreeSet::new();
        let twice = self.topics.iter().filter(|it| !names.insert(&it.topic));
        let twice: BTreeSet<_> = twice.map(|it| it.topic.clone()).collect();
        let mut placement = Placement::new(image, &mut core.rng);
        let mut left = PARTITION_COUNT_MAX;
        let mut records = Vec::new();
        let mut add = |wanted: &NewPartitions| {
            if twice.contains(&wanted.topic) {
                return Err(CreatePartitionsError::NamedTwice);
            }
            let topic = wanted.topic_in(image)?;
            let count = wanted.added_to(topic)?;
            left = left
                .checked_sub(count)
                .ok_or(CreatePartitionsError::TooManyPartitions)?;
            let factor = topic.replication_factor();
            let replicas = if let Some(assignments) = &wanted.assignments {
                check_assignments(image, assignments, count, factor)?;
                assignments.clone()
            } else {
                check_brokers(&placement, factor)?;
                let mut place = || placement.next(factor, &mut core.rng);
                (0..count).map(|_| place()).collect()
            };
            let first = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
            let mut made = Vec::new();
            for (index, replicas) in (first..).map(PartitionIndex::new).zip(replicas) {
                let partition = new_partition(image, topic.id, index, replicas);
                made.push(Record::from(partition.ok_or(AssignmentError::NoneActive)?));
            }
            records.extend(made);
            Ok(())
        };
        let answer = self.topics.iter().map(&mut add).collect();
        if self.validate_only {
            records.clear();
        }
        Decision { records, answer }
    }

    fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }
}

impl NewPartitions {
    fn topic_in<'a>(
        &self,
        image: &'a MetadataImage,
    ) -> Result<&'a TopicImage, CreatePartitionsError> {
        let topic = image.topic(&self.topic).map(AsRef::as_ref);
        topic.ok_or_else(|| CreatePartitionsError::UnknownTopic {
            topic: self.topic.clone(),
        })
    }

    /// How many are to be added.
    fn added_to(&self, topic: &TopicImage) -> Result<usize, CreatePartitionsError> {
        let (count, present) = (self.count, topic.partitions.len());
        let total = usize::try_from(count).ok();
        let added = total.and_then(|total| total.checked_sub(present));
        added
            .filter(|added| *added > 0)
            .ok_or(CreatePartitionsError::NotMore { count, present })
    }
}

fn check_brokers(placement: &Placement, factor: usize) -> Result<(), CreatePartitionsError> {
    let (usable, active) = (placement.usable_count(), placement.active_count());
    if factor == 0 || factor > usable || active == 0 {
        return Err(CreatePartitionsError::InvalidReplicationFactor {
            factor,
            usable,
            active,
        });
    }
    Ok(())
}

fn check_assignments(
    image: &MetadataImage,
    assignments: &[Vec<BrokerId>],
    expected: usize,
    factor: usize,
) -> Result<(), AssignmentError> {
    let given = assignments.len();
    if given != expected {
        return Err(AssignmentError::ListCount { given, expected });
    }
    for replicas in assignments {
        check_replicas(image, replicas, Some(factor))?;
    }
    Ok(())
}
