//! Each API that is served, in each version, has an answer that its client can read.

use klamm_wire::header::RequestHeader;
use klamm_wire::messages::create_topics::CreatableTopic;
use klamm_wire::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsTopic};
use klamm_wire::messages::delete_topics::DeleteTopicState;
use klamm_wire::messages::describe_configs::DescribeConfigsResource;
use klamm_wire::messages::fetch::{FetchPartition, FetchTopic};
use klamm_wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsTopic};
use klamm_wire::messages::metadata::MetadataRequestTopic;
use klamm_wire::messages::offset_for_leader_epoch::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use klamm_wire::messages::produce::{PartitionProduceData, TopicProduceData};
use klamm_wire::{Listener, Offer, Request, decode_response, encode_request};

use super::*;
use crate::handlers::SERVED;

const OFFER: Offer = Offer {
    listener: Listener::Broker,
    unstable: false,
    telemetry: false,
    apis: SERVED,
};

fn frame_of<R: Request>(request: &R, version: i16) -> RequestFrame {
    let header = RequestHeader::of::<R>(version, CorrelationId::new(7), None);
    let encoded = encode_request(&header, request).unwrap();
    let bytes = encoded.into_bytes().unwrap();
    // Without its size.
    RequestFrame::parse(bytes.slice(4..), &OFFER).unwrap()
}

/// The answers to requests in all versions that are served, and which these are.
fn answers<R: Request>(request: impl Fn(i16) -> R) -> Vec<(i16, R::Response)> {
    let served = OFFER.served(R::KEY).unwrap();
    let answer = |version: i16| {
        let encoded = encoded(&frame_of(&request(version), version)).unwrap();
        let bytes = encoded.into_bytes().unwrap();
        let (header, answer) = decode_response::<R>(bytes.slice(4..), version).unwrap();
        assert_eq!(header.correlation_id, CorrelationId::new(7));
        (version, answer)
    };
    (served.min..=served.max).map(answer).collect()
}

/// A request with nothing in it, or with a single bit: some such body makes sense for each API.
fn some_body_is_answered(key: ApiKey, version: i16) -> bool {
    const BODY_LEN_MAX: usize = 32;
    let is_answered = |len: usize, set: usize| {
        let header = [key.number().to_be_bytes(), version.to_be_bytes()];
        let correlation_id = 7_i32.to_be_bytes();
        let client_id = (-1_i16).to_be_bytes();
        let body = (0..len).map(|at| u8::from(at == set));
        let whole = header.into_iter().flatten().chain(correlation_id);
        let whole: Vec<u8> = whole.chain(client_id).chain(body).collect();
        let frame = RequestFrame::parse(whole.into(), &OFFER);
        frame.is_ok_and(|it| encoded(&it).is_some())
    };
    (0..=BODY_LEN_MAX).any(|len| (0..=len).any(|set| is_answered(len, set)))
}

/// Covers AP-089: those that the other tests name are not all that there will be.
#[test]
fn none_that_is_served_is_without_an_answer() {
    let served = ApiKey::ALL.iter().filter(|key| SERVED.contains(**key));
    let served: Vec<_> = served.collect();
    assert!(served.len() > 1);
    for key in served {
        let version = OFFER.served(*key).unwrap().min;
        assert!(some_body_is_answered(*key, version), "{key}");
    }
    assert!(!some_body_is_answered(ApiKey::SaslHandshake, 0));
}

