//! [`Metric`]: what a producer counts, under Kafka's names.
//!
//! Noted once per batch, request or wait, never per record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_client::Stats;
use klamm_primitives::TopicPartition;
use parking_lot::Mutex;

use crate::batch::Batch;
use crate::config::MetricsWindow;

mod network;
mod sampled;

use network::NetworkTraffic;
use sampled::Sampled;

/// One number about a producer.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// `producer-metrics` or `producer-topic-metrics`.
    pub group: &'static str,
    /// Kafka's name for it; what ends in `-rate` is per second.
    pub name: &'static str,
    /// The topic, in `producer-topic-metrics`.
    pub topic: Option<Arc<str>>,
    /// Times are in milliseconds unless the name says otherwise, but for `metadata-age`, which is in
    /// seconds; sizes are in bytes. NaN where there is nothing to average yet.
    pub value: f64,
}

/// A number with Kafka's name for it.
type Numbered = (&'static str, f64);

/// What one topic, or all together, have seen.
struct Traffic {
    records: Sampled,
    bytes: Sampled,
    compression: Sampled,
    retries: Sampled,
    errors: Sampled,
}

impl Traffic {
    fn new(window: &MetricsWindow, now: Instant) -> Self {
        let sampled = || Sampled::new(window, now);
        Self {
            records: sampled(),
            bytes: sampled(),
            compression: sampled(),
            retries: sampled(),
            errors: sampled(),
        }
    }
}

struct Numbers {
    all: Traffic,
    /// From a topic's first batch on, so their count is that of the topics produced to.
    topics: BTreeMap<Arc<str>, Traffic>,
    batch_size: Sampled,
    queue_time: Sampled,
    request_latency: Sampled,
    records_per_request: Sampled,
    record_size: Sampled,
    throttle_time: Sampled,
    splits: Sampled,
    requests_in_flight: u64,
    pool_wait: Sampled,
    pool_wait_total: Duration,
    exhausted: Sampled,
    flush_total: Duration,
    metadata_wait_total: Duration,
    /// When metadata came last; the producer's beginning before that.
    metadata_at: Instant,
    network: NetworkTraffic,
}

/// Gathers what the producer counts.
pub(crate) struct Metrics {
    window: MetricsWindow,
    /// Held to note or read numbers; nothing else is locked under it.
    numbers: Mutex<Numbers>,
}

impl Metrics {
    pub(crate) fn new(window: &MetricsWindow, now: Instant) -> Self {
        let sampled = || Sampled::new(window, now);
        Self {
            window: window.clone(),
            numbers: Mutex::new(Numbers {
                all: Traffic::new(window, now),
                topics: BTreeMap::new(),
                batch_size: sampled(),
                queue_time: sampled(),
                request_latency: sampled(),
                records_per_request: sampled(),
                record_size: sampled(),
                throttle_time: sampled(),
                splits: sampled(),
                requests_in_flight: 0,
                pool_wait: sampled(),
                pool_wait_total: Duration::ZERO,
                exhausted: sampled(),
                flush_total: Duration::ZERO,
                metadata_wait_total: Duration::ZERO,
                metadata_at: now,
                network: NetworkTraffic::new(window, now),
            }),
        }
    }

    /// A batch goes into a request.
    pub(crate) fn batch_sent(&self, batch: &Batch, size: usize, queued: Duration, now: Instant) {
        let mut numbers = self.numbers.lock();
        let topic = &batch.partition().topic;
        if !numbers.topics.contains_key(topic) {
            let traffic = Traffic::new(&self.window, now);
            numbers.topics.insert(Arc::clone(topic), traffic);
        }
        let (size, records) = (float(size), f64::from(batch.record_count()));
        numbers.batch_size.record(size, now);
        numbers.queue_time.record(millis(queued), now);
        numbers
            .record_size
            .record(float(batch.record_size_max()), now);
        let Numbers { all, topics, .. } = &mut *numbers;
        for traffic in topics.get_mut(topic).into_iter().chain([all]) {
            traffic.records.record(records, now);
            traffic.bytes.record(size, now);
            if let Some(ratio) = batch.compression_ratio() {
                traffic.compression.record(ratio.into(), now);
            }
        }
    }

    /// A request of so many records goes out.
    pub(crate) fn request_sent(&self, records: u64, now: Instant) {
        let mut numbers = self.numbers.lock();
        numbers.requests_in_flight += 1;
        let records = u32::try_from(records).unwrap_or(u32::MAX);
        numbers.records_per_request.record(records.into(), now);
    }

    /// A request has its outcome.
    pub(crate) fn request_done(&self, latency: Duration, now: Instant) {
        let mut numbers = self.numbers.lock();
        numbers.requests_in_flight = numbers.requests_in_flight.saturating_sub(1);
        numbers.request_latency.record(millis(latency), now);
    }

    /// An answer says for how long to hold back, 0 included. (PR-148)
    pub(crate) fn throttled(&self, throttle_time_ms: i32, now: Instant) {
        let mut numbers = self.numbers.lock();
        numbers.throttle_time.record(throttle_time_ms.into(), now);
    }

    /// A batch is sent again.
    pub(crate) fn retried(&self, batch: &Batch, now: Instant) {
        self.traffic(batch, |traffic, records| {
            traffic.retries.record(records, now);
        });
    }

    /// A batch failed.
    pub(crate) fn failed(&self, batch: &Batch, now: Instant) {
        self.traffic(batch, |traffic, records| {
            traffic.errors.record(records, now);
        });
    }

    fn traffic(&self, batch: &Batch, note: impl Fn(&mut Traffic, f64)) {
        let mut numbers = self.numbers.lock();
        let records = f64::from(batch.record_count());
        let Numbers { all, topics, .. } = &mut *numbers;
        let topic = topics.get_mut(&batch.partition().topic);
        for traffic in topic.into_iter().chain([all]) {
            note(traffic, records);
        }
    }

    /// A batch was divided. (PR-091)
    pub(crate) fn split(&self, _partition: &TopicPartition, now: Instant) {
        self.numbers.lock().splits.record(1.0, now);
    }

    /// A call waited for memory, and got none if `exhausted`.
    pub(crate) fn waited_for_memory(&self, wait: Duration, exhausted: bool, now: Instant) {
        let mut numbers = self.numbers.lock();
        numbers.pool_wait.record(wait.as_secs_f64(), now);
        numbers.pool_wait_total += wait;
        if exhausted {
            numbers.exhausted.record(1.0, now);
        }
    }

    /// A call waited for metadata.
    pub(crate) fn waited_for_metadata(&self, wait: Duration) {
        self.numbers.lock().metadata_wait_total += wait;
    }

    /// What the connections have done by now. Costs little where that is nothing new.
    pub(crate) fn network(&self, stats: &Stats, now: Instant) {
        self.numbers.lock().network.seen(stats, now);
    }

    /// Metadata came.
    pub(crate) fn metadata_came(&self, now: Instant) {
        self.numbers.lock().metadata_at = now;
    }

    /// A flush took so long.
    pub(crate) fn flushed(&self, wait: Duration) {
        self.numbers.lock().flush_total += wait;
    }

    /// All numbers as of `now`, those of topics behind those of the producer.
    pub(crate) fn read(&self, pool: PoolLevels, now: Instant) -> Vec<Metric> {
        let numbers = self.numbers.lock();
        let n = &*numbers;
        let all = &n.all;
        let ns = |wait: Duration| wait.as_secs_f64() * 1e9;
        let mut metrics: Vec<Metric> = [
            ("batch-size-avg", n.batch_size.avg(now)),
            ("batch-size-max", n.batch_size.max(now)),
            ("compression-rate-avg", all.compression.avg(now)),
            ("record-queue-time-avg", n.queue_time.avg(now)),
            ("record-queue-time-max", n.queue_time.max(now)),
            ("request-latency-avg", n.request_latency.avg(now)),
            ("request-latency-max", n.request_latency.max(now)),
            ("record-send-rate", all.records.rate(now)),
            ("record-send-total", all.records.total()),
            ("records-per-request-avg", n.records_per_request.avg(now)),
            ("record-retry-rate", all.retries.rate(now)),
            ("record-retry-total", all.retries.total()),
            ("record-error-rate", all.errors.rate(now)),
            ("record-error-total", all.errors.total()),
            ("record-size-avg", n.record_size.avg(now)),
            ("record-size-max", n.record_size.max(now)),
            ("requests-in-flight", count(n.requests_in_flight)),
            ("batch-split-rate", n.splits.rate(now)),
            ("batch-split-total", n.splits.total()),
            ("produce-throttle-time-avg", n.throttle_time.avg(now)),
            ("produce-throttle-time-max", n.throttle_time.max(now)),
            ("waiting-threads", float(pool.waiting)),
            ("buffer-total-bytes", count(pool.total)),
            ("buffer-available-bytes", count(pool.available)),
            ("bufferpool-wait-ratio", n.pool_wait.rate(now)),
            ("bufferpool-wait-time-total", ns(n.pool_wait_total)),
            ("bufferpool-wait-time-ns-total", ns(n.pool_wait_total)),
            ("buffer-exhausted-rate", n.exhausted.rate(now)),
            ("buffer-exhausted-total", n.exhausted.total()),
            ("flush-time-ns-total", ns(n.flush_total)),
            ("metadata-wait-time-ns-total", ns(n.metadata_wait_total)),
            (
                "metadata-age",
                now.saturating_duration_since(n.metadata_at).as_secs_f64(),
            ),
        ]
        .into_iter()
        .chain(WITHOUT_TRANSACTIONS.map(|name| (name, 0.0)))
        .chain(n.network.read(now))
        .map(|(name, value)| Metric {
            group: "producer-metrics",
            name,
            topic: None,
            value,
        })
        .collect();
        for (topic, traffic) in &n.topics {
            let of_topic = [
                ("record-send-rate", traffic.records.rate(now)),
                ("record-send-total", traffic.records.total()),
                ("byte-rate", traffic.bytes.rate(now)),
                ("byte-total", traffic.bytes.total()),
                ("compression-rate", traffic.compression.avg(now)),
                ("record-retry-rate", traffic.retries.rate(now)),
                ("record-retry-total", traffic.retries.total()),
                ("record-error-rate", traffic.errors.rate(now)),
                ("record-error-total", traffic.errors.total()),
            ];
            metrics.extend(of_topic.into_iter().map(|(name, value)| Metric {
                group: "producer-topic-metrics",
                name,
                topic: Some(Arc::clone(topic)),
                value,
            }));
        }
        metrics
    }
}

/// Times that transactions would take; there are none.
const WITHOUT_TRANSACTIONS: [&str; 5] = [
    "txn-init-time-ns-total",
    "txn-begin-time-ns-total",
    "txn-send-offsets-time-ns-total",
    "txn-commit-time-ns-total",
    "txn-abort-time-ns-total",
];

/// How full the buffer pool is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolLevels {
    pub(crate) total: u64,
    pub(crate) available: u64,
    pub(crate) waiting: usize,
}

