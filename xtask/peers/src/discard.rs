//! A broker that throws away what it is sent, so that only the producer is measured.

use std::io::{Read, Write, stdin, stdout};
use std::net::SocketAddr;

use anyhow::Result;
use klamm_fake_broker::{ClusterOptions, FakeCluster, Place};
use klamm_io::{SystemClock, TcpNet};
use klamm_wire::{ApiKey, Versions};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where to listen.
    address: SocketAddr,
    /// With how many partitions a topic is made that is asked for.
    #[arg(long, default_value_t = 1)]
    partitions: usize,
}

pub(crate) fn serve(options: &Options) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let _entered = runtime.enter();
    let cluster = ClusterOptions {
        auto_create_partitions: Some(options.partitions),
        keep_records: false,
        keep_requests: false,
        ..ClusterOptions::default()
    };
    let places = vec![Place::new(TcpNet, options.address)];
    let cluster = FakeCluster::start(SystemClock, places, cluster)?;
    // It fetches nothing; but librdkafka takes a broker that does not say so for an old one.
    cluster
        .model()
        .set_versions(0, ApiKey::Fetch, Some(Versions::new(4, 11)));
    println!("ready on {}", cluster.bootstrap());
    stdout().flush()?;
    // Whoever started this holds the other end.
    stdin().read_to_end(&mut Vec::new())?;
    cluster.stop();
    Ok(())
}
