//! [`Idempotence`]: producer id, epochs and sequences, so that a batch that is sent again is
//! neither written twice nor overtaken. (Parts J and K of the behaviours; KIP-98, KIP-360)
//!
//! Owned by the sender's task alone. Batches are known here by partition and base sequence.

use std::collections::{HashMap, VecDeque};

use klamm_primitives::{Offset, ProducerEpoch, ProducerId, Sequence, TopicPartition};
use klamm_records::ProducerStamp;
use klamm_wire::ErrorCode;
use tracing::{info, warn};

use crate::accumulator::DrainRules;

/// Orders sequences of one partition that are close to each other.
pub(crate) trait SequenceOrder: Copy {
    /// Whether this sequence comes before another one; past the largest they go on at 0.
    fn is_before(&self, other: Self) -> bool;
}

impl SequenceOrder for Sequence {
    fn is_before(&self, other: Self) -> bool {
        let distance = other.get().wrapping_sub(self.get()) & i32::MAX;
        0 < distance && distance < 1 << 30
    }
}

#[cfg(test)]
mod tests;

/// How many batches of a producer and partition a broker remembers.
const IN_FLIGHT_MAX: usize = 5;

/// Who the producer is to brokers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
}

impl Identity {
    const NONE: Self = Self {
        producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch::NONE,
    };

    fn is_known(self) -> bool {
        self.producer_id.get() >= 0
    }

    fn at(self, base_sequence: Sequence) -> ProducerStamp {
        ProducerStamp {
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            base_sequence,
        }
    }
}

/// The sequences of one partition.
#[derive(Debug)]
struct Numbering {
    /// With whom these sequences count.
    identity: Identity,
    /// Of the next batch's first record.
    next: Sequence,
    /// How many batches were given sequences.
    batches: u64,
    /// Of the last record that is known to be written.
    last_acked: Option<Sequence>,
    /// Its offset, if it was told.
    last_acked_offset: Option<Offset>,
    /// Batches that have sequences and no outcome, in their order: in a request, or put back.
    in_flight: VecDeque<Numbered>,
    /// The sequence behind a batch of which it is not known whether it was written.
    unresolved: Option<Sequence>,
    /// From which sequence on everything begins anew. Batches before it go on as they are: they
    /// may have been written, which a broker knows by the marks that they have.
    gap: Option<Sequence>,
    /// Whether the broker has written a batch of this producer id. Until it has it takes any
    /// sequence for the first, so that a second batch would be written before a first that has to
    /// be sent again: they go one by one.
    is_known: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbered {
    base: Sequence,
    count: i32,
    /// How many batches had sequences before this one, or before the one that it is a part of.
    batches_before: u64,
}

impl Numbering {
    fn new(identity: Identity) -> Self {
        Self {
            identity,
            next: Sequence::ZERO,
            batches: 0,
            last_acked: None,
            last_acked_offset: None,
            in_flight: VecDeque::new(),
            unresolved: None,
            gap: None,
            is_known: false,
        }
    }

    /// How many batches a broker may have to remember so that it knows all of these again that
    /// have no outcome: the first of them, and whatever comes behind it. Those behind it may be
    /// acknowledged before it, by another leader.
    fn span(&self) -> usize {
        let since = |first: &Numbered| self.batches - first.batches_before;
        let span = self.in_flight.front().map_or(0, since);
        usize::try_from(span).map_or(usize::MAX, |span| span.max(self.in_flight.len()))
    }

    /// Whether a batch with that sequence is the one that the broker expects next.
    fn is_next(&self, base: Sequence) -> bool {
        let expected = self
            .last_acked
            .map_or(Sequence::ZERO, |last| last.advance(1));
        base == expected
    }

