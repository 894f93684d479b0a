//! Committing and fetching offsets, and finding who keeps them.

use klamm_primitives::{BrokerId, LeaderEpoch, Offset, PartitionIndex};
use klamm_wire::messages::find_coordinator::{
    Coordinator, FindCoordinatorRequest, FindCoordinatorResponse,
};
use klamm_wire::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use klamm_wire::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
};
use klamm_wire::{EncodeError, ErrorCode, FormError, Message, Unencodable};

use crate::coding::{assert_needs, assert_not_in_version, passed_on, refused};

const NOT_COORDINATOR: ErrorCode = ErrorCode::new(16);

/// Asks for two partitions of one topic.
fn group(id: &'static str) -> OffsetFetchRequestGroup {
    OffsetFetchRequestGroup {
        group_id: id.into(),
        topics: Some(vec![OffsetFetchRequestTopics {
            name: "t".into(),
            partition_indexes: vec![PartitionIndex::new(0), PartitionIndex::new(7)],
            ..OffsetFetchRequestTopics::default()
        }]),
        ..OffsetFetchRequestGroup::default()
    }
}

fn fetching(groups: Vec<OffsetFetchRequestGroup>) -> OffsetFetchRequest {
    OffsetFetchRequest {
        groups,
        ..OffsetFetchRequest::default()
    }
}

fn offsets_of(group_id: &'static str) -> OffsetFetchResponseGroup {
    OffsetFetchResponseGroup {
        group_id: group_id.into(),
        topics: vec![OffsetFetchResponseTopics {
            name: "t".into(),
            partitions: vec![OffsetFetchResponsePartitions {
                partition_index: PartitionIndex::new(7),
                committed_offset: Offset::new(42),
                committed_leader_epoch: LeaderEpoch::NONE,
                metadata: Some("note".into()),
                ..OffsetFetchResponsePartitions::default()
            }],
            ..OffsetFetchResponseTopics::default()
        }],
        ..OffsetFetchResponseGroup::default()
    }
}

fn answering(groups: Vec<OffsetFetchResponseGroup>) -> OffsetFetchResponse {
    OffsetFetchResponse {
        groups,
        ..OffsetFetchResponse::default()
    }
}

/// Topics are named up to v9, which is where these tests end.
const NAMED: std::ops::RangeInclusive<i16> = 1..=9;

#[test]
fn wi_092_one_group_is_asked_for_in_the_form_of_each_version() {
    let request = fetching(vec![group("g")]);
    for version in NAMED {
        let sent = request.clone().for_version(version).expect("one group");
        assert_eq!(sent.groups.is_empty(), version < 8);
        let received = passed_on(&sent, version).from_version(version);
        assert_eq!(received, request, "v{version}");
    }
    let response = answering(vec![offsets_of("g")]);
    for version in NAMED {
        let sent = response.clone().for_version(version).expect("one group");
        assert_eq!(sent.groups.is_empty(), version < 8);
        let received = passed_on(&sent, version).from_version(version, &"g".into());
        assert_eq!(received, response, "v{version}");
    }
}

#[test]
fn wi_092_several_groups_need_v8() {
    let request = fetching(vec![group("g"), group("h")]);
    let response = answering(vec![offsets_of("g"), offsets_of("h")]);
    let (things, count) = ("groups", 2);
    for version in NAMED {
        if version < 8 {
            let error = FormError::Count {
                things,
                count,
                version,
            };
            assert_eq!(request.clone().for_version(version), Err(error));
            assert_not_in_version(&request, version, "groups");
            assert_eq!(response.clone().for_version(version), Err(error));
            assert_not_in_version(&response, version, "groups");
        } else {
            assert_eq!(passed_on(&request, version), request);
            assert_eq!(passed_on(&response, version), response);
        }
    }
}

/// Covers WI-028, WI-092.
#[test]
fn null_topics_ask_for_all_that_the_group_has_from_v2_on() {
    let everything = fetching(vec![OffsetFetchRequestGroup {
        topics: None,
        ..group("g")
    }]);
    for version in 1..=OffsetFetchRequest::VERSIONS.max {
        let sent = everything.clone().for_version(version).expect("one group");
        if version < 2 {
            let expected = ("topics".to_owned(), Unencodable::Null);
            assert_eq!(refused(&sent, version), expected);
        } else {
            let received = passed_on(&sent, version).from_version(version);
            assert_eq!(received.groups[0].topics, None, "v{version}");
        }
    }
    let nothing = OffsetFetchRequest {
        topics: Some(Vec::<OffsetFetchRequestTopic>::new()),
        ..OffsetFetchRequest::default()
    };
    assert_eq!(passed_on(&nothing, 2), nothing, "none is not all");
}

#[test]
fn wi_093_stable_offsets_are_insisted_on_from_v7_or_forgone() {
    let insisting = OffsetFetchRequest {
        require_stable: true,
        ..OffsetFetchRequest::default()
    };
    assert_needs(&insisting, 7, "require_stable");
    for version in 1..=OffsetFetchRequest::VERSIONS.max {
        let request = OffsetFetchRequest::default().stable_if_supported(version);
        assert_eq!(passed_on(&request, version).require_stable, version >= 7);
    }
}

