//! rskafka, which has no queue of records: it is given ready batches.

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use rskafka::client::ClientBuilder;
use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::record::Record;

use super::{
    Beat, Latencies, Meter, Options, Records, Sent, Steady, SteadyOptions, runtime, steady,
};

/// Bytes of a batch's values; with what records have besides it stays below what brokers take.
const BATCH_BYTES: usize = 800_000;

async fn partitions(records: &Records) -> Result<Vec<PartitionClient>> {
    let servers = vec![records.address.to_string()];
    let client = ClientBuilder::new(servers).build().await?;
    let mut partitions = Vec::new();
    for partition in 0..records.partitions {
        let topic = records.topic.clone();
        let handling = UnknownTopicHandling::Retry;
        partitions.push(client.partition_client(topic, partition, handling).await?);
    }
    Ok(partitions)
}

fn record(value: &[u8]) -> Result<Record> {
    Ok(Record {
        key: None,
        value: Some(value.to_vec()),
        headers: std::collections::BTreeMap::new(),
        timestamp: DateTime::<Utc>::from_timestamp(1_700_000_000, 0).context("a time")?,
    })
}

pub(super) fn send(options: &Options) -> Result<Sent> {
    let sent = &options.records;
    runtime()?.block_on(async {
        let partitions = partitions(sent).await?;
        let value = sent.value();
        let plain = Compression::NoCompression;
        for partition in &partitions {
            partition.produce(vec![record(&value)?], plain).await?;
        }
        let meter = Meter::start()?;
        let records = sent.count / partitions.len() as u64;
        let batch = (BATCH_BYTES / sent.record_bytes.max(1)).max(1) as u64;
        let mut senders = tokio::task::JoinSet::new();
        for partition in partitions {
            let value = value.clone();
            senders.spawn(async move {
                let mut left = records;
                while left > 0 {
                    let count = left.min(batch);
                    let records: Result<Vec<_>> = (0..count).map(|_| record(&value)).collect();
                    partition.produce(records?, plain).await?;
                    left -= count;
                }
                anyhow::Ok(())
            });
        }
        while let Some(sent) = senders.join_next().await {
            sent??;
        }
        meter.stop(sent)
    })
}

/// Each record is awaited before the next is sent: one that is late makes others late.
pub(super) fn send_steadily(options: &SteadyOptions) -> Result<Steady> {
    let rate = options.rate;
    let records = &options.options.records;
    let runtime = runtime()?;
    let partitions = runtime.block_on(partitions(records))?;
    let partition = partitions.first().context("no partition is asked for")?;
    let value = records.value();
    let plain = Compression::NoCompression;
    runtime.block_on(partition.produce(vec![record(&value)?], plain))?;
    let mut times = Latencies::new()?;
    let beat = Beat::new(rate);
    for index in 0..records.count {
        let due = beat.wait(index);
        runtime.block_on(partition.produce(vec![record(&value)?], plain))?;
        times.note(due);
    }
    Ok(steady(records.count, &times.quantiles()))
}
