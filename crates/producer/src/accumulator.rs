//! [`RecordAccumulator`]: the batches of all partitions, from the first record until they are
//! sent. (P3)
//!
//! Tasks that send append under the lock of one partition's queue, and nothing else; the sender
//! looks at the queues that have something, takes batches out, and puts those back that have to be
//! sent again. What the sender alone needs is in [`Backlog`].

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use klamm_client::{Partition, Topic};
use klamm_primitives::PartitionIndex;
use klamm_records::{Codec, Compression};
use parking_lot::Mutex;

use crate::batch::{Batch, BatchPlan, Callback, Draft};
use crate::buffer_pool::{BufferPool, Memory};
use crate::config::ProducerConfig;
use crate::delivery::Delivery;
use crate::partitioner::sticky::{Candidate, Sticky};

mod backlog;
mod incomplete;
mod queue;
#[cfg(test)]
mod tests;
mod topic_queues;
mod topics;

pub(crate) use backlog::{Backlog, DrainRules, Drained, Readiness};
#[cfg(any(test, feature = "testing"))]
pub(crate) use backlog::{Leader, Leaders};
pub(crate) use incomplete::Incomplete;
pub(crate) use queue::{PartitionQueue, QueueState};
pub(crate) use topic_queues::TopicQueues;
pub(crate) use topics::Topics;

/// What of the settings concerns batches.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) batch_size: usize,
    pub(crate) compression: Compression,
    pub(crate) linger: Duration,
    pub(crate) delivery_timeout: Duration,
    pub(crate) adaptive: bool,
}

impl Rules {
    pub(crate) fn of(config: &ProducerConfig) -> Self {
        Self {
            batch_size: config.batching.batch_size,
            compression: config.batching.compression,
            linger: config.batching.linger,
            delivery_timeout: config.delivery.delivery_timeout,
            adaptive: config.partitioning.adaptive,
        }
    }
}

/// The batches of all partitions.
pub(crate) struct RecordAccumulator {
    rules: Rules,
    pool: Arc<BufferPool>,
    /// Read for each record; one is added under the growth lock.
    topics: Topics,
    /// Held while a topic or a partition is added, and to close; before any queue's lock.
    growth: Mutex<Growth>,
    /// Queues that got a batch while they were not on the sender's list.
    listed: Mutex<Vec<Arc<PartitionQueue>>>,
    /// Batches that are not settled.
    incomplete: Incomplete,
    /// How many flushes are under way.
    flushes: AtomicUsize,
    /// Whether no more batches come; set after all queues are closed.
    closed: AtomicBool,
}

struct Growth {
    closed: bool,
    /// Of the next topic's draws.
    seed: u64,
}

/// What came of trying to append.
pub(crate) enum Attempt {
    /// The record is in a batch, and its listener has the delivery.
    Appended(Appended),
    /// There is no batch with room for it.
    NeedsBatch,
    /// The sticky choice has moved on from this partition.
    Moved,
    /// No more records are taken.
    Closed,
}

/// What is to be done for a record that came into a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Appended {
    /// Whether the sender should have a look: the batch became full, or is new. (P2.8)
    pub(crate) wake: bool,
}

/// Who hears of a record: interceptors and a callback, and the future that the batch gives back.
/// It lies where the call has it, so that nothing large is handed from step to step.
pub(crate) struct Listener {
    /// Whether anybody hears beside the future.
    noted: bool,
    callback: Option<Callback>,
    /// Once the record is in a batch.
    delivery: Option<Delivery>,
}

impl Listener {
    pub(crate) fn new(has_interceptors: bool, callback: Option<Callback>) -> Self {
        Self {
            noted: has_interceptors || callback.is_some(),
            callback,
            delivery: None,
        }
    }

    /// The future of a record that came into a batch.
    ///
    /// # Panics
    /// If it did not.
    #[inline]
    pub(crate) fn into_delivery(self) -> Delivery {
        self.delivery.expect("a batch has taken the record")
    }

    /// The callback of a record that never came into a batch.
    pub(crate) fn into_callback(self) -> Option<Callback> {
        self.callback
    }

