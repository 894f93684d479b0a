//! `cargo xtask bench --peers`: our producer beside librdkafka and rskafka.
//!
//! Each run is a process of its own that does nothing but send, so that its processor time and its
//! memory are the producer's. It sends to a broker that throws everything away, and to ours.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::peers::{Programs, ask, mebibytes, median};
use crate::running_broker::BrokerSetup;

/// What the page calls these figures.
pub(super) const SECTION: &str = "klamm-producer and its peers";

/// How often each is run; the page keeps the medians.
const RUNS: usize = 3;

const PARTITIONS: i32 = 4;
const STEADY_SECONDS: u64 = 10;

/// A producer with its settings.
struct Contender {
    name: &'static str,
    who: &'static str,
    settings: &'static [&'static str],
}

/// What all of them are given, so that they make batches alike: librdkafka's own size of a batch.
const ALIKE: [&str; 3] = ["acks=all", "linger.ms=5", "batch.size=1000000"];

const CONTENDERS: [Contender; 4] = [
    Contender {
        name: "Klamm",
        who: "klamm",
        settings: &ALIKE,
    },
    Contender {
        name: "Klamm, batches of 16 KiB",
        who: "klamm",
        settings: &["acks=all", "linger.ms=5"],
    },
    Contender {
        name: "librdkafka, callbacks",
        who: "librdkafka",
        settings: &ALIKE,
    },
    Contender {
        name: "rskafka, ready batches",
        who: "rskafka",
        settings: &[],
    },
];

/// A load of one record size.
struct Size {
    name: &'static str,
    record_bytes: usize,
    records: u64,
    /// Processor seconds that a million records may cost.
    budget: f64,
}

const SIZES: [Size; 2] = [
    Size {
        name: "100 B",
        record_bytes: 100,
        records: 4_000_000,
        budget: 0.30,
    },
    Size {
        name: "1 KiB",
        record_bytes: 1024,
        records: 1_000_000,
        budget: 1.0,
    },
];

#[derive(Deserialize)]
struct Sent {
    megabytes_per_second: f64,
    cpu_per_million: f64,
    peak_bytes: u64,
}

#[derive(Deserialize)]
struct Steady {
    p50_ms: f64,
    p99_ms: f64,
}

/// Runs all of them and returns what they cost as a table.
///
/// # Errors
/// A run fails.
pub(super) fn measure(programs: &Programs) -> Result<String> {
    let mut text = String::from(
        "| records, to | who | CPU s per million | budget | MB/s | peak memory, MiB |\n\
         |---|---|---:|---|---:|---:|\n",
    );
    for size in &SIZES {
        let discarding = Discarding::start(&programs.peers)?;
        let nowhere = format!("{}, thrown away", size.name);
        fast(programs, size, discarding.address, &nowhere, &mut text)?;
        drop(discarding);
        let data = tempfile::tempdir().context("no temporary directory")?;
        let partitions = format!("num.partitions={PARTITIONS}");
        let setup = BrokerSetup::new(&programs.broker, data.path(), &[&partitions])?;
        let running = setup.start()?;
        let ours = format!("{}, our broker", size.name);
        fast(programs, size, setup.address(), &ours, &mut text)?;
        running.stop()?;
    }
    text.push_str(
        "\n| 1 000 records/s of 100 B, our broker | p50 ms | p99 ms |\n|---|---:|---:|\n",
    );
    let data = tempfile::tempdir().context("no temporary directory")?;
    let setup = BrokerSetup::new(&programs.broker, data.path(), &[])?;
    let running = setup.start()?;
    for contender in CONTENDERS.iter().filter(|it| it.settings != &ALIKE[..2]) {
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            let mut send = call(programs, "send-steadily", contender, setup.address());
            let records = (STEADY_SECONDS * 1000).to_string();
            send.args(["--topic", "steady", "--record-bytes", "100"]);
            send.args(["--records", &records]);
            if !contender.settings.is_empty() {
                send.args(["-X", "linger.ms=0"]);
            }
            runs.push(ask::<Steady>(&mut send)?);
        }
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {:.2} | {:.2} |",
            contender.name,
            median(runs.iter().map(|it| it.p50_ms)),
            median(runs.iter().map(|it| it.p99_ms)),
        );
    }
    running.stop()?;
    Ok(text)
}

/// All contenders with records of one size, as rows.
fn fast(
    programs: &Programs,
    size: &Size,
    address: SocketAddr,
    place: &str,
    text: &mut String,
) -> Result<()> {
    for contender in &CONTENDERS {
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            let mut send = call(programs, "send", contender, address);
            send.args(["--topic", "load", "--partitions", &PARTITIONS.to_string()]);
            send.args(["--records", &size.records.to_string()]);
            send.args(["--record-bytes", &size.record_bytes.to_string()]);
            runs.push(ask::<Sent>(&mut send)?);
        }
        let budget = match contender.who {
            "klamm" => format!("{:.2}", size.budget),
            _ => String::new(),
        };
        let mut peaks: Vec<u64> = runs.iter().map(|it| it.peak_bytes).collect();
        peaks.sort_unstable();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {place} | {} | {:.2} | {budget} | {:.0} | {} |",
            contender.name,
            median(runs.iter().map(|it| it.cpu_per_million)),
            median(runs.iter().map(|it| it.megabytes_per_second)),
            mebibytes(peaks[peaks.len() / 2]),
        );
    }
    Ok(())
}

fn call(programs: &Programs, task: &str, contender: &Contender, address: SocketAddr) -> Command {
    let mut call = Command::new(&programs.peers);
    call.args([task, "--who", contender.who]);
    call.args(["--address", &address.to_string()]);
    for setting in contender.settings {
        call.args(["-X", setting]);
    }
    call
}

/// A broker that throws away what it is sent; ended when dropped.
struct Discarding {
    child: Child,
    address: SocketAddr,
}

impl Discarding {
    fn start(peers: &Path) -> Result<Self> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
        let address = free.local_addr().context("no free port")?;
        drop(free);
        let mut child = Command::new(peers)
            .args(["discard", &address.to_string()])
            .args(["--partitions", &PARTITIONS.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the peers' program")?;
        let output = child.stdout.take().context("it has no output")?;
        let discarding = Self { child, address };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        ensure!(line.starts_with("ready on "), "it said `{line}`");
        Ok(discarding)
    }
}

impl Drop for Discarding {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
