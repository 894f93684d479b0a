//! The whole producer, over sockets, against the fake cluster.

mod choosing;
mod closing;
mod memory;
mod metadata;
mod sending;

use std::time::Duration;

use klamm_fake_broker::{ClusterOptions, FakeCluster, Place};
use klamm_io::{SystemClock, TcpNet};
use klamm_primitives::TopicPartition;
use klamm_producer::{Delivery, Failure, Producer, ProducerConfig, ProducerConfigBuilder};

type Server = FakeCluster<TcpNet, SystemClock>;

/// A cluster of one broker with a topic `t`.
fn server(partitions: usize) -> Server {
    let options = ClusterOptions {
        auto_create_partitions: None,
        ..ClusterOptions::default()
    };
    let place = Place::new(TcpNet, ([127, 0, 0, 1], 0).into());
    let cluster = FakeCluster::start(SystemClock, vec![place], options).expect("loopback");
    cluster.model().create_topic("t", partitions);
    cluster
}

fn partition(index: i32) -> TopicPartition {
    TopicPartition::new("t", index.into())
}

fn config(server: &Server) -> ProducerConfigBuilder {
    ProducerConfig::builder()
        .bootstrap_servers(&server.bootstrap())
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
