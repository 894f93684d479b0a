//! A cluster whose controller is asked one request after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_io::Clock;
use klamm_io::sim::SimClock;
use klamm_primitives::{BrokerEpoch, BrokerId, Offset, PartitionIndex, TopicPartition, Uuid};
use klamm_wire::SecurityProtocol;
use klamm_wire::metadata::ClusterMetadataRecord as Record;

use crate::core::{Core, Decide};
use crate::deciders::{
    CreateTopicError, CreateTopics, CreatedTopic, Heartbeat, HeartbeatAnswer, ManualAssignment,
    NewTopic, RegisterBroker,
};
use crate::fencing;
use crate::image::{
    ConfigResource, Endpoint, FeatureRange, MetadataImage, PartitionImage, Settings,
};
use crate::options::{ControllerOptions, InvalidSetting, SettingRules};

/// Settings for tests: a number, a list with a default, any text, and what the controller itself
/// knows.
pub(super) struct Rules;

impl SettingRules for Rules {
    fn check(&self, _: &ConfigResource, settings: &Settings) -> Result<(), InvalidSetting> {
        for (name, value) in settings {
            let is_valid = match &**name {
                "retention.ms" => value.parse::<i64>().is_ok(),
                "cleanup.policy" => value
                    .split(',')
                    .all(|it| matches!(it, "delete" | "compact")),
                "unclean.leader.election.enable" => value.parse::<bool>().is_ok(),
                name if name.starts_with("note") => true,
                _ => false,
            };
            if !is_valid {
                return Err(InvalidSetting {
                    name: name.clone(),
                    reason: "unknown, or out of range".to_owned(),
                });
            }
        }
        Ok(())
    }

    fn is_list(&self, _: &ConfigResource, name: &str) -> bool {
        name == "cleanup.policy"
    }

    fn default_value(&self, _: &ConfigResource, name: &str) -> Option<Arc<str>> {
        (name == "cleanup.policy").then(|| "delete".into())
    }
}

pub(super) struct Cluster {
    pub(super) core: Core,
    pub(super) image: MetadataImage,
    pub(super) now: Instant,
    /// The records of the last request.
    pub(super) records: Vec<Record>,
}

pub(super) fn broker(id: i32) -> BrokerId {
    BrokerId::new(id)
}

pub(super) fn brokers(ids: &[i32]) -> Vec<BrokerId> {
    ids.iter().copied().map(BrokerId::new).collect()
}

pub(super) fn directory(id: i32) -> Uuid {
    Uuid::from_u128(1000 + u128::from(id.unsigned_abs()))
}

pub(super) fn partition(topic: &str, index: i32) -> TopicPartition {
    TopicPartition::new(topic, PartitionIndex::new(index))
}

/// A registration of a broker with one log directory.
pub(super) fn registration(id: i32, incarnation: u128) -> RegisterBroker {
    RegisterBroker {
        broker: broker(id),
        cluster_id: "a-cluster".into(),
        incarnation_id: Uuid::from_u128(incarnation),
        endpoints: vec![Endpoint {
            listener: "PLAINTEXT".into(),
            host: "localhost".into(),
            port: 9092,
            security_protocol: SecurityProtocol::Plaintext,
        }],
        features: vec![FeatureRange {
            name: "metadata.version".into(),
            level_min: 7,
            level_max: 25,
        }],
        rack: None,
        log_dirs: vec![directory(id)],
        cordoned_log_dirs: Vec::new(),
    }
}

pub(super) fn assigned(name: &str, replicas: &[&[i32]]) -> NewTopic {
    let assignments = (0..)
        .zip(replicas)
        .map(|(index, replicas)| ManualAssignment {
            partition: PartitionIndex::new(index),
            replicas: brokers(replicas),
        });
    NewTopic {
        assignments: assignments.collect(),
        ..NewTopic::new(name)
    }
}

