//! Records that can be made again: produced to a broker, fetched, and compared one by one.
//!
//! `cargo run -p klamm-broker --example traffic` starts a broker within this program and does both.
//! `-- produce 127.0.0.1:9092` and `-- compare 127.0.0.1:9092` do one of them to any broker; the
//! latter also after it was stopped or killed, as `cargo xtask e2e` does.

mod traffic;
// The broker's own tests ask with the same client; a crate for one file would be more than it is.
#[path = "../../tests/support/wire_client.rs"]
mod wire_client;

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand};
use klamm_broker::settings::Settings;
use klamm_broker::{Broker, Machine};

use traffic::Traffic;
use wire_client::WireClient;

/// Produces records that can be made again, and compares what comes back with them.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    task: Option<Task>,

    #[command(flatten)]
    amount: Amount,
}

/// One half of it, for a broker that runs elsewhere.
#[derive(Subcommand)]
enum Task {
    /// Creates the topic and produces the records to it.
    Produce {
        /// Where the broker is, such as 127.0.0.1:9092
        broker: SocketAddr,
    },
    /// Fetches all that is in the topic and compares it with what was produced.
    Compare {
        /// Where the broker is, such as 127.0.0.1:9092
        broker: SocketAddr,
    },
}

/// How much of it; the same for producing and for comparing.
#[derive(Args)]
struct Amount {
    /// How many records are produced
    #[arg(long, global = true, default_value_t = 20_000)]
    records: usize,

    /// Bytes of each record's value
    #[arg(long, global = true, default_value_t = 100)]
    value_bytes: usize,

    /// Partitions that they go to
    #[arg(long, global = true, default_value_t = 4)]
    partitions: usize,
}

fn main() -> Result<()> {
    let Cli { task, amount } = Cli::parse();
    ensure!(amount.partitions > 0, "records need a partition to go to");
    let traffic = Traffic {
        records: amount.records,
        value_bytes: amount.value_bytes,
        partitions: amount.partitions,
    };
    match task {
        Some(Task::Produce { broker }) => produce(traffic, broker),
        Some(Task::Compare { broker }) => compare(traffic, broker),
        None => within(|broker| {
            produce(traffic, broker)?;
            compare(traffic, broker)
        }),
    }
}

fn produce(traffic: Traffic, broker: SocketAddr) -> Result<()> {
    let mut client = WireClient::connect(broker)?;
    traffic.create_topic(&mut client)?;
    traffic.produce(&mut client)?;
    println!("{} records are produced", traffic.records);
    Ok(())
}

fn compare(traffic: Traffic, broker: SocketAddr) -> Result<()> {
    traffic.compare(&mut WireClient::connect(broker)?)?;
    println!("{} records came back as they were", traffic.records);
    Ok(())
}

/// Does something with a broker that lives as long.
fn within(what: impl FnOnce(SocketAddr) -> Result<()>) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let assignments = [
        "node.id=1".to_owned(),
        "listeners=PLAINTEXT://127.0.0.1:0".to_owned(),
        format!("log.dirs={}", directory.path().display()),
    ];
    let (settings, _) = Settings::load(None, [], &assignments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let broker = runtime.block_on(Broker::start(Machine::this(), settings))?;
    let done = what(broker.address("PLAINTEXT").context("it is bound")?);
    runtime.block_on(broker.stop());
    done
}
