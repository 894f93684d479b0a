//! Messages as a cluster of three brokers would see them.

use std::fmt;

use bytes::Bytes;
use klamm_wire::Records;
use klamm_wire::messages::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, FetchableTopicResponse, PartitionData,
};
use klamm_wire::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use klamm_wire::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse,
    TopicProduceData, TopicProduceResponse,
};

/// The versions, each with names rather than ids for topics, as most clients speak them.
pub(crate) const PRODUCE: i16 = 12;
pub(crate) const FETCH: i16 = 12;
pub(crate) const METADATA: i16 = 12;

/// How large a sample is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Size {
    Small,
    Medium,
    Large,
}

pub(crate) const SIZES: [Size; 3] = [Size::Small, Size::Medium, Size::Large];

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        })
    }
}

impl Size {
    /// Topics, partitions each, and bytes of records each.
    const fn of_data(self) -> (u32, i32, usize) {
        match self {
            Self::Small => (1, 1, 100),
            Self::Medium => (10, 4, 1024),
            Self::Large => (1, 16, 64 * 1024),
        }
    }

    /// Topics and partitions each.
    const fn of_metadata(self) -> (u32, i32) {
        match self {
            Self::Small => (1, 1),
            Self::Medium => (50, 6),
            Self::Large => (1500, 12),
        }
    }
}

fn topic_name(number: u32) -> String {
    format!("orders.by-region.{number:04}")
}

fn records(len: usize) -> Records {
    Records::Here(Bytes::from(vec![0x5a; len]))
}

pub(crate) fn produce_request(size: Size) -> ProduceRequest {
    let (topics, partitions, len) = size.of_data();
    ProduceRequest {
        acks: -1,
        timeout_ms: 30_000,
        topic_data: (0..topics)
            .map(|number| TopicProduceData {
                name: topic_name(number).into(),
                partition_data: (0..partitions)
                    .map(|index| PartitionProduceData {
                        index: index.into(),
                        records: Some(records(len)),
                        ..PartitionProduceData::default()
                    })
                    .collect(),
                ..TopicProduceData::default()
            })
            .collect(),
        ..ProduceRequest::default()
    }
}

pub(crate) fn produce_response(size: Size) -> ProduceResponse {
    let (topics, partitions, _) = size.of_data();
    ProduceResponse {
        responses: (0..topics)
            .map(|number| TopicProduceResponse {
                name: topic_name(number).into(),
                partition_responses: (0..partitions)
                    .map(|index| PartitionProduceResponse {
                        index: index.into(),
                        base_offset: 123_456.into(),
                        log_start_offset: 0.into(),
                        ..PartitionProduceResponse::default()
                    })
                    .collect(),
                ..TopicProduceResponse::default()
            })
            .collect(),
        ..ProduceResponse::default()
    }
}

pub(crate) fn fetch_request(size: Size) -> FetchRequest {
    let (topics, partitions, _) = size.of_data();
    FetchRequest {
        max_wait_ms: 500,
        min_bytes: 1,
        max_bytes: 52_428_800,
        topics: (0..topics)
            .map(|number| FetchTopic {
                topic: topic_name(number).into(),
                partitions: (0..partitions)
                    .map(|partition| FetchPartition {
                        partition: partition.into(),
                        current_leader_epoch: 5.into(),
                        fetch_offset: 123_456.into(),
                        last_fetched_epoch: 5.into(),
                        partition_max_bytes: 1_048_576,
                        ..FetchPartition::default()
                    })
                    .collect(),
                ..FetchTopic::default()
            })
            .collect(),
        ..FetchRequest::default()
    }
}

pub(crate) fn fetch_response(size: Size) -> FetchResponse {
    let (topics, partitions, len) = size.of_data();
    FetchResponse {
        responses: (0..topics)
            .map(|number| FetchableTopicResponse {
                topic: topic_name(number).into(),
                partitions: (0..partitions)
                    .map(|index| PartitionData {
                        partition_index: index.into(),
                        high_watermark: 123_456.into(),
                        last_stable_offset: 123_456.into(),
                        log_start_offset: 0.into(),
                        aborted_transactions: None,
                        records: Some(records(len)),
                        ..PartitionData::default()
                    })
                    .collect(),
                ..FetchableTopicResponse::default()
            })
            .collect(),
        ..FetchResponse::default()
    }
}

pub(crate) fn metadata_response(size: Size) -> MetadataResponse {
    let (topics, partitions) = size.of_metadata();
    let replicas = || [1.into(), 2.into(), 3.into()].into();
    MetadataResponse {
        brokers: (1..=3)
            .map(|number| MetadataResponseBroker {
                node_id: number.into(),
                host: format!("broker-{number}.example.net").into(),
                port: 9092,
                ..MetadataResponseBroker::default()
            })
            .collect(),
        cluster_id: Some("lkc-0123456789abcdef".into()),
        controller_id: 1.into(),
        topics: (0..topics)
            .map(|number| MetadataResponseTopic {
                name: Some(topic_name(number).into()),
                topic_id: klamm_primitives::Uuid::from_u128(u128::from(number) + 7),
                partitions: (0..partitions)
                    .map(|index| MetadataResponsePartition {
                        partition_index: index.into(),
                        leader_id: 1.into(),
                        leader_epoch: 5.into(),
                        replica_nodes: replicas(),
                        isr_nodes: replicas(),
                        ..MetadataResponsePartition::default()
                    })
                    .collect(),
                ..MetadataResponseTopic::default()
            })
            .collect(),
        ..MetadataResponse::default()
    }
}
