//! Asks a cluster who is in it and which topics it has.
//!
//! `cargo run -p klamm-client --example describe -- 127.0.0.1:9092`; without an address it starts
//! a scripted cluster of three nodes and asks that.

use std::error::Error;

use klamm_client::{BootstrapAddress, ClientConfig, ClientTask, Requests, SendOptions, Target};
use klamm_fake_broker::{ClusterOptions, FakeCluster, Place};
use klamm_io::{SystemClock, TcpNet};
use klamm_wire::messages::metadata::MetadataRequest;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // It listens as long as it is held.
    let scripted = scripted()?;
    let bootstrap = std::env::args().nth(1);
    let bootstrap = bootstrap.unwrap_or_else(|| scripted.bootstrap());
    let mut config = ClientConfig {
        bootstrap: BootstrapAddress::parse_list(&bootstrap)?,
        ..ClientConfig::default()
    };
    config.set("client.id", "describe")?;
    config.set("request.timeout.ms", "5000")?;
    config.check()?;

    let (requests, guest) = Requests::beside(());
    let seed = 1;
    let task = ClientTask::spawn(TcpNet, SystemClock, config, seed, guest);
    let everything = MetadataRequest {
        topics: None,
        ..MetadataRequest::default()
    };
    let options = SendOptions::default();
    let response = requests
        .send(Target::LeastLoaded, everything, options)
        .await?;

    let cluster = task.handle().cluster();
    println!(
        "cluster {}",
        cluster.cluster_id().map_or("without id", |id| id)
    );
    for node in cluster.nodes() {
        println!("  node {node}");
    }
    for topic in &response.topics {
        let name = topic.name.as_deref().unwrap_or("?");
        println!("  topic {name}: {} partitions", topic.partitions.len());
    }
    task.close().await;
    Ok(())
}

fn scripted() -> Result<FakeCluster<TcpNet, SystemClock>, Box<dyn Error>> {
    let place = || Ok::<_, Box<dyn Error>>(Place::new(TcpNet, "127.0.0.1:0".parse()?));
    let places = vec![place()?, place()?, place()?];
    let cluster = FakeCluster::start(SystemClock, places, ClusterOptions::default())?;
    cluster.model().create_topic("clicks", 6);
    cluster.model().create_topic("views", 2);
    Ok(cluster)
}
