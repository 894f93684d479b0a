//! Metadata in short form: where partitions are, and what brokers are.

use std::sync::Arc;

use klamm_primitives::{BrokerEpoch, PartitionIndex, TopicId, Uuid};
use klamm_replica::Applied;
use klamm_wire::metadata::ClusterMetadataRecord;
use klamm_wire::metadata::config::ConfigRecord;
use klamm_wire::metadata::partition::PartitionRecord;
use klamm_wire::metadata::register_broker::RegisterBrokerRecord;
use klamm_wire::metadata::topic::{RemoveTopicRecord, TopicRecord};

use super::{Bed, Done, broker, brokers, epoch, partition};

/// What metadata says of a partition.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    replicas: Vec<i32>,
    isr: Vec<i32>,
    adding: Vec<i32>,
    removing: Vec<i32>,
    leader: i32,
    leader_epoch: i32,
    partition_epoch: Option<i32>,
}

impl Placed {
    /// Led by the first of the replicas, all in sync.
    pub(crate) fn on(replicas: &[i32]) -> Self {
        Self {
            replicas: replicas.to_vec(),
            isr: replicas.to_vec(),
            adding: Vec::new(),
            removing: Vec::new(),
            leader: replicas[0],
            leader_epoch: 1,
            partition_epoch: None,
        }
    }

    pub(crate) fn isr(mut self, isr: &[i32]) -> Self {
        self.isr = isr.to_vec();
        self
    }

    pub(crate) fn led_by(mut self, leader: i32) -> Self {
        self.leader = leader;
        self
    }

    pub(crate) fn in_epoch(mut self, leader_epoch: i32) -> Self {
        self.leader_epoch = leader_epoch;
        self
    }

    pub(crate) fn reassigning(mut self, adding: &[i32], removing: &[i32]) -> Self {
        self.adding = adding.to_vec();
        self.removing = removing.to_vec();
        self
    }

    /// With this partition epoch; otherwise each change has a higher one.
    pub(crate) fn version(mut self, partition_epoch: i32) -> Self {
        self.partition_epoch = Some(partition_epoch);
        self
    }
}

/// What a test knows of a broker beside itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Other {
    pub(crate) epoch: i64,
    pub(crate) fenced: bool,
    pub(crate) stopping: bool,
}

impl Bed {
    /// Takes records over as one image, and answers who is ready by that.
    pub(crate) fn apply(&self, records: &[ClusterMetadataRecord]) -> (Applied, Vec<Done>) {
        let image = {
            let mut image = self.image.lock();
            let next = image.apply(records, image.offset() + 1).unwrap();
            *image = Arc::new(next);
            Arc::clone(&image)
        };
        let (applied, then) = self.manager.apply(&image, self.now());
        (applied, self.follow_up(then))
    }

    pub(crate) fn register(&self, id: i32, other: Other) {
        let record = RegisterBrokerRecord {
            broker_id: broker(id),
            broker_epoch: BrokerEpoch::new(other.epoch),
            fenced: other.fenced,
            in_controlled_shutdown: other.stopping,
            ..RegisterBrokerRecord::default()
        };
        assert!(self.apply(&[record.into()]).1.is_empty());
    }

    /// Places a partition, and its topic if it is new.
    pub(crate) fn place(&self, name: &str, placed: &Placed) -> (Applied, Vec<Done>) {
        let name = partition(name);
        let known = self.image.lock().topic(&name.topic).map(|it| it.id);
        let mut records = Vec::new();
        let topic_id = known.unwrap_or_else(|| {
            let topic_id = self.new_topic_id();
            let record = TopicRecord {
                name: (*name.topic).into(),
                topic_id,
                ..TopicRecord::default()
            };
            records.push(record.into());
            topic_id
        });
        records.push(self.record(topic_id, name.partition, placed));
        self.apply(&records)
    }

    /// Places partitions of topics that are new, all in one image.
    pub(crate) fn place_all(&self, names: &[&str], placed: &Placed) -> (Applied, Vec<Done>) {
        let mut records = Vec::new();
        for name in names {
            let (name, topic_id) = (partition(name), self.new_topic_id());
            let topic = TopicRecord {
                name: (*name.topic).into(),
                topic_id,
                ..TopicRecord::default()
            };
            records.push(topic.into());
            records.push(self.record(topic_id, name.partition, placed));
        }
        self.apply(&records)
    }

    fn new_topic_id(&self) -> TopicId {
        let mut versions = self.versions.lock();
        *versions += 1;
        Uuid::from_u128(1000 + u128::from(versions.unsigned_abs()))
    }

    fn record(
        &self,
        topic_id: TopicId,
        partition_id: PartitionIndex,
        placed: &Placed,
    ) -> ClusterMetadataRecord {
        let partition_epoch = placed.partition_epoch.unwrap_or_else(|| {
            let mut versions = self.versions.lock();
            *versions += 1;
            *versions
        });
        let record = PartitionRecord {
            partition_id,
            topic_id,
            replicas: brokers(&placed.replicas),
            isr: brokers(&placed.isr),
            adding_replicas: brokers(&placed.adding),
            removing_replicas: brokers(&placed.removing),
            leader: broker(placed.leader),
            leader_epoch: epoch(placed.leader_epoch),
            partition_epoch,
            ..PartitionRecord::default()
        };
        record.into()
    }

    pub(crate) fn delete_topic(&self, topic: &str) -> (Applied, Vec<Done>) {
        let topic_id = self.topic_id(topic);
        let record = RemoveTopicRecord {
            topic_id,
            ..RemoveTopicRecord::default()
        };
        self.apply(&[record.into()])
    }

    /// The topic's settings have changed.
    pub(crate) fn tell_settings(&self, topic: &str) {
        let mut versions = self.versions.lock();
        *versions += 1;
        let record = ConfigRecord {
            resource_type: 2,
            resource_name: topic.into(),
            name: "changed".into(),
            value: Some(versions.to_string().into()),
            ..ConfigRecord::default()
        };
        drop(versions);
        assert!(self.apply(&[record.into()]).1.is_empty());
    }

    pub(crate) fn topic_id(&self, topic: &str) -> TopicId {
        self.image.lock().topic(topic).unwrap().id
    }
}
