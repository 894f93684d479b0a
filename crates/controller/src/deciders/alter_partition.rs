//! A leader changes its partitions' ISR. (CO-071 to CO-077)

use std::time::Instant;

use klamm_primitives::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionIndex, TopicId};
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use thiserror::Error;

use super::broker_epoch::{StaleBrokerEpoch, check_epoch};
use super::delete_topics::TopicSelector;
use crate::core::{Core, Decide, Decision};
use crate::error::ControllerError;
use crate::image::{MetadataImage, PartitionImage, Recovery, TopicImage};
use crate::partition_change::{PartitionChange, may_lead};

/// New in-sync replicas of partitions that a broker leads, each judged for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterPartition {
    /// The broker that leads them.
    pub broker: BrokerId,
    /// The epoch of its registration.
    pub epoch: BrokerEpoch,
    /// What is to change.
    pub changes: Vec<IsrChange>,
}

/// A new ISR of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsrChange {
    /// The topic.
    pub topic: TopicSelector,
    /// The partition.
    pub partition: PartitionIndex,
    /// The leader epoch under which the broker leads it.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch that the change is based on.
    pub partition_epoch: i32,
    /// The new ISR, the leader among them.
    pub isr: Vec<IsrMember>,
    /// Whether the leader has settled its log after an unclean election.
    pub recovery: Recovery,
}

/// A member of the new ISR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsrMember {
    /// The broker.
    pub broker: BrokerId,
    /// The epoch under which it fetched; [`BrokerEpoch::NONE`] where that is not known.
    pub epoch: BrokerEpoch,
}

/// A partition as it is after the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlteredPartition {
    /// The topic's id.
    pub topic: TopicId,
    /// The partition.
    pub partition: PartitionIndex,
    /// Its leader.
    pub leader: BrokerId,
    /// Its leader epoch.
    pub leader_epoch: LeaderEpoch,
    /// Its ISR.
    pub isr: Vec<BrokerId>,
    /// Its partition epoch.
    pub partition_epoch: i32,
    /// The state of its log.
    pub recovery: Recovery,
}

/// None of a request's changes was made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AlterPartitionError {
    /// The controller could not do it.
    #[error(transparent)]
    Controller(#[from] ControllerError),
    /// The broker speaks under another epoch than its own, or is not registered.
    #[error(transparent)]
    StaleEpoch(#[from] StaleBrokerEpoch),
}

/// The change of one partition was not made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PartitionRefused {
    /// There is no topic with this id.
    #[error("there is no topic with id {id}")]
    UnknownTopicId {
        /// The id.
        id: TopicId,
    },
    /// There is no topic of this name, or it has no such partition.
    #[error("there is no such topic or partition")]
    UnknownPartition,
    /// The broker has seen a later leader or partition epoch than this controller: another one
    /// must be active.
    #[error("the broker has seen a later epoch than this controller")]
    AheadOfController,
    /// The broker led under an earlier leader epoch, and it has another by now.
    #[error("the leader epoch {given} is over, it is {present} by now")]
    FencedLeaderEpoch {
        /// What the broker said.
        given: LeaderEpoch,
        /// The present one.
        present: LeaderEpoch,
    },
    /// The broker does not lead the partition.
    #[error("the partition is led by {leader:?}")]
    NotLeader {
        /// Who leads it.
        leader: Option<BrokerId>,
    },
    /// The change is based on an earlier partition epoch.
    #[error("the partition epoch {given} is over, it is {present} by now")]
    StalePartitionEpoch {
        /// What the broker said.
        given: i32,
        /// The present one.
        present: i32,
    },
    /// The ISR is not made of different replicas with the leader among them.
    #[error("the ISR is not made of different replicas with the leader among them")]
    InvalidIsr,
    /// While recovering the ISR may be the leader alone.
    #[error("the ISR of a recovering partition is its leader alone")]
    RecoveringWithFollowers,
    /// A partition that has recovered cannot begin to recover.
    #[error("the partition has recovered, and only an unclean election undoes that")]
    RecoveredAlready,
    /// A member is fenced, about to stop, not registered, or registered anew since it fetched.
    #[error("broker {broker} cannot be in the ISR")]
    IneligibleReplica {
        /// The member.
        broker: BrokerId,
    },
    /// The change was made, it completed a reassignment, and the broker no longer leads.
    #[error("the reassignment is complete, and broker {leader:?} leads now")]
    NewLeaderElected {
        /// Who leads now.
        leader: Option<BrokerId>,
    },
}

impl Decide for AlterPartition {
    type Answer = Result<Vec<Result<AlteredPartition, PartitionRefused>>, AlterPartitionError>;

