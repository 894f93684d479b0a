//! Records, serializers, interceptors, callbacks and outcomes.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use klamm_fake_broker::Fault;
use klamm_io::{Clock, SystemClock};
use klamm_primitives::Offset;
use klamm_producer::{
    DeliveryError, Failure, Field, Interceptor, NumberSerializer, Producer, Record, RecordMetadata,
    SendError, SerializeError, Serializer, Target,
};
use klamm_wire::{ApiKey, ErrorCode};
use parking_lot::Mutex;

use crate::{config, failure, partition, producer, server};

fn record(value: &'static str) -> Record {
    Record::to("t").with_value(value)
}

/// Covers PR-009, PR-015, P2.1, P2.5, P2.6, P2.7.
#[tokio::test]
async fn a_record_is_written_and_its_delivery_says_where() {
    let server = server(1);
    let producer = producer(config(&server)).await;
    let metadata = producer
        .send(record("a").with_key("key").with_timestamp_ms(0).unwrap())
        .await
        .unwrap()
        .await
        .unwrap();
    assert_eq!(
        metadata,
        RecordMetadata {
            topic: "t".into(),
            partition: Some(0.into()),
            offset: Offset::ZERO,
            timestamp_ms: 0,
            key_size: Some(3),
            value_size: Some(1),
        }
    );
    // What is known already is not asked for again.
    let asked = server.model().count(ApiKey::Metadata);
    let next = producer.send(record("b")).await.unwrap().await.unwrap();
    assert_eq!(next.offset.get(), 1);
    assert_eq!(server.model().count(ApiKey::Metadata), asked);
    producer.close(None).await;
}

#[tokio::test]
async fn pr_003_a_record_without_a_time_gets_the_time_after_the_wait_for_metadata() {
    let server = server(1);
    let producer = producer(config(&server)).await;
    let before = SystemClock.unix_ms();
    let metadata = producer.send(record("a")).await.unwrap().await.unwrap();
    let after = SystemClock.unix_ms();
    assert!((before..=after).contains(&metadata.timestamp_ms));
    producer.close(None).await;
}

/// Writes what it is told of into the value.
struct Shows;

impl Serializer<u32> for Shows {
    fn serialize<'a>(
        &self,
        target: Target<'_>,
        data: &'a u32,
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], SerializeError> {
        if *data == 0 {
            return Err(SerializeError::new("0 is nothing"));
        }
        let headers = target.headers.len();
        scratch.extend_from_slice(format!("{} {headers} {data}", target.topic).as_bytes());
        Ok(scratch)
    }
}

/// Adds a header.
struct Adds;

impl Interceptor<i64, u32> for Adds {
    fn on_send(
        &self,
        record: &Record<i64, u32>,
    ) -> Result<Option<Record<i64, u32>>, Box<dyn Error + Send + Sync>> {
        Ok(Some(record.clone().with_header("seen", None)))
    }
}

/// Covers PR-004, PR-005, PR-013, P1.4, P1.5, P2.2.
#[tokio::test]
async fn serializers_see_topic_and_headers_as_interceptors_left_them() {
    let server = server(1);
    let config = config(&server).build().unwrap();
    let producer = Producer::typed(config, NumberSerializer, Shows).interceptor(Adds);
    let producer = producer.build().await.unwrap();
    let typed = |value: u32| {
        Record::<i64, u32>::to("t")
            .with_key(7_i64)
            .with_value(value)
    };
    producer.send(typed(5)).await.unwrap().await.unwrap();
    let stored = server.model().records(&partition(0));
    assert_eq!(stored[0].value.as_deref(), Some(&b"t 1 5"[..]));
    match producer.send(typed(0)).await {
        Err(SendError::Serialize { field, topic, .. }) => {
            assert_eq!((field, &*topic), (Field::Value, "t"));
        }
        other => panic!("{other:?}"),
    }
    producer.close(None).await;
}

/// Covers PR-006, C077, P2.4.
#[tokio::test]
async fn a_record_that_can_never_be_sent_is_refused_before_it_takes_memory() {
    let server = server(1);
    let settings = || {
        config(&server)
            .max_request_size(2_000)
            .buffer_memory(20_000)
    };
    // The most that a record without key can take beside its value, in a batch of its own.
    let overhead = 61 + 21 + 1 + 2 + 1;
    for codec in ["none", "zstd"] {
        let producer = producer(settings().set("compression.type", codec).unwrap()).await;
        let fits = Bytes::from(vec![b'x'; 2_000 - overhead]);
        producer
            .send(Record::to("t").with_value(fits))
            .await
            .unwrap()
            .await
            .unwrap();
        let too_large = Bytes::from(vec![b'x'; 2_001 - overhead]);
        let refused = producer
            .send(Record::to("t").with_value(too_large))
            .await
            .unwrap();
        let failure = failure(refused).await;
        let expected = Failure::RecordTooLarge {
            size: 2_001,
            limit: 2_000,
            setting: "max.request.size",
        };
        assert_eq!(failure, expected, "{codec}");
        producer.close(None).await;
    }
    let producer = producer(settings().max_request_size(1 << 20)).await;
    let value = Bytes::from(vec![b'x'; 20_001]);
    let refused = producer
        .send(Record::to("t").with_value(value))
        .await
        .unwrap();
    assert!(failure(refused).await.to_string().contains("buffer.memory"));
    producer.close(None).await;
}

