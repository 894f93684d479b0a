//! Fetch and the look-ups of offsets, as a client sees them.

use std::thread;

use klamm_primitives::{LeaderEpoch, Offset, PartitionIndex, TopicId};
use klamm_wire::ErrorCode;
use klamm_wire::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic,
};
use klamm_wire::messages::fetch::FetchRequest;
use klamm_wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic,
};
use klamm_wire::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};

use crate::broker::{TestBroker, batch, create_topic, fetch, fetch_request, produce, values};
use crate::wire_client::WireClient;

#[test]
fn what_was_produced_is_fetched_in_every_version() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let id = create_topic(&mut client, "t", 1, &[]);
    produce(&mut client, "t", 0, -1, batch(&["a", "b"]));
    for version in 4..=18 {
        let answer = client.call(&fetch_request("t", id, 0, 0), version).unwrap();
        assert_eq!((answer.error_code, answer.session_id), (ErrorCode::NONE, 0));
        let data = &answer.responses[0].partitions[0];
        assert_eq!(data.error_code, ErrorCode::NONE, "version {version}");
        assert_eq!(data.high_watermark.get(), 2);
        assert_eq!(values(data), [(0, "a".to_owned()), (1, "b".to_owned())]);
        if version >= 13 {
            assert_eq!(answer.responses[0].topic_id, id);
        }
    }
}

/// Covers AP-019, AP-023, K003.
#[test]
fn what_cannot_be_fetched_is_told_without_offsets_and_records() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let id = create_topic(&mut client, "t", 1, &[]);
    let unknown = fetch(&mut client, "none", 0, 0);
    assert_eq!(unknown.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(unknown.high_watermark, Offset::UNKNOWN);
    assert!(unknown.records.unwrap().is_empty());
    for offset in [1, -5] {
        let outside = fetch(&mut client, "t", 0, offset);
        assert_eq!(
            outside.error_code,
            ErrorCode::OFFSET_OUT_OF_RANGE,
            "{offset}"
        );
    }
    let nobodys = TopicId::from_u128(5);
    let answer = client.call(&fetch_request("", nobodys, 0, 0), 16).unwrap();
    let data = &answer.responses[0].partitions[0];
    assert_eq!(answer.responses[0].topic_id, nobodys, "as it was asked for");
    assert_eq!(data.error_code, ErrorCode::UNKNOWN_TOPIC_ID);
    assert_eq!(data.current_leader.leader_id.get(), -1);
    assert!(answer.node_endpoints.is_empty());
    assert_ne!(id, nobodys);
}

/// Covers AP-025, AP-026.
#[test]
fn leader_epochs_of_the_request_are_checked() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let id = create_topic(&mut client, "t", 1, &[]);
    produce(&mut client, "t", 0, -1, batch(&["a"]));
    let mut code = |epoch: i32, version| {
        let mut request = fetch_request("t", id, 0, 0);
        request.topics[0].partitions[0].current_leader_epoch = LeaderEpoch::new(epoch);
        let answer = client.call(&request, version).unwrap();
        let data = answer.responses[0].partitions[0].clone();
        (
            data.error_code,
            data.current_leader.leader_id.get(),
            answer.node_endpoints.len(),
        )
    };
    assert_eq!(code(-1, 16), (ErrorCode::NONE, -1, 0));
    assert_eq!(code(0, 16), (ErrorCode::NONE, -1, 0));
    assert_eq!(code(1, 16), (ErrorCode::UNKNOWN_LEADER_EPOCH, -1, 0));
    drop(client);
    // A restart makes a new leader epoch.
    let broker = broker.restart();
    let mut client = broker.connect();
    let mut request = fetch_request("t", id, 0, 0);
    request.topics[0].partitions[0].current_leader_epoch = LeaderEpoch::new(0);
    let answer = client.call(&request, 16).unwrap();
    let data = &answer.responses[0].partitions[0];
    assert_eq!(data.error_code, ErrorCode::FENCED_LEADER_EPOCH);
    assert_eq!(data.current_leader.leader_id.get(), 1);
    assert_eq!(answer.node_endpoints[0].node_id.get(), 1);
}