    /// Begins at 0 under another identity. Batches in flight get new sequences in their order.
    fn restart(&mut self, identity: Identity) -> Vec<(Sequence, ProducerStamp)> {
        let mut next = Sequence::ZERO;
        let mut renumbered = Vec::with_capacity(self.in_flight.len());
        for numbered in &mut self.in_flight {
            renumbered.push((numbered.base, identity.at(next)));
            numbered.base = next;
            next = next.advance(numbered.count);
        }
        self.is_known &= self.identity.producer_id == identity.producer_id;
        self.identity = identity;
        self.next = next;
        self.last_acked = None;
        self.last_acked_offset = None;
        self.unresolved = None;
        self.gap = None;
        renumbered
    }

    /// Whether all batches before the gap have their outcome, so that the rest may begin anew.
    fn is_ready_to_restart(&self) -> bool {
        match (self.in_flight.front(), self.gap) {
            (Some(first), Some(gap)) => !first.base.is_before(gap),
            _ => true,
        }
    }

    /// Notes that everything from a sequence on begins anew.
    fn note_gap(&mut self, from: Sequence) {
        if self.gap.is_none_or(|gap| from.is_before(gap)) {
            self.gap = Some(from);
        }
    }

    fn remove(&mut self, base: Sequence) -> Option<Numbered> {
        let at = self
            .in_flight
            .iter()
            .position(|numbered| numbered.base == base)?;
        self.in_flight.remove(at)
    }
}

/// What is known of a batch that failed with an error of its sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SequenceError<'a> {
    pub(crate) partition: &'a TopicPartition,
    pub(crate) stamp: ProducerStamp,
    /// Whether it got another mark since it was sent.
    pub(crate) is_restamped: bool,
    pub(crate) code: ErrorCode,
    /// The first offset that the partition still has, if the broker said it.
    pub(crate) log_start_offset: Offset,
}

/// Batches of a partition that get other marks, by the sequence that they have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Renumbered {
    pub(crate) partition: TopicPartition,
    pub(crate) stamps: Vec<(Sequence, ProducerStamp)>,
}

impl Renumbered {
    /// The new mark of the batch with that sequence.
    pub(crate) fn stamp(&self, base: Sequence) -> Option<ProducerStamp> {
        let mut stamps = self.stamps.iter();
        stamps.find(|(old, _)| *old == base).map(|(_, new)| *new)
    }
}

/// Producer id, epoch and sequences.
#[derive(Debug)]
pub(crate) struct Idempotence {
    identity: Identity,
    partitions: HashMap<TopicPartition, Numbering>,
    /// Partitions whose sequences have to begin anew under another epoch.
    restart: Vec<TopicPartition>,
    /// Nothing is changed any more.
    is_fatal: bool,
}

impl Idempotence {
    pub(crate) fn new() -> Self {
        Self {
            identity: Identity::NONE,
            partitions: HashMap::new(),
            restart: Vec::new(),
            is_fatal: false,
        }
    }

    /// Whether there is a producer id; nothing is sent before.
    pub(crate) fn has_id(&self) -> bool {
        self.identity.is_known()
    }

    /// Takes the id that the cluster gave. Returns what gets other marks.
    pub(crate) fn set_identity(&mut self, identity: Identity) -> Vec<Renumbered> {
        let Identity {
            producer_id,
            producer_epoch,
        } = identity;
        info!(%producer_id, %producer_epoch, "producer id");
        self.identity = identity;
        self.restart_partitions()
    }

    /// Changes nothing from now on. (PR-113)
    pub(crate) fn set_fatal(&mut self) {
        self.is_fatal = true;
    }

    /// What has to be done before batches are taken out: decides what is unresolved, and raises
    /// the epoch where that was asked for. Returns what gets other marks.
    pub(crate) fn begin_turn(&mut self) -> Vec<Renumbered> {
        if self.is_fatal {
            return Vec::new();
        }
        self.resolve();
        let is_ready = |partition: &TopicPartition| {
            let numbering = self.partitions.get(partition);
            numbering.is_none_or(Numbering::is_ready_to_restart)
        };
        if !self.identity.is_known() || !self.restart.iter().any(is_ready) {
            return Vec::new();
        }
        let Some(epoch) = self.identity.producer_epoch.get().checked_add(1) else {
            // All epochs of this id are used up: the cluster is asked for another id.
            self.identity = Identity::NONE;
            return Vec::new();
        };
        self.identity.producer_epoch = epoch.into();
        let Identity {
            producer_id,
            producer_epoch,
        } = self.identity;
        info!(%producer_id, %producer_epoch, "producer epoch raised");
        self.restart_partitions()
    }

