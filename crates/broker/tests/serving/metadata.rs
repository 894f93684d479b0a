//! ApiVersions, Metadata and the cluster, as a client sees them.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use klamm_primitives::TopicId;
use klamm_wire::messages::api_versions::ApiVersionsRequest;
use klamm_wire::messages::describe_cluster::DescribeClusterRequest;
use klamm_wire::messages::find_coordinator::FindCoordinatorRequest;
use klamm_wire::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic,
};
use klamm_wire::{ApiKey, ErrorCode};

use crate::broker::{TestBroker, create_topic};
use crate::wire_client::WireClient;

fn by_names(names: &[&'static str]) -> MetadataRequest {
    let topic = |name: &&'static str| MetadataRequestTopic {
        name: Some((*name).into()),
        ..MetadataRequestTopic::default()
    };
    MetadataRequest {
        topics: Some(names.iter().map(topic).collect()),
        ..MetadataRequest::default()
    }
}

fn one(answer: &MetadataResponse) -> &MetadataResponseTopic {
    let [topic] = &answer.topics[..] else {
        panic!("one topic: {answer:?}");
    };
    topic
}

/// Covers AP-043, AP-046, C005.
#[test]
fn exactly_what_is_served_is_listed() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let request = ApiVersionsRequest {
        client_software_name: "wire-client".into(),
        client_software_version: "1".into(),
        ..ApiVersionsRequest::default()
    };
    for version in 0..=4 {
        let answer = client.call(&request, version).unwrap();
        assert_eq!(answer.error_code, ErrorCode::NONE, "version {version}");
        let listed: BTreeSet<_> = answer.api_keys.iter().map(|it| it.api_key).collect();
        let served = [0, 1, 2, 3, 10, 18, 19, 20, 21, 22, 23, 32, 60];
        assert_eq!(listed, BTreeSet::from(served));
        let produce = answer.listed(ApiKey::Produce).unwrap();
        assert_eq!((produce.min, produce.max), (0, 13));
    }
    let nameless = ApiVersionsRequest::default();
    let answer = client.call(&nameless, 3).unwrap();
    assert_eq!(answer.error_code, ErrorCode::INVALID_REQUEST);
}

/// Covers C001.
#[test]
fn an_unknown_version_of_api_versions_is_answered_in_version_0() {
    let broker = TestBroker::start(&[]);
    let mut stream = TcpStream::connect(broker.address()).unwrap();
    let mut ask = |version: i16| {
        let mut frame = Vec::new();
        frame.extend(18_i16.to_be_bytes());
        frame.extend(version.to_be_bytes());
        frame.extend(7_i32.to_be_bytes());
        frame.extend((-1_i16).to_be_bytes());
        frame.push(0);
        let size = i32::try_from(frame.len()).unwrap().to_be_bytes();
        stream.write_all(&[&size, &frame[..]].concat()).unwrap();
        let mut size = [0; 4];
        stream.read_exact(&mut size).unwrap();
        let mut answer = vec![0; usize::try_from(i32::from_be_bytes(size)).unwrap()];
        stream.read_exact(&mut answer).unwrap();
        answer
    };
    let wanted = [
        &7_i32.to_be_bytes()[..],
        &35_i16.to_be_bytes(),
        &1_i32.to_be_bytes(),
        &[0, 18, 0, 0, 0, 4],
    ]
    .concat();
    // The connection goes on after it.
    assert_eq!(ask(99), wanted);
    assert_eq!(ask(99), wanted);
}

#[test]
fn a_topic_is_told_once_however_often_it_is_asked_for() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 2, &[]);
    let answer = client.call(&by_names(&["t"; 1000]), 12).unwrap();
    assert_eq!(one(&answer).partitions.len(), 2);
}

