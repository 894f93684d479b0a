//! Produce, as a client sees it.

use klamm_primitives::{ProducerId, TopicId};
use klamm_records::{BatchOptions, Compression, ZstdLevel};
use klamm_wire::ErrorCode;
use klamm_wire::messages::init_producer_id::InitProducerIdRequest;
use klamm_wire::messages::metadata::MetadataRequest;
use klamm_wire::messages::produce::ProduceRequest;

use crate::broker::{
    TestBroker, batch, batch_of, create_topic, fetch, idempotent_batch, produce, produce_request,
    values,
};

/// Covers AP-007, AP-017, B2.2.
#[test]
fn records_get_offsets_from_0_on_in_every_version() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let id = create_topic(&mut client, "t", 1, &[]);
    let mut next = 0;
    for version in 3..=13 {
        for acks in [1, -1] {
            let mut request = produce_request("t", 0, acks, batch(&["a", "b"]));
            request.topic_data[0].topic_id = id;
            let response = client.call(&request, version).unwrap();
            let topic = &response.responses[0];
            assert_eq!(
                (&*topic.name == "t", topic.topic_id == id),
                if version < 13 {
                    (true, false)
                } else {
                    (false, true)
                }
            );
            let partition = &topic.partition_responses[0];
            assert_eq!(partition.error_code, ErrorCode::NONE, "version {version}");
            assert_eq!(partition.base_offset.get(), next, "version {version}");
            assert_eq!(partition.log_append_time_ms, -1);
            let log_start = if version >= 5 { 0 } else { -1 };
            assert_eq!(partition.log_start_offset.get(), log_start);
            assert!(partition.record_errors.is_empty());
            next += 2;
        }
    }
    assert_eq!(
        values(&fetch(&mut client, "t", 0, 0)).len(),
        usize::try_from(next).unwrap()
    );
}

/// Covers AP-003, AP-004, AP-008.
#[test]
fn partitions_that_there_are_not_are_told_at_once() {
    let broker = TestBroker::start(&["auto.create.topics.enable=false"]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    for (topic, partition) in [("none", 0), ("t", 1), ("t", -1)] {
        let answer = produce(&mut client, topic, partition, -1, batch(&["a"]));
        assert_eq!(answer.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        assert_eq!(answer.base_offset.get(), -1);
        assert_eq!(answer.log_append_time_ms, -1);
    }
    let mut by_id = produce_request("t", 0, -1, batch(&["a"]));
    by_id.topic_data[0].topic_id = TopicId::from_u128(5);
    let answer = client.call(&by_id, 13).unwrap();
    let code = answer.responses[0].partition_responses[0].error_code;
    assert_eq!(code, ErrorCode::UNKNOWN_TOPIC_ID);
}

/// Covers AP-005, C014, B2.8.
#[test]
fn without_acknowledgements_nothing_is_sent() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    let request = produce_request("t", 0, 0, batch(&["a"]));
    client.send(&request, 12).unwrap();
    // The next bytes are the answer to the next request.
    let metadata = client.call(&MetadataRequest::default(), 12).unwrap();
    assert_eq!(metadata.topics.len(), 0);
    assert_eq!(
        values(&fetch(&mut client, "t", 0, 0)),
        [(0, "a".to_owned())]
    );
}

/// Covers B2.8.
#[test]
fn ap_006_without_acknowledgements_an_error_closes_the_connection() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    let request = produce_request("none", 0, 0, batch(&["a"]));
    let id = client.send(&request, 12).unwrap();
    assert!(client.receive::<ProduceRequest>(id, 12).is_err());
    // Nobody else is disturbed.
    assert!(
        broker
            .connect()
            .call(&MetadataRequest::default(), 12)
            .is_ok()
    );
}

/// Covers AP-009, AP-010, AP-012.
#[test]
fn batches_that_cannot_be_are_refused_by_their_fault() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[("max.message.bytes", "200")]);
    let mut code = |records| produce(&mut client, "t", 0, -1, records).error_code;

    let mut damaged = batch(&["a"]).to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(code(damaged.into()), ErrorCode::CORRUPT_MESSAGE);
    let large = "x".repeat(200);
    assert_eq!(code(batch(&[&large])), ErrorCode::MESSAGE_TOO_LARGE);
    assert_eq!(code(bytes::Bytes::new()), ErrorCode::INVALID_RECORD);
    assert_eq!(code(batch(&["a"])), ErrorCode::NONE);

    let zstd = BatchOptions {
        compression: Compression::Zstd(ZstdLevel::new(3).unwrap()),
        ..BatchOptions::default()
    };
    let request = produce_request("t", 0, -1, batch_of(&["a"], zstd));
    for (version, wanted) in [
        (6, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE),
        (7, ErrorCode::NONE),
    ] {
        let answer = client.call(&request, version).unwrap();
        let code = answer.responses[0].partition_responses[0].error_code;
        assert_eq!(code, wanted, "version {version}");
    }
}