    fn restart_partitions(&mut self) -> Vec<Renumbered> {
        let identity = self.identity;
        let mut renumbered = Vec::new();
        for partition in std::mem::take(&mut self.restart) {
            match self.partitions.get_mut(&partition) {
                Some(numbering) if numbering.is_ready_to_restart() => {
                    let stamps = numbering.restart(identity);
                    renumbered.push(Renumbered { partition, stamps });
                }
                Some(_) => self.restart.push(partition),
                None => {}
            }
        }
        renumbered
    }

    /// Partitions with an unclear batch and nothing in flight: if all sequences are acknowledged,
    /// the batch was the broker's no more; else there is a gap. (PR-109)
    fn resolve(&mut self) {
        for (partition, numbering) in &mut self.partitions {
            if numbering.unresolved.is_none() || !numbering.in_flight.is_empty() {
                continue;
            }
            numbering.unresolved = None;
            if !numbering.is_next(numbering.next) && !self.restart.contains(partition) {
                self.restart.push(partition.clone());
            }
        }
    }

    /// Asks for another epoch for what a partition has from a sequence on.
    fn ask_restart(&mut self, partition: &TopicPartition, from: Sequence) {
        if let Some(numbering) = self.partitions.get_mut(partition) {
            numbering.note_gap(from);
        }
        if !self.restart.contains(partition) {
            self.restart.push(partition.clone());
        }
    }

    /// A batch was written, or had been before. One that got another mark since it was sent was
    /// written under the former: its new sequences are nobody's, so all begin anew once more.
    pub(crate) fn acked(
        &mut self,
        partition: &TopicPartition,
        stamp: ProducerStamp,
        is_restamped: bool,
        base_offset: Offset,
    ) {
        if self.is_fatal {
            return;
        }
        let Some(numbering) = self.partitions.get_mut(partition) else {
            return;
        };
        let Some(numbered) = numbering.remove(stamp.base_sequence) else {
            return;
        };
        if is_restamped {
            self.ask_restart(partition, numbered.base);
            return;
        }
        if numbering.identity.at(stamp.base_sequence) != stamp {
            return;
        }
        let last = numbered.base.advance(numbered.count - 1);
        numbering.is_known = true;
        let grows = numbering
            .last_acked
            .is_none_or(|acked| last.get().wrapping_sub(acked.get()) & i32::MAX < 1 << 30);
        if grows {
            numbering.last_acked = Some(last);
        }
        if base_offset.get() >= 0 {
            let offset = base_offset + i64::from(numbered.count - 1);
            let before = numbering.last_acked_offset;
            numbering.last_acked_offset = Some(before.map_or(offset, |before| before.max(offset)));
        }
    }

    /// A batch was refused for good: nothing of it was written, and the broker expects its
    /// sequences from whatever comes next.
    pub(crate) fn refused(&mut self, partition: &TopicPartition, base: Sequence) {
        if !self.is_fatal && self.forget(partition, base) {
            self.ask_restart(partition, base);
        }
    }

    /// A batch was given up that may have been written. (PR-112)
    pub(crate) fn given_up(&mut self, partition: &TopicPartition, base: Sequence) {
        if self.is_fatal {
            return;
        }
        let Some(numbering) = self.partitions.get_mut(partition) else {
            return;
        };
        if let Some(numbered) = numbering.remove(base) {
            let behind = numbered.base.advance(numbered.count);
            let later =
                |known: Sequence| behind.get().wrapping_sub(known.get()) & i32::MAX < 1 << 30;
            if numbering.unresolved.is_none_or(later) {
                numbering.unresolved = Some(behind);
            }
        }
    }