    #[inline]
    fn join(&mut self, batch: &mut Batch, index: u32, draft: &Draft<'_>) {
        let receipt = draft.receipt();
        if self.noted {
            batch.note(index, receipt, self.callback.take());
        }
        let completion = Arc::clone(batch.completion());
        self.delivery = Some(Delivery::batched(completion, index, receipt));
    }
}

/// Where a record goes: its queue, and the sticky choice if that led there.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) topic: &'a TopicQueues,
    pub(crate) queue: &'a Arc<PartitionQueue>,
    /// If the choice was the sticky one: gives those to draw from, once another is due.
    pub(crate) sticky: Option<&'a (dyn Fn() -> Vec<Candidate> + Sync)>,
}

impl Place<'_> {
    /// Appends a record to the last batch of its queue, if that has room. (P3.2)
    #[inline]
    pub(crate) fn try_append(self, draft: &Draft<'_>, listener: &mut Listener) -> Attempt {
        self.append_to_last(draft, listener, &mut self.queue.lock())
    }

    #[inline]
    fn append_to_last(
        self,
        draft: &Draft<'_>,
        listener: &mut Listener,
        queue: &mut QueueState,
    ) -> Attempt {
        if queue.closed {
            return Attempt::Closed;
        }
        if self.sticky.is_some() && !self.topic.sticky().is_current(self.queue.index()) {
            return Attempt::Moved;
        }
        let Some(last) = queue.batches.back_mut() else {
            return Attempt::NeedsBatch;
        };
        let Some(index) = last.append(draft) else {
            return Attempt::NeedsBatch;
        };
        let became_full = !last.is_open();
        listener.join(last, index, draft);
        self.count_sticky(draft.size_max, became_full);
        Attempt::Appended(Appended { wake: became_full })
    }

    /// Counts what was appended, where the sticky choice led there.
    #[inline]
    fn count_sticky(self, bytes: usize, last_batch_is_full: bool) {
        if let Some(candidates) = self.sticky {
            let sticky = self.topic.sticky();
            sticky.appended(bytes, last_batch_is_full, candidates);
        }
    }
}