pub(super) fn sized(name: &str, partition_count: i32, replication_factor: i16) -> NewTopic {
    NewTopic {
        partition_count,
        replication_factor,
        ..NewTopic::new(name)
    }
}

impl Cluster {
    /// Without brokers.
    pub(super) fn empty() -> Self {
        Self::with_options(ControllerOptions::default())
    }

    pub(super) fn with_options(options: ControllerOptions) -> Self {
        Self {
            core: Core::new(options, Arc::new(Rules)),
            image: MetadataImage::new("a-cluster"),
            now: SimClock::new().now(),
            records: Vec::new(),
        }
    }

    /// With these brokers, all unfenced.
    pub(super) fn of(ids: &[i32]) -> Self {
        let mut cluster = Self::empty();
        cluster.add(ids);
        cluster
    }

    pub(super) fn add(&mut self, ids: &[i32]) {
        for id in ids {
            self.ask(registration(*id, 1)).unwrap();
            self.unfence(*id);
        }
    }

    /// Asks, and applies what is decided.
    pub(super) fn ask<R: Decide>(&mut self, request: R) -> R::Answer {
        let decision = request.decide(&mut self.core, &self.image, self.now);
        let mut answer = decision.answer;
        self.commit(decision.records);
        R::committed(&mut answer, self.image.offset());
        answer
    }

    pub(super) fn commit(&mut self, records: Vec<Record>) {
        if !records.is_empty() {
            let offset = self.image.offset() + 1;
            self.image = self.image.apply(&records, offset).unwrap();
        }
        self.records = records;
    }

    pub(super) fn epoch(&self, id: i32) -> BrokerEpoch {
        self.image.broker(broker(id)).unwrap().epoch
    }

    pub(super) fn heartbeat(&self, id: i32) -> Heartbeat {
        Heartbeat {
            broker: broker(id),
            epoch: self.epoch(id),
            metadata_offset: self.image.offset(),
            wants_fence: false,
            wants_shutdown: false,
            failed_log_dirs: Vec::new(),
        }
    }

    pub(super) fn unfence(&mut self, id: i32) -> HeartbeatAnswer {
        self.ask(self.heartbeat(id)).unwrap()
    }

    pub(super) fn wants_shutdown(&mut self, id: i32) -> HeartbeatAnswer {
        let heartbeat = Heartbeat {
            wants_shutdown: true,
            ..self.heartbeat(id)
        };
        self.ask(heartbeat).unwrap()
    }

    /// As when its session has run out.
    pub(super) fn fence(&mut self, id: i32) {
        let registered = self.image.broker(broker(id)).unwrap().clone();
        self.core.sessions.fence(broker(id));
        let records = fencing::fence(&self.core, &self.image, &registered);
        self.commit(records);
    }

    pub(super) fn create(&mut self, topic: NewTopic) -> Result<CreatedTopic, CreateTopicError> {
        let topics = vec![topic];
        let request = CreateTopics {
            topics,
            validate_only: false,
        };
        self.ask(request).remove(0)
    }

    pub(super) fn partition(&self, topic: &str, index: i32) -> PartitionImage {
        let index = PartitionIndex::new(index);
        self.image.partition(topic, index).unwrap().clone()
    }

    pub(super) fn leader(&self, topic: &str, index: i32) -> Option<i32> {
        self.partition(topic, index).leader.map(BrokerId::get)
    }

    pub(super) fn isr(&self, topic: &str, index: i32) -> Vec<BrokerId> {
        self.partition(topic, index).isr
    }

    pub(super) fn pass(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    pub(super) fn set(&mut self, resource: &ConfigResource, name: &str, value: &str) {
        let value = Arc::from(value);
        let record = crate::deciders::setting_record(resource, name, Some(&value));
        self.commit(vec![record]);
    }
}

/// The offset of a cluster whose log is at it.
pub(super) fn offset(offset: i64) -> Offset {
    Offset::new(offset)
}
