//! Fetch, version by version.

use bytes::Bytes;
use klamm_primitives::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, Uuid};
use klamm_wire::header::CorrelationId;
use klamm_wire::messages::fetch::{
    AbortedTransaction, EpochEndOffset, FetchPartition, FetchRequest, FetchResponse, FetchTopic,
    FetchableTopicResponse, ForgottenTopic, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
    ReplicaState, SnapshotId,
};
use klamm_wire::{ErrorCode, Message, Piece, Records, encode_response};

use crate::coding::{assert_needs, assert_not_in_version, passed_on, refused};

fn request(partition: FetchPartition) -> FetchRequest {
    FetchRequest {
        topics: vec![FetchTopic {
            topic: "t".into(),
            topic_id: Uuid::from_u128(5),
            partitions: vec![partition],
            ..FetchTopic::default()
        }],
        ..FetchRequest::default()
    }
}

fn versions() -> std::ops::RangeInclusive<i16> {
    FetchRequest::VERSIONS.min..=FetchRequest::VERSIONS.max
}

#[test]
fn wi_071_a_request_has_more_fields_with_each_version() {
    let full = FetchRequest {
        max_bytes: 1000,
        isolation_level: 1,
        session_id: 2,
        session_epoch: 3,
        rack_id: "rack".into(),
        ..request(FetchPartition {
            current_leader_epoch: LeaderEpoch::new(4),
            log_start_offset: Offset::new(6),
            ..FetchPartition::default()
        })
    };
    let absent = FetchRequest::default();
    assert_eq!((absent.max_bytes, absent.session_epoch), (i32::MAX, -1));
    for version in versions() {
        let passed = passed_on(&full, version);
        assert_eq!(
            (passed.max_bytes, passed.isolation_level),
            (1000, 1),
            "since v3 and v4"
        );
        let session = if version >= 7 { (2, 3) } else { (0, -1) };
        assert_eq!(
            (passed.session_id, passed.session_epoch),
            session,
            "v{version}"
        );
        assert_eq!(passed.rack_id.is_empty(), version < 11, "v{version}");
        let partition = &passed.topics[0].partitions[0];
        let start = if version >= 5 { 6 } else { -1 };
        assert_eq!(partition.log_start_offset, Offset::new(start), "v{version}");
        let epoch = if version >= 9 { 4 } else { -1 };
        assert_eq!(
            partition.current_leader_epoch,
            LeaderEpoch::new(epoch),
            "v{version}"
        );
        assert_eq!(
            passed.topics[0].topic_id.is_zero(),
            version < 13,
            "v{version}"
        );
    }
    let fetched = request(FetchPartition {
        last_fetched_epoch: LeaderEpoch::new(7),
        ..FetchPartition::default()
    });
    assert_eq!(
        passed_on(&fetched, 12).topics[0].partitions,
        fetched.topics[0].partitions
    );
    assert_not_in_version(&fetched, 11, "topics[0].partitions[0].last_fetched_epoch");
}

#[test]
fn wi_072_topics_go_by_name_up_to_v12_and_by_id_from_v13() {
    let asked = request(FetchPartition::default());
    let answer = FetchResponse {
        responses: vec![FetchableTopicResponse {
            topic: "t".into(),
            topic_id: Uuid::from_u128(5),
            ..FetchableTopicResponse::default()
        }],
        ..FetchResponse::default()
    };
    for version in versions() {
        let topic = passed_on(&asked, version).topics.remove(0);
        let (name, id) = if version >= 13 {
            ("", Uuid::from_u128(5))
        } else {
            ("t", Uuid::ZERO)
        };
        assert_eq!((&*topic.topic, topic.topic_id), (name, id), "v{version}");
        let topic = passed_on(&answer, version).responses.remove(0);
        assert_eq!((&*topic.topic, topic.topic_id), (name, id), "v{version}");
    }
}

#[test]
fn wi_073_a_follower_is_named_in_a_tagged_struct_from_v15_on() {
    let plain = FetchRequest {
        replica_id: BrokerId::new(3),
        ..FetchRequest::default()
    };
    let tagged = FetchRequest {
        replica_state: ReplicaState {
            replica_id: BrokerId::new(3),
            replica_epoch: BrokerEpoch::new(11),
            ..ReplicaState::default()
        },
        ..FetchRequest::default()
    };
    for version in versions() {
        let (sent, other, field) = if version <= 14 {
            (&plain, &tagged, "replica_state")
        } else {
            (&tagged, &plain, "replica_id")
        };
        assert_eq!(&passed_on(sent, version), sent, "v{version}");
        assert_not_in_version(other, version, field);
        // A consumer names nobody, which is -1 in either place.
        let consumer = passed_on(&FetchRequest::default(), version);
        assert_eq!(consumer.replica_id, BrokerId::NONE);
        assert_eq!(consumer.replica_state.replica_id, BrokerId::NONE);
        assert_eq!(consumer.replica_state.replica_epoch, BrokerEpoch::NONE);
    }
}

#[test]
fn wi_074_forgotten_topics_need_v7_and_ids_tell_them_apart_from_v13_on() {
    let forgotten = |id| ForgottenTopic {
        topic: "t".into(),
        topic_id: Uuid::from_u128(id),
        partitions: vec![0.into()],
        ..ForgottenTopic::default()
    };
    let request = FetchRequest {
        forgotten_topics_data: vec![forgotten(1), forgotten(2)],
        ..FetchRequest::default()
    };
    for version in versions() {
        if version < 7 {
            assert_not_in_version(&request, version, "forgotten_topics_data");
            continue;
        }
        let topics = passed_on(&request, version).forgotten_topics_data;
        assert_eq!(topics[0] != topics[1], version >= 13, "v{version}");
    }
}