/// Covers AP-047, AP-054, AP-055, C008.
#[test]
fn the_cluster_is_described_in_every_version() {
    let broker = TestBroker::start(&["broker.rack=r1"]);
    let mut client = broker.connect();
    let id = create_topic(&mut client, "t", 2, &[]);
    for version in 0..=13 {
        let answer = client.call(&by_names(&["t"]), version).unwrap();
        let [node] = &answer.brokers[..] else {
            panic!("one broker");
        };
        assert_eq!((node.node_id.get(), &*node.host), (1, "127.0.0.1"));
        assert_eq!(node.port, i32::from(broker.address().port()));
        assert_eq!(node.rack.as_deref(), (version >= 1).then_some("r1"));
        if version >= 1 {
            assert_eq!(answer.controller_id.get(), 1);
        }
        assert_eq!(answer.cluster_id.is_some(), version >= 2);
        let topic = one(&answer);
        assert_eq!(
            (topic.error_code, topic.name.as_deref()),
            (ErrorCode::NONE, Some("t"))
        );
        let wanted = if version >= 10 { id } else { TopicId::ZERO };
        assert_eq!(topic.topic_id, wanted);
        assert!(!topic.is_internal);
        assert_eq!(topic.partitions.len(), 2);
        let partition = &topic.partitions[1];
        assert_eq!(
            (partition.error_code, partition.partition_index.get()),
            (ErrorCode::NONE, 1)
        );
        assert_eq!(partition.leader_id.get(), 1);
        assert_eq!(partition.replica_nodes, [1.into()].into());
        assert_eq!(partition.isr_nodes, [1.into()].into());
        assert!(partition.offline_replicas.is_empty());
        // All topics, and none.
        let all = MetadataRequest {
            topics: if version == 0 { Some(Vec::new()) } else { None },
            ..MetadataRequest::default()
        };
        assert_eq!(client.call(&all, version).unwrap().topics.len(), 1);
        if version >= 1 {
            assert!(
                client
                    .call(&by_names(&[]), version)
                    .unwrap()
                    .topics
                    .is_empty()
            );
        }
    }
}

/// Covers AP-049, AP-053.
#[test]
fn topics_that_there_are_not_are_told_by_how_they_were_asked_for() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let id = create_topic(&mut client, "t", 1, &[]);
    let quiet = |names: &[&'static str]| MetadataRequest {
        allow_auto_topic_creation: false,
        ..by_names(names)
    };
    let answer = client.call(&quiet(&["none", "a b", "t"]), 12).unwrap();
    let codes: Vec<_> = answer.topics.iter().map(|it| it.error_code.get()).collect();
    assert_eq!(codes, [3, 17, 0]);

    let by_id = |topic_id| MetadataRequest {
        topics: Some(vec![MetadataRequestTopic {
            topic_id,
            name: None,
            ..MetadataRequestTopic::default()
        }]),
        ..MetadataRequest::default()
    };
    let answer = client.call(&by_id(id), 12).unwrap();
    assert_eq!(one(&answer).name.as_deref(), Some("t"));
    let nobodys = TopicId::from_u128(5);
    let answer = client.call(&by_id(nobodys), 12).unwrap();
    let topic = one(&answer);
    assert_eq!(topic.error_code, ErrorCode::UNKNOWN_TOPIC_ID);
    assert_eq!((topic.name.as_deref(), topic.topic_id), (None, nobodys));
    for version in [10, 11] {
        let answer = client.call(&by_id(id), version).unwrap();
        let topic = one(&answer);
        assert_eq!(topic.error_code, ErrorCode::INVALID_REQUEST);
        assert_eq!(topic.name.as_deref(), Some(""));
    }
}

/// Covers AP-050, AP-051, C032, K012, B6.4.
#[test]
fn a_topic_that_is_asked_for_is_created_and_told_with_its_leader() {
    let broker = TestBroker::start(&["num.partitions=3"]);
    let mut client = broker.connect();
    let answer = client.call(&by_names(&["new"]), 12).unwrap();
    let topic = one(&answer);
    assert_eq!(topic.error_code, ErrorCode::NONE);
    assert!(!topic.topic_id.is_zero());
    let leaders: Vec<_> = topic
        .partitions
        .iter()
        .map(|it| it.leader_id.get())
        .collect();
    assert_eq!(leaders, [1, 1, 1]);
    // Before v4 nobody could ask for anything else.
    let answer = client.call(&by_names(&["old"]), 1).unwrap();
    assert_eq!(one(&answer).error_code, ErrorCode::NONE);

    let quiet = MetadataRequest {
        allow_auto_topic_creation: false,
        ..by_names(&["quiet"])
    };
    let answer = client.call(&quiet, 12).unwrap();
    assert_eq!(
        one(&answer).error_code,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    );
    let internal = client.call(&by_names(&["__consumer_offsets"]), 12).unwrap();
    assert_eq!(
        one(&internal).error_code,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    );
    assert!(one(&internal).is_internal);
}

