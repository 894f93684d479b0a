//! `cargo xtask e2e`: the broker's program from outside, with a million records.
//!
//! It is built for release, started on a free port of this machine with its data in a directory
//! of its own, and asked by the least client that there can be. What was produced must come back
//! record for record: at once, after a clean stop, and after a kill.

mod traffic;
#[path = "../../crates/broker/tests/support/wire_client.rs"]
// The broker's own tests ask with the same client; a crate for one file would be more than it is.
mod wire_client;

use std::fmt::Write as _;
use std::time::Duration;

use self::traffic::Traffic;
use crate::running_broker::{self, BrokerSetup};
use crate::stages::now;
use crate::workspace::Workspace;
use anyhow::{Context, Result, ensure};

/// What to do, and how much of it.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many records are produced
    #[arg(long, default_value_t = 1_000_000)]
    records: usize,

    /// Bytes of each record's value
    #[arg(long, default_value_t = 100)]
    value_bytes: usize,

    /// Partitions that they go to
    #[arg(long, default_value_t = 4)]
    partitions: usize,
}

/// Builds the broker and takes it through all of it.
///
/// # Errors
/// A record that was acknowledged did not come back as it was, or something failed on the way.
pub(crate) fn run(options: &Options) -> Result<()> {
    ensure!(options.partitions > 0, "records need a partition to go to");
    let workspace = Workspace::load()?;
    let program = running_broker::build(&workspace)?;

    let directory = tempfile::tempdir().context("no directory for the broker's data")?;
    let setup = BrokerSetup::new(&program, &directory.path().join("data"), &[])?;
    let traffic = Traffic {
        records: options.records,
        value_bytes: options.value_bytes,
        partitions: options.partitions,
    };
    let bytes = options.records * options.value_bytes;
    let mut table = Table::default();

    let started = now();
    let broker = setup.start()?;
    table.row("start", now() - started, None);

    let mut client = wire_client::WireClient::connect(setup.address())?;
    traffic.create_topic(&mut client)?;
    let began = now();
    traffic.produce(&mut client)?;
    table.row("produce", now() - began, Some((options.records, bytes)));
    let began = now();
    traffic.compare(&mut client)?;
    table.row(
        "fetch and compare",
        now() - began,
        Some((options.records, bytes)),
    );
    table.memory("memory after it", broker.memory_kib());

    let began = now();
    broker.stop()?;
    table.row("stop by SIGTERM", now() - began, None);
    let began = now();
    let broker = setup.start()?;
    table.row("start after it", now() - began, None);
    table.memory("memory, idle", broker.memory_kib());
    let mut client = wire_client::WireClient::connect(setup.address())?;
    let began = now();
    traffic.compare(&mut client)?;
    table.row(
        "fetch and compare",
        now() - began,
        Some((options.records, bytes)),
    );

    broker.kill()?;
    let began = now();
    let broker = setup.start()?;
    table.row("start after a kill", now() - began, None);
    let mut client = wire_client::WireClient::connect(setup.address())?;
    let began = now();
    traffic.compare(&mut client)?;
    table.row(
        "fetch and compare",
        now() - began,
        Some((options.records, bytes)),
    );
    broker.stop()?;

    println!(
        "\n{} records of {} bytes\n\n{table}",
        options.records, options.value_bytes
    );
    Ok(())
}

/// What was done and how long it took.
#[derive(Default)]
struct Table {
    text: String,
}

impl Table {
    /// What was done, in what time, and with how many records and bytes.
    fn row(&mut self, what: &str, took: Duration, amount: Option<(usize, usize)>) {
        let ms = took.as_secs_f64() * 1000.0;
        let rate = amount.map_or(String::new(), |(records, bytes)| {
            let ms = took.as_millis().max(1);
            let per_second = |count: usize| count as u128 * 1000 / ms;
            let (records, megabytes) = (per_second(records), per_second(bytes) / 1_000_000);
            format!("{records:>12} records/s {megabytes:>8} MB/s")
        });
        // Writing to a string does not fail.
        _ = writeln!(self.text, "{what:<20} {ms:>10.1} ms {rate}");
    }

    fn memory(&mut self, what: &str, kib: Option<u64>) {
        if let Some(kib) = kib {
            _ = writeln!(self.text, "{what:<20} {kib:>10} KiB");
        }
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}
