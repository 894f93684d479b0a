//! [`Batch`]: records for one partition that travel together, from the first record to the
//! outcome.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use klamm_primitives::{LeaderEpoch, TopicPartition};
use klamm_records::{
    BatchHeader, BatchOptions, CloseError, Codecs, Compression, HEADER_LEN, Header, ProducerStamp,
    RecordBatchBuilder, record_size_max,
};
use klamm_wire::ErrorCode;
use tracing::warn;

use crate::buffer_pool::Memory;
use crate::completion::{Completion, Outcome, Receipt};
use crate::error::DeliveryError;
use crate::interceptor::Acknowledged;
use crate::record::RecordMetadata;

mod split;

/// A batch is some hundreds of bytes and moves between queues and requests: by its address.
pub(crate) type Boxed = Box<Batch>;

/// Learns what became of one record.
pub(crate) type Callback = Box<dyn FnOnce(Result<RecordMetadata, DeliveryError>) + Send>;

/// Buffers that grew beyond so many times their size are not kept for the next batch.
const KEPT_GROWTH_MAX: usize = 4;

/// A record on its way into a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Draft<'a> {
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) headers: &'a [Header<'a>],
    pub(crate) timestamp_ms: i64,
    /// The most that the record takes in a batch.
    pub(crate) size_max: usize,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(
        key: Option<&'a [u8]>,
        value: Option<&'a [u8]>,
        headers: &'a [Header<'a>],
        timestamp_ms: i64,
    ) -> Self {
        Self {
            key,
            value,
            headers,
            timestamp_ms,
            size_max: record_size_max(key, value, headers),
        }
    }

    /// The most that a batch of this record alone takes.
    pub(crate) fn batch_size_max(&self) -> usize {
        HEADER_LEN + self.size_max
    }

    /// What its future keeps of it.
    pub(crate) fn receipt(&self) -> Receipt {
        Receipt::new(self.timestamp_ms, self.key, self.value)
    }
}

/// Who wants to hear of one record beside its future.
pub(crate) struct Note {
    /// The record's place in the batch.
    pub(crate) index: u32,
    pub(crate) receipt: Receipt,
    pub(crate) callback: Option<Callback>,
}

/// The bytes of a batch, which go back to the pool when it is done. Parts of a divided batch share
/// those of the whole.
#[derive(Debug)]
enum Holding {
    Own(Memory),
    Shared { _of_the_whole: Arc<Memory> },
}

/// What a batch is at the moment.
enum Content {
    /// Records may be appended, or might have been.
    Building(RecordBatchBuilder),
    /// It is as it is sent.
    Sealed {
        header: BatchHeader,
        bytes: Bytes,
        /// The buffer that they are in, for the batch that has it next.
        whole: Bytes,
    },
    /// Its bytes have been taken; nothing is left to send.
    Spent,
}

/// Records for one partition, and all that is known of their way.
pub(crate) struct Batch {
    completion: Arc<Completion>,
    holding: Holding,
    content: Content,
    /// Whether records may still be appended.
    open: bool,
    record_count: u32,
    /// The most that its largest record can take.
    record_size_max: usize,
    compression_ratio: Option<f32>,
    created: Instant,
    /// How often it was put back to be sent again.
    attempts: u32,
    /// Why it was put back the last time.
    last_code: Option<ErrorCode>,
    /// Not to be sent again before.
    not_before: Option<Instant>,
    /// What marks the producer, once it was given.
    stamp: Option<ProducerStamp>,
    /// The leader's epoch when it was sent last.
    sent_to_epoch: Option<LeaderEpoch>,
    sent: bool,
    done: bool,
    notes: Vec<Note>,
}

/// What a batch is begun with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchPlan {
    pub(crate) size_limit: usize,
    pub(crate) compression: Compression,
    pub(crate) expected_ratio: f32,
}

impl BatchPlan {
    fn options(self) -> BatchOptions {
        BatchOptions {
            compression: self.compression,
            size_limit: self.size_limit,
            expected_ratio: self.expected_ratio,
            ..BatchOptions::default()
        }
    }
}