/// Covers AP-051, C032.
#[test]
fn many_clients_that_ask_for_one_new_topic_are_told_the_same() {
    let broker = TestBroker::start(&[]);
    let clients: Vec<_> = (0..8).map(|_| broker.connect()).collect();
    let ask = |mut client: WireClient| {
        thread::spawn(move || {
            let answer = client.call(&by_names(&["new"]), 12).unwrap();
            let topic = one(&answer);
            (topic.error_code, topic.topic_id, topic.partitions.len())
        })
    };
    let asking: Vec<_> = clients.into_iter().map(ask).collect();
    let told: BTreeSet<_> = asking
        .into_iter()
        .map(|it| it.join().unwrap())
        .map(|(code, id, count)| (code.get(), id, count))
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told.first().map(|it| it.0), Some(0));
}

#[test]
fn ap_050_creation_can_be_switched_off() {
    let broker = TestBroker::start(&["auto.create.topics.enable=false"]);
    let answer = broker.connect().call(&by_names(&["new"]), 12).unwrap();
    assert_eq!(
        one(&answer).error_code,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    );
}

/// Covers AP-055, K007.
#[test]
fn operations_are_told_when_asked_for() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    let asking = MetadataRequest {
        include_cluster_authorized_operations: true,
        include_topic_authorized_operations: true,
        ..by_names(&["t"])
    };
    let answer = client.call(&asking, 8).unwrap();
    assert_eq!(answer.cluster_authorized_operations.count_ones(), 7);
    assert_eq!(one(&answer).topic_authorized_operations.count_ones(), 8);
    let answer = client.call(&by_names(&["t"]), 8).unwrap();
    assert_eq!(answer.cluster_authorized_operations, i32::MIN);
    assert_eq!(one(&answer).topic_authorized_operations, i32::MIN);
}

#[test]
fn the_cluster_is_told_by_its_own_request_too() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    for version in 0..=2 {
        let answer = client
            .call(&DescribeClusterRequest::default(), version)
            .unwrap();
        assert_eq!(answer.error_code, ErrorCode::NONE);
        assert_eq!(answer.controller_id.get(), 1);
        assert_eq!(answer.brokers[0].port, i32::from(broker.address().port()));
        assert!(!answer.cluster_id.is_empty());
    }
    for (endpoint_type, wanted) in [
        (2, ErrorCode::MISMATCHED_ENDPOINT_TYPE),
        (3, ErrorCode::UNSUPPORTED_ENDPOINT_TYPE),
    ] {
        let request = DescribeClusterRequest {
            endpoint_type,
            ..DescribeClusterRequest::default()
        };
        assert_eq!(client.call(&request, 1).unwrap().error_code, wanted);
    }
}

#[test]
fn clients_that_look_for_a_coordinator_are_told_that_there_is_none() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let each = (0..=6).flat_map(|version| [(version, 0), (version, 1)]);
    // Version 0 knows of groups alone.
    for (version, key_type) in each.filter(|it| *it != (0, 1)) {
        let request = FindCoordinatorRequest {
            key_type,
            coordinator_keys: vec!["g".into()],
            ..FindCoordinatorRequest::default()
        };
        let request = request.for_version(version).unwrap();
        let answer = client.call(&request, version).unwrap();
        let answer = answer.from_version(version, &"g".into());
        let [coordinator] = &answer.coordinators[..] else {
            panic!("one key");
        };
        // A consumer that was given its partitions goes on, a transaction cannot.
        let expected = match key_type {
            0 => ErrorCode::COORDINATOR_NOT_AVAILABLE,
            _ => ErrorCode::UNSUPPORTED_VERSION,
        };
        assert_eq!(coordinator.error_code, expected);
        let why = coordinator.error_message.as_deref().unwrap_or_default();
        assert_eq!(why.contains("no consumer groups"), version >= 1);
        assert_eq!((&*coordinator.key, coordinator.node_id.get()), ("g", -1));
    }
}
