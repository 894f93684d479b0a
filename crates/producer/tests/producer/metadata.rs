//! Calls that wait for a topic.

use std::time::Duration;

use klamm_io::{Clock, SystemClock};
use klamm_producer::{BuildError, Failure, Producer, ProducerConfig, Record, SendError};
use klamm_wire::{ApiKey, ErrorCode};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::{config, failure, producer, server};

fn to(topic: &str) -> Record {
    Record::to(topic).with_value("a")
}

/// Covers PR-016, PR-018, P2.1.
#[tokio::test]
async fn a_topic_that_nobody_knows_is_asked_for_until_the_time_is_over() {
    let server = server(1);
    let producer = producer(config(&server).max_block(Duration::from_millis(400))).await;
    let before = server.model().count(ApiKey::Metadata);
    let start = SystemClock.now();
    let delivery = producer.send(to("nowhere")).await.unwrap();
    let took = SystemClock.now() - start;
    assert!(
        took >= Duration::from_millis(400) && took < Duration::from_secs(10),
        "{took:?}"
    );
    let failure = failure(delivery).await;
    let expected = Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert!(
        matches!(failure, Failure::TopicMissing { cause, .. } if cause == expected),
        "{failure}"
    );
    assert!(failure.to_string().contains("max.block.ms"), "{failure}");
    assert!(server.model().count(ApiKey::Metadata) > before + 1);
    producer.close(None).await;
}

/// Covers PR-016, C032.
#[tokio::test]
async fn a_topic_that_comes_to_be_is_found() {
    let server = server(1);
    let producer = producer(config(&server)).await;
    let sends = tokio::spawn({
        let producer = producer.clone();
        async move { producer.send(to("late")).await.unwrap().await }
    });
    while server.model().count(ApiKey::Metadata) < 2 {
        tokio::task::yield_now().await;
    }
    server.model().create_topic("late", 1);
    assert!(sends.await.unwrap().is_ok());
    producer.close(None).await;
}

#[tokio::test]
async fn pr_017_a_partition_that_the_topic_does_not_have_is_waited_for() {
    let server = server(1);
    let producer = producer(config(&server).max_block(Duration::from_secs(1))).await;
    let record = || to("t").with_partition(2).unwrap();
    let delivery = producer.send(record()).await.unwrap();
    let failure = failure(delivery).await;
    assert!(
        matches!(failure, Failure::PartitionMissing { count: 1, .. }),
        "{failure}"
    );
    server.model().grow_topic("t", 3);
    assert!(producer.send(record()).await.unwrap().await.is_ok());
    producer.close(None).await;
}

#[tokio::test]
async fn pr_019_an_invalid_or_forbidden_topic_fails_at_once() {
    let server = server(1);
    server.model().forbid_topic("secret");
    let producer = producer(config(&server)).await;
    let start = SystemClock.now();
    for _ in 0..2 {
        let invalid = producer.send(to("not a name")).await.unwrap();
        assert_eq!(failure(invalid).await, Failure::InvalidTopic);
    }
    let secret = producer.send(to("secret")).await.unwrap();
    assert_eq!(failure(secret).await, Failure::TopicUnauthorized);
    // The others' errors are not this topic's.
    assert!(producer.send(to("t")).await.unwrap().await.is_ok());
    assert!(SystemClock.now() - start < Duration::from_secs(15));
    producer.close(None).await;
}

/// Covers PR-020.
#[tokio::test]
async fn closing_releases_a_call_that_waits_for_metadata() {
    let server = server(1);
    let producer = producer(config(&server)).await;
    let sends = tokio::spawn({
        let producer = producer.clone();
        async move { producer.send(to("nowhere")).await.map(drop) }
    });
    while server.model().count(ApiKey::Metadata) < 2 {
        tokio::task::yield_now().await;
    }
    producer.close(None).await;
    assert!(matches!(
        sends.await.unwrap(),
        Err(SendError::ClosedDuringSend)
    ));
}

#[tokio::test]
async fn pr_021_partitions_are_looked_up_as_a_send_does() {
    let server = server(3);
    let producer = producer(config(&server).max_block(Duration::from_millis(200))).await;
    let partitions = producer.partitions_for("t").await.unwrap().unwrap();
    assert_eq!(partitions.len(), 3);
    let missing = producer
        .partitions_for("nowhere")
        .await
        .unwrap()
        .unwrap_err();
    assert!(matches!(missing.failure, Failure::TopicMissing { .. }));
    producer.close(None).await;
}

/// What an address does that is no broker's.
enum Stranger {
    Refuses,
    SaysNothing,
    SpeaksHttp,
}

/// The failure of a record for whoever is at that address.
async fn failure_at(stranger: Stranger) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // One that refuses has nobody who listens.
    let listener = (!matches!(stranger, Stranger::Refuses)).then_some(listener);
    let answers = tokio::spawn(async move {
        let Some(listener) = listener else { return };
        let mut open = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            if let Stranger::SpeaksHttp = stranger {
                let answer = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
                stream.write_all(answer).await.unwrap();
            }
            open.push(stream);
        }
    });
    let config = ProducerConfig::builder();
    let config = config.bootstrap_servers(&address).unwrap();
    let config = config.max_block(Duration::from_millis(500)).build();
    let producer = Producer::builder(config.unwrap()).build().await.unwrap();
    let start = SystemClock.now();
    let failure = failure(producer.send(to("t")).await.unwrap()).await;
    assert!(SystemClock.now() - start < Duration::from_secs(10));
    producer.close(None).await;
    answers.abort();
    failure.to_string()
}

/// Covers PR-018: with what kept brokers from answering.
#[tokio::test]
async fn a_server_that_is_no_broker_is_named_with_what_it_does() {
    for (stranger, expected) in [
        (Stranger::Refuses, "refused"),
        (Stranger::SaysNothing, "bootstrap.servers"),
        (Stranger::SpeaksHttp, "bootstrap server "),
    ] {
        let failure = failure_at(stranger).await;
        assert!(
            failure.contains("max.block.ms") && failure.contains(expected),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn a_cluster_that_cannot_be_found_is_an_error_that_names_the_setting() {
    let config = ProducerConfig::builder()
        .bootstrap_servers("nowhere.invalid:9092")
        .unwrap();
    match Producer::builder(config.build().unwrap()).build().await {
        Err(error @ BuildError::Bootstrap(_)) => {
            assert!(error.to_string().contains("bootstrap.servers"), "{error}");
        }
        Ok(_) => panic!("there is no such host"),
    }
}