impl RecordAccumulator {
    pub(crate) fn new(rules: Rules, pool: Arc<BufferPool>, seed: u64) -> Self {
        Self {
            rules,
            pool,
            topics: Topics::default(),
            growth: Mutex::new(Growth {
                closed: false,
                seed,
            }),
            listed: Mutex::default(),
            incomplete: Incomplete::default(),
            flushes: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(crate) fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    pub(crate) fn incomplete(&self) -> &Incomplete {
        &self.incomplete
    }

    /// The queues of all topics that were used. (P3.1)
    #[inline]
    pub(crate) fn topics(&self) -> &Topics {
        &self.topics
    }

    /// The queues of a topic. (P3.1)
    pub(crate) fn topic(&self, name: &Arc<str>) -> Arc<TopicQueues> {
        let known = self.topics.get(name);
        Arc::clone(known.unwrap_or_else(|| self.add_topic(name)))
    }

    fn add_topic(&self, name: &Arc<str>) -> &Arc<TopicQueues> {
        // With the lock, closing finds every topic that has queues.
        let mut growth = self.growth.lock();
        self.topics.get_or_add(name, || {
            growth.seed = growth.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let sticky = Sticky::new(self.rules.batch_size, growth.seed);
            let sticky = sticky.expect("batch.size is at least 1");
            TopicQueues::new(Arc::clone(name), sticky)
        })
    }

    /// The queue of a partition, made where it is missing. (P3.1)
    pub(crate) fn queue(
        &self,
        topic: &TopicQueues,
        partition: PartitionIndex,
    ) -> Arc<PartitionQueue> {
        if let Some(queue) = topic.queue(partition) {
            return queue;
        }
        let growth = self.growth.lock();
        topic.queue_or_add(partition, growth.closed)
    }

    /// The partitions that may be drawn: those that have a leader and whose broker takes data, or
    /// else those that have a leader, or else all. (PR-026, PR-030)
    pub(crate) fn candidates(&self, topic: &TopicQueues, known: &Topic) -> Vec<Candidate> {
        let candidate = |partition: &Partition| {
            let looked = topic.with_queue(partition.index, |queue| {
                let queued = if self.rules.adaptive { queue.len() } else { 0 };
                (queued, queue.is_avoided())
            });
            let (queued, is_avoided) = looked.unwrap_or_default();
            let partition = partition.index;
            (Candidate { partition, queued }, is_avoided)
        };
        let led: Vec<_> = known.available().map(candidate).collect();
        if led.is_empty() {
            let all = known.partitions().iter().map(|p| candidate(p).0);
            return all.collect();
        }
        let taking = led.iter().filter(|(_, is_avoided)| !is_avoided);
        let taking: Vec<_> = taking.map(|(candidate, _)| *candidate).collect();
        if taking.is_empty() {
            return led.into_iter().map(|(candidate, _)| candidate).collect();
        }
        taking
    }

    /// How many bytes a new batch for this record takes. (P3.3)
    pub(crate) fn new_batch_size(&self, draft: &Draft<'_>) -> usize {
        self.rules.batch_size.max(draft.batch_size_max())
    }

    /// Appends a record to a new batch over `memory`. If meanwhile there is one with room, that is
    /// taken, and the memory goes straight back. (P3.5 to P3.7)
    pub(crate) fn append_to_new(
        &self,
        place: Place<'_>,
        draft: &Draft<'_>,
        listener: &mut Listener,
        (memory, buffer): (Memory, Vec<u8>),
        now: Instant,
    ) -> Attempt {
        let compression = self.rules.compression;
        let plan = BatchPlan {
            size_limit: self.rules.batch_size,
            compression,
            expected_ratio: match compression.codec() {
                Codec::None => 1.0,
                _ => place.topic.expected_ratio(),
            },
        };
        // Made before the lock is taken, so that the lock is short.
        let name = place.queue.name().clone();
        let mut batch = Box::new(Batch::begin(name, plan, memory, buffer, now));
        let mut queue = place.queue.lock();
        match place.append_to_last(draft, listener, &mut queue) {
            Attempt::NeedsBatch => {}
            other => {
                drop(queue);
                batch.discard();
                return other;
            }
        }
        let Some(index) = batch.append(draft) else {
            unreachable!("a batch's first record always fits, and its size was checked before");
        };
        let became_full = !batch.is_open();
        listener.join(&mut batch, index, draft);
        self.incomplete.add(batch.completion());
        queue.batches.push_back(batch);
        place.queue.count(&queue);
        let list = !std::mem::replace(&mut queue.listed, true);
        place.count_sticky(draft.batch_size_max(), became_full);
        drop(queue);
        if list {
            self.list(Arc::clone(place.queue));
        }
        Attempt::Appended(Appended { wake: true })
    }

    /// Tells the sender of a queue that has something now.
    pub(crate) fn list(&self, queue: Arc<PartitionQueue>) {
        self.listed.lock().push(queue);
    }

    /// Makes all batches ready until the guard is dropped. (P8.1)
    pub(crate) fn begin_flush(self: &Arc<Self>) -> Flushing {
        self.flushes.fetch_add(1, Ordering::AcqRel);
        Flushing(Arc::clone(self))
    }

    pub(crate) fn is_flushing(&self) -> bool {
        self.flushes.load(Ordering::Acquire) > 0
    }

    /// Takes no more records. What is there is ready to be sent.
    pub(crate) fn close(&self) {
        let mut growth = self.growth.lock();
        growth.closed = true;
        for topic in self.topics.iter() {
            for queue in topic.queues() {
                queue.lock().closed = true;
            }
        }
        self.closed.store(true, Ordering::Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether batches should leave however young they are.
    pub(crate) fn is_hurried(&self) -> bool {
        self.is_flushing() || self.is_closed() || self.pool.waiting() > 0
    }
}

/// A flush that is under way. It ends when this is dropped, also if nobody waits any more.
pub(crate) struct Flushing(Arc<RecordAccumulator>);

impl Drop for Flushing {
    fn drop(&mut self) {
        self.0.flushes.fetch_sub(1, Ordering::AcqRel);
    }
}

/// How many partitions a topic has, if any.
pub(crate) fn partition_count(topic: &Topic) -> Option<NonZeroU32> {
    let count = u32::try_from(topic.partitions().len()).ok()?;
    NonZeroU32::new(count)
}
