//! Creating and deleting topics, and their settings, as a client sees them.

use klamm_primitives::TopicId;
use klamm_wire::ErrorCode;
use klamm_wire::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest,
};
use klamm_wire::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use klamm_wire::messages::describe_cluster::DescribeClusterRequest;
use klamm_wire::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult,
    DescribeConfigsResult,
};
use klamm_wire::messages::find_coordinator::FindCoordinatorRequest;
use klamm_wire::messages::init_producer_id::InitProducerIdRequest;
use klamm_wire::messages::list_offsets::ListOffsetsRequest;
use klamm_wire::messages::metadata::{MetadataRequest, MetadataRequestTopic};

use crate::broker::{
    TestBroker, batch, create_topic, fetch, fetch_request, produce, produce_request,
    try_create_topic, values,
};
use crate::wire_client::WireClient;

fn topic(name: &'static str) -> CreatableTopic {
    CreatableTopic {
        name: name.into(),
        num_partitions: 1,
        replication_factor: 1,
        ..CreatableTopic::default()
    }
}

fn codes(client: &mut WireClient, topics: Vec<CreatableTopic>) -> Vec<(String, i16)> {
    let request = CreateTopicsRequest {
        topics,
        ..CreateTopicsRequest::default()
    };
    let answer = client.call(&request, 7).unwrap();
    let told = answer.topics.iter();
    told.map(|it| (it.name.to_string(), it.error_code.get()))
        .collect()
}

/// Covers AP-063, AP-065, AP-066, B6.4.
#[test]
fn topics_are_created_or_refused_each_for_itself() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let created = try_create_topic(&mut client, "t", 2, &[("retention.ms", "5")]);
    let told = &created.topics[0];
    assert_eq!((told.error_code, told.num_partitions), (ErrorCode::NONE, 2));
    assert_eq!(told.replication_factor, 1);
    let configs = told.configs.as_ref().unwrap();
    let retention = configs
        .iter()
        .find(|it| &*it.name == "retention.ms")
        .unwrap();
    assert_eq!(
        (retention.value.as_deref(), retention.config_source),
        (Some("5"), 1)
    );

    let none = CreatableTopic {
        num_partitions: 0,
        ..topic("none")
    };
    let many = CreatableTopic {
        replication_factor: 2,
        ..topic("many")
    };
    let elsewhere = CreatableTopic {
        num_partitions: -1,
        replication_factor: -1,
        assignments: vec![CreatableReplicaAssignment {
            broker_ids: vec![9.into()],
            ..CreatableReplicaAssignment::default()
        }],
        ..topic("elsewhere")
    };
    let here = CreatableTopic {
        assignments: vec![CreatableReplicaAssignment {
            broker_ids: vec![1.into()],
            ..CreatableReplicaAssignment::default()
        }],
        name: "here".into(),
        ..elsewhere.clone()
    };
    let topics = vec![
        topic("t"),
        topic("good"),
        topic("a b"),
        none,
        many,
        elsewhere,
        here,
        topic("__cluster_metadata"),
        topic("twice"),
        topic("twice"),
    ];
    let told = codes(&mut client, topics);
    let find = |name: &str| -> Vec<i16> {
        told.iter()
            .filter(|it| it.0 == name)
            .map(|it| it.1)
            .collect()
    };
    assert_eq!(find("t"), [36]);
    assert_eq!(find("good"), [0]);
    assert_eq!(find("a b"), [17]);
    assert_eq!(find("none"), [37]);
    assert_eq!(find("many"), [38]);
    assert_eq!(find("elsewhere"), [39]);
    assert_eq!(find("here"), [0]);
    assert_eq!(find("__cluster_metadata"), [42]);
    assert_eq!(find("twice"), [42]);
    let bad = try_create_topic(&mut client, "u", 1, &[("retention", "5")]);
    assert_eq!(bad.topics[0].error_code, ErrorCode::INVALID_CONFIG);
    assert!(bad.topics[0].error_message.is_some());
}

#[test]
fn a_validated_topic_is_not_created() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    for version in 2..=7 {
        let request = CreateTopicsRequest {
            topics: vec![topic("t")],
            validate_only: true,
            ..CreateTopicsRequest::default()
        };
        let answer = client.call(&request, version).unwrap();
        assert_eq!(
            answer.topics[0].error_code,
            ErrorCode::NONE,
            "version {version}"
        );
    }
    create_topic(&mut client, "t", 1, &[]);
}

