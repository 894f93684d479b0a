//! Produce, version by version.

use klamm_primitives::{Offset, Uuid};
use klamm_wire::messages::produce::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, PartitionProduceData, PartitionProduceResponse,
    ProduceRequest, ProduceResponse, TopicProduceData, TopicProduceResponse,
};
use klamm_wire::{ErrorCode, Message};

use crate::coding::{assert_not_in_version, passed_on};

fn response(partition: PartitionProduceResponse) -> ProduceResponse {
    ProduceResponse {
        responses: vec![TopicProduceResponse {
            partition_responses: vec![partition],
            ..TopicProduceResponse::default()
        }],
        throttle_time_ms: 9,
        ..ProduceResponse::default()
    }
}

/// The partition's answer as it comes out at the other end.
fn answered(partition: &PartitionProduceResponse, version: i16) -> PartitionProduceResponse {
    let mut passed = passed_on(&response(partition.clone()), version);
    assert_eq!(passed.throttle_time_ms, 9, "v{version}");
    passed.responses.remove(0).partition_responses.remove(0)
}

#[test]
fn wi_067_an_answer_has_more_fields_with_each_version() {
    let full = PartitionProduceResponse {
        index: 3.into(),
        base_offset: Offset::new(5),
        log_append_time_ms: 6,
        log_start_offset: Offset::new(7),
        record_errors: vec![BatchIndexAndErrorMessage::default()],
        error_message: Some("why".into()),
        ..PartitionProduceResponse::default()
    };
    let unknown = PartitionProduceResponse::default();
    assert_eq!(unknown.log_append_time_ms, -1);
    assert_eq!(unknown.log_start_offset, Offset::UNKNOWN);
    for version in ProduceResponse::VERSIONS.min..=ProduceResponse::VERSIONS.max {
        let answer = answered(&full, version);
        assert_eq!(
            (answer.index, answer.base_offset),
            (full.index, full.base_offset)
        );
        assert_eq!(answer.log_append_time_ms, 6, "since v2");
        let start = if version >= 5 {
            Offset::new(7)
        } else {
            Offset::UNKNOWN
        };
        assert_eq!(answer.log_start_offset, start, "v{version}");
        assert_eq!(
            answer.record_errors.len(),
            usize::from(version >= 8),
            "v{version}"
        );
        assert_eq!(answer.error_message.is_some(), version >= 8, "v{version}");
    }
    // The throttle time is the last thing before the tagged section.
    let last = response(full)
        .encode(8)
        .expect("legal")
        .into_bytes()
        .expect("no gap");
    assert_eq!(last[last.len() - 4..], [0, 0, 0, 9]);
}

#[test]
fn wi_068_record_errors_are_dropped_up_to_v7() {
    let refused = PartitionProduceResponse {
        error_code: ErrorCode::INVALID_RECORD,
        record_errors: vec![BatchIndexAndErrorMessage {
            batch_index: 4,
            batch_index_error_message: Some("no key".into()),
            ..BatchIndexAndErrorMessage::default()
        }],
        error_message: Some("a record has no key".into()),
        ..PartitionProduceResponse::default()
    };
    for version in 3..=7 {
        let answer = answered(&refused, version);
        assert_eq!(answer.error_code, ErrorCode::INVALID_RECORD);
        assert!(answer.record_errors.is_empty() && answer.error_message.is_none());
    }
    assert_eq!(answered(&refused, 8), refused);
}

#[test]
fn a_leader_can_be_named_from_v10_on() {
    let moved = PartitionProduceResponse {
        error_code: ErrorCode::NOT_LEADER_OR_FOLLOWER,
        current_leader: LeaderIdAndEpoch {
            leader_id: 2.into(),
            leader_epoch: 8.into(),
            ..LeaderIdAndEpoch::default()
        },
        ..PartitionProduceResponse::default()
    };
    assert_eq!(answered(&moved, 10), moved);
    let field = "responses[0].partition_responses[0].current_leader";
    assert_not_in_version(&response(moved), 9, field);
}

#[test]
fn topics_go_by_name_up_to_v12_and_by_id_from_v13() {
    let request = ProduceRequest {
        transactional_id: Some("tx".into()),
        topic_data: vec![TopicProduceData {
            name: "t".into(),
            topic_id: Uuid::from_u128(5),
            partition_data: vec![PartitionProduceData::default()],
            ..TopicProduceData::default()
        }],
        ..ProduceRequest::default()
    };
    for version in ProduceRequest::VERSIONS.min..=ProduceRequest::VERSIONS.max {
        let passed = passed_on(&request, version);
        assert_eq!(passed.transactional_id, request.transactional_id);
        let [topic] = &passed.topic_data[..] else {
            panic!("one topic");
        };
        assert_eq!(topic.name.is_empty(), version >= 13);
        assert_eq!(topic.topic_id.is_zero(), version < 13);
    }
}

/// Covers WI-061.
#[test]
fn throttle_time_stands_beside_errors_too() {
    use klamm_wire::messages::metadata::MetadataResponse;

    let refused = MetadataResponse {
        throttle_time_ms: 70,
        error_code: ErrorCode::REBOOTSTRAP_REQUIRED,
        ..MetadataResponse::default()
    };
    for version in MetadataResponse::VERSIONS.min..=MetadataResponse::VERSIONS.max {
        let passed = passed_on(&refused, version);
        let throttle = if version >= 3 { 70 } else { 0 };
        assert_eq!(passed.throttle_time_ms, throttle, "v{version}");
    }
    let partition = PartitionProduceResponse {
        error_code: ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ..PartitionProduceResponse::default()
    };
    assert_eq!(
        answered(&partition, 3).error_code,
        ErrorCode::NOT_LEADER_OR_FOLLOWER
    );
}
