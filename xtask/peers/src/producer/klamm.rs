//! Our producer, every record by its future.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use bytes::Bytes;
use klamm_producer::{Producer, ProducerConfig, Record};

use super::{
    Beat, Latencies, Meter, OPEN_MAX, Options, Records, Sent, Steady, SteadyOptions, runtime,
    steady,
};

fn config(records: &Records) -> Result<ProducerConfig> {
    let address = records.address.to_string();
    let mut settings = vec![("bootstrap.servers", address.as_str())];
    settings.extend(records.settings()?);
    Ok(ProducerConfig::from_properties(settings)?)
}

pub(super) fn send(options: &Options) -> Result<Sent> {
    let records = &options.records;
    runtime()?.block_on(async {
        let producer = Producer::builder(config(records)?).build().await?;
        let topic: Arc<str> = records.topic.as_str().into();
        let value = Bytes::from(records.value());
        let record = |index| {
            let record = Record::to(Arc::clone(&topic)).with_value(value.clone());
            record.with_partition(records.partition(index))
        };
        producer.send(record(0)?).await?.await?;
        let meter = Meter::start()?;
        let mut open = VecDeque::with_capacity(OPEN_MAX);
        for index in 0..records.count {
            if open.len() == OPEN_MAX
                && let Some(oldest) = open.pop_front()
            {
                oldest.await?;
            }
            open.push_back(producer.send(record(index)?).await?);
        }
        producer.flush().await?;
        for delivery in open {
            delivery.await?;
        }
        let sent = meter.stop(records)?;
        producer.close(None).await;
        Ok(sent)
    })
}

pub(super) fn send_steadily(options: &SteadyOptions) -> Result<Steady> {
    let rate = options.rate;
    let records = &options.options.records;
    let runtime = runtime()?;
    let producer = Producer::builder(config(records)?).build();
    let producer = runtime.block_on(producer)?;
    let topic: Arc<str> = records.topic.as_str().into();
    let value = Bytes::from(records.value());
    let record = || Record::to(Arc::clone(&topic)).with_value(value.clone());
    runtime.block_on(async { anyhow::Ok(producer.send(record()).await?.await?) })?;
    let times = Arc::new(Mutex::new(Latencies::new()?));
    let beat = Beat::new(rate);
    for index in 0..records.count {
        let due = beat.wait(index);
        let times = Arc::clone(&times);
        let told = move |outcome: Result<_, _>| {
            outcome.expect("the broker takes it");
            times.lock().expect("nobody panics with it").note(due);
        };
        runtime.block_on(producer.send_with(record(), told))?;
    }
    runtime.block_on(producer.flush())?;
    let times = times.lock().expect("nobody panics with it");
    Ok(steady(records.count, &times.quantiles()))
}
