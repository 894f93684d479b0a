//! Over the operating system's loopback.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use klamm_client::{
    Answer, BootstrapAddress, ClientConfig, ClientTask, NetworkClient, Requests, SendOptions,
    Target,
};
use klamm_fake_broker::{ClusterOptions, FakeCluster, Place};
use klamm_io::{Clock, SystemClock, TcpNet};
use klamm_primitives::PartitionIndex;
use klamm_records::{BatchOptions, Codecs, RecordBatchBuilder};
use klamm_wire::Records;
use klamm_wire::messages::metadata::MetadataRequest;
use klamm_wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};

use crate::support::*;

fn cluster(count: usize) -> FakeCluster<TcpNet, SystemClock> {
    let place = || Place::new(TcpNet, "127.0.0.1:0".parse().unwrap());
    let places = std::iter::repeat_with(place).take(count).collect();
    FakeCluster::start(SystemClock, places, ClusterOptions::default()).unwrap()
}

fn config(cluster: &FakeCluster<TcpNet, SystemClock>) -> ClientConfig {
    ClientConfig {
        bootstrap: BootstrapAddress::parse_list(&cluster.bootstrap()).unwrap(),
        ..ClientConfig::default()
    }
}

fn batch(value: &[u8]) -> Bytes {
    let options = BatchOptions {
        size_limit: value.len() + 1_000,
        ..BatchOptions::default()
    };
    let mut builder = RecordBatchBuilder::new(options, Vec::new());
    builder.append(7, None, Some(value), &[]).unwrap();
    builder.close(&mut Codecs::default()).unwrap();
    builder.into_bytes().unwrap()
}

fn produce(records: Bytes, acks: i16) -> ProduceRequest {
    ProduceRequest {
        acks,
        timeout_ms: 1_000,
        topic_data: vec![TopicProduceData {
            name: "topic".into(),
            partition_data: vec![PartitionProduceData {
                index: PartitionIndex::new(0),
                records: Some(Records::from(records)),
                ..PartitionProduceData::default()
            }],
            ..TopicProduceData::default()
        }],
        ..ProduceRequest::default()
    }
}

/// Up to version 12 topics go by name.
fn by_name() -> SendOptions {
    SendOptions {
        versions: Some(klamm_wire::Versions::new(3, 12)),
        ..SendOptions::default()
    }
}

/// Half a mebibyte fifty times in a row, and ten times what the sockets hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cl_088_large_requests_arrive_whole_and_in_order() {
    produce_in_order(131_072, 512 << 10, 50).await;
    produce_in_order(4_096, 40_960, 3).await;
}

async fn produce_in_order(buffer_bytes: u32, value_bytes: usize, count: u8) {
    let cluster = cluster(1);
    cluster.model().create_topic("topic", 1);
    let mut config = config(&cluster);
    config
        .set("send.buffer.bytes", &buffer_bytes.to_string())
        .unwrap();
    config
        .set("receive.buffer.bytes", &buffer_bytes.to_string())
        .unwrap();
    let (requests, guest) = Requests::beside(());
    let task = ClientTask::spawn(TcpNet, SystemClock, config, 1, guest);
    task.handle().metadata().newer_than(0).await.unwrap();
    let mut expected = Vec::new();
    for at in 0..count {
        let value = vec![at; value_bytes];
        let request = produce(batch(&value), -1);
        let response = requests
            .send(Target::Node(NODE), request, by_name())
            .await
            .unwrap();
        let partition = &response.responses[0].partition_responses[0];
        assert!(partition.error_code.is_none());
        assert_eq!(partition.base_offset.get(), i64::from(at));
        expected.push(value);
    }
    let partition = "topic-0".parse().unwrap();
    let stored = cluster.model().records(&partition);
    assert_eq!(stored.len(), expected.len());
    for (stored, expected) in stored.iter().zip(&expected) {
        assert!(stored.value.as_deref() == Some(expected));
    }
    task.close().await;
}

/// Covers CL-091: nobody listens.
#[tokio::test]
async fn a_refused_connection_does_not_end_the_loop() {
    let first = cluster(1);
    let address = first.address(0);
    let config = config(&first);
    first.stop();
    settle().await;
    let task = ClientTask::spawn(TcpNet, SystemClock, config, 1, ());
    let metadata = task.handle().metadata().clone();
    let none = tokio::time::timeout(Duration::from_millis(300), metadata.newer_than(0)).await;
    assert!(none.is_err());
    let places = vec![Place::new(TcpNet, address)];
    let _second = FakeCluster::start(SystemClock, places, ClusterOptions::default()).unwrap();
    let found = tokio::time::timeout(Duration::from_secs(10), metadata.newer_than(0)).await;
    assert_eq!(found.unwrap().unwrap().nodes().len(), 1);
}

/// Covers CL-089: a connection with many answers does not starve another.
#[tokio::test]
async fn cl_089_one_busy_connection_does_not_starve_the_others() {
    let cluster = cluster(2);
    let counts: [Arc<AtomicUsize>; 2] = Default::default();
    let answered_by = counts.clone();
    let guest = Acting {
        turn: |now, client: &mut NetworkClient| {
            let cluster = client.metadata().cluster();
            for node in cluster.nodes().filter(|node| !node.id.is_bootstrap()) {
                while client.ready(node.id, now) {
                    let request = MetadataRequest {
                        topics: Some(Vec::new()),
                        ..MetadataRequest::default()
                    };
                    let sent = client.send(node.id, &request, SendOptions::default(), now);
                    sent.unwrap();
                }
            }
            None
        },
        answered: move |_, answer: Answer, client: &mut NetworkClient| {
            let at = usize::try_from(answer.node.get()).unwrap();
            let count = answered_by[at].fetch_add(1, Ordering::Relaxed);
            if count >= 2_000 {
                client.close(SystemClock.now());
            }
        },
    };
    let task = ClientTask::spawn(TcpNet, SystemClock, config(&cluster), 1, guest);
    task.join().await;
    let counts = counts.map(|count| count.load(Ordering::Relaxed));
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}

/// Covers CL-038, P1.11: handles wake the task from any thread, and it ends when it is told to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_handles_share_one_task() {
    let cluster = cluster(3);
    let (requests, guest) = Requests::beside(());
    let task = ClientTask::spawn(TcpNet, SystemClock, config(&cluster), 1, guest);
    let mut senders = Vec::new();
    for _ in 0..16 {
        let requests = requests.clone();
        senders.push(tokio::spawn(async move {
            for _ in 0..50 {
                let request = MetadataRequest {
                    topics: Some(Vec::new()),
                    ..MetadataRequest::default()
                };
                let sent = requests.send(Target::LeastLoaded, request, SendOptions::default());
                assert_eq!(sent.await.unwrap().brokers.len(), 3);
            }
        }));
    }
    for sender in senders {
        sender.await.unwrap();
    }
    let handle = task.handle().clone();
    task.close().await;
    assert!(handle.metadata().is_closed());
}
