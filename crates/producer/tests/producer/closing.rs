//! Flush and close.

use std::time::Duration;

use klamm_fake_broker::Fault;
use klamm_io::{Clock, SystemClock};
use klamm_producer::{Failure, Record, SendError};
use klamm_wire::{ApiKey, ErrorCode};

use crate::{config, failure, producer, server};

fn record() -> Record {
    Record::to("t").with_value("a")
}

/// Covers PR-137, P8.1.
#[tokio::test]
async fn a_flush_does_not_wait_for_company() {
    let server = server(2);
    let producer = producer(
        config(&server)
            .linger(Duration::from_mins(1))
            .delivery_timeout(Duration::from_secs(100)),
    )
    .await;
    producer.flush().await.unwrap();
    let deliveries = [
        producer.send(record()).await.unwrap(),
        producer.send(record()).await.unwrap(),
    ];
    assert!(
        deliveries
            .iter()
            .all(|delivery| delivery.outcome().is_none())
    );
    producer.flush().await.unwrap();
    assert!(
        deliveries
            .iter()
            .all(|delivery| delivery.outcome().is_some())
    );
    producer.close(None).await;
}

/// Covers C086.
#[tokio::test]
async fn a_flush_reports_what_failed_meanwhile() {
    let server = server(1);
    let producer = producer(config(&server).linger(Duration::from_millis(200))).await;
    server
        .model()
        .line_up(ApiKey::Produce, [Fault::Error(ErrorCode::INVALID_RECORD)]);
    let delivery = producer.send(record()).await.unwrap();
    let error = producer.flush().await.unwrap_err();
    assert_eq!(error.batches, 1);
    assert_eq!(error.first, delivery.await.unwrap_err());
    producer.close(None).await;
}

/// Covers PR-012, PR-139, P8.2.
#[tokio::test]
async fn closing_sends_what_is_there_and_takes_no_more() {
    let server = server(1);
    let settings = config(&server)
        .linger(Duration::from_mins(1))
        .delivery_timeout(Duration::from_secs(100));
    let producer = producer(settings).await;
    let delivery = producer.send(record()).await.unwrap();
    producer.close(None).await;
    assert!(delivery.await.is_ok());
    assert!(matches!(
        producer.send(record()).await,
        Err(SendError::Closed)
    ));
    assert!(matches!(
        producer.partitions_for("t").await,
        Err(SendError::Closed)
    ));
    producer.close(None).await;
    producer.close(Some(Duration::ZERO)).await;
}

/// Covers PR-140, PR-141, C085.
#[tokio::test]
async fn closing_ends_within_its_limit_whatever_the_brokers_do() {
    for limit_ms in [0, 200] {
        let server = server(1);
        let producer = producer(config(&server)).await;
        producer.send(record()).await.unwrap().await.unwrap();
        server.model().line_up(ApiKey::Produce, [Fault::Swallow]);
        let delivery = producer.send(record()).await.unwrap();
        let start = SystemClock.now();
        producer.close(Some(Duration::from_millis(limit_ms))).await;
        let took = SystemClock.now() - start;
        assert!(took >= Duration::from_millis(limit_ms) && took < Duration::from_secs(10));
        assert_eq!(failure(delivery).await, Failure::Closed);
    }
}

/// The last handle that goes leaves no task and no record behind.
#[tokio::test]
async fn a_producer_that_is_dropped_sends_what_it_had() {
    let server = server(1);
    let settings = config(&server)
        .linger(Duration::from_mins(1))
        .delivery_timeout(Duration::from_secs(100));
    let producer = producer(settings).await;
    let delivery = producer.send(record()).await.unwrap();
    drop(producer.clone());
    assert!(delivery.outcome().is_none());
    drop(producer);
    assert!(delivery.await.is_ok());
}
