//! librdkafka, by delivery callbacks: the way that costs it least.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hdrhistogram::Histogram;
use rdkafka::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};

use super::{Beat, Meter, OPEN_MAX, Options, Sent, Steady, SteadyOptions, latencies, note, steady};

/// How long an acknowledgement may take.
const FLUSH_MAX: Duration = Duration::from_secs(60);

struct Deliveries {
    failed: AtomicU64,
    start: Instant,
    times: Option<Mutex<Histogram<u64>>>,
}

impl ClientContext for Deliveries {}

/// The opaque pointer of a record is when it was due, in nanoseconds after the start; 0 for none.
impl ProducerContext for Deliveries {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, due_nanos: usize) {
        if result.is_err() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(times) = &self.times {
            let due = self.start + Duration::from_nanos(due_nanos as u64);
            note(&mut times.lock().expect("nobody panics with it"), due);
        }
    }
}

fn producer(
    options: &Options,
    times: Option<Mutex<Histogram<u64>>>,
) -> Result<ThreadedProducer<Deliveries>> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", options.address.to_string());
    config.set("queue.buffering.max.messages", OPEN_MAX.to_string());
    for setting in &options.settings {
        let (name, value) = setting.split_once('=').context("-X wants name=value")?;
        config.set(name, value);
    }
    let context = Deliveries {
        failed: AtomicU64::new(0),
        start: Instant::now(),
        times,
    };
    Ok(config.create_with_context(context)?)
}

fn send_one(
    producer: &ThreadedProducer<Deliveries>,
    options: &Options,
    value: &[u8],
    index: u64,
    due_nanos: usize,
) -> Result<()> {
    let record = BaseRecord::<(), [u8], usize>::with_opaque_to(&options.topic, due_nanos);
    let mut record = record.payload(value).partition(options.partition(index));
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

fn finish(producer: &ThreadedProducer<Deliveries>) -> Result<()> {
    producer.flush(FLUSH_MAX)?;
    match producer.context().failed.load(Ordering::Relaxed) {
        0 => Ok(()),
        failed => bail!("{failed} records were not delivered"),
    }
}

pub(super) fn send(options: &Options) -> Result<Sent> {
    let producer = producer(options, None)?;
    let value = options.value();
    send_one(&producer, options, &value, 0, 0)?;
    finish(&producer)?;
    let meter = Meter::start()?;
    for index in 0..options.records {
        send_one(&producer, options, &value, index, 0)?;
    }
    finish(&producer)?;
    meter.stop(options)
}

pub(super) fn send_steadily(options: &SteadyOptions) -> Result<Steady> {
    let rate = options.rate;
    let options = &options.options;
    let producer = producer(options, Some(Mutex::new(latencies()?)))?;
    let value = options.value();
    send_one(&producer, options, &value, 0, 0)?;
    finish(&producer)?;
    let context = producer.context();
    let times = context.times.as_ref().context("times are asked for")?;
    times.lock().expect("nobody panics with it").reset();
    let beat = Beat::new(rate);
    for index in 0..options.records {
        let due = beat.wait(index).saturating_duration_since(context.start);
        let due = usize::try_from(due.as_nanos())?;
        send_one(&producer, options, &value, index, due)?;
    }
    finish(&producer)?;
    let times = times.lock().expect("nobody panics with it");
    Ok(steady(options.records, &times))
}