fn response(partition: PartitionData) -> FetchResponse {
    FetchResponse {
        responses: vec![FetchableTopicResponse {
            partitions: vec![partition],
            ..FetchableTopicResponse::default()
        }],
        ..FetchResponse::default()
    }
}

/// A partition's answer without what has to be absent in early versions.
fn plain_partition() -> PartitionData {
    PartitionData {
        high_watermark: Offset::new(5),
        last_stable_offset: Offset::new(4),
        log_start_offset: Offset::new(3),
        aborted_transactions: Some(vec![AbortedTransaction::default()]),
        records: Some(Records::Here(Bytes::from_static(b"batch"))),
        ..PartitionData::default()
    }
}

#[test]
fn wi_075_an_answer_has_more_fields_with_each_version() {
    let full = FetchResponse {
        throttle_time_ms: 1,
        error_code: ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
        ..response(plain_partition())
    };
    for version in versions() {
        let passed = passed_on(&full, version);
        assert_eq!(passed.throttle_time_ms, 1, "since v1");
        assert_eq!(passed.error_code.is_none(), version < 7, "v{version}");
        let partition = &passed.responses[0].partitions[0];
        let wanted = PartitionData {
            log_start_offset: Offset::new(if version >= 5 { 3 } else { -1 }),
            ..plain_partition()
        };
        assert_eq!(partition, &wanted, "v{version}");
    }
    let session = FetchResponse {
        session_id: 6,
        ..FetchResponse::default()
    };
    assert_needs(&session, 7, "session_id");
    // Nothing was aborted, or nobody asked: two things, both legal.
    for aborted_transactions in [None, Some(Vec::new())] {
        let answer = response(PartitionData {
            aborted_transactions,
            ..plain_partition()
        });
        assert_eq!(passed_on(&answer, 5), answer);
    }
}

#[test]
fn wi_075_later_fields_of_an_answer_cannot_be_told_earlier() {
    let with = |change: fn(&mut PartitionData)| {
        let mut partition = plain_partition();
        change(&mut partition);
        response(partition)
    };
    let field = |name: &str| format!("responses[0].partitions[0].{name}");
    let near = with(|partition| partition.preferred_read_replica = BrokerId::new(2));
    let cut = with(|partition| {
        partition.diverging_epoch = EpochEndOffset {
            epoch: 1.into(),
            end_offset: 2.into(),
            ..EpochEndOffset::default()
        };
    });
    let moved = with(|partition| {
        partition.current_leader = LeaderIdAndEpoch {
            leader_id: 1.into(),
            ..LeaderIdAndEpoch::default()
        };
    });
    let snapshot = with(|partition| {
        partition.snapshot_id = SnapshotId {
            end_offset: 1.into(),
            epoch: 2.into(),
            ..SnapshotId::default()
        };
    });
    for (answer, name, first) in [
        (near, "preferred_read_replica", 11),
        (cut, "diverging_epoch", 12),
        (moved, "current_leader", 12),
        (snapshot, "snapshot_id", 12),
    ] {
        assert_not_in_version(&answer, first - 1, &field(name));
        assert_eq!(passed_on(&answer, first), answer, "{name}");
    }
    let endpoints = FetchResponse {
        node_endpoints: vec![NodeEndpoint::default()],
        ..FetchResponse::default()
    };
    assert_needs(&endpoints, 16, "node_endpoints");
    assert_eq!(
        PartitionData::default().preferred_read_replica,
        BrokerId::NONE
    );
}

#[test]
fn wi_076_the_length_is_known_before_records_from_a_file_are_sent() {
    for version in versions() {
        let mut partitions = Vec::new();
        for len in [0, 1, 100, 70_000] {
            partitions.push(PartitionData {
                records: Some(Records::Elsewhere(len)),
                ..plain_partition()
            });
        }
        let answer = FetchResponse {
            responses: vec![FetchableTopicResponse {
                partitions,
                ..FetchableTopicResponse::default()
            }],
            ..FetchResponse::default()
        };
        let frame = encode_response(CorrelationId::new(1), &answer, version).expect("legal");
        let len = frame.len();
        let mut sent = Vec::new();
        for piece in frame {
            match piece {
                Piece::Bytes(bytes) => sent.extend(bytes),
                Piece::Gap(len) => sent.resize(sent.len() + len, 7),
            }
        }
        assert_eq!(sent.len(), len, "v{version}");
        let size = i32::from_be_bytes(*sent.first_chunk().expect("a size"));
        assert_eq!(usize::try_from(size), Ok(len - 4), "v{version}");

        let frame = Bytes::from(sent).slice(4..);
        let (_, read) = klamm_wire::decode_response::<FetchRequest>(frame, version)
            .expect("the gaps are where the records belong");
        let lens = read.responses[0]
            .partitions
            .iter()
            .map(|partition| partition.records.as_ref().map(Records::len));
        assert!(lens.eq([0, 1, 100, 70_000].map(Some)), "v{version}");
    }
}

#[test]
fn records_may_be_null_in_every_version() {
    let answer = response(PartitionData {
        records: None,
        ..plain_partition()
    });
    for version in versions().skip(1) {
        assert_eq!(passed_on(&answer, version), answer, "v{version}");
    }
    let (field, _) = refused(
        &request(FetchPartition {
            last_fetched_epoch: LeaderEpoch::new(1),
            ..FetchPartition::default()
        }),
        4,
    );
    assert_eq!(field, "topics[0].partitions[0].last_fetched_epoch");
}
