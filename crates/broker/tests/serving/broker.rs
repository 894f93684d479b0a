//! [`TestBroker`]: a broker on a free port, with its data in a directory of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use klamm_broker::settings::{Settings, SettingsError};
use klamm_broker::{Broker, Machine, StartError};
use klamm_io::{Clock, RealDisk, SystemClock, TcpNet};
use klamm_primitives::{Offset, PartitionIndex, ProducerEpoch, ProducerId, Sequence, TopicId};
use klamm_records::{BatchOptions, Codecs, ProducerStamp, RecordBatchBuilder, RecordBatches};
use klamm_wire::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse,
};
use klamm_wire::messages::fetch::{FetchPartition, FetchRequest, FetchTopic, PartitionData};
use klamm_wire::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, TopicProduceData,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::wire_client::WireClient;

/// The one listener's name.
const LISTENER: &str = "PLAINTEXT";

/// A broker on a free port. It is stopped when it is dropped.
pub(crate) struct TestBroker {
    runtime: Runtime,
    broker: Option<Broker<TcpNet, RealDisk, SystemClock>>,
    directory: PathBuf,
    /// Removed last; none for a broker that shares another's.
    own_directory: Option<TempDir>,
}

impl TestBroker {
    /// Starts one with Apache Kafka's defaults and these settings.
    pub(crate) fn start(assignments: &[&str]) -> Self {
        let own = tempfile::tempdir().unwrap();
        let mut broker = Self::start_in(own.path(), assignments).unwrap();
        broker.own_directory = Some(own);
        broker
    }

    /// Starts one in a directory that somebody else keeps.
    pub(crate) fn start_in(directory: &Path, assignments: &[&str]) -> Result<Self, StartError> {
        Self::start_on(Machine::this(), directory, assignments)
    }

    /// As [`Self::start_in`], on a machine that may not be all that this one is.
    pub(crate) fn start_on(
        machine: Machine<TcpNet, RealDisk, SystemClock>,
        directory: &Path,
        assignments: &[&str],
    ) -> Result<Self, StartError> {
        let settings = settings(directory, assignments).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let broker = runtime.block_on(Broker::start(machine, settings))?;
        Ok(Self {
            runtime,
            broker: Some(broker),
            directory: directory.to_owned(),
            own_directory: None,
        })
    }

    /// Stops it and starts another one in its place.
    pub(crate) fn restart(mut self) -> Self {
        self.stop();
        let mut broker = Self::start_in(&self.directory, &[]).unwrap();
        broker.own_directory = self.own_directory.take();
        broker
    }

    fn stop(&mut self) {
        if let Some(broker) = self.broker.take() {
            self.runtime.block_on(broker.stop());
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.broker.as_ref().unwrap().address(LISTENER).unwrap()
    }

    /// Lets the broker work until it holds, looking each millisecond for a minute.
    pub(crate) fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let deadline = SystemClock.now() + Duration::from_mins(1);
        while !holds() {
            let now = SystemClock.now();
            assert!(now < deadline, "{what}: it does not come");
            let pause = SystemClock.sleep_until(Some(now + Duration::from_millis(1)));
            self.runtime.block_on(pause);
        }
    }

    /// How many fetches wait.
    pub(crate) fn waiting_fetches(&self) -> usize {
        self.broker.as_ref().unwrap().waiting().fetches
    }

    pub(crate) fn connect(&self) -> WireClient {
        WireClient::connect(self.address()).unwrap()
    }
}

