//! The whole producer, over sockets, against the fake cluster.

#[path = "../../src/fake_cluster.rs"]
#[expect(dead_code, reason = "the sender's own tests use the rest")]
mod fake_cluster;
#[path = "../support/server.rs"]
mod server;

mod choosing;
mod closing;
mod memory;
mod metadata;
mod sending;

use std::time::Duration;

use klamm_producer::{Delivery, Failure, Producer, ProducerConfig, ProducerConfigBuilder};

use fake_cluster::FakeCluster;
use server::Server;

/// A cluster of one broker with a topic `t`.
async fn server(partitions: i32) -> Server {
    let mut cluster = FakeCluster::new(1);
    cluster.add_topic("t", partitions);
    Server::start(cluster).await
}

fn config(server: &Server) -> ProducerConfigBuilder {
    ProducerConfig::builder()
        .bootstrap_servers(&server.bootstrap)
        .expect("an address")
        .linger(Duration::ZERO)
        .max_block(Duration::from_secs(20))
}

async fn producer(config: ProducerConfigBuilder) -> Producer {
    let config = config.build().expect("the test's settings go together");
    Producer::builder(config).build().await.expect("loopback")
}

/// Why a record failed.
async fn failure(delivery: Delivery) -> Failure {
    delivery.await.expect_err("it failed").failure
}
