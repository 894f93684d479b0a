//! Producers under the same load: ours, librdkafka, rskafka. What one costs is measured in a process
//! of its own, in which nothing else happens.

mod klamm;
mod librdkafka;
mod rskafka;

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::cpu;

/// Records with a latency beyond a minute count as this.
const LATENCY_NANOS_MAX: u64 = 60_000_000_000;

/// So many records at most are on their way, for each producer alike: librdkafka's own default. Ours
/// takes no more than its `buffer.memory` besides.
const OPEN_MAX: usize = 100_000;

#[derive(Clone, Copy, clap::ValueEnum)]
enum Who {
    Klamm,
    Librdkafka,
    Rskafka,
}

#[derive(clap::Args)]
pub(crate) struct Options {
    #[arg(long)]
    who: Who,
    #[arg(long)]
    address: SocketAddr,
    #[arg(long)]
    topic: String,
    #[arg(long, default_value_t = 1)]
    partitions: i32,
    #[arg(long)]
    records: u64,
    #[arg(long)]
    record_bytes: usize,
    /// Settings of the producer, `name=value`; rskafka has none.
    #[arg(short = 'X')]
    settings: Vec<String>,
}

#[derive(clap::Args)]
pub(crate) struct SteadyOptions {
    #[command(flatten)]
    options: Options,
    /// Records each second.
    #[arg(long, default_value_t = 1000)]
    rate: u64,
}

#[derive(Serialize)]
pub(crate) struct Sent {
    records: u64,
    seconds: f64,
    megabytes_per_second: f64,
    /// Processor seconds of this process for a million records.
    cpu_per_million: f64,
    peak_bytes: u64,
}

#[derive(Serialize)]
pub(crate) struct Steady {
    records: u64,
    p50_ms: f64,
    p99_ms: f64,
}

impl Options {
    fn value(&self) -> Vec<u8> {
        let bytes = 0..self.record_bytes;
        bytes.map(|it| b'a' + (it * 7 % 26) as u8).collect()
    }

    /// The partition of a record: each in turn.
    fn partition(&self, index: u64) -> i32 {
        i32::try_from(index % u64::from(self.partitions.unsigned_abs())).unwrap_or(0)
    }
}

/// Measures between the first record, which brings topic and metadata along, and the last
/// acknowledgement.
struct Meter {
    began: Instant,
    spent: Duration,
}

impl Meter {
    fn start() -> Result<Self> {
        Ok(Self {
            spent: cpu::of_process(std::process::id())?,
            began: Instant::now(),
        })
    }

    /// To be called while all threads of the producer are still there.
    fn stop(&self, options: &Options) -> Result<Sent> {
        let seconds = self.began.elapsed().as_secs_f64();
        let spent = cpu::of_process(std::process::id())? - self.spent;
        let records = options.records;
        let bytes = records as f64 * options.record_bytes as f64;
        Ok(Sent {
            records,
            seconds,
            megabytes_per_second: bytes / 1e6 / seconds,
            cpu_per_million: spent.as_secs_f64() / (records as f64 / 1e6),
            peak_bytes: cpu::peak_bytes(std::process::id())?,
        })
    }
}

/// One thread for a producer's tasks, beside the one that sends.
fn runtime() -> Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    Ok(runtime)
}

/// Sends as fast as it goes.
pub(crate) fn send(options: &Options) -> Result<Sent> {
    match options.who {
        Who::Klamm => klamm::send(options),
        Who::Librdkafka => librdkafka::send(options),
        Who::Rskafka => rskafka::send(options),
    }
}

/// Sends at a steady rate.
pub(crate) fn send_steadily(options: &SteadyOptions) -> Result<Steady> {
    match options.options.who {
        Who::Klamm => klamm::send_steadily(options),
        Who::Librdkafka => librdkafka::send_steadily(options),
        Who::Rskafka => rskafka::send_steadily(options),
    }
}

/// When each record is due.
struct Beat {
    began: Instant,
    rate: u64,
}

impl Beat {
    fn new(rate: u64) -> Self {
        let began = Instant::now();
        Self { began, rate }
    }

    fn due(&self, index: u64) -> Instant {
        self.began + Duration::from_nanos(index * 1_000_000_000 / self.rate)
    }

    /// Waits until a record is due.
    fn wait(&self, index: u64) -> Instant {
        let due = self.due(index);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        due
    }
}

fn latencies() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, LATENCY_NANOS_MAX, 3)?)
}

fn note(times: &mut Histogram<u64>, due: Instant) {
    let late = Instant::now().saturating_duration_since(due);
    times.saturating_record(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
}

fn steady(records: u64, times: &Histogram<u64>) -> Steady {
    let ms = |quantile| times.value_at_quantile(quantile) as f64 / 1e6;
    Steady {
        records,
        p50_ms: ms(0.5),
        p99_ms: ms(0.99),
    }
}