/// Tells what it hears, before callbacks do.
struct Hears(Arc<Mutex<Vec<String>>>);

impl Interceptor<Bytes, Bytes> for Hears {
    fn on_acknowledgement(&self, outcome: &Result<RecordMetadata, DeliveryError>) {
        let text = match outcome {
            Ok(metadata) => format!("{} {:?}", metadata.topic, metadata.partition),
            Err(error) => format!("{} {:?} failed", error.topic, error.partition),
        };
        self.0.lock().push(text);
    }
}

/// Covers PR-007, PR-008, PR-010, PR-094, P2.9, P7.5.
#[tokio::test]
async fn each_send_ends_in_one_acknowledgement_before_its_callback() {
    let server = server(1);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let settings = config(&server).max_request_size(2_000).build().unwrap();
    let builder = Producer::builder(settings).interceptor(Hears(Arc::clone(&heard)));
    let producer = builder.build().await.unwrap();
    let callback = || {
        let heard = Arc::clone(&heard);
        move |outcome: Result<RecordMetadata, DeliveryError>| {
            heard.lock().push(format!("callback {}", outcome.is_ok()));
        }
    };
    producer
        .send_with(record("a"), callback())
        .await
        .unwrap()
        .await
        .unwrap();
    let value = vec![b'x'; 3_000];
    let too_large = Record::to("t").with_value(value);
    let delivery = producer.send_with(too_large, callback()).await.unwrap();
    let error = delivery.await.unwrap_err();
    assert_eq!(error.metadata().offset, Offset::UNKNOWN);
    producer.close(None).await;
    assert!(matches!(
        producer.send_with(record("b"), callback()).await,
        Err(SendError::Closed)
    ));
    let expected = [
        "t Some(0)",
        "callback true",
        "t Some(0) failed",
        "callback false",
        "t None failed",
    ];
    assert_eq!(*heard.lock(), expected);
}

/// Covers PR-066, C014.
#[tokio::test]
async fn without_acknowledgements_records_are_done_when_they_are_written() {
    let server = server(1);
    let producer = producer(config(&server).set("acks", "0").unwrap()).await;
    let metadata = producer.send(record("a")).await.unwrap().await.unwrap();
    assert_eq!(metadata.offset, Offset::UNKNOWN);
    producer.close(None).await;
}

/// Covers C088, P7.2.
#[tokio::test]
async fn a_connection_that_a_broker_closes_costs_no_record() {
    let server = server(1);
    let producer = producer(config(&server)).await;
    producer.send(record("a")).await.unwrap().await.unwrap();
    let fates = [
        Fault::CloseAfter,
        Fault::Error(ErrorCode::NOT_ENOUGH_REPLICAS),
    ];
    server.model().line_up(ApiKey::Produce, fates);
    let metadata = producer.send(record("b")).await.unwrap().await.unwrap();
    assert_eq!(metadata.offset.get(), 1);
    assert_eq!(
        server.model().records(&partition(0)).len(),
        2,
        "written once"
    );
    producer.close(None).await;
}

/// Covers C062.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_are_written_in_the_order_of_their_calls_though_memory_is_short() {
    let server = server(1);
    let producer = producer(config(&server).batch_size(500).buffer_memory(2_000)).await;
    let mut last = None;
    for number in 0..5_000_u32 {
        let value = Bytes::copy_from_slice(&number.to_be_bytes());
        last = Some(
            producer
                .send(Record::to("t").with_value(value))
                .await
                .unwrap(),
        );
    }
    last.unwrap().await.unwrap();
    let stored = server.model().records(&partition(0)).into_iter();
    let values = stored.map(|record| record.value.expect("a number"));
    let log = values.map(|value| u32::from_be_bytes(value[..].try_into().unwrap()));
    assert!(log.eq(0..5_000));
    producer.close(None).await;
}

/// Covers PR-146.
#[tokio::test]
async fn metrics_count_what_was_sent() {
    let server = server(1);
    let producer = producer(config(&server)).await;
    for value in ["a", "b", "c"] {
        producer.send(record(value)).await.unwrap().await.unwrap();
    }
    let metrics = producer.metrics();
    for group in ["producer-metrics", "producer-topic-metrics"] {
        let total = metrics
            .iter()
            .find(|metric| metric.group == group && metric.name == "record-send-total");
        assert!((total.unwrap().value - 3.0).abs() < 1e-9);
    }
    let of_topic: Vec<_> = metrics
        .iter()
        .filter(|metric| metric.topic.is_some())
        .collect();
    assert_eq!(of_topic.len(), 9);
    producer.close(None).await;
}
