//! Replicas of partitions are moved to other brokers. (CO-078 to CO-084)

use std::time::Instant;

use klamm_primitives::{BrokerId, PartitionIndex, TopicPartition};
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use thiserror::Error;

use super::assignment::{AssignmentError, check_replicas};
use crate::core::{Core, Decide, Decision};
use crate::image::{MetadataImage, PartitionImage, TopicImage};
use crate::partition_change::{Election, PartitionChange, may_lead};

/// Moves replicas, of each partition for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReassignPartitions {
    /// The partitions with the replicas that they shall have, the preferred leader first; `None`
    /// cancels what is running. A new target replaces one that is running.
    pub partitions: Vec<(TopicPartition, Option<Vec<BrokerId>>)>,
}

/// A reassignment was not begun, or not cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReassignError {
    /// There is no such topic or partition.
    #[error("there is no such partition")]
    UnknownPartition,
    /// The replicas are not valid.
    #[error(transparent)]
    InvalidAssignment(#[from] AssignmentError),
    /// There is nothing to cancel.
    #[error("no reassignment of the partition is running")]
    NotRunning,
    /// Of the replicas that would be left none is alive and in the ISR.
    #[error("no replica in the ISR would be left alive")]
    NoneInSync,
}

impl Decide for ReassignPartitions {
    type Answer = Vec<Result<(), ReassignError>>;

    fn decide(
        self,
        core: &mut Core,
        image: &MetadataImage,
        _now: Instant,
    ) -> Decision<Self::Answer> {
        let mut records = Vec::new();
        let mut reassign = |(name, target): &(TopicPartition, Option<Vec<BrokerId>>)| {
            let topic = image.topic(&name.topic);
            let found = topic.and_then(|topic| Some((topic, topic.partition(name.partition)?)));
            let (topic, partition) = found.ok_or(ReassignError::UnknownPartition)?;
            let reassignment = Reassignment {
                image,
                topic,
                index: name.partition,
                partition,
                election: core.election(image, topic),
            };
            let record = match target {
                Some(target) => reassignment.begin(target)?,
                None => reassignment.cancel()?,
            };
            records.extend(record);
            Ok(())
        };
        let answer = self.partitions.iter().map(&mut reassign).collect();
        Decision { records, answer }
    }

    fn is_empty(&self) -> bool {
        self.partitions.is_empty()
    }
}

struct Reassignment<'a> {
    image: &'a MetadataImage,
    topic: &'a TopicImage,
    index: PartitionIndex,
    partition: &'a PartitionImage,
    election: Election,
}

impl Reassignment<'_> {
    /// The replicas are those of the target, and behind them those to be taken away, which serve
    /// until the new ones have caught up.
    fn begin(&self, target: &[BrokerId]) -> Result<Option<Record>, ReassignError> {
        check_replicas(self.image, target, None)?;
        let before = self.replicas_before();
        let without = |list: &[BrokerId], others: &[BrokerId]| -> Vec<BrokerId> {
            let others = |it: &BrokerId| !others.contains(it);
            list.iter().copied().filter(others).collect()
        };
        let (adding, removing) = (without(target, &before), without(&before, target));
        let replicas = [target, &removing].concat();
        self.change(replicas, adding, removing)
    }

    /// The replicas are those of before, and those that were being added are dropped.
    fn cancel(&self) -> Result<Option<Record>, ReassignError> {
        if !self.partition.is_reassigning() {
            return Err(ReassignError::NotRunning);
        }
        let before = self.replicas_before();
        let is_alive = |id: &BrokerId| may_lead(self.image, self.partition, *id);
        let mut left = before.iter().filter(|id| self.partition.isr.contains(id));
        if self.election != Election::Unclean && !left.any(is_alive) {
            return Err(ReassignError::NoneInSync);
        }
        self.change(before, Vec::new(), Vec::new())
    }

    /// The replicas without those that a running reassignment adds. What it moved to the end
    /// stays there: their former order is not kept.
    fn replicas_before(&self) -> Vec<BrokerId> {
        let is_old = |it: &BrokerId| !self.partition.adding.contains(it);
        let replicas = self.partition.replicas.iter().copied();
        replicas.filter(is_old).collect()
    }

    fn change(
        &self,
        replicas: Vec<BrokerId>,
        adding: Vec<BrokerId>,
        removing: Vec<BrokerId>,
    ) -> Result<Option<Record>, ReassignError> {
        let may_lead = |id: BrokerId| may_lead(self.image, self.partition, id);
        let isr = self.partition.isr.iter().copied();
        let isr: Vec<_> = isr.filter(|it| replicas.contains(it)).collect();
        let is_unclean = self.election == Election::Unclean;
        if isr.is_empty() && !(is_unclean && replicas.iter().copied().any(may_lead)) {
            return Err(ReassignError::NoneInSync);
        }
        let change = PartitionChange::of(self.topic.id, self.index, self.partition)
            .with_isr(isr)
            .with_replicas(replicas, adding, removing, self.image);
        let record = change.build(self.election, may_lead);
        Ok(record.map(Record::from))
    }
}

/// A reassignment that is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningReassignment {
    /// The partition.
    pub partition: TopicPartition,
    /// All its replicas at the moment.
    pub replicas: Vec<BrokerId>,
    /// Those that are added.
    pub adding: Vec<BrokerId>,
    /// Those that are taken away.
    pub removing: Vec<BrokerId>,
}

impl MetadataImage {
    /// The reassignments that are running, in the order of their partitions; of the partitions in
    /// `only`, in their order, or of all. (CO-083)
    pub fn running_reassignments(
        &self,
        only: Option<&[TopicPartition]>,
    ) -> Vec<RunningReassignment> {
        let running = |name: TopicPartition, partition: &PartitionImage| {
            partition.is_reassigning().then(|| RunningReassignment {
                partition: name,
                replicas: partition.replicas.clone(),
                adding: partition.adding.clone(),
                removing: partition.removing.clone(),
            })
        };
        match only {
            Some(names) => names
                .iter()
                .filter_map(|name| {
                    let partition = self.partition(&name.topic, name.partition)?;
                    running(name.clone(), partition)
                })
                .collect(),
            None => self
                .topics()
                .flat_map(|topic| {
                    topic.indexed().filter_map(|(index, partition)| {
                        let name = TopicPartition::new(topic.name.clone(), index);
                        running(name, partition)
                    })
                })
                .collect(),
        }
    }
}
