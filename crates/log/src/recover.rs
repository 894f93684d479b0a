//! Recovering a segment: every batch is read and checked, and the indexes are made anew.

use std::path::PathBuf;

use klamm_io::{Disk, DiskFile};
use klamm_primitives::Offset;
use klamm_records::NO_TIMESTAMP;
use tracing::warn;

use crate::config::LogConfig;
use crate::indexer::Indexer;
use crate::leader_epochs::LeaderEpochs;
use crate::names::FileContent;
use crate::producer_state::ProducerStates;
use crate::replay::apply;
use crate::scan::{BatchFault, Scan, ScanError, Scanned};
use crate::segment::{Segment, SegmentError};

/// What was cut off a segment's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub path: PathBuf,
    /// Where the last good batch ends, in bytes.
    pub position: u32,
    /// How many bytes behind it went.
    pub bytes: u32,
    /// What was wrong with them.
    pub reason: String,
}

/// A segment that is as it should be now.
pub(crate) struct Recovered {
    /// One past its last record, or where the log ended before it.
    pub(crate) end_offset: Offset,
    pub(crate) damage: Option<Damage>,
}

/// Why a segment had to be cut.
pub(crate) struct Damage {
    pub(crate) cut: Cut,
    pub(crate) kind: DamageKind,
}

/// What stands behind a segment's last good batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DamageKind {
    /// No good batch.
    Broken,
    /// Space that was reserved or extended, and never written.
    Blank,
    /// A good batch, which begins here and is out of reach of the segment's base offset. It is
    /// not cut off: it belongs into a segment of its own.
    OutOfReach(Offset),
}

/// How far a segment can be trusted.
#[derive(Clone, Copy)]
pub(crate) struct Trust<'a> {
    /// The least offset that may stand in it.
    pub(crate) expected: Offset,
    /// The recovery point: everything below was durable.
    pub(crate) durable: Offset,
    /// The log start offset: the epochs of what lies before it count no more.
    pub(crate) log_start: Offset,
    /// The leader epochs as they were on disk, which may know of epochs that began before their
    /// first record, and of some that have none.
    pub(crate) epochs: &'a LeaderEpochs,
}

/// Reads a segment through. Leader epochs and the producers' state are brought up to its end, the
/// indexes are made anew. Nothing is synced but a cut: what is not durable yet is left to the
/// next flush, and until then to the next recovery.
///
/// A crash leaves no damage in front of records that were durable. What is damaged nevertheless
/// is not cut away with what lies behind it: a wrong checksum is left to those who read the batch,
/// and anything worse is an error.
pub(crate) fn recover<D: Disk>(
    segment: &Segment<D>,
    config: &LogConfig,
    trust: Trust<'_>,
    epochs: &mut LeaderEpochs,
    producers: &mut ProducerStates,
) -> Result<Recovered, SegmentError> {
    segment.reset_indexes()?;
    let mut indexer = Indexer::empty(segment.base_offset());
    let mut end_offset = trust.expected.max(segment.base_offset());
    let mut good = 0;
    let mut scan = segment.scan(0)?;
    let fault = loop {
        let (batch, is_sound) = match next_good(&mut scan, segment, end_offset, trust.durable) {
            Ok(Some(found)) => found,
            Ok(None) => break None,
            Err(ScanError::Damaged { reason, .. }) => break Some(reason),
            Err(error) => return Err(error.into()),
        };
        indexer.add(segment, config.index_interval_bytes, &batch.indexed())?;
        if is_sound {
            if batch.last_offset >= trust.log_start {
                note_epoch(epochs, trust.epochs, end_offset, &batch);
            }
            note_producers(segment, producers, &batch)?;
        }
        end_offset = batch.last_offset + 1;
        good = batch.end();
    };
    let largest = indexer.largest();
    segment.with_indexes(|it| -> Result<_, SegmentError> {
        if largest.timestamp_ms != NO_TIMESTAMP {
            it.time.append_if_later(largest)?;
        }
        it.offset.trim()?;
        it.time.trim()?;
        Ok(())
    })?;
    let Some(fault) = fault else {
        let damage = None;
        return Ok(Recovered { end_offset, damage });
    };
    let kind = match fault {
        BatchFault::OutOfReach { first, .. } => DamageKind::OutOfReach(first),
        _ if scan.is_blank_at(good)? => DamageKind::Blank,
        _ => DamageKind::Broken,
    };
    let cut = Cut {
        path: segment.path(FileContent::Log),
        position: good,
        bytes: segment.size() - good,
        reason: fault.to_string(),
    };
    match kind {
        DamageKind::OutOfReach(_) => {}
        DamageKind::Broken | DamageKind::Blank => {
            let durable = end_offset..trust.durable;
            if !durable.is_empty() && scan.finds_batch(good, durable)? {
                return Err(scan.damaged(good, fault).into());
            }
            segment.cut(good)?;
        }
    }
    let damage = Some(Damage { cut, kind });
    Ok(Recovered { end_offset, damage })
}

/// The next batch, if it is whole and good in every respect, or at least durable; and whether its
/// checksum is right.
fn next_good<F: DiskFile, D: Disk<File = F>>(
    scan: &mut Scan<'_, F>,
    segment: &Segment<D>,
    expected: Offset,
    durable: Offset,
) -> Result<Option<(Scanned, bool)>, ScanError> {
    let Some(batch) = scan.next()? else {
        return Ok(None);
    };
    let (first, last) = (batch.base_offset, batch.last_offset);
    if first < expected {
        let reason = BatchFault::NotRising {
            base: first,
            last,
            expected,
        };
        return Err(scan.damaged(batch.position, reason));
    }
    let is_sound = match scan.check_crc(&batch) {
        Ok(()) => true,
        Err(error @ ScanError::Damaged { .. }) if last < durable => {
            warn!(%error, %first, %last, "records below the recovery point are damaged");
            false
        }
        Err(error) => return Err(error),
    };
    if !segment.reaches(last) {
        let base = segment.base_offset();
        let reason = BatchFault::OutOfReach { first, last, base };
        return Err(scan.damaged(batch.position, reason));
    }
    Ok(Some((batch, is_sound)))
}

/// Notes the epoch of a batch that follows `end_offset`.
fn note_epoch(
    epochs: &mut LeaderEpochs,
    former: &LeaderEpochs,
    end_offset: Offset,
    batch: &Scanned,
) {
    let Some(header) = batch.header else { return };
    let (epoch, first) = (header.leader_epoch, batch.base_offset);
    if epochs.latest().is_none_or(|latest| latest.epoch < epoch) {
        let known = former.entries().iter().find(|it| it.epoch == epoch);
        let start = known.map(|it| it.start_offset);
        let start = start.filter(|start| (end_offset..=first).contains(start));
        epochs.assign(epoch, start.unwrap_or(first));
    }
}

fn note_producers<D: Disk>(
    segment: &Segment<D>,
    producers: &mut ProducerStates,
    batch: &Scanned,
) -> Result<(), SegmentError> {
    for aborted in apply(producers, segment, batch)? {
        segment.note_aborted(&[aborted])?;
    }
    Ok(())
}