#[test]
fn acks_are_minus_1_0_or_1() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    for acks in [2, -2, i16::MAX] {
        let answer = produce(&mut client, "t", 0, acks, batch(&["a"]));
        assert_eq!(answer.error_code, ErrorCode::INVALID_REQUIRED_ACKS);
    }
    assert!(values(&fetch(&mut client, "t", 0, 0)).is_empty());
}

#[test]
fn ap_014_sequences_are_kept_and_repeats_are_told_their_offsets() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    let request = InitProducerIdRequest {
        transactional_id: None,
        ..InitProducerIdRequest::default()
    };
    let given = client.call(&request, 4).unwrap();
    assert_eq!(given.error_code, ErrorCode::NONE);
    assert_eq!(given.producer_epoch.get(), 0);
    let producer = given.producer_id;
    let again = client.call(&request, 4).unwrap();
    assert_ne!(again.producer_id, producer);
    assert!(producer > ProducerId::NONE);

    let mut send = |epoch, first| {
        let records = idempotent_batch(&["a", "b"], producer, epoch, first);
        let answer = produce(&mut client, "t", 0, -1, records);
        (answer.error_code, answer.base_offset.get())
    };
    assert_eq!(send(0, 0), (ErrorCode::NONE, 0));
    assert_eq!(send(0, 2), (ErrorCode::NONE, 2));
    assert_eq!(send(0, 0), (ErrorCode::NONE, 0), "sent again");
    assert_eq!(send(0, 6), (ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, -1));
    assert_eq!(send(1, 0), (ErrorCode::NONE, 4));
    assert_eq!(send(0, 4), (ErrorCode::INVALID_PRODUCER_EPOCH, -1));
}

#[test]
fn ap_013_records_of_transactions_need_a_transactional_id() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 2, &[]);
    let transactional = || {
        let mut bytes = idempotent_batch(&["a"], ProducerId::new(1), 0, 0).to_vec();
        // The flag is in the low byte of the attributes, which the checksum covers.
        bytes[22] |= 1 << 4;
        bytes
    };
    let mut request = produce_request("t", 0, -1, transactional().into());
    let plain = produce_request("t", 1, -1, batch(&["b"]));
    let other = plain.topic_data[0].partition_data[0].clone();
    request.topic_data[0].partition_data.push(other);
    let mut codes = |request: &ProduceRequest| {
        let answer = client.call(request, 12).unwrap();
        let partitions = answer.responses[0].partition_responses.iter();
        partitions.map(|it| it.error_code).collect::<Vec<_>>()
    };
    let refused = ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    assert_eq!(codes(&request), [refused; 2]);
    // No coordinator has begun a transaction.
    request.transactional_id = Some("mine".into());
    assert_eq!(
        codes(&request),
        [ErrorCode::INVALID_TXN_STATE, ErrorCode::NONE]
    );
}

#[test]
fn records_that_must_be_synced_first_are_acknowledged_when_they_are() {
    let broker = TestBroker::start(&["log.flush.interval.messages=1"]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    for offset in 0..20 {
        for acks in [1, -1] {
            let answer = produce(&mut client, "t", 0, acks, batch(&["a"]));
            assert_eq!(answer.error_code, ErrorCode::NONE, "{offset}");
        }
    }
}

/// However many ask at once, the controller gives one block to all of them.
#[test]
fn producers_that_come_together_get_their_ids_from_one_block() {
    let broker = TestBroker::start(&[]);
    let mut clients: Vec<_> = (0..20).map(|_| broker.connect()).collect();
    let request = InitProducerIdRequest {
        transactional_id: None,
        ..InitProducerIdRequest::default()
    };
    let asked: Vec<_> = clients
        .iter_mut()
        .map(|client| client.send(&request, 4).unwrap())
        .collect();
    let ids = clients.iter_mut().zip(asked).map(|(client, id)| {
        let answer = client.receive::<InitProducerIdRequest>(id, 4).unwrap();
        assert!(answer.error_code.is_none());
        answer.producer_id.get()
    });
    let ids: std::collections::BTreeSet<_> = ids.collect();
    assert_eq!(ids.len(), 20, "no id is given twice");
    let span = ids.last().unwrap() - ids.first().unwrap();
    assert_eq!(span, 19, "and none is left out");
}