/// Covers AP-030, AP-032, AP-033, AP-034, AP-035, AP-036, B3.4.
#[test]
fn a_session_tells_each_thing_once() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let id = create_topic(&mut client, "t", 2, &[]);
    let both = |offset: i64| {
        let mut request = fetch_request("t", id, 0, 0);
        let mut second = request.topics[0].partitions[0].clone();
        second.partition = PartitionIndex::new(1);
        second.fetch_offset = Offset::new(offset);
        request.topics[0].partitions.push(second);
        request
    };
    for version in [7, 12, 13, 18] {
        let mut ask = |session_id, session_epoch, request: FetchRequest| {
            let request = FetchRequest {
                session_id,
                session_epoch,
                ..request
            };
            let answer = client.call(&request, version).unwrap();
            let partitions = answer.responses.into_iter().flat_map(|it| it.partitions);
            (
                answer.error_code,
                answer.session_id,
                partitions.collect::<Vec<_>>(),
            )
        };
        let none = || FetchRequest {
            topics: Vec::new(),
            ..both(0)
        };
        let (code, session, all) = ask(0, 0, both(0));
        assert!(code.is_none() && session > 0);
        assert_eq!(all.len(), 2);
        let end = all[1].high_watermark.get();
        // There is nothing new, but for the records of the rounds before, which were not taken.
        let (_, _, news) = ask(session, 1, both(end));
        assert_eq!(news, []);
        produce(&mut broker.connect(), "t", 1, -1, batch(&["a"]));
        let (code, same, news) = ask(session, 2, none());
        assert_eq!((code, same), (ErrorCode::NONE, session));
        assert_eq!(news.len(), 1);
        assert_eq!(values(&news[0]), [(end, "a".to_owned())]);
        let (code, _, _) = ask(session, 2, none());
        assert_eq!(code, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
        let (_, closed, all) = ask(session, -1, both(end));
        assert_eq!((closed, all.len()), (0, 2));
        let (code, _, _) = ask(session, 3, none());
        assert_eq!(code, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
        let nothing = FetchRequest {
            max_wait_ms: 60_000,
            ..none()
        };
        assert_eq!(ask(0, -1, nothing), (ErrorCode::NONE, 0, vec![]));
    }
}

/// Covers AP-021, AP-022, AP-031, C107.
#[test]
fn the_first_batch_comes_whole_and_the_limits_hold_for_the_others() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 2, &[]);
    let large = "x".repeat(5_000);
    for partition in [0, 1] {
        produce(&mut client, "t", partition, -1, batch(&[&large, &large]));
        produce(&mut client, "t", partition, -1, batch(&[&large]));
    }
    let mut request = fetch_request("t", TopicId::ZERO, 0, 1);
    request.max_bytes = 1;
    let first = request.topics[0].partitions[0].clone();
    request.topics[0].partitions[0].partition_max_bytes = 1;
    let mut second = first;
    second.partition = PartitionIndex::new(1);
    request.topics[0].partitions.push(second);
    let answer = client.call(&request, 12).unwrap();
    let partitions = &answer.responses[0].partitions;
    // It begins before the offset that was asked for, and is not cut.
    let offsets: Vec<_> = values(&partitions[0]).iter().map(|it| it.0).collect();
    assert_eq!(offsets, [0, 1]);
    assert!(values(&partitions[1]).is_empty());
    assert_eq!(partitions[1].error_code, ErrorCode::NONE);
}

/// Covers C109.
#[test]
fn a_fetch_that_waits_is_woken_by_a_produce() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    let mut waiting = broker.connect();
    let waiter = thread::spawn(move || {
        let mut request = fetch_request("t", TopicId::ZERO, 0, 0);
        // Longer than the client would wait for the answer.
        request.max_wait_ms = i32::MAX;
        waiting
            .call(&request, 12)
            .map(|it| values(&it.responses[0].partitions[0]))
    });
    // Whether it waits already or comes after: it must get the record.
    produce(&mut client, "t", 0, -1, batch(&["a"]));
    assert_eq!(waiter.join().unwrap().unwrap(), [(0, "a".to_owned())]);
}

#[test]
fn a_fetch_that_waits_is_answered_when_its_time_is_up() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    let mut request = fetch_request("t", TopicId::ZERO, 0, 0);
    request.max_wait_ms = 20;
    let answer = client.call(&request, 12).unwrap();
    assert!(values(&answer.responses[0].partitions[0]).is_empty());
}

fn list(client: &mut WireClient, timestamp: i64, version: i16) -> (i16, i64, i64, i32) {
    let request = ListOffsetsRequest {
        replica_id: (-1).into(),
        topics: vec![ListOffsetsTopic {
            name: "t".into(),
            partitions: vec![ListOffsetsPartition {
                timestamp,
                ..ListOffsetsPartition::default()
            }],
            ..ListOffsetsTopic::default()
        }],
        ..ListOffsetsRequest::default()
    };
    let answer = client.call(&request, version).unwrap();
    let it = &answer.topics[0].partitions[0];
    (
        it.error_code.get(),
        it.timestamp,
        it.offset.get(),
        it.leader_epoch.get(),
    )
}