    fn forget(&mut self, partition: &TopicPartition, base: Sequence) -> bool {
        let numbering = self.partitions.get_mut(partition);
        numbering.is_some_and(|numbering| numbering.remove(base).is_some())
    }

    /// A batch was divided into parts of so many records, which keep its sequences. (PR-090)
    pub(crate) fn split(&mut self, partition: &TopicPartition, base: Sequence, counts: &[u32]) {
        let Some(numbering) = self.partitions.get_mut(partition) else {
            return;
        };
        let whole = numbering
            .in_flight
            .iter()
            .position(|numbered| numbered.base == base);
        let Some(at) = whole else { return };
        let Some(whole) = numbering.in_flight.remove(at) else {
            return;
        };
        let mut base = base;
        for (step, count) in counts.iter().enumerate() {
            let count = count.cast_signed();
            let part = Numbered {
                base,
                count,
                ..whole
            };
            numbering.in_flight.insert(at + step, part);
            base = base.advance(count);
        }
    }

    /// Whether a batch that failed with an error of its sequence is to be sent again; if the
    /// broker has a gap or has forgotten the producer, the epoch is raised before. (PR-105 to
    /// PR-108)
    pub(crate) fn may_retry(&mut self, error: SequenceError<'_>) -> bool {
        let Some(numbering) = self.partitions.get_mut(error.partition) else {
            return false;
        };
        let base = error.stamp.base_sequence;
        let is_current = numbering.identity.at(base) == error.stamp && !error.is_restamped;
        match error.code {
            ErrorCode::UNKNOWN_PRODUCER_ID => {
                // Without the log's start it is tried again until a broker tells it.
                numbering.is_known = false;
                if is_current && error.log_start_offset.get() >= 0 {
                    warn!(partition = %error.partition, "the broker forgot this producer");
                    self.ask_restart(error.partition, base);
                }
                true
            }
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER => {
                let is_gap = match numbering.unresolved {
                    None => is_current && numbering.is_next(base),
                    Some(behind) => base == behind,
                };
                if is_gap {
                    warn!(partition = %error.partition, "the broker misses sequences");
                    self.ask_restart(error.partition, base);
                }
                true
            }
            _ => false,
        }
    }
}

impl DrainRules for Idempotence {
    fn may_take(&self, partition: &TopicPartition, stamp: Option<ProducerStamp>) -> bool {
        if !self.identity.is_known() || self.is_fatal {
            return false;
        }
        let Some(numbering) = self.partitions.get(partition) else {
            return true;
        };
        if let Some(stamp) = stamp {
            // A batch is sent again only when all before it have their outcome.
            let first = numbering.in_flight.front();
            return first.is_none_or(|first| first.base == stamp.base_sequence);
        }
        let is_stale = numbering.identity != self.identity;
        let most = if numbering.is_known && !is_stale {
            IN_FLIGHT_MAX
        } else {
            1
        };
        numbering.unresolved.is_none()
            && numbering.span() < most
            && !self.restart.contains(partition)
    }

    fn stamp(&mut self, partition: &TopicPartition, record_count: u32) -> Option<ProducerStamp> {
        let identity = self.identity;
        let numbering = self
            .partitions
            .entry(partition.clone())
            .or_insert_with(|| Numbering::new(identity));
        if numbering.identity != identity {
            // Nothing is in flight, as `may_take` has seen to.
            let is_same_id = numbering.identity.producer_id == identity.producer_id;
            let is_known = numbering.is_known && is_same_id;
            *numbering = Numbering::new(identity);
            numbering.is_known = is_known;
        }
        let base = numbering.next;
        let count = record_count.cast_signed();
        numbering.next = base.advance(count);
        numbering.in_flight.push_back(Numbered {
            base,
            count,
            batches_before: numbering.batches,
        });
        numbering.batches += 1;
        Some(identity.at(base))
    }
}
