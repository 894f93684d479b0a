//! Metadata without a client around it.

mod apply;
mod refresh;
mod waiting;

use std::time::Duration;

use klamm_io::Clock;
use klamm_io::sim::SimClock;
use klamm_primitives::{BrokerId, PartitionIndex, TopicId, Uuid};
use klamm_wire::ErrorCode;
use klamm_wire::messages::metadata::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};

use super::*;
use crate::testing::brokers;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Metadata, the time, and answers at hand.
struct Fixture {
    metadata: Metadata,
    now: Instant,
}

impl Fixture {
    fn new() -> Self {
        Self::with(ClientConfig::default())
    }

    fn with(config: ClientConfig) -> Self {
        let now = SimClock::new().now();
        let config = ClientConfig {
            bootstrap: BootstrapAddress::parse_list("boot:9092").unwrap(),
            ..config
        };
        Self {
            metadata: Metadata::new(&config, 5, now),
            now,
        }
    }

    /// That tracks topics and has had an answer of them.
    fn knowing(topics: &[MetadataResponseTopic]) -> Self {
        let fixture = Self::new();
        for topic in topics {
            let name = topic.name.as_deref().unwrap();
            fixture.metadata.add_topic(name, fixture.now);
        }
        fixture.full(topics);
        fixture
    }

    fn due_in(&self) -> Duration {
        let due_at = self.metadata.due_at(self.now);
        due_at.saturating_duration_since(self.now)
    }

    /// An answer to what would be asked now.
    fn answer_in(&self, version: i16, topics: &[MetadataResponseTopic]) -> MetadataRequest {
        let (request, asked) = self.metadata.next_request(self.now);
        let response = response(brokers(3), topics);
        self.metadata
            .apply(&response, version, asked, self.now)
            .unwrap();
        request
    }

    fn answer(&self, topics: &[MetadataResponseTopic]) -> MetadataRequest {
        self.answer_in(12, topics)
    }

    /// A full answer.
    fn full(&self, topics: &[MetadataResponseTopic]) {
        self.full_in(12, topics);
    }

    fn full_in(&self, version: i16, topics: &[MetadataResponseTopic]) {
        self.metadata.request_update();
        self.answer_in(version, topics);
    }

    fn leader(&self, topic: &str, partition: i32) -> Option<i32> {
        let index = PartitionIndex::new(partition);
        self.metadata
            .cluster()
            .leader(topic, index)
            .map(NodeId::get)
    }

    fn topics(&self) -> Vec<String> {
        let cluster = self.metadata.cluster();
        let mut names: Vec<String> = cluster.topics().map(|t| t.name().to_string()).collect();
        names.sort();
        names
    }

    fn epoch(&self, topic: &str, partition: i32) -> Option<i32> {
        let partition = TopicPartition::new(topic, PartitionIndex::new(partition));
        self.metadata
            .last_seen_epoch(&partition)
            .map(LeaderEpoch::get)
    }
}

fn response(
    brokers: Vec<MetadataResponseBroker>,
    topics: &[MetadataResponseTopic],
) -> MetadataResponse {
    MetadataResponse {
        brokers,
        topics: topics.to_vec(),
        cluster_id: Some("cluster".into()),
        controller_id: BrokerId::new(2),
        ..MetadataResponse::default()
    }
}

/// A topic with a partition for each leader and leader epoch.
fn topic(name: &str, partitions: &[(i32, i32)]) -> MetadataResponseTopic {
    let partition = |(index, (leader, epoch)): (i32, &(i32, i32))| MetadataResponsePartition {
        partition_index: PartitionIndex::new(index),
        leader_id: BrokerId::new(*leader),
        leader_epoch: LeaderEpoch::new(*epoch),
        replica_nodes: [0, 1, 2].map(BrokerId::new).into(),
        isr_nodes: [BrokerId::new(*leader)].into(),
        ..MetadataResponsePartition::default()
    };
    MetadataResponseTopic {
        name: Some(name.into()),
        partitions: (0..).zip(partitions).map(partition).collect(),
        ..MetadataResponseTopic::default()
    }
}

fn failed_topic(name: &str, error_code: ErrorCode) -> MetadataResponseTopic {
    MetadataResponseTopic {
        error_code,
        ..topic(name, &[])
    }
}

fn topic_id(number: u128) -> TopicId {
    TopicId::from(Uuid::from_u128(number))
}
