//! Calls that wait for memory.

use std::time::Duration;

use bytes::Bytes;
use klamm_fake_broker::Fault;
use klamm_io::{Clock, SystemClock};
use klamm_producer::{Failure, Record, SendError};
use klamm_wire::ApiKey;

use crate::{config, failure, producer, server};

fn record() -> Record {
    Record::to("t").with_value(Bytes::from_static(&[b'x'; 600]))
}

/// Covers PR-054, P3.4, P4.3.
#[tokio::test]
async fn without_memory_a_call_waits_for_as_long_as_it_may() {
    let server = server(1);
    let settings = config(&server).batch_size(1_000).buffer_memory(2_000);
    let producer = producer(settings.max_block(Duration::from_millis(150))).await;
    producer.send(record()).await.unwrap().await.unwrap();
    server
        .model()
        .line_up(ApiKey::Produce, [Fault::Swallow, Fault::Swallow]);
    let held = [
        producer.send(record()).await.unwrap(),
        producer.send(record()).await.unwrap(),
    ];
    let start = SystemClock.now();
    let exhausted = producer.send(record()).await.unwrap();
    let took = SystemClock.now() - start;
    assert!(
        took >= Duration::from_millis(150) && took < Duration::from_secs(10),
        "{took:?}"
    );
    let failure = failure(exhausted).await;
    assert!(
        matches!(failure, Failure::BufferExhausted { size: 1_000, .. }),
        "{failure}"
    );
    assert!(failure.is_retriable());
    let value = |name: &str| {
        let metrics = producer.metrics();
        metrics
            .iter()
            .find(|metric| metric.name == name)
            .unwrap()
            .value
    };
    assert!((value("buffer-exhausted-total") - 1.0).abs() < 1e-9);
    assert!((value("buffer-available-bytes")).abs() < 1e-9);
    producer.close(Some(Duration::ZERO)).await;
    drop(held);
}

/// Covers PR-020, PR-058.
#[tokio::test]
async fn closing_releases_calls_that_wait_for_memory() {
    let server = server(1);
    let producer = producer(config(&server).batch_size(1_000).buffer_memory(1_000)).await;
    producer.send(record()).await.unwrap().await.unwrap();
    server.model().line_up(ApiKey::Produce, [Fault::Swallow]);
    let _held = producer.send(record()).await.unwrap();
    let waits = tokio::spawn({
        let producer = producer.clone();
        async move { producer.send(record()).await.map(drop) }
    });
    while producer
        .metrics()
        .iter()
        .all(|metric| metric.name != "waiting-threads" || metric.value < 1.0)
    {
        tokio::task::yield_now().await;
    }
    producer.close(Some(Duration::ZERO)).await;
    assert!(matches!(
        waits.await.unwrap(),
        Err(SendError::ClosedDuringSend)
    ));
}
