//! [`Producer`]: the handle by which records are sent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use klamm_client::{ClientHandle, Partition};
use parking_lot::Mutex;
use thiserror::Error;

use crate::accumulator::RecordAccumulator;
use crate::completion::{FailureTally, all_settled};
use crate::error::{DeliveryError, Failure, SendError};
use crate::interceptor::{Acknowledged, Interceptors};
use crate::lifecycle::{Lifecycle, Phase};
use crate::metrics::{Metric, Metrics, PoolLevels};
use crate::partitioner::Partitioner;
use crate::serializer::Serializer;
use crate::time::Time;

mod builder;
mod choosing;
mod memory;
mod metadata;
mod scratch;
mod send;

pub use builder::{BuildError, ProducerBuilder};
use scratch::ScratchPool;

/// Sends records to a cluster.
///
/// A clone is the same producer. Sending a record puts it into a batch and returns its
/// [`Delivery`](crate::Delivery); it waits only for metadata of a topic that is new and for memory
/// when all of it is in use. One task sends the batches; it ends after [`close`](Self::close), or
/// when the last clone is gone and what it had left is sent.
///
/// Records of one partition are written in the order in which their sends were called, as long as
/// each call is awaited before the next, or all are polled in their order.
pub struct Producer<K = Bytes, V = Bytes> {
    shared: Arc<Shared<K, V>>,
}

impl<K, V> Clone for Producer<K, V> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K, V> std::fmt::Debug for Producer<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Producer")
            .field("client_id", &self.shared.client_id)
            .field("phase", &self.shared.lifecycle.phase())
            .finish_non_exhaustive()
    }
}

/// What all clones share.
struct Shared<K, V> {
    client_id: Arc<str>,
    limits: Limits,
    accumulator: Arc<RecordAccumulator>,
    client: ClientHandle,
    lifecycle: Arc<Lifecycle>,
    time: Arc<dyn Time>,
    metrics: Arc<Metrics>,
    partitioner: Option<Arc<dyn Partitioner>>,
    key_serializer: Arc<dyn Serializer<K>>,
    value_serializer: Arc<dyn Serializer<V>>,
    scratch: ScratchPool,
    interceptors: Arc<Interceptors<K, V>>,
    /// The sender's task, until somebody has closed the producer.
    task: Mutex<Option<tokio::task::JoinHandle<()>>>,
}

/// What of the settings concerns calls.
#[derive(Debug, Clone)]
struct Limits {
    max_request_size: usize,
    buffer_memory: u64,
    max_block: Duration,
    ignore_keys: bool,
}

/// Not all records that a flush waited for were written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{batches} batches failed while they were flushed, the first: {first}")]
pub struct FlushError {
    /// How many batches failed.
    pub batches: usize,
    /// Why the first of them did.
    pub first: DeliveryError,
}

impl<K, V> Producer<K, V> {
    /// Sends all records at once that are waiting for company, and waits until every record whose
    /// [`send`](Self::send) had returned before has its outcome. Records that are sent meanwhile
    /// are not waited for. Dropping the future ends the flush, and batches linger again. (P8.1)
    ///
    /// # Errors
    /// [`FlushError`] if any of these records failed during the flush; those that had failed
    /// before are known by their deliveries alone.
    pub async fn flush(&self) -> Result<(), FlushError> {
        let start = self.shared.time.now();
        let awaited = self.shared.accumulator.incomplete().all();
        if awaited.is_empty() {
            return Ok(());
        }
        let flushing = self.shared.accumulator.begin_flush();
        self.shared.client.wake();
        let mut tally = FailureTally::default();
        for completion in awaited {
            all_settled(completion, &mut tally).await;
        }
        drop(flushing);
        let wait = self.shared.time.now() - start;
        self.shared.metrics.flushed(wait);
        match tally.first {
            None => Ok(()),
            Some(first) => Err(FlushError {
                batches: tally.batches,
                first,
            }),
        }
    }

