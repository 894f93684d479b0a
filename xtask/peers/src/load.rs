//! Load on a broker by librdkafka.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Message, Offset, TopicPartitionList};
use serde::Serialize;

use crate::cpu;
use crate::latency::Beat;
use crate::librdkafka::{Sender, config};
use crate::records::Records;

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    records: Records,
    /// The broker's process id.
    #[arg(long)]
    broker: u32,
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

pub(crate) fn produce(options: &Options) -> Result<Load> {
    let mut config = config(&options.records)?;
    for (name, value) in [
        ("linger.ms", "5"),
        ("batch.size", "1000000"),
        ("queue.buffering.max.messages", "2000000"),
        ("queue.buffering.max.kbytes", "262144"),
        ("max.in.flight.requests.per.connection", "5"),
    ] {
        config.set(name, value);
    }
    let sender = Sender::start(&config, &options.records, false)?;
    let before = cpu::of_process(options.broker)?;
    let began = Instant::now();
    sender.send_all()?;
    let seconds = began.elapsed().as_secs_f64();
    let spent = cpu::of_process(options.broker)?.saturating_sub(before);
    load(options, seconds, spent)
}

pub(crate) fn consume(options: &Options) -> Result<Load> {
    let records = &options.records;
    let mut config = config(records)?;
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
    for partition in 0..records.partitions {
        wanted.add_partition_offset(&records.topic, partition, Offset::Beginning)?;
    }
    let before = cpu::of_process(options.broker)?;
    consumer.assign(&wanted)?;
    let mut began = None;
    let mut bytes = 0;
    for index in 0..records.count {
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
    let spent = cpu::of_process(options.broker)?.saturating_sub(before);
    if bytes as u64 != records.count * records.record_bytes as u64 {
        bail!("{bytes} bytes came, which is not what was produced");
    }
    load(options, seconds, spent)
}

fn load(options: &Options, seconds: f64, spent: Duration) -> Result<Load> {
    let bytes = options.records.bytes();
    Ok(Load {
        records: options.records.count,
        seconds,
        megabytes_per_second: bytes / 1e6 / seconds,
        broker_cpu_per_gb: spent.as_secs_f64() / (bytes / 1e9),
        broker_resident_bytes: cpu::resident_bytes(options.broker)?,
    })
}

pub(crate) fn latency(options: &LatencyOptions) -> Result<Latency> {
    let Options { records, broker } = &options.options;
    let mut config = config(records)?;
    config.set("linger.ms", "0");
    let sender = Sender::start(&config, records, true)?;
    let before = cpu::of_process(*broker)?;
    let beat = Beat::new(options.rate);
    for index in 0..records.count {
        sender.send(index, beat.wait(index))?;
    }
    sender.finish()?;
    let seconds = beat.elapsed().as_secs_f64();
    let spent = cpu::of_process(*broker)?.saturating_sub(before);
    let quantiles = sender.quantiles()?;
    Ok(Latency {
        records: records.count,
        p50_ms: quantiles.p50_ms,
        p99_ms: quantiles.p99_ms,
        broker_cpu_percent: 100.0 * spent.as_secs_f64() / seconds,
    })
}
