//! [`Completion`]: what becomes of a batch, shared by the futures of all its records. (P2.6)
//!
//! A record has no memory of its own for its outcome: its future holds the batch's completion and
//! the record's place in the batch.

use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use bytestring::ByteString;
use klamm_primitives::{Offset, TopicPartition};
use parking_lot::Mutex;

use crate::error::{DeliveryError, Failure};
use crate::record::RecordMetadata;

/// What becomes of the records of one batch. Settled once; read by any number of futures.
#[derive(Debug)]
pub(crate) struct Completion {
    partition: TopicPartition,
    outcome: OnceLock<Outcome>,
    /// Who waits for the outcome. Held to add, remove or take wakers only; they are called after.
    waiters: Mutex<Waiters>,
}

/// What became of a batch.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All records are written.
    Written {
        /// The first record's offset, [`Offset::UNKNOWN`] if it was not told.
        base_offset: Offset,
        /// The broker's time for all records, -1 if they keep their own.
        append_time_ms: i64,
    },
    /// All records failed, for one reason.
    Failed(Failure),
    /// The broker refused the batch for some of its records.
    Refused(Vec<RefusedRecord>),
    /// The batch was divided. Each part begins at an index of this batch, the first at 0.
    Split(Vec<Part>),
}

/// A record for which its batch was refused.
#[derive(Debug, Clone)]
pub(crate) struct RefusedRecord {
    /// Its place in the batch.
    pub(crate) index: u32,
    /// What the broker says of it.
    pub(crate) message: Option<ByteString>,
}

/// A part of a batch that was divided.
#[derive(Debug)]
pub(crate) struct Part {
    /// The index in the divided batch of this part's first record.
    pub(crate) first: u32,
    /// What becomes of the part.
    pub(crate) completion: Arc<Completion>,
}

/// What a record's future keeps of the record: two words, which go from call to call in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// Bytes of the key in the upper half and of the value in the lower, [`ABSENT`] without one.
    sizes: u64,
    /// The record's own time.
    pub(crate) timestamp_ms: i64,
}

/// In place of the size of a key or value that is not there.
const ABSENT: u32 = u32::MAX;

impl Receipt {
    /// For a record of these parts.
    pub(crate) fn new(timestamp_ms: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> Self {
        // A field of 2 GiB or more was refused by the batch.
        let size = |bytes: Option<&[u8]>| {
            bytes.map_or(ABSENT, |bytes| u32::try_from(bytes.len()).unwrap_or(ABSENT))
        };
        Self {
            sizes: u64::from(size(key)) << 32 | u64::from(size(value)),
            timestamp_ms,
        }
    }

    fn key_size(self) -> Option<usize> {
        present((self.sizes >> 32) as u32)
    }

    fn value_size(self) -> Option<usize> {
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
        present(self.sizes as u32)
    }
}

fn present(size: u32) -> Option<usize> {
    (size != ABSENT).then_some(size as usize)
}

/// A place in the list of who waits; half as large as an index, since every future has one.
#[derive(Debug, Clone, Copy)]
struct Slot(NonZeroU32);

impl Slot {
    fn last_of(wakers: &[Option<Waker>]) -> Self {
        let count = u32::try_from(wakers.len()).ok().and_then(NonZeroU32::new);
        Self(count.expect("a batch has fewer records, and one was just added"))
    }

    fn at(self) -> usize {
        self.0.get() as usize - 1
    }
}

#[derive(Debug, Default)]
struct Waiters {
    wakers: Vec<Option<Waker>>,
    free: Vec<Slot>,
}

impl Completion {
    pub(crate) fn new(partition: TopicPartition) -> Self {
        Self {
            partition,
            outcome: OnceLock::new(),
            waiters: Mutex::default(),
        }
    }

    /// Tells the outcome to whoever waits. The second one is not taken: returns whether this was
    /// the first.
    pub(crate) fn settle(&self, outcome: Outcome) -> bool {
        let first = self.outcome.set(outcome).is_ok();
        if first {
            let wakers = std::mem::take(&mut *self.waiters.lock()).wakers;
            for waker in wakers.into_iter().flatten() {
                waker.wake();
            }
        }
        first
    }

    /// What became of the record at that place in the batch, if it is known.
    #[inline]
    pub(crate) fn record(
        &self,
        index: u32,
        receipt: Receipt,
    ) -> Option<Result<RecordMetadata, DeliveryError>> {
        match self.outcome.get()? {
            Outcome::Written {
                base_offset,
                append_time_ms,
            } => Some(Ok(RecordMetadata {
                topic: self.partition.topic.clone(),
                partition: Some(self.partition.partition),
                offset: match base_offset.get() {
                    0.. => *base_offset + i64::from(index),
                    _ => Offset::UNKNOWN,
                },
                timestamp_ms: match append_time_ms {
                    -1 => receipt.timestamp_ms,
                    append_time_ms => *append_time_ms,
                },
                key_size: receipt.key_size(),
                value_size: receipt.value_size(),
            })),
            Outcome::Failed(failure) => Some(Err(self.error(failure.clone()))),
            Outcome::Refused(records) => Some(Err(self.refused(records, index))),
            Outcome::Split(parts) => record_of_part(parts, index, receipt),
        }
    }

