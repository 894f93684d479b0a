//! [`PartitionChange`]: from what a partition should be to the record that makes it so, with the
//! leader that follows from it. (CO-061 to CO-065, CO-079)

use klamm_primitives::{BrokerId, PartitionIndex, TopicId, Uuid};
use klamm_wire::metadata::partition::PartitionChangeRecord;

use crate::image::{MetadataImage, PartitionImage, Recovery};

/// How a leader is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Election {
    /// The current leader if it can stay, else the first of the replicas that is in the ISR.
    Clean,
    /// The first of the replicas if it is in the ISR, else as [`Election::Clean`].
    Preferred,
    /// As [`Election::Clean`], and if that finds none, any replica that is alive.
    Unclean,
}

/// A partition, and what it should become.
pub(crate) struct PartitionChange<'a> {
    topic: TopicId,
    index: PartitionIndex,
    from: &'a PartitionImage,
    replicas: Vec<BrokerId>,
    isr: Vec<BrokerId>,
    adding: Vec<BrokerId>,
    removing: Vec<BrokerId>,
    directories: Vec<Uuid>,
    recovery: Recovery,
}

impl<'a> PartitionChange<'a> {
    /// No change yet.
    pub(crate) fn of(topic: TopicId, index: PartitionIndex, from: &'a PartitionImage) -> Self {
        Self {
            topic,
            index,
            from,
            replicas: from.replicas.clone(),
            isr: from.isr.clone(),
            adding: from.adding.clone(),
            removing: from.removing.clone(),
            directories: from.directories.clone(),
            recovery: from.recovery,
        }
    }

    /// Another ISR. An empty one stands for nobody who may lead now: the record keeps the last
    /// members, who alone hold what was acknowledged.
    pub(crate) fn with_isr(mut self, isr: Vec<BrokerId>) -> Self {
        self.isr = isr;
        self
    }

    /// The ISR without one broker.
    pub(crate) fn without(self, broker: BrokerId) -> Self {
        let isr = self.from.isr.iter().copied();
        let isr = isr.filter(|it| *it != broker).collect();
        self.with_isr(isr)
    }

    /// The leader's word on its log.
    pub(crate) fn with_recovery(mut self, recovery: Recovery) -> Self {
        self.recovery = recovery;
        self
    }

    /// Other replicas, some of which a reassignment adds or takes away.
    pub(crate) fn with_replicas(
        mut self,
        replicas: Vec<BrokerId>,
        adding: Vec<BrokerId>,
        removing: Vec<BrokerId>,
        image: &MetadataImage,
    ) -> Self {
        self.directories = directories_for(&replicas, self.from, image);
        (self.replicas, self.adding, self.removing) = (replicas, adding, removing);
        self
    }

    /// The record, or `None` where nothing changes (CO-064). `may_lead` says who is alive, with
    /// its directory online (CO-062).
    pub(crate) fn build(
        mut self,
        election: Election,
        may_lead: impl Fn(BrokerId) -> bool,
    ) -> Option<PartitionChangeRecord> {
        self.complete_reassignment();
        let (leader, is_unclean) = self.elect(election, may_lead);
        if is_unclean {
            self.isr = leader.into_iter().collect();
            self.recovery = Recovery::Recovering;
        }
        if self.isr.is_empty() {
            self.isr.clone_from(&self.from.isr);
        }

        let from = self.from;
        let mut record = PartitionChangeRecord {
            isr: changed(self.isr, &from.isr),
            removing_replicas: changed(self.removing, &from.removing),
            adding_replicas: changed(self.adding, &from.adding),
            ..PartitionChangeRecord::default()
        };
        // Who no longer holds a replica must not go on as if it did, so its epoch ends, too.
        let loses_replica = from.replicas.iter().any(|it| !self.replicas.contains(it));
        if leader != from.leader || loses_replica {
            record.leader = leader.unwrap_or(BrokerId::NONE);
        }
        if self.replicas != from.replicas {
            record.directories = Some(self.directories);
            record.replicas = Some(self.replicas);
        }
        if self.recovery != from.recovery {
            record.leader_recovery_state = self.recovery.number();
        }
        if record == PartitionChangeRecord::default() {
            return None;
        }
        record.topic_id = self.topic;
        record.partition_id = self.index;
        Some(record)
    }

    /// A reassignment is complete when all that should stay are in the ISR; one that adds none
    /// when any is. (CO-079, CO-080)
    fn complete_reassignment(&mut self) {
        if self.adding.is_empty() && self.removing.is_empty() {
            return;
        }
        let stays = |it: &BrokerId| !self.removing.contains(it);
        let replicas: Vec<_> = self.replicas.iter().copied().filter(stays).collect();
        let isr: Vec<_> = self.isr.iter().copied().filter(stays).collect();
        let is_complete = if self.adding.is_empty() {
            !isr.is_empty()
        } else {
            replicas.iter().all(|replica| isr.contains(replica))
        };
        if !is_complete || replicas.is_empty() {
            return;
        }
        let places = self.replicas.iter().zip(&self.directories);
        let kept = places.filter(|(replica, _)| replicas.contains(replica));
        self.directories = kept.map(|(_, directory)| *directory).collect();
        (self.replicas, self.isr) = (replicas, isr);
        self.adding.clear();
        self.removing.clear();
    }

    /// The leader, and whether it comes from outside of the ISR.
    fn elect(
        &self,
        election: Election,
        may_lead: impl Fn(BrokerId) -> bool,
    ) -> (Option<BrokerId>, bool) {
        let is_valid = |broker: &BrokerId| self.isr.contains(broker) && may_lead(*broker);
        let preferred = self.replicas.first().copied().filter(is_valid);
        let current = self.from.leader.filter(is_valid);
        let first = self.replicas.iter().copied().find(is_valid);
        let clean = match election {
            Election::Preferred => preferred.or(current).or(first),
            Election::Clean | Election::Unclean => current.or(first),
        };
        if clean.is_some() || election != Election::Unclean {
            return (clean, false);
        }
        let unclean = self.replicas.iter().copied().find(|it| may_lead(*it));
        (unclean, unclean.is_some())
    }
}

/// The directories of replicas: those that are known stay, new ones get their broker's default.
fn directories_for(
    replicas: &[BrokerId],
    from: &PartitionImage,
    image: &MetadataImage,
) -> Vec<Uuid> {
    let directory = |broker: &BrokerId| {
        let known = from.directory(*broker);
        known.unwrap_or_else(|| default_directory(image, *broker))
    };
    replicas.iter().map(directory).collect()
}

/// The directory that is written for a replica that is placed on a broker now.
pub(crate) fn default_directory(image: &MetadataImage, broker: BrokerId) -> Uuid {
    let broker = image.broker(broker);
    broker.map_or(crate::directory_id::MIGRATING, |it| it.default_directory())
}

/// Whether a broker may lead a partition: active, and the directory of its replica online.
pub(crate) fn may_lead(image: &MetadataImage, partition: &PartitionImage, id: BrokerId) -> bool {
    has_replica_online(image, partition, id) && image.is_active(id)
}

/// Whether the directory of a broker's replica is online, as far as is known.
pub(crate) fn has_replica_online(
    image: &MetadataImage,
    partition: &PartitionImage,
    id: BrokerId,
) -> bool {
    image.broker(id).is_some_and(|broker| {
        let directory = partition.directory(id);
        directory.is_none_or(|directory| broker.has_online_directory(directory))
    })
}

fn changed<T: PartialEq>(to: Vec<T>, from: &[T]) -> Option<Vec<T>> {
    (to != from).then_some(to)
}
