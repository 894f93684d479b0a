//! Metadata and `CreateTopics`, version by version.

use bytes::Bytes;
use klamm_primitives::Uuid;
use klamm_wire::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest,
};
use klamm_wire::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use klamm_wire::{Message, Unencodable};

use crate::coding::{assert_not_in_version, encoded, passed_on, refused};

#[test]
fn wi_082_older_requests_allow_topics_to_be_created() {
    let forbids = MetadataRequest {
        allow_auto_topic_creation: false,
        ..MetadataRequest::default()
    };
    for version in 0..=MetadataRequest::VERSIONS.max {
        if version < 4 {
            let mut body = Bytes::from_static(&[0, 0, 0, 0]);
            let read = MetadataRequest::decode(&mut body, version).expect("an empty list");
            assert!(read.allow_auto_topic_creation, "v{version}");
            assert_not_in_version(&forbids, version, "allow_auto_topic_creation");
        } else {
            assert_eq!(passed_on(&forbids, version), forbids, "v{version}");
        }
    }
}

/// Covers WI-027: there is no null list of topics in version 0.
#[test]
fn all_topics_are_an_empty_list_in_v0_and_null_later() {
    let all = MetadataRequest {
        topics: None,
        ..MetadataRequest::default()
    };
    assert_eq!(refused(&all, 0), ("topics".to_owned(), Unencodable::Null));
    assert_eq!(encoded(&MetadataRequest::default(), 0), [0, 0, 0, 0][..]);
    assert_eq!(encoded(&all, 1), [0xff, 0xff, 0xff, 0xff][..]);
    assert_eq!(encoded(&all, 9)[0], 0);
    assert_eq!(encoded(&MetadataRequest::default(), 9)[0], 1);
}

#[test]
fn wi_083_topics_are_looked_up_by_id_from_v12_on() {
    let asking = |topic| MetadataRequest {
        topics: Some(vec![topic]),
        ..MetadataRequest::default()
    };
    let by_name = asking(MetadataRequestTopic {
        name: Some("t".into()),
        ..MetadataRequestTopic::default()
    });
    let by_id = asking(MetadataRequestTopic {
        name: None,
        topic_id: Uuid::from_u128(4),
        ..MetadataRequestTopic::default()
    });
    let by_both = asking(MetadataRequestTopic {
        name: Some("t".into()),
        topic_id: Uuid::from_u128(4),
        ..MetadataRequestTopic::default()
    });
    for version in 0..=MetadataRequest::VERSIONS.max {
        assert!(by_name.is_valid(version), "v{version}");
        assert_eq!(by_id.is_valid(version), version >= 12, "v{version}");
        assert_eq!(by_both.is_valid(version), version >= 12, "v{version}");
        assert!(MetadataRequest::default().is_valid(version), "v{version}");
    }
    // Versions 10 and 11 have room for it all the same, so a broker meets it and has to refuse.
    assert!(!passed_on(&by_id, 10).is_valid(10));
    assert!(!passed_on(&by_both, 11).is_valid(11));
    let (field, reason) = refused(&by_id, 9);
    assert_eq!((&*field, reason), ("topics[0].name", Unencodable::Null));
}

#[test]
fn wi_085_counts_are_left_to_the_broker_from_v4_on() {
    let topic = |name: &'static str, num_partitions, replication_factor| CreatableTopic {
        name: name.into(),
        num_partitions,
        replication_factor,
        ..CreatableTopic::default()
    };
    let assigned = CreatableTopic {
        assignments: vec![CreatableReplicaAssignment::default()],
        ..topic("assigned", -1, -1)
    };
    let request = CreateTopicsRequest {
        topics: vec![
            topic("given", 3, 2),
            topic("partitions", -1, 2),
            topic("replicas", 3, -1),
            assigned,
        ],
        ..CreateTopicsRequest::default()
    };
    for version in 2..=CreateTopicsRequest::VERSIONS.max {
        let names: Vec<_> = request
            .topics_needing_defaults(version)
            .map(|topic| &*topic.name)
            .collect();
        let wanted = if version < 4 {
            vec!["partitions", "replicas"]
        } else {
            vec![]
        };
        assert_eq!(names, wanted, "v{version}");
        assert_eq!(passed_on(&request, version), request, "v{version}");
    }
}