    #[cold]
    fn refused(&self, records: &[RefusedRecord], index: u32) -> DeliveryError {
        let refused = records.iter().find(|refused| refused.index == index);
        self.error(refused.map_or(Failure::BatchRefused, |refused| {
            let message = refused.message.clone();
            Failure::RecordRefused { message }
        }))
    }

    #[cold]
    fn error(&self, failure: Failure) -> DeliveryError {
        DeliveryError {
            topic: self.partition.topic.clone(),
            partition: Some(self.partition.partition),
            failure,
        }
    }

    /// The partition that the batch is for.
    pub(crate) fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    fn register(&self, slot: &mut Option<Slot>, waker: &Waker) -> bool {
        let mut waiters = self.waiters.lock();
        if self.outcome.get().is_some() {
            return false;
        }
        if let Some(slot) = *slot {
            let waiting = &mut waiters.wakers[slot.at()];
            if !waiting.as_ref().is_some_and(|known| known.will_wake(waker)) {
                *waiting = Some(waker.clone());
            }
            return true;
        }
        let waiting = Some(waker.clone());
        *slot = Some(if let Some(free) = waiters.free.pop() {
            waiters.wakers[free.at()] = waiting;
            free
        } else {
            waiters.wakers.push(waiting);
            Slot::last_of(&waiters.wakers)
        });
        true
    }

    fn unregister(&self, slot: Slot) {
        let mut waiters = self.waiters.lock();
        if let Some(waiting) = waiters.wakers.get_mut(slot.at())
            && waiting.take().is_some()
        {
            waiters.free.push(slot);
        }
    }
}

/// The part of a divided batch that a record is in, and its place there.
fn part_of(parts: &[Part], index: u32) -> (&Arc<Completion>, u32) {
    let after = parts.partition_point(|part| part.first <= index);
    let part = &parts[after.checked_sub(1).expect("the first part begins at 0")];
    (&part.completion, index - part.first)
}

/// What became of a record of a divided batch, if it is known.
#[cold]
fn record_of_part(
    parts: &[Part],
    index: u32,
    receipt: Receipt,
) -> Option<Result<RecordMetadata, DeliveryError>> {
    let (part, index) = part_of(parts, index);
    part.record(index, receipt)
}

/// Waits for a record's completion, through the parts of a divided batch.
#[derive(Debug)]
pub(crate) struct Waiting {
    completion: Arc<Completion>,
    /// The record's place in the batch.
    index: u32,
    slot: Option<Slot>,
}

impl Waiting {
    pub(crate) fn new(completion: Arc<Completion>, index: u32) -> Self {
        Self {
            completion,
            index,
            slot: None,
        }
    }

    /// What became of the record, if it is known.
    #[inline]
    pub(crate) fn outcome(
        &self,
        receipt: Receipt,
    ) -> Option<Result<RecordMetadata, DeliveryError>> {
        self.completion.record(self.index, receipt)
    }

    /// Waits until this completion has an outcome, be it that the batch was divided.
    pub(crate) fn poll(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.completion.outcome.get().is_some() {
            // Whoever settled has taken the wakers.
            self.slot = None;
            return Poll::Ready(());
        }
        if self.completion.register(&mut self.slot, context.waker()) {
            return Poll::Pending;
        }
        self.slot = None;
        Poll::Ready(())
    }

    /// Goes on to the part that the record is in, if the batch was divided. Returns whether it
    /// was.
    pub(crate) fn follow(&mut self) -> bool {
        let Some(Outcome::Split(parts)) = self.completion.outcome.get() else {
            return false;
        };
        let (part, index) = part_of(parts, self.index);
        let part = Arc::clone(part);
        self.completion = part;
        self.index = index;
        self.slot = None;
        true
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.completion.unregister(slot);
        }
    }
}

/// Waits until all records of a batch have their outcome, and counts those batches that failed.
pub(crate) async fn all_settled(completion: Arc<Completion>, tally: &mut FailureTally) {
    let mut open = vec![completion];
    while let Some(completion) = open.pop() {
        let mut waiting = Waiting::new(completion, 0);
        std::future::poll_fn(|context| waiting.poll(context)).await;
        match waiting.completion.outcome.get() {
            Some(Outcome::Split(parts)) => {
                open.extend(parts.iter().rev().map(|part| Arc::clone(&part.completion)));
            }
            Some(Outcome::Failed(failure)) => tally.count(&waiting.completion, failure.clone()),
            Some(Outcome::Refused(_)) => tally.count(&waiting.completion, Failure::BatchRefused),
            Some(Outcome::Written { .. }) | None => {}
        }
    }
}

/// Batches that failed while somebody waited for them.
#[derive(Debug, Default)]
pub(crate) struct FailureTally {
    /// How many batches.
    pub(crate) batches: usize,
    /// The first of them.
    pub(crate) first: Option<DeliveryError>,
}

impl FailureTally {
    fn count(&mut self, completion: &Completion, failure: Failure) {
        self.batches += 1;
        if self.first.is_none() {
            self.first = Some(completion.error(failure));
        }
    }
}
