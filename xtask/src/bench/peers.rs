//! `cargo xtask bench --peers`: the broker under load, beside the raw limits of the machine.
//!
//! The load comes from librdkafka, through a program in a workspace of its own (`xtask/peers`),
//! because building librdkafka takes minutes and nothing else needs it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::command;
use crate::running_broker::{self, BrokerSetup, RunningBroker};
use crate::workspace::Workspace;

/// What the page calls these figures.
pub(super) const SECTION: &str = "klamm-broker";

/// How often each load is run; the page keeps the medians.
const RUNS: usize = 3;

#[derive(Deserialize)]
struct Limits {
    receive_crc_pwrite: f64,
    sendfile: f64,
    pread_write: f64,
    ping_pong_p50_ms: f64,
    ping_pong_p99_ms: f64,
    fdatasync_p50_ms: f64,
}

#[derive(Deserialize)]
struct Load {
    megabytes_per_second: f64,
    broker_cpu_per_gb: f64,
    broker_resident_bytes: u64,
}

#[derive(Deserialize)]
struct Latency {
    p50_ms: f64,
    p99_ms: f64,
    broker_cpu_percent: f64,
}

#[derive(Deserialize)]
struct RoundTrips {
    p50_ms: f64,
    p99_ms: f64,
}

#[derive(Deserialize)]
struct FirstAnswer {
    first_answer_ms: f64,
    idle_bytes: u64,
}

/// A load of one record size.
struct Size {
    name: &'static str,
    record_bytes: usize,
    records: u64,
    /// Processor seconds for each GB that producing may cost the broker.
    produce_budget: f64,
}

const SIZES: [Size; 2] = [
    Size {
        name: "1 KiB",
        record_bytes: 1024,
        records: 2_000_000,
        produce_budget: 0.60,
    },
    Size {
        name: "100 B",
        record_bytes: 100,
        records: 8_000_000,
        produce_budget: 0.90,
    },
];

const FETCH_BUDGET: f64 = 0.35;
const PARTITIONS: i32 = 4;
const LATENCY_SECONDS: u64 = 15;
const MANY_PARTITIONS: i32 = 1000;

/// The programs that are run.
pub(super) struct Programs {
    pub(super) peers: PathBuf,
    pub(super) broker: PathBuf,
}

impl Programs {
    /// Builds them for release, but for a broker that is given.
    ///
    /// # Errors
    /// One does not build.
    pub(super) fn build(workspace: &Workspace, broker: Option<&Path>) -> Result<Self> {
        let home = workspace.root().join("xtask/peers");
        let mut build = command::cargo(&home, ["build", "--release", "--locked"]);
        command::run(&mut build)?;
        Ok(Self {
            peers: home.join("target/release/klamm-peers"),
            broker: match broker {
                Some(program) => std::path::absolute(program)?,
                None => running_broker::build(workspace)?,
            },
        })
    }
}

/// Runs all loads of the broker and returns them as a table.
///
/// # Errors
/// A load fails.
pub(super) fn measure(programs: &Programs) -> Result<String> {
    let Programs { peers, broker } = programs;
    let scratch = tempfile::tempdir().context("no temporary directory")?;
    let limits: Limits = ask(Command::new(peers).arg("limits").arg(scratch.path()))?;
    let mut table = Table::default();

    for size in &SIZES {
        under_load(peers, broker, size, &limits, &mut table)?;
    }
    latency(peers, broker, &limits, &mut table)?;
    start_and_memory(peers, broker, &mut table)?;
    let _ = write!(
        table.text,
        "\nA `fdatasync` after a `pwrite` of 4 KiB took {:.2} ms (median) in this run.",
        limits.fdatasync_p50_ms
    );
    Ok(table.text)
}