    fn decide(
        self,
        core: &mut Core,
        image: &MetadataImage,
        _now: Instant,
    ) -> Decision<Self::Answer> {
        if let Err(stale) = check_epoch(image, self.broker, self.epoch) {
            return Decision::unchanged(Err(stale.into()));
        }
        let mut records = Vec::new();
        let mut alter = |change: &IsrChange| {
            let (topic, partition) = change.find(image)?;
            change.check(image, self.broker, partition)?;
            change.make(core, image, topic, partition, &mut records)
        };
        let answer = self.changes.iter().map(&mut alter).collect();
        Decision {
            records,
            answer: Ok(answer),
        }
    }
}

impl IsrChange {
    fn find<'a>(
        &self,
        image: &'a MetadataImage,
    ) -> Result<(&'a TopicImage, &'a PartitionImage), PartitionRefused> {
        let topic = self.topic.find(image).ok_or(match self.topic {
            TopicSelector::Id(id) => PartitionRefused::UnknownTopicId { id },
            TopicSelector::Name(_) => PartitionRefused::UnknownPartition,
        })?;
        let partition = topic.partition(self.partition);
        let partition = partition.ok_or(PartitionRefused::UnknownPartition)?;
        Ok((topic, partition))
    }

    fn check(
        &self,
        image: &MetadataImage,
        broker: BrokerId,
        partition: &PartitionImage,
    ) -> Result<(), PartitionRefused> {
        if self.leader_epoch > partition.leader_epoch
            || self.partition_epoch > partition.partition_epoch
        {
            return Err(PartitionRefused::AheadOfController);
        }
        if self.leader_epoch < partition.leader_epoch {
            return Err(PartitionRefused::FencedLeaderEpoch {
                given: self.leader_epoch,
                present: partition.leader_epoch,
            });
        }
        let leader = partition.leader;
        if leader != Some(broker) {
            return Err(PartitionRefused::NotLeader { leader });
        }
        if self.partition_epoch < partition.partition_epoch {
            return Err(PartitionRefused::StalePartitionEpoch {
                given: self.partition_epoch,
                present: partition.partition_epoch,
            });
        }
        self.check_isr(broker, partition)?;
        match self.recovery {
            Recovery::Recovering if partition.recovery == Recovery::Recovered => {
                return Err(PartitionRefused::RecoveredAlready);
            }
            Recovery::Recovering if self.isr.len() > 1 => {
                return Err(PartitionRefused::RecoveringWithFollowers);
            }
            Recovery::Recovering | Recovery::Recovered => {}
        }
        match self.isr.iter().find(|member| !member.is_eligible(image)) {
            Some(member) => Err(PartitionRefused::IneligibleReplica {
                broker: member.broker,
            }),
            None => Ok(()),
        }
    }

    fn check_isr(
        &self,
        leader: BrokerId,
        partition: &PartitionImage,
    ) -> Result<(), PartitionRefused> {
        let is_member = |broker| self.isr.iter().any(|it| it.broker == broker);
        let are_replicas = self.isr.iter().all(|it| partition.is_replica(it.broker));
        let is_repeated = |(place, member): (usize, &IsrMember)| {
            self.isr[..place]
                .iter()
                .any(|it| it.broker == member.broker)
        };
        let has_repeats = self.isr.iter().enumerate().any(is_repeated);
        if are_replicas && !has_repeats && is_member(leader) {
            Ok(())
        } else {
            Err(PartitionRefused::InvalidIsr)
        }
    }

    /// The change was checked: makes it, and tells what comes of it.
    fn make(
        &self,
        core: &Core,
        image: &MetadataImage,
        topic: &TopicImage,
        partition: &PartitionImage,
        records: &mut Vec<Record>,
    ) -> Result<AlteredPartition, PartitionRefused> {
        let isr = self.isr.iter().map(|member| member.broker).collect();
        let change = PartitionChange::of(topic.id, self.partition, partition)
            .with_isr(isr)
            .with_recovery(self.recovery);
        let election = core.election(image, topic);
        let record = change.build(election, |id| may_lead(image, partition, id));
        let mut after = partition.clone();
        if let Some(record) = record {
            // Made here, so every value in it has a meaning.
            let changed = after.change(&record);
            debug_assert_eq!(changed, Ok(()), "a record made here can be replayed");
            records.push(record.into());
        }
        match after.leader {
            Some(leader) if after.leader == partition.leader => Ok(AlteredPartition {
                topic: topic.id,
                partition: self.partition,
                leader,
                leader_epoch: after.leader_epoch,
                isr: after.isr,
                partition_epoch: after.partition_epoch,
                recovery: after.recovery,
            }),
            leader => Err(PartitionRefused::NewLeaderElected { leader }),
        }
    }
}

impl IsrMember {
    fn is_eligible(self, image: &MetadataImage) -> bool {
        image.broker(self.broker).is_some_and(|broker| {
            let is_same = self.epoch == BrokerEpoch::NONE || self.epoch == broker.epoch;
            broker.is_active() && is_same
        })
    }
}