/// Covers AP-063, AP-068.
#[test]
fn topics_are_deleted_by_name_and_by_id_and_can_be_made_anew() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    for version in 1..=6 {
        let id = create_topic(&mut client, "t", 1, &[]);
        let answer = produce(&mut client, "t", 0, -1, batch(&["a"]));
        assert_eq!(
            (answer.error_code, answer.base_offset.get()),
            (ErrorCode::NONE, 0)
        );
        let by_id = version == 6;
        let request = DeleteTopicsRequest {
            topics: vec![DeleteTopicState {
                name: (!by_id).then(|| "t".into()),
                topic_id: if by_id { id } else { TopicId::ZERO },
                ..DeleteTopicState::default()
            }],
            timeout_ms: 10_000,
            ..DeleteTopicsRequest::default()
        };
        let request = request.for_version(version).unwrap();
        let answer = client.call(&request, version).unwrap();
        let deleted = &answer.responses[0];
        assert_eq!(deleted.error_code, ErrorCode::NONE, "version {version}");
        assert_eq!(deleted.name.as_deref(), Some("t"));
        let gone = fetch(&mut client, "t", 0, 0);
        assert_eq!(gone.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        assert!(values(&gone).is_empty());
        let answer = client.call(&request, version).unwrap();
        let wanted = if by_id {
            ErrorCode::UNKNOWN_TOPIC_ID
        } else {
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        };
        assert_eq!(answer.responses[0].error_code, wanted);
    }
    let request = DeleteTopicsRequest {
        topics: vec![DeleteTopicState::default()],
        timeout_ms: 10_000,
        ..DeleteTopicsRequest::default()
    };
    let answer = client.call(&request, 6).unwrap();
    assert_eq!(answer.responses[0].error_code, ErrorCode::INVALID_REQUEST);
}

#[test]
fn deletion_can_be_switched_off() {
    let broker = TestBroker::start(&["delete.topic.enable=false"]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    for (version, wanted) in [
        (2, ErrorCode::INVALID_REQUEST),
        (3, ErrorCode::TOPIC_DELETION_DISABLED),
    ] {
        let request = DeleteTopicsRequest {
            topic_names: vec!["t".into()],
            timeout_ms: 10_000,
            ..DeleteTopicsRequest::default()
        };
        let answer = client.call(&request, version).unwrap();
        assert_eq!(answer.responses[0].error_code, wanted);
    }
}

fn configs(client: &mut WireClient, kind: i8, name: &'static str) -> DescribeConfigsResult {
    let request = DescribeConfigsRequest {
        resources: vec![DescribeConfigsResource {
            resource_type: kind,
            resource_name: name.into(),
            configuration_keys: None,
            ..DescribeConfigsResource::default()
        }],
        include_synonyms: true,
        include_documentation: true,
        ..DescribeConfigsRequest::default()
    };
    client.call(&request, 4).unwrap().results.remove(0)
}

/// Covers AP-069, C019, K007.
#[test]
fn settings_are_told_with_where_they_come_from() {
    let broker = TestBroker::start(&["log.retention.hours=1"]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[("segment.bytes", "1048576")]);
    let told = configs(&mut client, 2, "t");
    assert_eq!(told.error_code, ErrorCode::NONE);
    let find = |told: &DescribeConfigsResult, name: &str| {
        let found = told.configs.iter().find(|it| &*it.name == name);
        found.cloned().unwrap()
    };
    let segment = find(&told, "segment.bytes");
    assert_eq!(
        (segment.value.as_deref(), segment.config_source),
        (Some("1048576"), 1)
    );
    assert!(segment.documentation.is_some());
    let retention = find(&told, "retention.ms");
    assert_eq!(
        (retention.value.as_deref(), retention.config_source),
        (Some("3600000"), 4)
    );
    assert_eq!(&*retention.synonyms[0].name, "log.retention.ms");
    assert_eq!(find(&told, "flush.ms").config_source, 5);

    let told = configs(&mut client, 4, "1");
    let hours = find(&told, "log.retention.hours");
    assert_eq!(
        (hours.value.as_deref(), hours.config_source),
        (Some("1"), 4)
    );
    assert!(hours.read_only);
    for (kind, name, wanted) in [
        (2, "none", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        (4, "9", ErrorCode::INVALID_REQUEST),
        (99, "x", ErrorCode::INVALID_REQUEST),
    ] {
        assert_eq!(configs(&mut client, kind, name).error_code, wanted);
    }
}

/// Covers AP-090: what a request leaves out, by a null or because its version has no field for it,
/// is what the protocol has for default.
#[test]
fn ap_090_what_a_request_leaves_out_has_its_default() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let metadata = |name: &'static str, allow_auto_topic_creation| MetadataRequest {
        topics: Some(vec![MetadataRequestTopic {
            name: Some(name.into()),
            ..MetadataRequestTopic::default()
        }]),
        allow_auto_topic_creation,
        ..MetadataRequest::default()
    };
    // Before version 4 nobody can say whether topics may be created; they may.
    let told = client.call(&metadata("made", true), 1).unwrap();
    assert_eq!(told.topics[0].error_code, ErrorCode::NONE);
    let told = client.call(&metadata("not-made", false), 4).unwrap();
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(told.topics[0].error_code, unknown);
    let all = MetadataRequest {
        topics: None,
        ..MetadataRequest::default()
    };
    for version in 1..=12 {
        let told = client.call(&all, version).unwrap();
        assert_eq!(told.topics.len(), 1, "null is all, in version {version}");
        let none = MetadataRequest {
            topics: Some(Vec::new()),
            ..MetadataRequest::default()
        };
        let told = client.call(&none, version).unwrap();
        assert!(told.topics.is_empty(), "empty is none, in {version}");
    }
    // Without a transactional id a producer is only idempotent.
    let idempotent = InitProducerIdRequest {
        transactional_id: None,
        ..InitProducerIdRequest::default()
    };
    let told = client.call(&idempotent, 4).unwrap();
    assert_eq!(told.error_code, ErrorCode::NONE);
    // Without a replica's id and state it is a consumer who fetches.
    let found = fetch(&mut client, "made", 0, 0);
    assert_eq!(found.error_code, ErrorCode::NONE);

    // The numbers of partitions and replicas are the broker's to say.
    let left_out = CreatableTopic {
        num_partitions: -1,
        replication_factor: -1,
        ..topic("left-out")
    };
    let request = CreateTopicsRequest {
        topics: vec![left_out],
        ..CreateTopicsRequest::default()
    };
    let told = client.call(&request, 5).unwrap();
    let numbers = (
        told.topics[0].num_partitions,
        told.topics[0].replication_factor,
    );
    assert_eq!(numbers, (1, 1));

    let settings = DescribeConfigsRequest {
        resources: vec![DescribeConfigsResource {
            resource_type: 2,
            resource_name: "made".into(),
            configuration_keys: None,
            ..DescribeConfigsResource::default()
        }],
        ..DescribeConfigsRequest::default()
    };
    for version in 1..=4 {
        let told = client.call(&settings, version).unwrap();
        let configs = &told.results[0].configs;
        assert!(configs.len() > 20, "null is all, in version {version}");
        let is_bare = |it: &DescribeConfigsResourceResult| {
            it.synonyms.is_empty() && it.documentation.as_deref().is_none_or(str::is_empty)
        };
        assert!(configs.iter().all(is_bare), "version {version}");
    }
}

