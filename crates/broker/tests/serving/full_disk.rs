//! A broker whose disk is full: what it refuses, and what it goes on with.

use std::path::Path;
use std::time::Duration;

use klamm_broker::{Broker, Machine};
use klamm_io::sim::{Fault, SimDisk, SimFile};
use klamm_io::{
    Clock as _, Disk as _, DiskErrorKind, DiskFile as _, DiskOperation, OpenMode, RealDisk,
    SystemClock, TcpNet,
};
use klamm_primitives::BrokerId;
use klamm_wire::ErrorCode;
use klamm_wire::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use klamm_wire::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use klamm_wire::messages::metadata::MetadataRequest;
use tokio::runtime::Runtime;

use crate::broker::{batch, create_topic, fetch, produce, settings, values};
use crate::wire_client::WireClient;

/// Room for all that the tests write, many times over.
const CAPACITY: u64 = 16 << 20;

/// A broker on a simulated disk and a real port.
struct OnSimDisk {
    runtime: Runtime,
    broker: Broker<TcpNet, SimDisk, SystemClock>,
}

impl OnSimDisk {
    fn start(disk: &SimDisk) -> Self {
        let this: Machine<TcpNet, RealDisk, SystemClock> = Machine::this();
        let machine = Machine {
            net: TcpNet,
            disk: disk.clone(),
            clock: SystemClock,
            open_files_max: None,
            random: this.random,
        };
        let settings = settings(Path::new("/data"), &[]).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let broker = runtime.block_on(Broker::start(machine, settings));
        let broker = broker.unwrap();
        Self { runtime, broker }
    }

    fn connect(&self) -> WireClient {
        WireClient::connect(self.broker.address("PLAINTEXT").unwrap()).unwrap()
    }

    fn stop(self) {
        self.runtime.block_on(self.broker.stop());
    }
}

/// Takes all the room that is left.
fn fill(disk: &SimDisk) -> SimFile {
    let filling = disk.open(Path::new("/filling"), OpenMode::OpenOrCreate);
    let filling = filling.unwrap();
    let free = disk.space(Path::new("/data")).unwrap().available_bytes;
    let len = filling.metadata().unwrap().len;
    filling.allocate(len + free).unwrap();
    filling
}

fn topics(client: &mut WireClient) -> Vec<String> {
    let request = MetadataRequest {
        topics: None,
        ..MetadataRequest::default()
    };
    let metadata = client.call(&request, 12).unwrap();
    let names = metadata.topics.iter().map(|it| it.name.as_ref().unwrap());
    names.map(ToString::to_string).collect()
}

/// What the controller cannot do stands in every entry of the answer, as an error that clients try
/// again after.
#[test]
fn a_full_disk_refuses_each_new_topic_and_serves_and_deletes_those_that_are_there() {
    let disk = SimDisk::new(0);
    disk.set_capacity(Some(CAPACITY));
    let broker = OnSimDisk::start(&disk);
    let mut client = broker.connect();
    create_topic(&mut client, "kept", 1, &[]);
    create_topic(&mut client, "gone", 1, &[]);
    assert!(
        produce(&mut client, "kept", 0, -1, batch(&["a"]))
            .error_code
            .is_none()
    );

    let filling = fill(&disk);
    let topic = |name: &'static str| CreatableTopic {
        name: name.into(),
        num_partitions: 1,
        replication_factor: 1,
        ..CreatableTopic::default()
    };
    for version in [2, 7] {
        let request = CreateTopicsRequest {
            topics: vec![topic("b"), topic("c")],
            ..CreateTopicsRequest::default()
        };
        let refused = client.call(&request, version).unwrap();
        let codes: Vec<_> = refused.topics.iter().map(|it| it.error_code).collect();
        assert_eq!(codes, [ErrorCode::KAFKA_STORAGE_ERROR; 2]);
    }
    let large = "x".repeat(20_000);
    let refused = produce(&mut client, "kept", 0, -1, batch(&[&large]));
    assert_eq!(refused.error_code, ErrorCode::KAFKA_STORAGE_ERROR);
    assert_eq!(values(&fetch(&mut client, "kept", 0, 0)).len(), 1);
    let request = DeleteTopicsRequest {
        topics: vec![DeleteTopicState {
            name: Some("gone".into()),
            ..DeleteTopicState::default()
        }],
        timeout_ms: 10_000,
        ..DeleteTopicsRequest::default()
    };
    let deleted = client.call(&request, 6).unwrap();
    assert_eq!(deleted.responses[0].error_code, ErrorCode::NONE);
    assert_eq!(topics(&mut client), ["kept"]);

    // It stops and starts with what its reserve has.
    broker.stop();
    fill(&disk);
    let broker = OnSimDisk::start(&disk);
    let mut client = broker.connect();
    assert_eq!(topics(&mut client), ["kept"]);
    filling.set_len(0).unwrap();
    create_topic(&mut client, "b", 1, &[]);
    assert_eq!(topics(&mut client).len(), 2);
    broker.stop();
}

/// Covers AP-048: a partition that could not be made has no leader, and has one once it is there.
#[test]
fn ap_048_a_partition_without_a_log_has_no_leader_until_it_has_one() {
    let disk = SimDisk::new(0);
    let broker = OnSimDisk::start(&disk);
    let mut client = broker.connect();
    let full = Fault::on(DiskOperation::CreateDir).failing_with(DiskErrorKind::Full);
    disk.inject(full.always());
    create_topic(&mut client, "late", 1, &[]);
    let mut tell = || {
        let all = MetadataRequest {
            topics: None,
            ..MetadataRequest::default()
        };
        let metadata = client.call(&all, 12).unwrap();
        metadata.topics[0].partitions[0].clone()
    };
    let told = tell();
    assert_eq!(told.error_code, ErrorCode::LEADER_NOT_AVAILABLE);
    assert_eq!(told.leader_id, BrokerId::NONE);
    assert_eq!(told.offline_replicas, [1.into()].into());

    disk.clear_faults();
    let deadline = SystemClock.now() + Duration::from_mins(1);
    let told = loop {
        let told = tell();
        if told.error_code.is_none() {
            break told;
        }
        assert!(SystemClock.now() < deadline, "it does not come");
        let pause = SystemClock.now() + Duration::from_millis(10);
        broker
            .runtime
            .block_on(SystemClock.sleep_until(Some(pause)));
    };
    assert_eq!(told.leader_id, 1.into());
    assert!(told.offline_replicas.is_empty());
    let produced = produce(&mut client, "late", 0, -1, batch(&["a"]));
    assert!(produced.error_code.is_none(), "{produced:?}");
    broker.stop();
}
