//! Producers under the same load: ours, librdkafka, rskafka. What one costs is measured in a process
//! of its own, in which nothing else happens.

mod klamm;
mod librdkafka;
mod rskafka;

use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;

use crate::cpu;
use crate::latency::{Beat, Latencies, Quantiles};
use crate::records::Records;

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
    #[command(flatten)]
    records: Records,
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
    fn stop(&self, sent: &Records) -> Result<Sent> {
        let seconds = self.began.elapsed().as_secs_f64();
        let spent = cpu::of_process(std::process::id())?.saturating_sub(self.spent);
        let records = sent.count;
        Ok(Sent {
            records,
            seconds,
            megabytes_per_second: sent.bytes() / 1e6 / seconds,
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

fn steady(records: u64, quantiles: &Quantiles) -> Steady {
    Steady {
        records,
        p50_ms: quantiles.p50_ms,
        p99_ms: quantiles.p99_ms,
    }
}
