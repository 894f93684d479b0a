//! [`Rules`]: which records stay.

use std::collections::{HashMap, VecDeque};

use klamm_primitives::{Offset, ProducerEpoch, ProducerId};
use klamm_records::{BatchHeader, BatchVerdict, Emptied, Horizon, Record, RecordFilter};

use super::offset_map::OffsetMap;
use super::transactions::{Control, TransactionWalk};
use crate::producer_state::SnapshotEntry;
use crate::transaction_index::AbortedTransaction;

/// The batch of each producer by which its state is told after a restart.
pub(super) struct LastOfProducers(HashMap<ProducerId, Last>);

#[derive(Clone, Copy)]
enum Last {
    /// The batch of data that ends with this offset: it has the last sequence.
    Data(Offset),
    /// No data is known, only markers of this epoch.
    Marker(ProducerEpoch),
}

impl LastOfProducers {
    /// Of the producers that a log knows.
    pub(super) fn new(producers: &[SnapshotEntry]) -> Self {
        let last = |it: &SnapshotEntry| {
            if it.last_offset >= Offset::ZERO {
                Last::Data(it.last_offset)
            } else {
                Last::Marker(it.producer_epoch)
            }
        };
        Self(
            producers
                .iter()
                .map(|it| (it.producer_id, last(it)))
                .collect(),
        )
    }

    fn holds(&self, header: &BatchHeader) -> bool {
        match self.0.get(&header.producer_id) {
            Some(Last::Data(offset)) => header.last_offset() == *offset,
            Some(Last::Marker(epoch)) => {
                header.attributes.is_control() && header.producer_epoch == *epoch
            }
            None => false,
        }
    }
}

/// What holds for one pass.
pub(super) struct PassRules<'a> {
    pub(super) map: &'a OffsetMap,
    pub(super) producers: &'a LastOfProducers,
    /// One past the last offset that is cleaned. The batch that reaches there keeps its header,
    /// so that who reads up to there arrives.
    pub(super) end_offset: Offset,
    pub(super) now_ms: i64,
    /// When tombstones may go that are met now for the first time.
    pub(super) horizon_ms: i64,
}

/// Decides over the batches of one run.
pub(super) struct Rules<'a> {
    pub(super) pass: &'a PassRules<'a>,
    pub(super) walk: &'a mut TransactionWalk,
    /// What the control batches of the run hold, in order.
    pub(super) controls: VecDeque<Control>,
    /// Aborted transactions of which the new transaction index must tell.
    pub(super) aborted: Vec<AbortedTransaction>,
    /// Of the batch at hand: no record stays.
    drops_all: bool,
    /// Of the batch at hand: its tombstones have waited for long enough.
    tombstones_go: bool,
}

impl<'a> Rules<'a> {
    pub(super) fn new(
        pass: &'a PassRules<'a>,
        walk: &'a mut TransactionWalk,
        controls: VecDeque<Control>,
    ) -> Self {
        Self {
            pass,
            walk,
            controls,
            aborted: Vec::new(),
            drops_all: false,
            tombstones_go: false,
        }
    }
}

impl RecordFilter for Rules<'_> {
    fn batch(&mut self, header: &BatchHeader) -> BatchVerdict {
        let pass = self.pass;
        let at_ms = pass.horizon_ms;
        let horizon = header.delete_horizon_ms();
        let has_waited = horizon.is_some_and(|it| it <= pass.now_ms);
        let horizon;
        if header.attributes.is_control() {
            let control = self.controls.pop_front().unwrap_or(Control::Other);
            let fate = self.walk.control(header, control);
            self.aborted.extend(fate.aborted);
            self.drops_all = fate.is_needless && has_waited;
            horizon = if fate.is_needless {
                Horizon::Always { at_ms }
            } else {
                Horizon::Leave
            };
        } else {
            self.drops_all = self.walk.data(header);
            horizon = Horizon::IfTombstones { at_ms };
        }
        self.tombstones_go = has_waited;
        let keeps_header = pass.producers.holds(header) || header.next_offset() == pass.end_offset;
        let emptied = if keeps_header {
            Emptied::KeepHeader
        } else if self.drops_all {
            return BatchVerdict::Delete;
        } else {
            Emptied::Delete
        };
        BatchVerdict::Filter { emptied, horizon }
    }

    fn keep(&mut self, header: &BatchHeader, record: &Record<'_>) -> bool {
        if self.drops_all || header.attributes.is_control() {
            return !self.drops_all;
        }
        let map = self.pass.map;
        if map.latest().is_none_or(|latest| record.offset > latest) {
            return true;
        }
        let Some(key) = record.key else {
            return false;
        };
        let is_newest = map.get(key).is_none_or(|newest| record.offset >= newest);
        is_newest && (record.value.is_some() || !self.tombstones_go)
    }
}
