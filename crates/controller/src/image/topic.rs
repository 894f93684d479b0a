//! [`TopicImage`] and [`PartitionImage`]: where a topic's partitions are, and who leads them.

use std::sync::Arc;

use klamm_primitives::{BrokerId, LeaderEpoch, PartitionIndex, TopicId, Uuid};

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicImage {
    /// Its name, which may go to another topic once this one is deleted.
    pub name: Arc<str>,
    /// Its id, which never does.
    pub id: TopicId,
    /// Its partitions, by index from 0 without gaps. Those that did not change are shared with
    /// the image before.
    pub partitions: Vec<Arc<PartitionImage>>,
}

impl TopicImage {
    /// A partition.
    pub fn partition(&self, index: PartitionIndex) -> Option<&PartitionImage> {
        let index = usize::try_from(index.get()).ok()?;
        self.partitions.get(index).map(AsRef::as_ref)
    }

    /// All partitions with their indexes, rising.
    pub fn indexed(&self) -> impl Iterator<Item = (PartitionIndex, &PartitionImage)> {
        (0..)
            .map(PartitionIndex::new)
            .zip(self.partitions.iter().map(AsRef::as_ref))
    }

    /// How many replicas its partitions have: those of the first one, without those that a
    /// reassignment adds.
    pub fn replication_factor(&self) -> usize {
        self.partitions.first().map_or(0, |partition| {
            partition.replicas.len() - partition.adding.len()
        })
    }
}

/// A partition's replicas and leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionImage {
    /// The replicas, the preferred leader first. While a reassignment runs, those of its target
    /// and those that it takes away.
    pub replicas: Vec<BrokerId>,
    /// The log directory of each replica, in the order of `replicas`; empty if none was told.
    /// See [`BrokerImage::has_online_directory`](crate::BrokerImage::has_online_directory).
    pub directories: Vec<Uuid>,
    /// The in-sync replicas, by rising place in `replicas` when they were chosen here.
    pub isr: Vec<BrokerId>,
    /// Replicas that a running reassignment adds.
    pub adding: Vec<BrokerId>,
    /// Replicas that a running reassignment takes away.
    pub removing: Vec<BrokerId>,
    /// The leader, if there is one.
    pub leader: Option<BrokerId>,
    /// Whether the leader came from outside of the ISR and has yet to settle what the log holds.
    pub recovery: Recovery,
    /// Rises with each change of the leader.
    pub leader_epoch: LeaderEpoch,
    /// Rises with each change of anything here.
    pub partition_epoch: i32,
}

impl PartitionImage {
    /// Whether a broker holds a replica.
    pub fn is_replica(&self, broker: BrokerId) -> bool {
        self.replicas.contains(&broker)
    }

    /// The preferred leader: the first of the replicas.
    pub fn preferred_leader(&self) -> Option<BrokerId> {
        self.replicas.first().copied()
    }

    /// Whether a reassignment is running.
    pub fn is_reassigning(&self) -> bool {
        !(self.adding.is_empty() && self.removing.is_empty())
    }

    /// The log directory of a replica; `None` if the broker holds none, or if its directory was
    /// never told.
    pub fn directory(&self, broker: BrokerId) -> Option<Uuid> {
        let place = self.replicas.iter().position(|it| *it == broker)?;
        self.directories.get(place).copied()
    }
}

/// The state of the log under a partition's leader.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// The leader came out of the ISR, or has settled since.
    #[default]
    Recovered,
    /// The leader came from outside of the ISR and has not settled yet.
    Recovering,
}

impl Recovery {
    /// The number that records and requests have for it.
    pub const fn number(self) -> i8 {
        match self {
            Self::Recovered => 0,
            Self::Recovering => 1,
        }
    }

    /// What a number stands for.
    pub const fn from_number(number: i8) -> Option<Self> {
        match number {
            0 => Some(Self::Recovered),
            1 => Some(Self::Recovering),
            _ => None,
        }
    }
}