#[test]
fn a_group_that_cannot_be_answered_says_so_at_every_partition_in_v1() {
    let failed = group("g").failed(NOT_COORDINATOR, 1);
    let sent = answering(vec![failed]).for_version(1).expect("one group");
    let received = passed_on(&sent, 1);
    assert_eq!(
        received.error_code,
        ErrorCode::new(0),
        "v1 has no such field"
    );
    let partitions = received.topics.iter().flat_map(|topic| &topic.partitions);
    let partitions: Vec<_> = partitions
        .map(|p| (p.partition_index.get(), p.committed_offset, p.error_code))
        .collect();
    let expected = [0, 7].map(|index| (index, Offset::UNKNOWN, NOT_COORDINATOR));
    assert_eq!(partitions, expected);

    for version in 2..=OffsetFetchResponse::VERSIONS.max {
        let failed = group("g").failed(NOT_COORDINATOR, version);
        let sent = answering(vec![failed.clone()]).for_version(version);
        let received = passed_on(&sent.expect("one group"), version);
        let received = received.from_version(version, &"g".into());
        assert_eq!(received.groups, [failed], "v{version}");
        assert!(received.groups[0].topics.is_empty());
    }
}

/// The commit timestamp stood in v1, which is not among the versions that there are.
#[test]
fn wi_094_commits_have_retention_up_to_v4_leader_epochs_from_v6_and_instances_from_v7() {
    let request = OffsetCommitRequest {
        retention_time_ms: 86_400_000,
        topics: vec![OffsetCommitRequestTopic {
            partitions: vec![OffsetCommitRequestPartition {
                committed_leader_epoch: LeaderEpoch::new(5),
                ..OffsetCommitRequestPartition::default()
            }],
            ..OffsetCommitRequestTopic::default()
        }],
        ..OffsetCommitRequest::default()
    };
    for version in 2..=OffsetCommitRequest::VERSIONS.max {
        let received = passed_on(&request, version);
        let retention = if version <= 4 { 86_400_000 } else { -1 };
        assert_eq!(received.retention_time_ms, retention, "v{version}");
        let epoch = received.topics[0].partitions[0].committed_leader_epoch;
        assert_eq!(epoch.get(), if version >= 6 { 5 } else { -1 }, "v{version}");
    }
    let by_static_member = OffsetCommitRequest {
        group_instance_id: Some("static-1".into()),
        ..OffsetCommitRequest::default()
    };
    assert_needs(&by_static_member, 7, "group_instance_id");
    assert!(matches!(
        request.encode(1),
        Err(EncodeError::UnsupportedVersion { version: 1, .. })
    ));
}

/// Covers WI-088.
#[test]
fn a_commit_names_the_group_instance_from_v7_on() {
    let request = OffsetCommitRequest {
        group_instance_id: Some("static-1".into()),
        ..OffsetCommitRequest::default()
    };
    assert_needs(&request, 7, "group_instance_id");
}

#[test]
fn wi_095_finding_a_transactions_coordinator_needs_v1() {
    const TRANSACTION: i8 = 1;
    for version in 0..=FindCoordinatorRequest::VERSIONS.max {
        let request = FindCoordinatorRequest {
            key_type: TRANSACTION,
            coordinator_keys: vec!["tx".into()],
            ..FindCoordinatorRequest::default()
        };
        let sent = request.clone().for_version(version).expect("one key");
        if version == 0 {
            assert_not_in_version(&sent, version, "key_type");
        } else {
            let received = passed_on(&sent, version).from_version(version);
            assert_eq!(received, request, "v{version}");
        }
    }
}

#[test]
fn wi_095_several_coordinators_need_v4_and_below_one_key_is_asked_for() {
    let coordinator = |key: &'static str| Coordinator {
        key: key.into(),
        node_id: BrokerId::new(3),
        host: "broker-3".into(),
        port: 9092,
        ..Coordinator::default()
    };
    let asking = |keys: &[&'static str]| FindCoordinatorRequest {
        coordinator_keys: keys.iter().map(|&key| key.into()).collect(),
        ..FindCoordinatorRequest::default()
    };
    let answering = |keys: &[&'static str]| FindCoordinatorResponse {
        coordinators: keys.iter().map(|&key| coordinator(key)).collect(),
        ..FindCoordinatorResponse::default()
    };
    for version in 0..=FindCoordinatorRequest::VERSIONS.max {
        let sent = asking(&["g"]).for_version(version).expect("one key");
        let received = passed_on(&sent, version).from_version(version);
        assert_eq!(received, asking(&["g"]), "v{version}");
        let sent = answering(&["g"]).for_version(version).expect("one key");
        let received = passed_on(&sent, version).from_version(version, &"g".into());
        assert_eq!(received, answering(&["g"]), "v{version}");

        let (asked, answered) = (asking(&["g", "h"]), answering(&["g", "h"]));
        if version >= 4 {
            assert_eq!(passed_on(&asked, version), asked);
            assert_eq!(passed_on(&answered, version), answered);
            continue;
        }
        assert_not_in_version(&asked, version, "coordinator_keys");
        assert_not_in_version(&answered, version, "coordinators");
        for (keys, count) in [(&[][..], 0), (&["g", "h"][..], 2)] {
            let refused = |things| FormError::Count {
                things,
                count,
                version,
            };
            assert_eq!(asking(keys).for_version(version), Err(refused("keys")));
            let response = answering(keys).for_version(version);
            assert_eq!(response, Err(refused("coordinators")));
        }
    }
}
