//! When records are due, and how late they are acknowledged.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;

/// Records with a latency beyond a minute count as this.
const NANOS_MAX: u64 = 60_000_000_000;

/// When each record of a steady load is due.
pub(crate) struct Beat {
    began: Instant,
    rate: u64,
}

impl Beat {
    /// So many records each second, from now on.
    pub(crate) fn new(rate: u64) -> Self {
        let began = Instant::now();
        Self { began, rate }
    }

    /// Waits until a record is due.
    pub(crate) fn wait(&self, index: u64) -> Instant {
        let due = self.began + Duration::from_nanos(index * 1_000_000_000 / self.rate);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        due
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

/// From when records were due until they are acknowledged.
pub(crate) struct Latencies(Histogram<u64>);

/// Latencies in milliseconds.
pub(crate) struct Quantiles {
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

impl Latencies {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(Histogram::new_with_bounds(1, NANOS_MAX, 3)?))
    }

    /// A record is acknowledged now that was due then.
    pub(crate) fn note(&mut self, due: Instant) {
        let late = Instant::now().saturating_duration_since(due);
        let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.0.saturating_record(nanos);
    }

    pub(crate) fn reset(&mut self) {
        self.0.reset();
    }

    pub(crate) fn quantiles(&self) -> Quantiles {
        let ms = |quantile| self.0.value_at_quantile(quantile) as f64 / 1e6;
        Quantiles {
            p50_ms: ms(0.5),
            p99_ms: ms(0.99),
        }
    }
}
