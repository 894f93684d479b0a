//! [`Statistics`]: counts and latencies of acknowledged records. (PR-152)

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::perf::report::{Percentiles, Report};

/// How long a window is.
pub(crate) const WINDOW: Duration = Duration::from_secs(5);

/// Latencies above count as this one in percentiles; the maximum is exact.
const LATENCY_US_MAX: u64 = 3_600_000_000;

/// Digits of a latency that percentiles are exact in.
const DIGITS: u8 = 3;

/// Counts and latencies of acknowledged records. Those that failed are counted apart and are in
/// nothing else.
///
/// Every latency is kept, in a histogram of fixed size: no sampling is needed to bound memory.
#[derive(Debug)]
struct Statistics {
    start: Instant,
    all: Counts,
    window_start: Instant,
    window: Counts,
    latencies_us: Histogram<u64>,
    failed: u64,
    first_failure: Option<String>,
}

/// Of some time.
#[derive(Debug, Default)]
struct Counts {
    records: u64,
    bytes: u64,
    latency_sum: Duration,
    latency_max: Duration,
}

impl Counts {
    fn note(&mut self, bytes: usize, latency: Duration) {
        self.records += 1;
        self.bytes += bytes as u64;
        self.latency_sum += latency;
        self.latency_max = self.latency_max.max(latency);
    }

    fn report(&self, elapsed: Duration, percentiles: Option<Percentiles>) -> Report {
        let per_second = |count: u64| {
            if elapsed.is_zero() {
                0.0
            } else {
                float(count) / elapsed.as_secs_f64()
            }
        };
        let latency_avg = match self.records {
            0 => 0.0,
            records => millis(self.latency_sum) / float(records),
        };
        Report {
            records: self.records,
            records_per_second: per_second(self.records),
            mb_per_second: per_second(self.bytes) / (1024.0 * 1024.0),
            latency_avg_ms: latency_avg,
            latency_max_ms: millis(self.latency_max),
            percentiles_ms: percentiles,
        }
    }
}

impl Statistics {
    fn new(start: Instant) -> Self {
        let latencies_us = Histogram::new_with_bounds(1, LATENCY_US_MAX, DIGITS);
        Self {
            start,
            all: Counts::default(),
            window_start: start,
            window: Counts::default(),
            latencies_us: latencies_us.expect("the bounds are legal"),
            failed: 0,
            first_failure: None,
        }
    }

    fn acknowledged(&mut self, bytes: usize, latency: Duration) {
        self.all.note(bytes, latency);
        self.window.note(bytes, latency);
        let latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.latencies_us.saturating_record(latency_us);
    }

    /// What came since the last call; a new window begins.
    fn window(&mut self, now: Instant) -> Report {
        let elapsed = now.saturating_duration_since(self.window_start);
        self.window_start = now;
        std::mem::take(&mut self.window).report(elapsed, None)
    }

    /// What came since the start.
    fn total(&self, now: Instant) -> Report {
        let at = |quantile| float(self.latencies_us.value_at_quantile(quantile)) / 1_000.0;
        let percentiles = Percentiles {
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
        };
        let elapsed = now.saturating_duration_since(self.start);
        self.all.report(elapsed, Some(percentiles))
    }
}

/// Statistics that the sender's task adds to and others read. The lock is held to add one record
/// or to read; nothing else is locked under it.
#[derive(Debug)]
pub(crate) struct Shared {
    statistics: Mutex<Statistics>,
    /// How many records were handed over, or refused in the call.
    sent: AtomicU64,
}

