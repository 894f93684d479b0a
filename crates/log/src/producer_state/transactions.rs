//! [`Transactions`]: those that hold up readers of committed records.

use std::collections::BTreeMap;

use klamm_primitives::{Offset, ProducerId};

/// A transaction that its marker has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Completed {
    pub(crate) producer_id: ProducerId,
    /// Its first record's offset.
    pub(crate) first_offset: Offset,
    /// Its marker's offset.
    pub(crate) last_offset: Offset,
    pub(crate) aborted: bool,
}

/// The transactions of one log that are open, or ended at an offset that the high watermark has
/// not passed yet. No two of them begin at one offset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Transactions {
    /// By first offset.
    open: BTreeMap<Offset, ProducerId>,
    /// By first offset: that of the marker.
    undecided: BTreeMap<Offset, Offset>,
}

impl Transactions {
    pub(super) fn open(&mut self, producer_id: ProducerId, first_offset: Offset) {
        self.open.insert(first_offset, producer_id);
    }

    pub(super) fn complete(&mut self, completed: Completed) {
        self.open.remove(&completed.first_offset);
        self.undecided
            .insert(completed.first_offset, completed.last_offset);
    }

    /// Forgets the ended ones whose marker lies before this offset: readers see them whole, or
    /// their records are gone.
    pub(super) fn decide_below(&mut self, offset: Offset) {
        self.undecided
            .retain(|_, &mut last_offset| last_offset >= offset);
    }

    /// The smallest first offset of the transactions that are not decided for readers: committed
    /// records end here.
    pub(crate) fn first_unstable_offset(&self) -> Option<Offset> {
        let first = |map: Option<&Offset>| map.copied();
        let open = first(self.open.keys().next());
        let undecided = first(self.undecided.keys().next());
        open.into_iter().chain(undecided).min()
    }

    /// The last stable offset at the moment a transaction completes, as its entry in the
    /// transaction index keeps it: where the first of the others that are open begins, or one
    /// past the marker.
    pub(crate) fn last_stable_offset_at(&self, completed: &Completed) -> Offset {
        self.open
            .keys()
            .find(|&&first_offset| first_offset != completed.first_offset)
            .copied()
            .unwrap_or(completed.last_offset + 1)
    }
}
