//! Recovering a segment: every batch is read and checked, and the indexes are made anew.

use std::path::PathBuf;

use klamm_io::{Disk, DiskFile};
use klamm_primitives::Offset;
use tracing::{debug, warn};

use crate::config::LogConfig;
use crate::disk_failure::DiskFailure as _;
use crate::indexer::Indexer;
use crate::leader_epochs::LeaderEpochs;
use crate::leap::Witnesses;
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

/// Good batches that went because of damage in front of them, and that were kept in a file: nobody can
/// tell whether they were durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Where they are. The file begins where the log broke off, or is a segment's whole.
    pub path: PathBuf,
    /// How many were found.
    pub batches: u64,
    /// The first offset of the first one; [`Offset::UNKNOWN`] if none was found.
    pub first_offset: Offset,
    /// The last offset of the last one; [`Offset::UNKNOWN`] if none was found.
    pub last_offset: Offset,
    /// Whether there are no others. Where too much looks like batches to check all of it, the search is
    /// given up, and what was not looked at may hold some.
    pub is_all: bool,
}

/// A segment that is as it should be now.
pub(crate) struct Recovered {
    /// One past its last record, or where the log ended before it.
    pub(crate) end_offset: Offset,
    pub(crate) damage: Option<Damage>,
}

/// Where a segment's good batches end before its file does.
pub(crate) struct Damage {
    /// In bytes.
    pub(crate) position: u32,
    pub(crate) fault: BatchFault,
    pub(crate) kind: DamageKind,
}

/// What stands behind a segment's last good batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DamageKind {
    /// No good batch, or one whose offset cannot be true.
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
    /// The log start offset: the epochs of what lies before it count no more.
    pub(crate) log_start: Offset,
    /// What would contradict an offset that is too high. Everything below its recovery point was durable;
    /// its leader epochs may have begun before their first record, or have none.
    pub(crate) witnesses: Witnesses<'a>,
}

/// Reads a segment through. Leader epochs and the producers' state are brought up to the end of its
/// good batches, the indexes are made anew; what stands behind those is left to the caller. Nothing
/// is synced: what is not durable yet is left to the next flush, and until then to the next recovery.
///
/// A crash leaves no damage in front of records that were durable. A wrong checksum among them is no
/// end of the good batches, but left to those who read the batch.
pub(crate) fn recover<D: Disk>(
    segment: &Segment<D>,
    config: &LogConfig,
    trust: Trust<'_>,
    epochs: &mut LeaderEpochs,
    producers: &mut ProducerStates,
) -> Result<Recovered, SegmentError> {
    if segment.size() > 0 {
        segment.owe_sync();
    }
    segment.reset_indexes()?;
    let mut indexer = Indexer::empty(segment.base_offset());
    let mut end_offset = trust.expected.max(segment.base_offset());
    let mut good = 0;
    let mut scan = segment.scan(0)?;
    let fault = loop {
        let (batch, is_sound) = match next_good(&mut scan, segment, end_offset, &trust) {
            Ok(Some(found)) => found,
            Ok(None) => break None,
            Err(ScanError::Damaged { reason, .. }) => break Some(reason),
            Err(error) => return Err(error.into()),
        };
        indexer.add(segment, config.index_interval_bytes, &batch.indexed())?;
        if is_sound {
            if batch.last_offset >= trust.log_start {
                note_epoch(epochs, trust.witnesses.epochs, end_offset, &batch);
            }
            note_producers(segment, producers, &batch)?;
        }
        end_offset = batch.last_offset + 1;
        good = batch.end();
    };
    // Of nothing there is no index, so that a second recovery finds what the first has left.
    let sealed = if good > 0 {
        segment.seal_indexes(indexer.largest())
    } else {
        Ok(())
    };
    match sealed {
        // They are in memory, and as good there.
        Err(error) if error.may_pass() => {
            debug!(%error, "the indexes of a recovered segment are not written");
        }
        sealed => sealed?,
    }
    let Some(fault) = fault else {
        let damage = None;
        return Ok(Recovered { end_offset, damage });
    };
    let kind = match fault {
        BatchFault::OutOfReach { first, .. } => DamageKind::OutOfReach(first),
        _ if scan.is_blank_at(good)? => DamageKind::Blank,
        _ => DamageKind::Broken,
    };
    let damage = Some(Damage {
        position: good,
        fault,
        kind,
    });
    Ok(Recovered { end_offset, damage })
}

/// The next batch, if it is whole and good in every respect, or at least durable; and whether its
/// checksum is right.
fn next_good<F: DiskFile, D: Disk<File = F>>(
    scan: &mut Scan<F>,
    segment: &Segment<D>,
    expected: Offset,
    trust: &Trust<'_>,
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
        Err(error @ ScanError::Damaged { .. }) if last < trust.witnesses.recovery_point => {
            warn!(%error, %first, %last, "records below the recovery point are damaged");
            false
        }
        Err(error) => return Err(error),
    };
    let is_in_reach = segment.reaches(last);
    let contradiction = trust
        .witnesses
        .contradict(scan, &batch, expected, is_in_reach)?;
    if let Some(contradiction) = contradiction {
        let reason = BatchFault::Leaps {
            base: first,
            last,
            expected,
            contradiction,
        };
        return Err(scan.damaged(batch.position, reason));
    }
    if !is_in_reach {
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