/// Covers AP-091.
#[test]
fn ap_091_who_is_not_throttled_is_told_no_time() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let mut told = Vec::new();
    for version in 2..=7 {
        let request = CreateTopicsRequest {
            topics: vec![topic("t")],
            ..CreateTopicsRequest::default()
        };
        told.push(client.call(&request, version).unwrap().throttle_time_ms);
    }
    for version in 3..=12 {
        let request = MetadataRequest::default();
        told.push(client.call(&request, version).unwrap().throttle_time_ms);
    }
    for version in 1..=4 {
        let request = DescribeConfigsRequest::default();
        told.push(client.call(&request, version).unwrap().throttle_time_ms);
    }
    for version in 1..=5 {
        let request = DeleteTopicsRequest {
            topic_names: vec!["t".into()],
            timeout_ms: 10_000,
            ..DeleteTopicsRequest::default()
        };
        told.push(client.call(&request, version).unwrap().throttle_time_ms);
    }
    let cluster = DescribeClusterRequest::default();
    told.push(client.call(&cluster, 0).unwrap().throttle_time_ms);
    let request = produce_request("t", 0, -1, batch(&["a"]));
    told.push(client.call(&request, 12).unwrap().throttle_time_ms);
    let request = fetch_request("t", TopicId::ZERO, 0, 0);
    told.push(client.call(&request, 12).unwrap().throttle_time_ms);
    let request = InitProducerIdRequest::default();
    told.push(client.call(&request, 4).unwrap().throttle_time_ms);
    let request = FindCoordinatorRequest::default();
    told.push(client.call(&request, 3).unwrap().throttle_time_ms);
    let request = ListOffsetsRequest::default();
    told.push(client.call(&request, 7).unwrap().throttle_time_ms);
    assert!(told.iter().all(|time| *time == 0), "{told:?}");
}

#[test]
fn many_topics_of_one_request_are_made_together() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let names: Vec<_> = (0..300).map(|number| format!("topic-{number}")).collect();
    let request = CreateTopicsRequest {
        topics: names
            .iter()
            .map(|name| CreatableTopic {
                name: name.clone().into(),
                ..topic("")
            })
            .collect(),
        timeout_ms: 60_000,
        ..CreateTopicsRequest::default()
    };
    let answer = client.call(&request, 7).unwrap();
    let order: Vec<_> = answer.topics.iter().map(|it| &*it.name).collect();
    assert_eq!(order, names, "in the order in which they were asked for");
    assert!(answer.topics.iter().all(|it| it.error_code.is_none()));
    let answer = produce(&mut client, "topic-299", 0, -1, batch(&["a"]));
    assert_eq!(answer.error_code, ErrorCode::NONE);
    let broker = broker.restart();
    let found = fetch(&mut broker.connect(), "topic-299", 0, 0);
    assert_eq!(values(&found), [(0, "a".to_owned())]);
}
