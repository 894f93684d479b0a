//! [`Append`]: checks the batches of one append against the state and stages what they change.

use std::collections::HashMap;

use klamm_primitives::{Offset, ProducerEpoch, ProducerId, Sequence};
use thiserror::Error;

use super::ProducerStates;
use super::entry::{Entry, WrittenBatch};
use super::transactions::{Completed, Transactions};
use crate::transaction_index::AbortedTransaction;

/// Who appends, and hence how much is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A client: everything is judged.
    Client,
    /// The broker itself, for markers and the records of its coordinators: epochs are judged,
    /// sequences are not.
    Coordinator,
    /// Another broker that has judged, or this log's own file: all is noted as it is.
    Replication,
}

/// A batch with a producer id, as far as its producer's state is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
    pub(crate) base_sequence: Sequence,
    pub(crate) last_sequence: Sequence,
    pub(crate) base_offset: Offset,
    pub(crate) last_offset: Offset,
    /// Its max timestamp.
    pub(crate) timestamp_ms: i64,
    pub(crate) is_transactional: bool,
}

/// The marker that ends a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
    pub(crate) coordinator_epoch: i32,
    pub(crate) offset: Offset,
    pub(crate) timestamp_ms: i64,
    pub(crate) aborts: bool,
}

/// Which sequences did not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("first sequence {found} in producer epoch {epoch}, after {last} in {last_epoch}")]
pub struct SequenceFacts {
    /// The refused batch's first sequence.
    pub found: Sequence,
    /// The refused batch's producer epoch.
    pub epoch: ProducerEpoch,
    /// The last sequence that was written, -1 if none was.
    pub last: Sequence,
    /// The producer epoch in which it was.
    pub last_epoch: ProducerEpoch,
}

/// A producer's batch or marker does not fit what is known of it. The log is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProducerStateError {
    /// A sequence is missing before this batch, or the batch is an old one that is no longer
    /// remembered.
    #[error("producer {producer_id} is out of order: {facts}")]
    OutOfOrderSequence {
        /// The producer.
        producer_id: ProducerId,
        /// The sequences.
        facts: SequenceFacts,
    },
    /// A newer incarnation of the producer has written.
    #[error("producer {producer_id} has epoch {known} by now, and this is from {found}")]
    InvalidProducerEpoch {
        /// The producer.
        producer_id: ProducerId,
        /// The refused batch's producer epoch.
        found: ProducerEpoch,
        /// The known one.
        known: ProducerEpoch,
    },
    /// A record outside of transactions while the producer has one open.
    #[error("producer {producer_id} wrote outside of its open transaction")]
    NotInTransaction {
        /// The producer.
        producer_id: ProducerId,
    },
    /// The coordinator that wrote this marker has been replaced.
    #[error("a marker of coordinator epoch {found} follows one of {known}")]
    CoordinatorFenced {
        /// The refused marker's coordinator epoch.
        found: i32,
        /// The known one.
        known: i32,
    },
}

/// What an append changes, once it is in the file.
#[derive(Debug, Default)]
pub(crate) struct Appended {
    pub(super) entries: HashMap<ProducerId, Entry>,
    pub(super) opened: Vec<(ProducerId, Offset)>,
    /// In the order of their markers.
    pub(crate) completed: Vec<Completed>,
}

impl Appended {
    /// The transactions that it aborts, as the transaction index keeps them, in the order of
    /// their markers. `before` are the transactions as they were without this append.
    pub(crate) fn aborted(&self, before: &Transactions) -> Vec<AbortedTransaction> {
        if self.completed.iter().all(|it| !it.aborted) {
            return Vec::new();
        }
        // As if each batch had come by itself: that is how recovery finds them.
        let mut transactions = before.clone();
        let mut opened = self.opened.iter().peekable();
        let mut aborted = Vec::new();
        for completed in &self.completed {
            while let Some(&(id, first)) = opened.next_if(|it| it.1 < completed.last_offset) {
                transactions.open(id, first);
            }
            if completed.aborted {
                aborted.push(AbortedTransaction {
                    producer_id: completed.producer_id,
                    first_offset: completed.first_offset,
                    last_offset: completed.last_offset,
                    last_stable_offset: transactions.last_stable_offset_at(completed),
                });
            }
            transactions.complete(*completed);
        }
        aborted
    }
}

/// An append that is being checked. Dropping it changes nothing.
#[derive(Debug)]
pub(crate) struct Append<'a> {
    states: &'a ProducerStates,
    origin: Origin,
    staged: Appended,
}

