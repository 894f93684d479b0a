//! `cargo xtask e2e`: the broker's program from outside, with a million records.
//!
//! It is built for release and started on a free port of this machine, with its data in a directory
//! of its own. The broker's example `traffic` produces to it and compares what comes back: record
//! for record, at once, after a clean stop, and after a kill.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use cargo_metadata::TargetKind;

use crate::artifacts::{self, Artifact};
use crate::command;
use crate::running_broker::{self, BrokerSetup};
use crate::stages::now;
use crate::workspace::Workspace;

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
    let workspace = Workspace::load()?;
    let program = running_broker::build(&workspace)?;
    let traffic = Traffic::build(&workspace, options)?;

    let directory = tempfile::tempdir().context("no directory for the broker's data")?;
    let setup = BrokerSetup::new(&program, &directory.path().join("data"), &[])?;
    let address = setup.address();
    let amount = Some((options.records, options.records * options.value_bytes));
    let mut table = Table::default();

    let started = now();
    let broker = setup.start()?;
    table.row("start", now() - started, None);

    table.row("produce", traffic.run("produce", address)?, amount);
    table.row(
        "fetch and compare",
        traffic.run("compare", address)?,
        amount,
    );
    table.memory("memory after it", broker.memory_kib());

    let began = now();
    broker.stop()?;
    table.row("stop by SIGTERM", now() - began, None);
    let began = now();
    let broker = setup.start()?;
    table.row("start after it", now() - began, None);
    table.memory("memory, idle", broker.memory_kib());
    table.row(
        "fetch and compare",
        traffic.run("compare", address)?,
        amount,
    );

    broker.kill()?;
    let began = now();
    let broker = setup.start()?;
    table.row("start after a kill", now() - began, None);
    table.row(
        "fetch and compare",
        traffic.run("compare", address)?,
        amount,
    );
    broker.stop()?;

    println!(
        "\n{} records of {} bytes\n\n{table}",
        options.records, options.value_bytes
    );
    Ok(())
}

/// The program that produces and compares: an example of the broker's, so that nobody who runs
/// another command waits for the protocol to be compiled.
struct Traffic {
    program: Artifact,
    amount: [String; 3],
}

impl Traffic {
    /// Builds it for release, as what it does is timed.
    fn build(workspace: &Workspace, options: &Options) -> Result<Self> {
        let package = ["build", "--release", "--package", "klamm-broker"];
        let build = [&package[..], &["--example", "traffic"]].concat();
        let built = artifacts::build(workspace, &build, &TargetKind::Example)?;
        Ok(Self {
            program: built.into_iter().next().context("no example was built")?,
            amount: [
                format!("--records={}", options.records),
                format!("--value-bytes={}", options.value_bytes),
                format!("--partitions={}", options.partitions),
            ],
        })
    }

    /// Has it do one of its tasks, and returns how long that took.
    fn run(&self, task: &str, broker: SocketAddr) -> Result<Duration> {
        let mut command = self.program.command();
        command.arg(task).arg(broker.to_string()).args(&self.amount);
        let began = now();
        command::run(&mut command)?;
        Ok(now() - began)
    }
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
