//! Load by librdkafka.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hdrhistogram::Histogram;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientContext, Message, Offset, TopicPartitionList};
use serde::Serialize;

use crate::cpu;

/// Longer ones are counted as this: a minute.
const LATENCY_NANOS_MAX: u64 = 60_000_000_000;

#[derive(clap::Args)]
pub(crate) struct Options {
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
    /// The broker's process id.
    #[arg(long)]
    broker: u32,
    /// More settings of librdkafka, `name=value`.
    #[arg(short = 'X')]
    settings: Vec<String>,
}

#[derive(clap::Args)]
pub(crate) struct LatencyOptions {
    #[command(flatten)]
    options: Options,
    /// Records each second.
    #[arg(long, default_value_t = 1000)]
    rate: u64,
}

#[derive(Serialize)]
pub(crate) struct Load {
    records: u64,
    seconds: f64,
    megabytes_per_second: f64,
    /// The broker's processor seconds for each GB (10^9 bytes) of values.
    broker_cpu_per_gb: f64,
    broker_resident_bytes: u64,
}

#[derive(Serialize)]
pub(crate) struct Latency {
    records: u64,
    p50_ms: f64,
    p99_ms: f64,
    broker_cpu_percent: f64,
}

/// Counts and times what is delivered. The opaque pointer of a record is when it was due.
struct Deliveries {
    start: Instant,
    delivered: AtomicU64,
    failed: AtomicU64,
    times: Option<Mutex<Histogram<u64>>>,
}

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<u64>;

    fn delivery(&self, result: &DeliveryResult<'_>, due_nanos: Box<u64>) {
        match result {
            Ok(_) => self.delivered.fetch_add(1, Ordering::Relaxed),
            Err(_) => self.failed.fetch_add(1, Ordering::Relaxed),
        };
        if let Some(times) = &self.times {
            let now = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let mut times = times.lock().expect("nobody panics with it");
            times.saturating_record(now.saturating_sub(*due_nanos));
        }
    }
}

fn configured(options: &Options) -> Result<ClientConfig> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", options.address.to_string());
    for setting in &options.settings {
        let (name, value) = setting.split_once('=').context("-X wants name=value")?;
        config.set(name, value);
    }
    Ok(config)
}

fn value(options: &Options) -> Vec<u8> {
    let bytes = 0..options.record_bytes;
    bytes.map(|it| b'a' + (it * 7 % 26) as u8).collect()
}

pub(crate) fn produce(options: &Options) -> Result<Load> {
    let start = Instant::now();
    let deliveries = Deliveries {
        start,
        delivered: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        times: None,
    };
    let mut config = configured(options)?;
    for (name, value) in [
        ("linger.ms", "5"),
        ("batch.size", "1000000"),
        ("queue.buffering.max.messages", "2000000"),
        ("queue.buffering.max.kbytes", "262144"),
        ("max.in.flight.requests.per.connection", "5"),
    ] {
        config.set(name, value);
    }
    let producer: ThreadedProducer<Deliveries> = config.create_with_context(deliveries)?;
    // The first record brings topic and metadata along; the clock runs after it.
    let value = value(options);
    send(&producer, options, &value, 0, 0)?;
    producer.flush(Duration::from_secs(30))?;

    let before = cpu::of_process(options.broker)?;
    let began = Instant::now();
    for index in 0..options.records {
        send(&producer, options, &value, index, 0)?;
    }
    producer.flush(Duration::from_secs(120))?;
    let seconds = began.elapsed().as_secs_f64();
    let spent = cpu::of_process(options.broker)? - before;
    let context = producer.context();
    let failed = context.failed.load(Ordering::Relaxed);
    if failed > 0 {
        bail!("{failed} records were not delivered");
    }
    load(options, options.records, seconds, spent)
}

