//! [`TransactionWalk`]: which transactions are aborted and which markers are still needed, on a
//! walk through a log from its start.
//!
//! Records of an aborted transaction go at once. Its marker stays while a reader may meet such a
//! record, so until a pass finds none left; then it waits for `delete.retention.ms` longer, as
//! tombstones do, for readers that are between the two. A commit's marker goes the same way once
//! nothing of its transaction is left.

use std::collections::{HashMap, HashSet};

use klamm_primitives::{Offset, ProducerId};
use klamm_records::{BatchHeader, Codecs, ControlType, RecordBatch};

use crate::transaction_index::AbortedTransaction;

/// What a control batch holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    /// The marker of a transaction that was aborted.
    Abort,
    /// The marker of one that was committed.
    Commit,
    /// Something else, which stays.
    Other,
    /// Nothing: its record was cleaned away.
    Empty,
}

impl Control {
    /// Reads a control batch. One that makes no sense counts as something that stays.
    pub(super) fn of(batch: &RecordBatch, codecs: &mut Codecs) -> Self {
        let read = batch.read(codecs).and_then(|mut records| {
            Ok(match records.next()? {
                None => Self::Empty,
                Some(record) => match ControlType::parse(record.key) {
                    Ok(Some(ControlType::Abort)) => Self::Abort,
                    Ok(Some(ControlType::Commit)) => Self::Commit,
                    _ => Self::Other,
                },
            })
        });
        read.unwrap_or(Self::Other)
    }
}

/// What becomes of a control batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MarkerFate {
    /// Nothing of its transaction is left.
    pub(super) is_needless: bool,
    /// The transaction that it aborts, if records of it are still there: the transaction index
    /// must tell readers of it.
    pub(super) aborted: Option<AbortedTransaction>,
}

struct OpenAborted {
    transaction: AbortedTransaction,
    has_batches: bool,
}

/// A walk through the batches of a log, in order.
pub(super) struct TransactionWalk {
    /// Those that were aborted and have not begun yet, the next one last.
    to_come: Vec<AbortedTransaction>,
    open_aborted: HashMap<ProducerId, OpenAborted>,
    /// Producers of which batches were met since their last marker.
    open_committed: HashSet<ProducerId>,
}

impl TransactionWalk {
    /// A walk on which these aborted transactions will be met, or their ends.
    pub(super) fn new(mut aborted: Vec<AbortedTransaction>) -> Self {
        aborted.sort_unstable_by_key(|it| std::cmp::Reverse(it.first_offset));
        Self {
            to_come: aborted,
            open_aborted: HashMap::new(),
            open_committed: HashSet::new(),
        }
    }

    /// The same walk, from its start.
    pub(super) fn anew(&self) -> Self {
        Self::new(self.to_come.clone())
    }

    /// Meets a batch of data. Says whether its transaction was aborted.
    pub(super) fn data(&mut self, header: &BatchHeader) -> bool {
        self.begin_up_to(header.last_offset());
        if !header.attributes.is_transactional() {
            return false;
        }
        let aborted = self.open_aborted.get_mut(&header.producer_id);
        let is_aborted = aborted.is_some();
        if let Some(open) = aborted {
            open.has_batches = true;
        } else {
            self.open_committed.insert(header.producer_id);
        }
        is_aborted
    }

    /// Meets a control batch.
    pub(super) fn control(&mut self, header: &BatchHeader, control: Control) -> MarkerFate {
        self.begin_up_to(header.last_offset());
        let producer_id = header.producer_id;
        let (is_needless, aborted) = match control {
            Control::Abort => {
                let open = self.open_aborted.remove(&producer_id);
                let open = open.filter(|it| it.has_batches);
                (open.is_none(), open.map(|it| it.transaction))
            }
            Control::Commit => (!self.open_committed.remove(&producer_id), None),
            Control::Other => (false, None),
            Control::Empty => (true, None),
        };
        MarkerFate {
            is_needless,
            aborted,
        }
    }

    fn begin_up_to(&mut self, offset: Offset) {
        while let Some(transaction) = self.to_come.pop_if(|it| it.first_offset <= offset) {
            let open = OpenAborted {
                transaction,
                has_batches: false,
            };
            self.open_aborted.insert(transaction.producer_id, open);
        }
    }
}