    /// Takes no more records, sends what is there, and ends. Calls that wait in
    /// [`send`](Self::send) fail. What is not acknowledged within `limit` fails; without a limit,
    /// `delivery.timeout.ms` bounds each record. A second call waits for the same end. (P8.2)
    pub async fn close(&self, limit: Option<Duration>) {
        let shared = &self.shared;
        let deadline = limit.map(|limit| shared.time.now() + limit);
        shared.begin_close();
        if let Some(deadline) = deadline {
            tokio::select! {
                biased;
                () = shared.lifecycle.reached(Phase::Ended) => {}
                () = shared.time.sleep_until(deadline) => {
                    shared.lifecycle.advance(Phase::Forced);
                    shared.client.wake();
                }
            }
        }
        shared.lifecycle.reached(Phase::Ended).await;
        let task = shared.task.lock().take();
        if let Some(task) = task {
            // It has ended but for its last step; a panic in it was logged by the runtime.
            let _ = task.await;
            shared.interceptors.close();
            shared.key_serializer.close();
            shared.value_serializer.close();
            if let Some(partitioner) = &shared.partitioner {
                partitioner.close();
            }
        }
    }

    /// The partitions of a topic, waited for as [`send`](Self::send) does.
    ///
    /// # Errors
    /// [`SendError`] of a closed producer; within, why the topic is not known.
    pub async fn partitions_for(
        &self,
        topic: &str,
    ) -> Result<Result<Vec<Partition>, DeliveryError>, SendError> {
        let shared = &self.shared;
        shared.check_open()?;
        let topic = Arc::from(topic);
        let deadline = shared.deadline();
        match shared.await_topic(&topic, None, deadline).await? {
            Ok(known) => Ok(Ok(known.partitions().to_vec())),
            Err(failure) => Ok(Err(DeliveryError {
                topic,
                partition: None,
                failure,
            })),
        }
    }

    /// What was counted so far.
    pub fn metrics(&self) -> Vec<Metric> {
        let pool = self.shared.accumulator.pool();
        let levels = PoolLevels {
            total: pool.total(),
            available: pool.available(),
            waiting: pool.waiting(),
        };
        self.shared.metrics.read(levels, self.shared.time.now())
    }

    /// The name that the producer gives itself in requests.
    pub fn client_id(&self) -> &str {
        &self.shared.client_id
    }
}

impl<K, V> Shared<K, V> {
    fn begin_close(&self) {
        self.accumulator.close();
        self.lifecycle.advance(Phase::Closing);
        self.accumulator.pool().close();
        self.client.wake();
    }

    /// Whether records are taken.
    fn check_open(&self) -> Result<(), SendError> {
        if !self.lifecycle.is_open() {
            return Err(SendError::Closed);
        }
        match self.lifecycle.fatal() {
            Some(failure) => Err(SendError::Fatal(failure.clone())),
            None => Ok(()),
        }
    }

    fn deadline(&self) -> Instant {
        let now = self.time.now();
        // Beyond any clock counts as a century.
        let century = Duration::from_hours(100 * 365 * 24);
        now + self.limits.max_block.min(century)
    }

    fn tell(&self, outcome: &Result<crate::record::RecordMetadata, DeliveryError>) {
        if !self.interceptors.is_empty() {
            self.interceptors.acknowledged(outcome);
        }
    }

    /// What interceptors hear of a record whose call failed.
    fn call_failed(error: &SendError) -> Failure {
        match error {
            SendError::Closed | SendError::ClosedDuringSend => Failure::Closed,
            SendError::Fatal(failure) => Failure::ProducerFailed(Arc::new(failure.clone())),
            error => Failure::CallFailed(error.to_string().into()),
        }
    }
}

/// When the last handle is gone, the sender sends what is left and ends.
impl<K, V> Drop for Shared<K, V> {
    fn drop(&mut self) {
        self.begin_close();
    }
}