impl Shared {
    /// With nothing counted.
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            statistics: Mutex::new(Statistics::new(start)),
            sent: AtomicU64::new(0),
        }
    }

    /// The last of so many records was handed over, or refused in the call. It may have an outcome by now.
    pub(crate) fn sent(&self, count: u64) {
        self.sent.store(count, Ordering::Relaxed);
    }

    /// How many of them have no outcome.
    pub(crate) fn on_the_way(&self) -> u64 {
        let settled = {
            let statistics = self.lock();
            statistics.all.records + statistics.failed
        };
        self.sent.load(Ordering::Relaxed).saturating_sub(settled)
    }

    /// A record with a value of so many bytes, sent at `began`, was acknowledged at `now`.
    pub(crate) fn acknowledged(&self, bytes: usize, began: Instant, now: Instant) {
        let latency = now.saturating_duration_since(began);
        self.lock().acknowledged(bytes, latency);
    }

    /// A record failed.
    pub(crate) fn fail(&self, reason: &impl fmt::Display) {
        let mut statistics = self.lock();
        statistics.failed += 1;
        statistics
            .first_failure
            .get_or_insert_with(|| reason.to_string());
    }

    /// How many failed, and why the first did.
    pub(crate) fn failed(&self) -> Option<(u64, String)> {
        let statistics = self.lock();
        let first = statistics.first_failure.clone()?;
        Some((statistics.failed, first))
    }

    /// The report of the time since the last call.
    pub(crate) fn window(&self, now: Instant) -> Report {
        self.lock().window(now)
    }

    /// The report of all.
    pub(crate) fn total(&self, now: Instant) -> Report {
        self.lock().total(now)
    }

    fn lock(&self) -> MutexGuard<'_, Statistics> {
        // A panic between two additions leaves numbers that are off by one record.
        self.statistics
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 of anything counted here are many"
)]
fn float(count: u64) -> f64 {
    count as f64
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use klamm_io::{Clock, SystemClock};

    use super::*;

    const MIB: usize = 1024 * 1024;

    fn close_to(value: f64, expected: f64) -> bool {
        (value - expected).abs() <= expected / 1_000.0
    }

    #[test]
    fn pr_152_a_window_has_what_came_in_it_and_the_total_has_all() {
        let start = SystemClock.now();
        let mut statistics = Statistics::new(start);
        let ms = Duration::from_millis;
        statistics.acknowledged(MIB, ms(10));
        statistics.acknowledged(MIB, ms(30));
        let first = statistics.window(start + ms(4_000));
        let expected = Report {
            records: 2,
            records_per_second: 0.5,
            mb_per_second: 0.5,
            latency_avg_ms: 20.0,
            latency_max_ms: 30.0,
            percentiles_ms: None,
        };
        assert_eq!(first, expected);
        statistics.acknowledged(2 * MIB, ms(5));
        let second = statistics.window(start + ms(5_000));
        assert_eq!((second.records, second.latency_max_ms), (1, 5.0));
        assert_eq!(
            (second.records_per_second, second.mb_per_second),
            (1.0, 2.0)
        );
        let empty = statistics.window(start + ms(5_000));
        assert_eq!((empty.records, empty.records_per_second), (0, 0.0));
        let total = statistics.total(start + ms(6_000));
        assert_eq!((total.records, total.records_per_second), (3, 0.5));
        assert_eq!((total.latency_avg_ms, total.latency_max_ms), (15.0, 30.0));
    }

    #[test]
    fn pr_152_percentiles_are_those_of_all_latencies() {
        let start = SystemClock.now();
        let mut statistics = Statistics::new(start);
        // More than the half million that a sample would be taken of.
        for latency_us in (1..=600_000).rev() {
            statistics.acknowledged(1, Duration::from_micros(latency_us));
        }
        let total = statistics.total(start + WINDOW);
        let got = total.percentiles_ms.unwrap();
        assert!(close_to(got.p50, 300.0), "{got:?}");
        assert!(close_to(got.p95, 570.0), "{got:?}");
        assert!(close_to(got.p99, 594.0), "{got:?}");
        assert!(close_to(got.p99_9, 599.4), "{got:?}");
        assert!(close_to(total.latency_avg_ms, 300.0));
    }

    #[test]
    fn pr_152_only_acknowledged_records_count() {
        let start = SystemClock.now();
        let shared = Shared::new(start);
        assert_eq!(shared.failed(), None);
        shared.fail(&"late");
        shared.fail(&"large");
        assert_eq!(shared.failed(), Some((2, "late".to_owned())));
        let total = shared.total(start + WINDOW);
        assert_eq!((total.records, total.latency_max_ms), (0, 0.0));
        shared.acknowledged(5, start, start + WINDOW * 1_000);
        let total = shared.total(start + WINDOW);
        assert_eq!((total.records, total.latency_max_ms), (1, 5_000_000.0));
        let most = total.percentiles_ms.unwrap().p99_9;
        assert!(close_to(most, 3_600_000.0), "{most}");
    }
}
