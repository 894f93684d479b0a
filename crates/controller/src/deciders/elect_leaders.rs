//! Leaders are elected on request, and from time to time. (CO-065 to CO-070)

use std::time::Instant;

use klamm_primitives::{BrokerId, PartitionIndex, TopicPartition};
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use thiserror::Error;

use crate::core::{Core, Decide, Decision};
use crate::image::{MetadataImage, PartitionImage, TopicImage};
use crate::partition_change::{Election, PartitionChange, may_lead};

/// Elects leaders, of each partition for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElectLeaders {
    /// Which ones.
    pub kind: ElectionKind,
    /// The partitions; `None` is all of which the leader can change, and only those are answered.
    pub partitions: Option<Vec<TopicPartition>>,
}

/// Who is to lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElectionKind {
    /// The first of the replicas, if it is in the ISR.
    Preferred,
    /// Any replica that is alive, where there is no leader: acknowledged records may be lost.
    Unclean,
}

/// A leader was not elected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ElectLeaderError {
    /// There is no such topic or partition.
    #[error("there is no such partition")]
    UnknownPartition,
    /// The preferred replica leads, or, for an unclean election, any.
    #[error("the partition has the leader that it should have")]
    NotNeeded,
    /// The preferred replica is not alive, or not in the ISR.
    #[error("the preferred leader is not available")]
    PreferredNotAvailable,
    /// No replica is alive.
    #[error("no replica is available to lead")]
    NoneAvailable,
}

impl Decide for ElectLeaders {
    type Answer = Vec<(TopicPartition, Result<(), ElectLeaderError>)>;

    fn decide(
        self,
        _core: &mut Core,
        image: &MetadataImage,
        _now: Instant,
    ) -> Decision<Self::Answer> {
        let mut records = Vec::new();
        let mut answer = Vec::new();
        let mut judge = |topic: &TopicImage, index, partition: &PartitionImage| {
            let record = elect(image, topic, index, partition, self.kind)?;
            records.push(record);
            Ok(())
        };
        match &self.partitions {
            Some(partitions) => {
                for wanted in partitions {
                    let topic = image.topic(&wanted.topic);
                    let found = topic.and_then(|it| Some((it, it.partition(wanted.partition)?)));
                    let elected = match found {
                        Some((topic, partition)) => judge(topic, wanted.partition, partition),
                        None => Err(ElectLeaderError::UnknownPartition),
                    };
                    answer.push((wanted.clone(), elected));
                }
            }
            None => {
                for topic in image.topics() {
                    for (index, partition) in topic.indexed() {
                        let elected = judge(topic, index, partition);
                        if elected != Err(ElectLeaderError::NotNeeded) {
                            let name = TopicPartition::new(topic.name.clone(), index);
                            answer.push((name, elected));
                        }
                    }
                }
            }
        }
        Decision { records, answer }
    }

    fn is_empty(&self) -> bool {
        self.partitions.as_ref().is_some_and(Vec::is_empty)
    }
}

fn elect(
    image: &MetadataImage,
    topic: &TopicImage,
    index: PartitionIndex,
    partition: &PartitionImage,
    kind: ElectionKind,
) -> Result<Record, ElectLeaderError> {
    let (election, is_settled, unavailable) = match kind {
        ElectionKind::Preferred => (
            Election::Preferred,
            partition.leader.is_some() && partition.leader == partition.preferred_leader(),
            ElectLeaderError::PreferredNotAvailable,
        ),
        ElectionKind::Unclean => (
            Election::Unclean,
            partition.leader.is_some(),
            ElectLeaderError::NoneAvailable,
        ),
    };
    if is_settled {
        return Err(ElectLeaderError::NotNeeded);
    }
    let change = PartitionChange::of(topic.id, index, partition);
    let record = change.build(election, |id| may_lead(image, partition, id));
    record.map(Record::from).ok_or(unavailable)
}

/// Partitions whose leaders one periodic look moves, so that it holds nothing up for long.
const BATCH_LEN: usize = 1000;

/// Moves leadership back to preferred replicas that can lead again. Also says whether there is
/// more to move. (CO-066, CO-067)
pub(crate) fn balance(image: &MetadataImage) -> (Vec<Record>, bool) {
    let can_move = |partition: &PartitionImage| {
        let preferred = partition.preferred_leader();
        partition.leader.is_some()
            && partition.leader != preferred
            && preferred.is_some_and(|it| partition.isr.contains(&it))
    };
    let mut records = Vec::new();
    for topic in image.topics() {
        for (index, partition) in topic.indexed().filter(|(_, it)| can_move(it)) {
            if records.len() == BATCH_LEN {
                return (records, true);
            }
            let change = PartitionChange::of(topic.id, index, partition);
            let may_lead = |id: BrokerId| may_lead(image, partition, id);
            records.extend(
                change
                    .build(Election::Preferred, may_lead)
                    .map(Record::from),
            );
        }
    }
    (records, false)
}

/// Elects leaders for partitions without one, where an unclean election is allowed; it may have
/// been allowed only after the last leader was lost. Also says whether there is more. (CO-068)
pub(crate) fn elect_unclean_leaders(core: &Core, image: &MetadataImage) -> (Vec<Record>, bool) {
    let mut records = Vec::new();
    for topic in image.topics() {
        let election = core.election(image, topic);
        if election != Election::Unclean {
            continue;
        }
        for (index, partition) in topic.indexed().filter(|(_, it)| it.leader.is_none()) {
            if records.len() == BATCH_LEN {
                return (records, true);
            }
            let change = PartitionChange::of(topic.id, index, partition);
            let may_lead = |id: BrokerId| may_lead(image, partition, id);
            records.extend(change.build(election, may_lead).map(Record::from));
        }
    }
    (records, false)
}