/// Covers AP-056, AP-058, AP-060, K005.
#[test]
fn offsets_are_found_by_time() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    produce(&mut client, "t", 0, -1, batch(&["a", "b", "c"]));
    for version in 1..=11 {
        let epoch = if version >= 4 { 0 } else { -1 };
        assert_eq!(list(&mut client, -1, version), (0, -1, 3, epoch), "latest");
        assert_eq!(
            list(&mut client, -2, version),
            (0, -1, 0, epoch),
            "earliest"
        );
        assert_eq!(
            list(&mut client, 2, version),
            (0, 2, 1, epoch),
            "a record within"
        );
        assert_eq!(list(&mut client, 4, version), (0, -1, -1, -1), "none");
    }
    assert_eq!(list(&mut client, -3, 7), (0, 3, 2, 0), "largest timestamp");
    assert_eq!(list(&mut client, -3, 6).0, 35);
    assert_eq!(list(&mut client, -9, 11).0, 35);
}

#[test]
fn ap_061_the_end_of_a_leader_epoch_is_told() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    produce(&mut client, "t", 0, -1, batch(&["a", "b"]));
    let mut end = |topic: &'static str, epoch: i32| {
        let request = OffsetForLeaderEpochRequest {
            topics: vec![OffsetForLeaderTopic {
                topic: topic.into(),
                partitions: vec![OffsetForLeaderPartition {
                    leader_epoch: LeaderEpoch::new(epoch),
                    ..OffsetForLeaderPartition::default()
                }],
                ..OffsetForLeaderTopic::default()
            }],
            ..OffsetForLeaderEpochRequest::default()
        };
        let answer = client.call(&request, 4).unwrap();
        let it = &answer.topics[0].partitions[0];
        (
            it.error_code.get(),
            it.leader_epoch.get(),
            it.end_offset.get(),
        )
    };
    assert_eq!(end("t", 0), (0, 0, 2));
    assert_eq!(end("t", 7), (0, -1, -1));
    assert_eq!(end("none", 0), (3, -1, -1));
}

#[test]
fn ap_062_records_are_deleted_before_an_offset() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    produce(&mut client, "t", 0, -1, batch(&["a", "b", "c"]));
    let mut delete = |topic: &'static str, offset: i64| {
        let request = DeleteRecordsRequest {
            timeout_ms: 10_000,
            topics: vec![DeleteRecordsTopic {
                name: topic.into(),
                partitions: vec![DeleteRecordsPartition {
                    offset: Offset::new(offset),
                    ..DeleteRecordsPartition::default()
                }],
                ..DeleteRecordsTopic::default()
            }],
            ..DeleteRecordsRequest::default()
        };
        let answer = client.call(&request, 2).unwrap();
        let it = &answer.topics[0].partitions[0];
        (it.error_code.get(), it.low_watermark.get())
    };
    assert_eq!(delete("t", 2), (0, 2));
    assert_eq!(delete("t", 4), (1, -1));
    assert_eq!(delete("none", 0), (3, -1));
    assert_eq!(delete("t", -1), (0, 3));
    assert_eq!(list(&mut client, -2, 7).2, 3);
}

#[test]
fn ap_020_partitions_are_served_and_answered_in_the_order_of_the_request() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 3, &[]);
    create_topic(&mut client, "s", 1, &[]);
    for (topic, partition) in [("t", 0), ("t", 1), ("t", 2), ("s", 0)] {
        produce(&mut client, topic, partition, -1, batch(&["a"]));
    }
    let order = [("t", 2), ("s", 0), ("t", 0), ("t", 1)];
    let mut request = fetch_request("t", TopicId::ZERO, 0, 0);
    request.topics = order
        .map(|(topic, partition)| {
            let mut one = fetch_request(topic, TopicId::ZERO, partition, 0);
            one.topics.remove(0)
        })
        .to_vec();
    // There is room for one batch, and the first in the request gets it.
    request.max_bytes = 1;
    for first in 0..order.len() {
        request.topics.rotate_left(usize::from(first > 0));
        let answer = client.call(&request, 12).unwrap();
        let told = answer.responses.iter();
        let told: Vec<_> = told
            .map(|it| (it.topic.to_string(), it.partitions[0].partition_index))
            .collect();
        let asked = request.topics.iter();
        let asked: Vec<_> = asked
            .map(|it| (it.topic.to_string(), it.partitions[0].partition))
            .collect();
        assert_eq!(told, asked);
        let found: Vec<_> = answer
            .responses
            .iter()
            .map(|it| values(&it.partitions[0]).len())
            .collect();
        assert_eq!(found, [1, 0, 0, 0]);
    }
}