fn send(
    producer: &ThreadedProducer<Deliveries>,
    options: &Options,
    value: &[u8],
    index: u64,
    due_nanos: u64,
) -> Result<()> {
    let partition = i32::try_from(index % u64::try_from(options.partitions)?)?;
    let mut record =
        BaseRecord::<(), [u8], Box<u64>>::with_opaque_to(&options.topic, Box::new(due_nanos))
            .payload(value)
            .partition(partition);
    loop {
        match producer.send(record) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), again)) => {
                record = again;
                thread::sleep(Duration::from_millis(1));
            }
            Err((error, _)) => return Err(error.into()),
        }
    }
}

pub(crate) fn consume(options: &Options) -> Result<Load> {
    let mut config = configured(options)?;
    for (name, value) in [
        ("group.id", "none"),
        ("enable.auto.commit", "false"),
        ("fetch.wait.max.ms", "100"),
        ("queued.min.messages", "1000000"),
        ("check.crcs", "false"),
    ] {
        config.set(name, value);
    }
    let consumer: BaseConsumer = config.create()?;
    let mut wanted = TopicPartitionList::new();
    for partition in 0..options.partitions {
        wanted.add_partition_offset(&options.topic, partition, Offset::Beginning)?;
    }
    let before = cpu::of_process(options.broker)?;
    consumer.assign(&wanted)?;
    let mut began = None;
    let mut bytes = 0;
    for index in 0..options.records {
        let message = consumer
            .poll(Duration::from_secs(30))
            .with_context(|| format!("nothing came after {index} records"))??;
        began.get_or_insert_with(Instant::now);
        bytes += message.payload().map_or(0, <[u8]>::len);
    }
    let seconds = began
        .context("no records are asked for")?
        .elapsed()
        .as_secs_f64();
    let spent = cpu::of_process(options.broker)? - before;
    if bytes as u64 != options.records * options.record_bytes as u64 {
        bail!("{bytes} bytes came, which is not what was produced");
    }
    load(options, options.records, seconds, spent)
}

fn load(options: &Options, records: u64, seconds: f64, spent: Duration) -> Result<Load> {
    let bytes = records as f64 * options.record_bytes as f64;
    Ok(Load {
        records,
        seconds,
        megabytes_per_second: bytes / 1e6 / seconds,
        broker_cpu_per_gb: spent.as_secs_f64() / (bytes / 1e9),
        broker_resident_bytes: cpu::resident_bytes(options.broker)?,
    })
}

pub(crate) fn latency(options: &LatencyOptions) -> Result<Latency> {
    let rate = options.rate;
    let options = &options.options;
    let start = Instant::now();
    let deliveries = Deliveries {
        start,
        delivered: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        times: Some(Mutex::new(Histogram::new_with_bounds(
            1,
            LATENCY_NANOS_MAX,
            3,
        )?)),
    };
    let mut config = configured(options)?;
    config.set("linger.ms", "0");
    let producer: ThreadedProducer<Deliveries> = config.create_with_context(deliveries)?;
    let value = value(options);
    send(&producer, options, &value, 0, 0)?;
    producer.flush(Duration::from_secs(30))?;
    let context: &Arc<Deliveries> = producer.context();
    if let Some(times) = &context.times {
        times.lock().expect("nobody panics with it").reset();
    }

    let before = cpu::of_process(options.broker)?;
    let began = Instant::now();
    let lead = u64::try_from((began - start).as_nanos())?;
    for index in 0..options.records {
        let due = Duration::from_nanos(index * 1_000_000_000 / rate);
        thread::sleep((began + due).saturating_duration_since(Instant::now()));
        let due_nanos = lead + u64::try_from(due.as_nanos())?;
        send(&producer, options, &value, index, due_nanos)?;
    }
    producer.flush(Duration::from_secs(30))?;
    let seconds = began.elapsed().as_secs_f64();
    let spent = cpu::of_process(options.broker)? - before;
    let times = context.times.as_ref().context("times were asked for")?;
    let times = times.lock().expect("nobody panics with it");
    let ms = |quantile| times.value_at_quantile(quantile) as f64 / 1e6;
    Ok(Latency {
        records: options.records,
        p50_ms: ms(0.5),
        p99_ms: ms(0.99),
        broker_cpu_percent: 100.0 * spent.as_secs_f64() / seconds,
    })
}
