//! Sends records to a broker, synchronously and asynchronously.
//!
//! `cargo run -p klamm-producer --example send -- 127.0.0.1:9092 clicks`; without arguments it
//! starts a scripted broker and sends to that.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use klamm_fake_broker::{ClusterOptions, FakeCluster, Place};
use klamm_io::{SystemClock, TcpNet};
use klamm_producer::{Producer, ProducerConfig, Record};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    // It listens as long as it is held.
    let place = Place::new(TcpNet, "127.0.0.1:0".parse()?);
    let scripted = FakeCluster::start(SystemClock, vec![place], ClusterOptions::default())?;
    scripted.model().create_topic("clicks", 3);
    let servers = arguments.next().unwrap_or_else(|| scripted.bootstrap());
    let topic: Arc<str> = arguments.next().map_or("clicks".into(), Into::into);
    let config = ProducerConfig::builder()
        .bootstrap_servers(&servers)?
        .max_block(Duration::from_secs(10))
        .build()?;
    let producer = Producer::builder(config).build().await?;

    // Synchronously: each record is awaited before the next. One round trip a record.
    for number in 0..3 {
        let record = Record::to(Arc::clone(&topic)).with_value(format!("one by one: {number}"));
        let written = producer.send(record).await?.await?;
        println!("{:?} at offset {}", written.partition, written.offset);
    }

    // Asynchronously: records are handed over as fast as they come, and travel in batches; their
    // deliveries are looked at later, or never.
    let mut deliveries = Vec::new();
    for number in 0..10_000 {
        let record = Record::to(Arc::clone(&topic)).with_value(format!("all at once: {number}"));
        deliveries.push(producer.send(record).await?);
    }
    let mut failed = 0;
    for delivery in deliveries {
        if let Err(error) = delivery.await {
            failed += 1;
            println!("{error} (worth another try: {})", error.is_retriable());
        }
    }
    println!("{} of 10000 were written", 10_000 - failed);

    producer.close(Some(Duration::from_secs(30))).await;
    Ok(())
}