impl<'a> Append<'a> {
    pub(super) fn new(states: &'a ProducerStates, origin: Origin) -> Self {
        Self {
            states,
            origin,
            staged: Appended::default(),
        }
    }

    fn known(&self, id: ProducerId) -> Option<&Entry> {
        self.staged.entries.get(&id).or_else(|| self.states.get(id))
    }

    /// The batch that this one repeats, if it was written before and is remembered.
    pub(crate) fn duplicate_of(&self, batch: &Batch) -> Option<&WrittenBatch> {
        self.known(batch.producer_id)
            .filter(|entry| entry.epoch() == batch.producer_epoch)?
            .written(batch.base_sequence, batch.last_sequence)
    }

    /// Checks a batch of data and stages it.
    pub(crate) fn data(&mut self, batch: &Batch) -> Result<(), ProducerStateError> {
        let known = self.known(batch.producer_id);
        if let Some(known) = known {
            self.check_epoch(batch.producer_id, batch.producer_epoch, known)?;
            if self.origin == Origin::Client {
                check_sequence(batch, known)?;
            }
            let in_transaction = known.open_transaction().is_some();
            if self.origin != Origin::Replication && in_transaction && !batch.is_transactional {
                return Err(ProducerStateError::NotInTransaction {
                    producer_id: batch.producer_id,
                });
            }
        }
        let mut entry = known
            .cloned()
            .unwrap_or_else(|| Entry::new(batch.producer_epoch));
        let offset_delta = batch.last_offset - batch.base_offset;
        entry.add(
            batch.producer_epoch,
            WrittenBatch {
                last_sequence: batch.last_sequence,
                last_offset: batch.last_offset,
                offset_delta: i32::try_from(offset_delta).expect("a batch's delta is 32 bits"),
                timestamp_ms: batch.timestamp_ms,
            },
        );
        if batch.is_transactional && entry.open(batch.base_offset) {
            self.staged
                .opened
                .push((batch.producer_id, batch.base_offset));
        }
        self.staged.entries.insert(batch.producer_id, entry);
        Ok(())
    }

    /// Checks a marker and stages it.
    pub(crate) fn marker(&mut self, marker: &Marker) -> Result<(), ProducerStateError> {
        let known = self.known(marker.producer_id);
        if let Some(known) = known {
            self.check_epoch(marker.producer_id, marker.producer_epoch, known)?;
            let behind = marker.coordinator_epoch < known.coordinator_epoch();
            if behind && self.origin != Origin::Replication {
                return Err(ProducerStateError::CoordinatorFenced {
                    found: marker.coordinator_epoch,
                    known: known.coordinator_epoch(),
                });
            }
        }
        let mut entry = known
            .cloned()
            .unwrap_or_else(|| Entry::new(marker.producer_epoch));
        let ended = entry.end(
            marker.producer_epoch,
            marker.coordinator_epoch,
            marker.timestamp_ms,
        );
        // A marker without a record before it moves nothing and is in no index.
        if let Some(first_offset) = ended {
            self.staged.completed.push(Completed {
                producer_id: marker.producer_id,
                first_offset,
                last_offset: marker.offset,
                aborted: marker.aborts,
            });
        }
        self.staged.entries.insert(marker.producer_id, entry);
        Ok(())
    }

    /// What is to be applied once the records are in the file.
    pub(crate) fn finish(self) -> Appended {
        self.staged
    }

    fn check_epoch(
        &self,
        producer_id: ProducerId,
        found: ProducerEpoch,
        known: &Entry,
    ) -> Result<(), ProducerStateError> {
        if found < known.epoch() && self.origin != Origin::Replication {
            return Err(ProducerStateError::InvalidProducerEpoch {
                producer_id,
                found,
                known: known.epoch(),
            });
        }
        Ok(())
    }
}

/// A client's batch must follow the last one, or be the first of a new epoch. A producer of
/// which only markers are known begins anew with 0.
fn check_sequence(batch: &Batch, known: &Entry) -> Result<(), ProducerStateError> {
    let last = known.last_sequence();
    let fits = if batch.producer_epoch == known.epoch() && !last.is_none() {
        batch.base_sequence == last.advance(1)
    } else {
        batch.base_sequence == Sequence::ZERO
    };
    if fits {
        return Ok(());
    }
    Err(ProducerStateError::OutOfOrderSequence {
        producer_id: batch.producer_id,
        facts: SequenceFacts {
            found: batch.base_sequence,
            epoch: batch.producer_epoch,
            last,
            last_epoch: known.epoch(),
        },
    })
}