impl Batch {
    /// Begins a batch over `buffer`, which belongs to `memory`.
    pub(crate) fn begin(
        partition: TopicPartition,
        plan: BatchPlan,
        memory: Memory,
        buffer: Vec<u8>,
        now: Instant,
    ) -> Self {
        Self {
            completion: Arc::new(Completion::new(partition)),
            holding: Holding::Own(memory),
            content: Content::Building(RecordBatchBuilder::over(plan.options(), buffer)),
            open: true,
            record_count: 0,
            record_size_max: 0,
            compression_ratio: None,
            created: now,
            attempts: 0,
            last_code: None,
            not_before: None,
            stamp: None,
            sent_to_epoch: None,
            sent: false,
            done: false,
            notes: Vec::new(),
        }
    }

    /// Appends a record, if it belongs here, and returns its place. A batch that has no room for it
    /// takes no later one either.
    #[inline]
    pub(crate) fn append(&mut self, draft: &Draft<'_>) -> Option<u32> {
        let Content::Building(builder) = &mut self.content else {
            return None;
        };
        if !self.open || !builder.has_room_for(draft.size_max) {
            self.open = false;
            return None;
        }
        let appended = builder.append(draft.timestamp_ms, draft.key, draft.value, draft.headers);
        let Ok(index) = appended else {
            // Too many records, or too large for any batch: a fresh one will tell which.
            self.open = false;
            return None;
        };
        self.record_count = index + 1;
        self.record_size_max = self.record_size_max.max(draft.size_max);
        if builder.is_full() {
            self.open = false;
        }
        Some(index)
    }

    /// Adds somebody who wants to hear of a record.
    pub(crate) fn note(&mut self, index: u32, receipt: Receipt, callback: Option<Callback>) {
        self.notes.push(Note {
            index,
            receipt,
            callback,
        });
    }

    pub(crate) fn completion(&self) -> &Arc<Completion> {
        &self.completion
    }

    pub(crate) fn partition(&self) -> &TopicPartition {
        self.completion.partition()
    }

