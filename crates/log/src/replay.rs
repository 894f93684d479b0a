//! Brings back the producers' state at an offset: a snapshot, and the batches behind it.

use std::sync::Arc;

use klamm_io::Disk;
use klamm_primitives::Offset;
use tracing::warn;

use crate::append::{producer_batch, read_marker};
use crate::producer_state::{Origin, ProducerStates, SnapshotError, SnapshotFiles};
use crate::scan::{ScanError, Scanned};
use crate::segment::{Segment, SegmentError};
use crate::transaction_index::AbortedTransaction;

/// Up to where, and what counts on the way.
pub(crate) struct Replay {
    /// The state is wanted before this offset.
    pub(crate) end_offset: Offset,
    /// Transactions that ended at or behind this one are not decided for readers.
    pub(crate) high_watermark: Offset,
    /// Unix time, for producers that have expired.
    pub(crate) now_ms: i64,
    /// `producer.id.expiration.ms`.
    pub(crate) expiration_ms: i64,
}

/// The producers' state before `to.end_offset`: the newest snapshot at or below it, and what the
/// batches behind that one changed. Snapshots that are damaged are removed.
///
/// A snapshot tells of transactions that are open, and not of those that have ended and are still
/// to be decided. If there can be any, it is read on from a snapshot below the high watermark.
pub(crate) fn replay<D: Disk>(
    snapshots: &mut SnapshotFiles<D>,
    segments: &[Arc<Segment<D>>],
    to: &Replay,
) -> Result<ProducerStates, SegmentError> {
    let states = replay_from(to.end_offset, snapshots, segments, to)?;
    if to.high_watermark < to.end_offset && states.has_transactions() {
        return replay_from(to.high_watermark, snapshots, segments, to);
    }
    Ok(states)
}

fn replay_from<D: Disk>(
    snapshot_at: Offset,
    snapshots: &mut SnapshotFiles<D>,
    segments: &[Arc<Segment<D>>],
    to: &Replay,
) -> Result<ProducerStates, SegmentError> {
    let mut states = from_snapshot(snapshot_at, snapshots, to)?;
    if let Some(first) = segments.first()
        && states.end_offset() < first.base_offset()
    {
        states.set_end_offset(first.base_offset());
    }
    let from = states.end_offset();
    // After a clean stop the snapshot is of where the log ends, and nothing is to be read.
    let segments = if from < to.end_offset { segments } else { &[] };
    for (index, segment) in segments.iter().enumerate() {
        let next_base = segments.get(index + 1).map(|next| next.base_offset());
        if segment.base_offset() >= to.end_offset || next_base.is_some_and(|base| base <= from) {
            continue;
        }
        match replay_segment(&mut states, &segment.for_once(), to.end_offset) {
            Err(SegmentError::Scan(error @ ScanError::Damaged { .. })) => {
                // Whoever reads the records gets to know of it. Here it may cost the knowledge
                // of a producer, which a retention could have cost as well.
                warn!(%error, "a segment is damaged, its producers are not all known");
            }
            replayed => replayed?,
        }
    }
    states.set_end_offset(to.end_offset);
    Ok(states)
}

fn replay_segment<D: Disk>(
    states: &mut ProducerStates,
    segment: &Segment<D>,
    end_offset: Offset,
) -> Result<(), SegmentError> {
    let Some(first) = segment.find(states.end_offset())? else {
        return Ok(());
    };
    let mut scan = segment.scan(first.position)?;
    while let Some(batch) = scan.next()? {
        if batch.base_offset >= end_offset {
            break;
        }
        apply(states, segment, &batch)?;
    }
    Ok(())
}

fn from_snapshot<D: Disk>(
    at: Offset,
    snapshots: &mut SnapshotFiles<D>,
    to: &Replay,
) -> Result<ProducerStates, SegmentError> {
    while let Some(offset) = snapshots.newest_at(at) {
        match snapshots.read(offset)? {
            Ok(entries) => {
                return Ok(ProducerStates::from_snapshot(
                    &entries,
                    offset,
                    to.now_ms,
                    to.expiration_ms,
                ));
            }
            Err(error) => {
                // An empty one was begun when the process was killed.
                if !matches!(error, SnapshotError::Length { len: 0, .. }) {
                    warn!(%offset, %error, "producer snapshot is damaged, removing it");
                }
                snapshots.remove(offset)?;
            }
        }
    }
    Ok(ProducerStates::default())
}

/// Notes a batch that is in the log. A marker is read; everything else is told by the header.
/// Returns the transactions that it aborts.
pub(crate) fn apply<D: Disk>(
    states: &mut ProducerStates,
    segment: &Segment<D>,
    scanned: &Scanned,
) -> Result<Vec<AbortedTransaction>, SegmentError> {
    let end_offset = scanned.last_offset + 1;
    let Some(header) = scanned.header.filter(|it| it.producer_id.get() >= 0) else {
        states.set_end_offset(end_offset);
        return Ok(Vec::new());
    };
    let mut append = states.append(Origin::Replication);
    let judged = if header.attributes.is_control() {
        let scan = segment.scan(scanned.position)?;
        let marker = match scan.read(scanned)? {
            Some(batch) => read_marker(&batch).unwrap_or_else(|error| {
                let offset = scanned.base_offset;
                warn!(%offset, %error, "a marker makes no sense, passing it over");
                None
            }),
            None => None,
        };
        marker.map_or(Ok(()), |marker| append.marker(&marker))
    } else {
        append.data(&producer_batch(&header))
    };
    debug_assert!(judged.is_ok(), "what is in the log is noted as it is");
    let appended = append.finish();
    let aborted = appended.aborted(states.transactions());
    states.apply(appended, end_offset);
    Ok(aborted)
}