/// Producing and reading back; each time with a new broker on an empty directory.
fn under_load(
    peers: &Path,
    broker: &Path,
    size: &Size,
    limits: &Limits,
    table: &mut Table,
) -> Result<()> {
    let mut produced = Vec::new();
    let mut fetched = Vec::new();
    for _ in 0..RUNS {
        let data = tempfile::tempdir().context("no temporary directory")?;
        let partitions = format!("num.partitions={PARTITIONS}");
        let setup = BrokerSetup::new(broker, data.path(), &[&partitions])?;
        let running = setup.start()?;
        for (task, loads) in [("produce", &mut produced), ("consume", &mut fetched)] {
            let mut load = client(peers, task, &setup, &running, size.record_bytes);
            load.args(["--topic", "load", "--records", &size.records.to_string()]);
            load.args(["--partitions", &PARTITIONS.to_string()]);
            if task == "produce" {
                load.args(["-X", "acks=all"]);
            } else {
                // The first record of `produce` came before its clock ran.
                load.args(["-X", "fetch.message.max.bytes=10485760"]);
            }
            loads.push(ask::<Load>(&mut load)?);
        }
        running.stop()?;
    }
    let rate = |loads: &[Load]| median(loads.iter().map(|it| it.megabytes_per_second));
    let cpu = |loads: &[Load]| median(loads.iter().map(|it| it.broker_cpu_per_gb));
    let name = size.name;
    table.row([
        &format!("produce {name}, acks=all: broker CPU s/GB"),
        &format!("{:.2}", cpu(&produced)),
        &format!("receive, CRC, pwrite: {:.2}", limits.receive_crc_pwrite),
        &format!("{:.2}", cpu(&produced) / limits.receive_crc_pwrite),
        &format!("{:.2}, and 1.3 times the limit", size.produce_budget),
    ]);
    let cheaper = limits.sendfile.min(limits.pread_write);
    table.row([
        &format!("fetch {name}: broker CPU s/GB"),
        &format!("{:.2}", cpu(&fetched)),
        &format!(
            "sendfile: {:.2}, pread and write: {:.2}",
            limits.sendfile, limits.pread_write
        ),
        &format!("{:.2}", cpu(&fetched) / cheaper),
        &format!("{FETCH_BUDGET:.2}, and 1.2 times the cheaper"),
    ]);
    table.row([
        &format!("produce and fetch {name}: MB/s, librdkafka on the same cores"),
        &format!("{:.0} and {:.0}", rate(&produced), rate(&fetched)),
        "",
        "",
        "",
    ]);
    Ok(())
}

/// Records at a steady rate: by librdkafka, from when they were due; and on a bare socket as the
/// ping-pong is, from when they were sent.
fn latency(peers: &Path, broker: &Path, limits: &Limits, table: &mut Table) -> Result<()> {
    let data = tempfile::tempdir().context("no temporary directory")?;
    let setup = BrokerSetup::new(broker, data.path(), &[])?;
    let running = setup.start()?;
    let records = (LATENCY_SECONDS * 1000).to_string();
    let load = ["--topic", "latency", "--records", &records];
    let mut loads = Vec::new();
    let mut round_trips = Vec::new();
    for _ in 0..RUNS {
        let mut steady = client(peers, "latency", &setup, &running, 100);
        steady.args(load).args(["-X", "acks=all"]);
        loads.push(ask::<Latency>(&mut steady)?);
        let mut bare = Command::new(peers);
        bare.args(["round-trips", "--address", &setup.address().to_string()]);
        bare.args(["--record-bytes", "100"]).args(load);
        round_trips.push(ask::<RoundTrips>(&mut bare)?);
    }
    running.stop()?;
    let (p50, p99) = (limits.ping_pong_p50_ms, limits.ping_pong_p99_ms);
    for (name, found, limit, budget) in [
        (
            "librdkafka, p50",
            median(loads.iter().map(|it| it.p50_ms)),
            p50,
            2,
        ),
        (
            "librdkafka, p99",
            median(loads.iter().map(|it| it.p99_ms)),
            p99,
            10,
        ),
        (
            "bare socket, p50",
            median(round_trips.iter().map(|it| it.p50_ms)),
            p50,
            2,
        ),
        (
            "bare socket, p99",
            median(round_trips.iter().map(|it| it.p99_ms)),
            p99,
            10,
        ),
    ] {
        table.row([
            &format!("produce at 1 000 records/s, {name} ms"),
            &format!("{found:.2}"),
            &format!("ping-pong: {limit:.2}"),
            &format!("{:.1}", found / limit),
            &format!("{budget} times"),
        ]);
    }
    table.row([
        "produce at 1 000 records/s, librdkafka: % of a core",
        &format!(
            "{:.1}",
            median(loads.iter().map(|it| it.broker_cpu_percent))
        ),
        "",
        "",
        "",
    ]);
    Ok(())
}

