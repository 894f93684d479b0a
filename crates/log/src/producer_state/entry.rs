//! [`Entry`]: what a log knows of one producer.

use std::collections::VecDeque;

use klamm_primitives::{Offset, ProducerEpoch, Sequence};

/// Batches remembered for each producer: as many as an idempotent producer may have in flight.
const BATCHES_MAX: usize = 5;

/// A batch that is in the log, as far as a resent one is known by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrittenBatch {
    /// The sequence of its last record.
    pub(crate) last_sequence: Sequence,
    /// The offset of its last record.
    pub(crate) last_offset: Offset,
    /// Its last offset less its first.
    pub(crate) offset_delta: i32,
    /// Its largest timestamp, or its log-append time.
    pub(crate) timestamp_ms: i64,
}

impl WrittenBatch {
    /// The sequence of its first record.
    pub(crate) fn first_sequence(&self) -> Sequence {
        if self.last_sequence.is_none() {
            return Sequence::NONE;
        }
        let first = self.last_sequence.get().wrapping_sub(self.offset_delta);
        Sequence::new(first & i32::MAX)
    }

    /// The offset of its first record.
    pub(crate) fn first_offset(&self) -> Offset {
        self.last_offset - i64::from(self.offset_delta)
    }
}

/// One producer: its epoch, its newest batches, its open transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    epoch: ProducerEpoch,
    /// Oldest first; all of this epoch.
    batches: VecDeque<WrittenBatch>,
    /// -1 while no marker was written.
    coordinator_epoch: i32,
    open_transaction: Option<Offset>,
    last_timestamp_ms: i64,
}

impl Entry {
    /// A producer of which nothing is known but its epoch.
    pub(crate) fn new(epoch: ProducerEpoch) -> Self {
        Self {
            epoch,
            batches: VecDeque::new(),
            coordinator_epoch: -1,
            open_transaction: None,
            last_timestamp_ms: -1,
        }
    }

    /// A producer as an entry of a snapshot keeps it, with one batch.
    pub(crate) fn restored(
        epoch: ProducerEpoch,
        last_batch: Option<WrittenBatch>,
        coordinator_epoch: i32,
        open_transaction: Option<Offset>,
        last_timestamp_ms: i64,
    ) -> Self {
        Self {
            epoch,
            batches: last_batch.into_iter().collect(),
            coordinator_epoch,
            open_transaction,
            last_timestamp_ms,
        }
    }

    /// The epoch of its last batch or marker.
    pub(crate) fn epoch(&self) -> ProducerEpoch {
        self.epoch
    }

    /// The batch it wrote last in its epoch.
    pub(crate) fn last_batch(&self) -> Option<&WrittenBatch> {
        self.batches.back()
    }

    /// The batches before that one which are remembered, oldest first.
    pub(crate) fn older_batches(&self) -> impl Iterator<Item = &WrittenBatch> {
        let count = self.batches.len().saturating_sub(1);
        self.batches.iter().take(count)
    }

    /// Takes over the batches of what was known before, if they are of this epoch and one came
    /// after them.
    pub(crate) fn follow(&mut self, before: Self) {
        if before.epoch != self.epoch || self.batches.is_empty() {
            return;
        }
        let newer = std::mem::replace(&mut self.batches, before.batches);
        self.batches.extend(newer);
        let excess = self.batches.len().saturating_sub(BATCHES_MAX);
        self.batches.drain(..excess);
    }

    /// The sequence of its last record in its epoch; none if markers are all it wrote.
    pub(crate) fn last_sequence(&self) -> Sequence {
        self.last_batch()
            .map_or(Sequence::NONE, |it| it.last_sequence)
    }

    /// A remembered batch with these sequences.
    pub(crate) fn written(&self, first: Sequence, last: Sequence) -> Option<&WrittenBatch> {
        self.batches
            .iter()
            .find(|it| it.first_sequence() == first && it.last_sequence == last)
    }

    /// The epoch of the coordinator that wrote its last marker, -1 if none did.
    pub(crate) fn coordinator_epoch(&self) -> i32 {
        self.coordinator_epoch
    }

    /// Where its open transaction begins.
    pub(crate) fn open_transaction(&self) -> Option<Offset> {
        self.open_transaction
    }

    /// When it last wrote, in Unix milliseconds by its own or the log's clock.
    pub(crate) fn last_timestamp_ms(&self) -> i64 {
        self.last_timestamp_ms
    }

    /// Whether it may be forgotten.
    pub(crate) fn is_expired(&self, now_ms: i64, expiration_ms: i64) -> bool {
        self.open_transaction.is_none()
            && now_ms.saturating_sub(self.last_timestamp_ms) >= expiration_ms
    }

    /// Notes a batch. Those of a former epoch are forgotten.
    pub(crate) fn add(&mut self, epoch: ProducerEpoch, batch: WrittenBatch) {
        self.enter(epoch);
        if self.batches.len() == BATCHES_MAX {
            self.batches.pop_front();
        }
        self.batches.push_back(batch);
        self.last_timestamp_ms = batch.timestamp_ms;
    }

    /// Notes that a transaction begins, unless one is open.
    pub(crate) fn open(&mut self, first_offset: Offset) -> bool {
        let opens = self.open_transaction.is_none();
        if opens {
            self.open_transaction = Some(first_offset);
        }
        opens
    }

    /// Notes a marker. Returns where the transaction that it ends began, if one was open.
    pub(crate) fn end(
        &mut self,
        epoch: ProducerEpoch,
        coordinator_epoch: i32,
        timestamp_ms: i64,
    ) -> Option<Offset> {
        self.enter(epoch);
        self.coordinator_epoch = coordinator_epoch;
        self.last_timestamp_ms = timestamp_ms;
        self.open_transaction.take()
    }

    fn enter(&mut self, epoch: ProducerEpoch) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.batches.clear();
        }
    }
}