fn millis(wait: Duration) -> f64 {
    wait.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "for people and graphs")]
fn float(size: usize) -> f64 {
    size as f64
}

#[expect(clippy::cast_precision_loss, reason = "for people and graphs")]
fn count(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use klamm_io::Clock;
    use klamm_io::sim::SimClock;

    use super::*;

    fn levels() -> PoolLevels {
        PoolLevels {
            total: 10,
            available: 7,
            waiting: 0,
        }
    }

    /// Covers PR-144, PR-145: all names that have a meaning without threads and logins.
    #[test]
    fn the_names_are_kafkas() {
        let now = SimClock::new().now();
        let metrics = Metrics::new(&MetricsWindow::default(), now);
        let read = metrics.read(levels(), now);
        let mut names: Vec<&str> = read.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        let mut expected: Vec<&str> = NAMES.split_whitespace().collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
    }

    const NAMES: &str = "batch-size-avg batch-size-max compression-rate-avg record-queue-time-avg
        record-queue-time-max request-latency-avg request-latency-max record-send-rate
        record-send-total records-per-request-avg record-retry-rate record-retry-total
        record-error-rate record-error-total record-size-max record-size-avg requests-in-flight
        metadata-age batch-split-rate batch-split-total produce-throttle-time-avg
        produce-throttle-time-max waiting-threads buffer-total-bytes buffer-available-bytes
        bufferpool-wait-ratio bufferpool-wait-time-total bufferpool-wait-time-ns-total
        buffer-exhausted-rate buffer-exhausted-total flush-time-ns-total txn-init-time-ns-total
        txn-begin-time-ns-total txn-send-offsets-time-ns-total txn-commit-time-ns-total
        txn-abort-time-ns-total metadata-wait-time-ns-total connection-close-rate
        connection-close-total connection-creation-rate connection-creation-total
        connection-count network-io-rate network-io-total outgoing-byte-rate outgoing-byte-total
        incoming-byte-rate incoming-byte-total request-rate request-total request-size-avg
        request-size-max response-rate response-total";

    #[test]
    fn pr_148_the_throttle_time_of_every_answer_counts() {
        let now = SimClock::new().now();
        let metrics = Metrics::new(&MetricsWindow::default(), now);
        for throttle_time_ms in [400, 100, 200, 300] {
            metrics.throttled(throttle_time_ms, now);
        }
        let read = metrics.read(levels(), now);
        let value = |name| {
            read.iter()
                .find(|metric| metric.name == name)
                .unwrap()
                .value
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        near(value("produce-throttle-time-avg"), 250.0);
        near(value("produce-throttle-time-max"), 400.0);
        near(value("buffer-available-bytes"), 7.0);
    }
}
