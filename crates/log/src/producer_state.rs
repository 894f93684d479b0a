//! [`ProducerStates`]: what a log knows of the producers that wrote to it.
//!
//! By it a batch that was sent twice is known and a gap in a producer's sequences refused
//! (KIP-98), and by the transactions that are open it is known how far a reader of committed
//! records may go. Pure: an append is [checked and staged](Append) first and
//! [applied](ProducerStates::apply) once its records are in the file, so that a refused batch
//! changes nothing.

mod append;
mod entry;
mod snapshot;
mod snapshot_files;
mod transactions;

use std::collections::HashMap;

use klamm_primitives::{Offset, ProducerId};

pub(crate) use self::append::{Append, Appended, Batch, Marker, Origin};
pub use self::append::{ProducerStateError, SequenceFacts};
pub(crate) use self::entry::Entry;
pub(crate) use self::snapshot::SnapshotEntry;
pub use self::snapshot::SnapshotError;
pub(crate) use self::snapshot_files::SnapshotFiles;
pub(crate) use self::transactions::Transactions;

/// The producers of one log, and their transactions.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProducerStates {
    entries: HashMap<ProducerId, Entry>,
    transactions: Transactions,
    /// One past the last offset that the state takes account of.
    end_offset: Offset,
}

impl ProducerStates {
    /// One past the last offset that the state takes account of.
    pub(crate) fn end_offset(&self) -> Offset {
        self.end_offset
    }

    /// Says that everything before this offset is taken account of, producers or not.
    pub(crate) fn set_end_offset(&mut self, offset: Offset) {
        self.end_offset = offset;
    }

    /// How many producers are known.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether any producer has ended a transaction.
    pub(crate) fn has_transactions(&self) -> bool {
        self.entries.values().any(|it| it.coordinator_epoch() >= 0)
    }

    /// What is known of a producer.
    pub(crate) fn get(&self, id: ProducerId) -> Option<&Entry> {
        self.entries.get(&id)
    }

    /// The open and undecided transactions.
    pub(crate) fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    /// Begins to stage an append of one or more batches.
    pub(crate) fn append(&self, origin: Origin) -> Append<'_> {
        Append::new(self, origin)
    }

    /// Takes over what an append has staged: its records are in the file now. `end_offset` is
    /// one past its last offset.
    pub(crate) fn apply(&mut self, appended: Appended, end_offset: Offset) {
        for (id, entry) in appended.entries {
            self.entries.insert(id, entry);
        }
        for (id, first_offset) in appended.opened {
            self.transactions.open(id, first_offset);
        }
        for completed in appended.completed {
            self.transactions.complete(completed);
        }
        self.end_offset = end_offset;
    }

    /// The high watermark moved: transactions that ended before it are decided for readers.
    pub(crate) fn high_watermark_moved(&mut self, high_watermark: Offset) {
        self.transactions.decide_below(high_watermark);
    }

    /// The log starts later now: transactions whose records are gone are decided.
    pub(crate) fn log_start_moved(&mut self, log_start: Offset) {
        self.transactions.decide_below(log_start);
        self.end_offset = self.end_offset.max(log_start);
    }

    /// Forgets the producers that have not written for `expiration_ms` and have no open
    /// transaction. Returns how many.
    pub(crate) fn expire(&mut self, now_ms: i64, expiration_ms: i64) -> usize {
        let before = self.entries.len();
        self.entries
            .retain(|_, entry| !entry.is_expired(now_ms, expiration_ms));
        before - self.entries.len()
    }

    /// Forgets everything; what follows counts from `end_offset`.
    pub(crate) fn clear(&mut self, end_offset: Offset) {
        *self = Self {
            end_offset,
            ..Self::default()
        };
    }

    /// The state as a snapshot keeps it, by producer id; several batches of one stand in their order.
    pub(crate) fn to_snapshot(&self) -> Vec<SnapshotEntry> {
        let mut producers: Vec<_> = self.entries.iter().collect();
        producers.sort_unstable_by_key(|(id, _)| **id);
        producers
            .into_iter()
            .flat_map(|(&id, entry)| SnapshotEntry::of(id, entry))
            .collect()
    }

    /// The state that a snapshot of `end_offset` keeps, without the producers that have expired
    /// since.
    pub(crate) fn from_snapshot(
        entries: &[SnapshotEntry],
        end_offset: Offset,
        now_ms: i64,
        expiration_ms: i64,
    ) -> Self {
        let mut states = Self {
            end_offset,
            ..Self::default()
        };
        for kept in entries {
            let mut entry = kept.to_entry();
            if let Some(before) = states.entries.remove(&kept.producer_id) {
                entry.follow(before);
            }
            states.entries.insert(kept.producer_id, entry);
        }
        states.expire(now_ms, expiration_ms);
        for (&id, entry) in &states.entries {
            if let Some(first_offset) = entry.open_transaction() {
                states.transactions.open(id, first_offset);
            }
        }
        states
    }
}

#[cfg(test)]
mod tests;