    /// Whether more records may come.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    pub(crate) fn record_count(&self) -> u32 {
        self.record_count
    }

    /// What compressing kept of the records' size, once it is sealed.
    pub(crate) fn compression_ratio(&self) -> Option<f32> {
        self.compression_ratio
    }

    pub(crate) fn record_size_max(&self) -> usize {
        self.record_size_max
    }

    pub(crate) fn created(&self) -> Instant {
        self.created
    }

    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Why it was put back to be sent again the last time.
    pub(crate) fn last_code(&self) -> Option<ErrorCode> {
        self.last_code
    }

    pub(crate) fn stamp(&self) -> Option<ProducerStamp> {
        self.stamp
    }

    pub(crate) fn was_sent(&self) -> bool {
        self.sent
    }

    /// Whether its records have their outcome already.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Since the first record.
    pub(crate) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.created)
    }

    /// Whether the delivery's time is over; not for a clock that is behind the creation. (PR-081)
    pub(crate) fn is_expired(&self, now: Instant, delivery_timeout: Duration) -> bool {
        now.checked_duration_since(self.created)
            .is_some_and(|age| age >= delivery_timeout)
    }

    /// Until when it must not be sent again. A leader with a newer epoch than the one that it was
    /// sent to is worth an attempt at once. (PR-077)
    pub(crate) fn backs_off_until(
        &self,
        leader_epoch: Option<LeaderEpoch>,
        now: Instant,
    ) -> Option<Instant> {
        let until = self.not_before.filter(|until| now < *until)?;
        match (self.sent_to_epoch, leader_epoch) {
            (Some(then), Some(epoch)) if epoch > then => None,
            _ => Some(until),
        }
    }

    /// The bytes that it takes in a request, estimated while it is not sealed.
    pub(crate) fn size(&self) -> usize {
        match &self.content {
            Content::Building(builder) => builder.estimated_size(),
            Content::Sealed { bytes, .. } => bytes.len(),
            Content::Spent => 0,
        }
    }

    /// Whether the producer's mark was changed since the batch was sealed with it.
    pub(crate) fn is_restamped(&self) -> bool {
        match (&self.content, self.stamp) {
            (Content::Sealed { header, .. }, Some(stamp)) => header.producer() != stamp,
            _ => false,
        }
    }

    /// Gives it the producer's mark; it is written when it is sealed next.
    pub(crate) fn set_stamp(&mut self, stamp: ProducerStamp) {
        self.stamp = Some(stamp);
    }

    /// Makes it ready to be sent: compresses the records and writes the header, with the
    /// producer's mark if it has one. Returns its bytes.
    ///
    /// # Errors
    /// [`CloseError`] of the codec.
    pub(crate) fn seal(&mut self, codecs: &mut Codecs) -> Result<Bytes, CloseError> {
        self.open = false;
        if let Content::Building(builder) = &mut self.content {
            if let Some(stamp) = self.stamp {
                builder.set_producer(stamp)?;
            }
            builder.close(codecs)?;
            self.compression_ratio = builder.compression_ratio();
            let header = *builder.header()?;
            let Content::Building(builder) = std::mem::replace(&mut self.content, Content::Spent)
            else {
                unreachable!("it was building a moment ago");
            };
            let (whole, bytes) = builder.into_shared()?;
            self.content = Content::Sealed {
                header,
                bytes: bytes.clone(),
                whole,
            };
            return Ok(bytes);
        }
        if self.is_restamped() {
            self.restamp();
        }
        match &self.content {
            Content::Sealed { bytes, .. } => Ok(bytes.clone()),
            Content::Building(_) | Content::Spent => {
                unreachable!("a batch that is done is not sent")
            }
        }
    }

    /// Writes another producer's mark into the header. Records are not read, and copied only
    /// while the network still holds the bytes.
    fn restamp(&mut self) {
        let Content::Sealed {
            header,
            bytes,
            whole,
        } = &mut self.content
        else {
            return;
        };
        if let Some(stamp) = self.stamp {
            header.set_producer(stamp);
            let size = std::mem::take(bytes).len();
            let mut buffer = Vec::from(std::mem::take(whole));
            let head = header.to_bytes();
            buffer[..head.len()].copy_from_slice(&head);
            *whole = Bytes::from(buffer);
            *bytes = whole.slice(..size);
        }
    }

    /// Notes that it goes out to a leader of that epoch.
    pub(crate) fn sent_to(&mut self, leader_epoch: Option<LeaderEpoch>) {
        self.sent = true;
        self.sent_to_epoch = leader_epoch;
    }

    /// Notes that it is put back for `code`, to be sent again after `wait`.
    pub(crate) fn put_back(&mut self, code: ErrorCode, now: Instant, wait: Duration) {
        self.attempts += 1;
        self.last_code = Some(code);
        self.not_before = Some(now + wait);
    }

    /// Tells the outcome to all who wait for a record, in order: interceptors, callbacks, then
    /// futures. Only the first outcome counts. (P7.5)
    pub(crate) fn settle(&mut self, outcome: Outcome, interceptors: &dyn Acknowledged) {
        if self.done {
            return;
        }
        self.done = true;
        self.completion.settle(outcome);
        for note in self.notes.drain(..) {
            if let Some(told) = self.completion.record(note.index, note.receipt) {
                interceptors.acknowledged(&told);
                if let Some(callback) = note.callback {
                    run(callback, told);
                }
            }
        }
    }

    /// Gives up a batch that has no record: another one was there first.
    pub(crate) fn discard(mut self) {
        debug_assert_eq!(self.record_count, 0, "a record would be lost");
        self.done = true;
        self.release();
    }

    /// Gives the memory back, with the buffer if nobody else holds it any more. (P7.6)
    pub(crate) fn release(self) {
        debug_assert!(self.done, "memory is given back when the outcome is known");
        let Holding::Own(memory) = self.holding else {
            return;
        };
        let buffer = match self.content {
            Content::Building(builder) => builder.into_buffer(),
            Content::Sealed { bytes, whole, .. } => {
                drop(bytes);
                if !whole.is_unique() {
                    return;
                }
                Vec::from(whole)
            }
            Content::Spent => return,
        };
        if buffer.capacity() <= memory.size().saturating_mul(KEPT_GROWTH_MAX) {
            memory.give_back(buffer);
        }
    }
}

/// Runs a record's callback; one that panics harms nobody else. (PR-011)
pub(crate) fn run(callback: Callback, told: Result<RecordMetadata, DeliveryError>) {
    if catch_unwind(AssertUnwindSafe(|| callback(told))).is_err() {
        warn!("a record's callback panicked");
    }
}
