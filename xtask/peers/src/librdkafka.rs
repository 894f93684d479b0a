//! librdkafka's producer as every load here uses it: by delivery callbacks, the way that costs it
//! least.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rdkafka::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};

use crate::latency::Latencies;
use crate::records::Records;

/// How long acknowledgements may take in the end.
const FLUSH_MAX: Duration = Duration::from_mins(2);

/// Counts what is not delivered, and times what is.
struct Deliveries {
    failed: AtomicU64,
    start: Instant,
    latencies: Option<Mutex<Latencies>>,
}

impl ClientContext for Deliveries {}

/// The opaque pointer of a record is when it was due, in nanoseconds after the start.
impl ProducerContext for Deliveries {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, due_nanos: usize) {
        if result.is_err() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(latencies) = &self.latencies {
            let due = self.start + Duration::from_nanos(due_nanos as u64);
            latencies.lock().expect("nobody panics with it").note(due);
        }
    }
}

/// What librdkafka is to know: the address, and what `-X` says.
pub(crate) fn config(records: &Records) -> Result<ClientConfig> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", records.address.to_string());
    for (name, value) in records.settings()? {
        config.set(name, value);
    }
    Ok(config)
}

/// A producer that sends these records.
pub(crate) struct Sender<'a> {
    producer: ThreadedProducer<Deliveries>,
    records: &'a Records,
    value: Vec<u8>,
}

impl<'a> Sender<'a> {
    /// Sends a first record, which brings topic and metadata along; with `timed`, latencies are
    /// noted from then on.
    pub(crate) fn start(config: &ClientConfig, records: &'a Records, timed: bool) -> Result<Self> {
        let latencies = timed.then(Latencies::new).transpose()?;
        let context = Deliveries {
            failed: AtomicU64::new(0),
            start: Instant::now(),
            latencies: latencies.map(Mutex::new),
        };
        let sender = Self {
            producer: config.create_with_context(context)?,
            records,
            value: records.value(),
        };
        sender.send(0, Instant::now())?;
        sender.finish()?;
        if let Some(latencies) = &sender.producer.context().latencies {
            latencies.lock().expect("nobody panics with it").reset();
        }
        Ok(sender)
    }

    /// Sends one record; waits while the queue is full.
    pub(crate) fn send(&self, index: u64, due: Instant) -> Result<()> {
        let due = due.saturating_duration_since(self.producer.context().start);
        let due_nanos = usize::try_from(due.as_nanos())?;
        let record = BaseRecord::<(), [u8], usize>::with_opaque_to(&self.records.topic, due_nanos);
        let partition = self.records.partition(index);
        let mut record = record.payload(&self.value).partition(partition);
        loop {
            match self.producer.send(record) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), again)) => {
                    record = again;
                    thread::sleep(Duration::from_millis(1));
                }
                Err((error, _)) => return Err(error.into()),
            }
        }
    }

    /// Sends all records as fast as it goes.
    pub(crate) fn send_all(&self) -> Result<()> {
        let due = self.producer.context().start;
        for index in 0..self.records.count {
            self.send(index, due)?;
        }
        self.finish()
    }

    /// Waits until everything is acknowledged.
    pub(crate) fn finish(&self) -> Result<()> {
        self.producer.flush(FLUSH_MAX)?;
        match self.producer.context().failed.load(Ordering::Relaxed) {
            0 => Ok(()),
            failed => bail!("{failed} records were not delivered"),
        }
    }

    /// The latencies that were noted.
    pub(crate) fn quantiles(&self) -> Result<crate::latency::Quantiles> {
        let latencies = &self.producer.context().latencies;
        let latencies = latencies.as_ref().context("latencies were not asked for")?;
        Ok(latencies.lock().expect("nobody panics with it").quantiles())
    }
}