fn start_and_memory(peers: &Path, broker: &Path, table: &mut Table) -> Result<()> {
    let data = tempfile::tempdir().context("no temporary directory")?;
    let setup = BrokerSetup::new(broker, data.path(), &[])?;
    let mut start = Command::new(peers);
    start
        .arg("first-answer")
        .arg(broker)
        .arg(setup.address().to_string());
    start.args([
        "--",
        "--set",
        "node.id=1",
        "--set",
        "log.dirs={data}",
        "--set",
    ]);
    start.arg(format!("listeners=PLAINTEXT://{}", setup.address()));
    let first: FirstAnswer = ask(&mut start)?;
    table.row([
        "start to the first answer to Metadata, new directory: ms",
        &format!("{:.1}", first.first_answer_ms),
        "",
        "",
        "10",
    ]);
    table.row([
        "memory, idle: MiB",
        &mebibytes(first.idle_bytes),
        "",
        "",
        "8",
    ]);

    let many = format!("num.partitions={MANY_PARTITIONS}");
    let setup = BrokerSetup::new(broker, data.path(), &[&many])?;
    let running = setup.start()?;
    let mut load = client(peers, "produce", &setup, &running, 1024);
    load.args(["--topic", "many", "--records", "500000", "-X", "acks=all"]);
    load.args(["--partitions", &MANY_PARTITIONS.to_string()]);
    let load: Load = ask(&mut load)?;
    running.stop()?;
    table.row([
        "memory, 1 000 partitions under load: MiB",
        &mebibytes(load.broker_resident_bytes),
        "",
        "",
        "64",
    ]);
    Ok(())
}

/// A load on a broker that runs.
fn client(
    peers: &Path,
    task: &str,
    setup: &BrokerSetup,
    running: &RunningBroker,
    record_bytes: usize,
) -> Command {
    let mut client = Command::new(peers);
    client.arg(task);
    client.args(["--address", &setup.address().to_string()]);
    client.args(["--broker", &running.id().to_string()]);
    client.args(["--record-bytes", &record_bytes.to_string()]);
    client
}

/// Runs the peers' program and reads what it prints.
pub(super) fn ask<T: DeserializeOwned>(command: &mut Command) -> Result<T> {
    let answer = command::output(command)?;
    print!("{answer}");
    serde_json::from_str(&answer).context("the peers' program printed something else")
}

/// The figure in the middle.
pub(super) fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "no memory is that large")]
pub(super) fn mebibytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

struct Table {
    text: String,
}

impl Default for Table {
    fn default() -> Self {
        let head = "| what | Klamm | the limit in the same run | ratio | budget |\n\
                    |---|---:|---|---:|---|\n";
        Self {
            text: head.to_owned(),
        }
    }
}

impl Table {
    /// What, Klamm's figure, the limit in the same run, their ratio, the budget.
    fn row(&mut self, cells: [&str; 5]) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "| {} |", cells.join(" | "));
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert!((median([3.0, 1.0, 2.0].into_iter()) - 2.0).abs() < f64::EPSILON);
    }
}