impl Drop for TestBroker {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(crate) fn settings(directory: &Path, assignments: &[&str]) -> Result<Settings, SettingsError> {
    let mut all = vec![
        "node.id=1".to_owned(),
        "listeners=PLAINTEXT://127.0.0.1:0".to_owned(),
        format!("log.dirs={}", directory.display()),
        "num.io.threads=2".to_owned(),
    ];
    all.extend(assignments.iter().map(ToString::to_string));
    Ok(Settings::load(None, [], &all)?.0)
}

/// Creates a topic, and returns its id.
pub(crate) fn create_topic(
    client: &mut WireClient,
    name: &'static str,
    partitions: i32,
    configs: &[(&'static str, &'static str)],
) -> TopicId {
    let response = try_create_topic(client, name, partitions, configs);
    let [topic] = &response.topics[..] else {
        panic!("one topic: {response:?}");
    };
    assert!(topic.error_code.is_none(), "{topic:?}");
    topic.topic_id
}

pub(crate) fn try_create_topic(
    client: &mut WireClient,
    name: &'static str,
    partitions: i32,
    configs: &[(&'static str, &'static str)],
) -> CreateTopicsResponse {
    let configs = configs.iter().map(|(name, value)| CreatableTopicConfig {
        name: (*name).into(),
        value: Some((*value).into()),
        ..CreatableTopicConfig::default()
    });
    let topic = CreatableTopic {
        name: name.into(),
        num_partitions: partitions,
        replication_factor: -1,
        configs: configs.collect(),
        ..CreatableTopic::default()
    };
    let request = CreateTopicsRequest {
        topics: vec![topic],
        ..CreateTopicsRequest::default()
    };
    client.call(&request, 7).unwrap()
}

/// A batch of these values, with the timestamp 1, 2, 3 and so on.
pub(crate) fn batch(values: &[&str]) -> Bytes {
    batch_of(values, BatchOptions::default())
}

/// A batch of an idempotent producer.
pub(crate) fn idempotent_batch(
    values: &[&str],
    producer: ProducerId,
    epoch: i16,
    first: i32,
) -> Bytes {
    let producer = ProducerStamp {
        producer_id: producer,
        producer_epoch: ProducerEpoch::new(epoch),
        base_sequence: Sequence::new(first),
    };
    let options = BatchOptions {
        producer,
        ..BatchOptions::default()
    };
    // A producer is forgotten a day after the time of its last records.
    timed_batch(values, options, SystemClock.unix_ms())
}

pub(crate) fn batch_of(values: &[&str], options: BatchOptions) -> Bytes {
    timed_batch(values, options, 1)
}

fn timed_batch(values: &[&str], options: BatchOptions, first_ms: i64) -> Bytes {
    let mut builder = RecordBatchBuilder::new(options, Vec::new());
    for (timestamp, value) in (first_ms..).zip(values) {
        builder
            .append(timestamp, None, Some(value.as_bytes()), &[])
            .unwrap();
    }
    builder.close(&mut Codecs::default()).unwrap();
    builder.into_bytes().unwrap()
}

/// A request for one partition.
pub(crate) fn produce_request(
    topic: &'static str,
    partition: i32,
    acks: i16,
    records: Bytes,
) -> ProduceRequest {
    ProduceRequest {
        acks,
        timeout_ms: 10_000,
        topic_data: vec![TopicProduceData {
            name: topic.into(),
            partition_data: vec![PartitionProduceData {
                index: PartitionIndex::new(partition),
                records: Some(records.into()),
                ..PartitionProduceData::default()
            }],
            ..TopicProduceData::default()
        }],
        ..ProduceRequest::default()
    }
}

/// Produces to one partition by name (version 12), and returns its part of the answer.
pub(crate) fn produce(
    client: &mut WireClient,
    topic: &'static str,
    partition: i32,
    acks: i16,
    records: Bytes,
) -> PartitionProduceResponse {
    let request = produce_request(topic, partition, acks, records);
    let response = client.call(&request, 12).unwrap();
    response.responses[0].partition_responses[0].clone()
}

/// A request for one partition, without a wait.
pub(crate) fn fetch_request(
    topic: &'static str,
    id: TopicId,
    partition: i32,
    offset: i64,
) -> FetchRequest {
    FetchRequest {
        max_wait_ms: 0,
        min_bytes: 1,
        max_bytes: 1 << 20,
        topics: vec![FetchTopic {
            topic: topic.into(),
            topic_id: id,
            partitions: vec![FetchPartition {
                partition: PartitionIndex::new(partition),
                fetch_offset: Offset::new(offset),
                partition_max_bytes: 1 << 20,
                ..FetchPartition::default()
            }],
            ..FetchTopic::default()
        }],
        ..FetchRequest::default()
    }
}

/// Fetches from one partition by name (version 12).
pub(crate) fn fetch(
    client: &mut WireClient,
    topic: &'static str,
    partition: i32,
    offset: i64,
) -> PartitionData {
    let request = fetch_request(topic, TopicId::ZERO, partition, offset);
    let response = client.call(&request, 12).unwrap();
    response.responses[0].partitions[0].clone()
}

/// The offsets and values of what was fetched.
pub(crate) fn values(data: &PartitionData) -> Vec<(i64, String)> {
    let records = data.records.as_ref().and_then(|it| it.bytes()).cloned();
    let mut codecs = Codecs::default();
    let mut values = Vec::new();
    for batch in RecordBatches::new(records.unwrap_or_default()) {
        let batch = batch.unwrap();
        batch.check_crc().unwrap();
        let mut records = batch.read(&mut codecs).unwrap();
        while let Some(record) = records.next().unwrap() {
            let value = String::from_utf8_lossy(record.value.unwrap()).into_owned();
            values.push((record.offset.get(), value));
        }
    }
    values
}