/// Each partition is named, or each topic, or the answer is one error as a whole; in all versions.
#[test]
fn ap_089_each_api_tells_the_error_in_its_own_answer() {
    let produce = |acks| ProduceRequest {
        acks,
        topic_data: vec![TopicProduceData {
            partition_data: vec![PartitionProduceData::default(); 2],
            ..TopicProduceData::default()
        }],
        ..ProduceRequest::default()
    };
    for (version, answer) in answers(|_| produce(-1)) {
        let codes = answer.responses[0].partition_responses.iter();
        let codes: Vec<_> = codes.map(|it| (it.error_code, it.base_offset)).collect();
        assert_eq!(codes, [(CODE, Offset::UNKNOWN); 2], "{version}");
    }
    assert!(
        encoded(&frame_of(&produce(0), 9)).is_none(),
        "it wants no answer"
    );

    for (version, answer) in answers(|_| FetchRequest {
        topics: vec![FetchTopic {
            partitions: vec![FetchPartition::default()],
            ..FetchTopic::default()
        }],
        ..FetchRequest::default()
    }) {
        let of_all = if version >= 7 { CODE } else { ErrorCode::NONE };
        assert_eq!(answer.error_code, of_all, "{version}");
        let partitions = answer.responses.iter().flat_map(|it| &it.partitions);
        let codes: Vec<_> = partitions.map(|it| it.error_code).collect();
        let named = usize::from(version < 13);
        assert_eq!(codes, vec![CODE; named], "{version}");
    }
    for (version, answer) in answers(|_| ListOffsetsRequest {
        topics: vec![ListOffsetsTopic {
            partitions: vec![ListOffsetsPartition::default()],
            ..ListOffsetsTopic::default()
        }],
        ..ListOffsetsRequest::default()
    }) {
        let partition = &answer.topics[0].partitions[0];
        let told = (partition.error_code, partition.offset);
        assert_eq!(told, (CODE, Offset::UNKNOWN), "{version}");
    }
    for (version, answer) in answers(|_| OffsetForLeaderEpochRequest {
        topics: vec![OffsetForLeaderTopic {
            partitions: vec![OffsetForLeaderPartition::default()],
            ..OffsetForLeaderTopic::default()
        }],
        ..OffsetForLeaderEpochRequest::default()
    }) {
        assert_eq!(answer.topics[0].partitions[0].error_code, CODE, "{version}");
    }
    for (version, answer) in answers(|_| DeleteRecordsRequest {
        topics: vec![DeleteRecordsTopic {
            partitions: vec![DeleteRecordsPartition::default()],
            ..DeleteRecordsTopic::default()
        }],
        ..DeleteRecordsRequest::default()
    }) {
        assert_eq!(answer.topics[0].partitions[0].error_code, CODE, "{version}");
    }
}

/// Covers AP-089.
#[test]
fn what_names_topics_or_nothing_tells_the_error_too() {
    for (version, answer) in answers(|_| MetadataRequest {
        topics: Some(vec![MetadataRequestTopic {
            name: Some("t".into()),
            ..MetadataRequestTopic::default()
        }]),
        ..MetadataRequest::default()
    }) {
        assert_eq!(answer.topics[0].error_code, CODE, "{version}");
        assert_eq!(answer.topics[0].name.as_deref(), Some("t"), "{version}");
    }
    for (version, answer) in answers(|_| CreateTopicsRequest {
        topics: vec![CreatableTopic::default()],
        ..CreateTopicsRequest::default()
    }) {
        assert_eq!(answer.topics[0].error_code, CODE, "{version}");
    }
    for (version, answer) in answers(|version| {
        let topic = DeleteTopicState {
            name: Some("t".into()),
            ..DeleteTopicState::default()
        };
        let request = DeleteTopicsRequest {
            topics: vec![topic],
            ..DeleteTopicsRequest::default()
        };
        request.for_version(version).unwrap()
    }) {
        assert_eq!(answer.responses[0].error_code, CODE, "{version}");
    }
    for (version, answer) in answers(|_| DescribeConfigsRequest {
        resources: vec![DescribeConfigsResource::default()],
        ..DescribeConfigsRequest::default()
    }) {
        assert_eq!(answer.results[0].error_code, CODE, "{version}");
    }
    for (version, answer) in answers(|version| {
        let request = FindCoordinatorRequest {
            coordinator_keys: vec!["k".into()],
            ..FindCoordinatorRequest::default()
        };
        request.for_version(version).unwrap()
    }) {
        let each = answer.coordinators.iter().map(|it| it.error_code);
        let codes: Vec<_> = each.chain([answer.error_code]).collect();
        assert!(codes.contains(&CODE), "{version}");
    }
    for (version, answer) in answers(|_| InitProducerIdRequest::default()) {
        assert_eq!(answer.error_code, CODE, "{version}");
    }
    for (version, answer) in answers(|_| DescribeClusterRequest::default()) {
        assert_eq!(answer.error_code, CODE, "{version}");
    }
    for (version, answer) in answers(|_| ApiVersionsRequest::default()) {
        assert_eq!(answer.error_code, CODE, "{version}");
    }
}
