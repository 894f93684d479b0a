//! Recovering a segment: every batch is read and checked, and the indexes are made anew.

use std::path::PathBuf;

use klamm_io::Disk;
use klamm_primitives::Offset;
use klamm_records::NO_TIMESTAMP;

use crate::config::LogConfig;
use crate::indexer::Indexer;
use crate::leader_epochs::LeaderEpochs;
use crate::names::FileContent;
use crate::producer_state::ProducerStates;
use crate::replay;
use crate::scan::{BatchFault, Scan, ScanError, Scanned};
use crate::segment::{Segment, SegmentError};
use crate::transaction_index::AbortedTransaction;

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
    pub(crate) cut: Option<Cut>,
}

/// Reads a segment through. `expected` is the least offset that may stand in it. Leader epochs
/// and the producers' state are brought up to its end.
pub(crate) fn recover<D: Disk>(
    segment: &Segment<D>,
    config: &LogConfig,
    expected: Offset,
    epochs: &mut LeaderEpochs,
    producers: &mut ProducerStates,
) -> Result<Recovered, SegmentError> {
    segment.reset_indexes()?;
    let mut indexer = Indexer::empty(segment.base_offset());
    let mut end_offset = expected.max(segment.base_offset());
    let mut good = 0;
    let mut scan = segment.scan(0)?;
    let damage = loop {
        match next_good(&mut scan, segment, end_offset) {
            Ok(None) => break None,
            Ok(Some(batch)) => {
                if let Some(header) = batch.header {
                    epochs.assign(header.leader_epoch, batch.base_offset);
                }
                indexer.add(segment, config.index_interval_bytes, &batch.indexed())?;
                note_producers(segment, producers, &batch)?;
                end_offset = batch.last_offset + 1;
                good = batch.end();
            }
            Err(ScanError::Disk(error)) => return Err(error.into()),
            Err(ScanError::Damaged { reason, .. }) => break Some(reason),
        }
    };
    let cut = damage.map(|reason| Cut {
        path: segment.path(FileContent::Log),
        position: good,
        bytes: segment.size() - good,
        reason: reason.to_string(),
    });
    if cut.is_some() {
        segment.cut(good)?;
    }
    let largest = indexer.largest();
    if largest.timestamp_ms != NO_TIMESTAMP {
        segment.with_indexes(|it| it.time.append(largest))?;
    }
    segment.sync_all()?;
    // At full size they would hold entries of zeros for whoever opens them after a clean stop.
    segment.with_indexes(|it| -> Result<_, SegmentError> {
        it.offset.trim()?;
        it.time.trim()?;
        Ok(())
    })?;
    Ok(Recovered { end_offset, cut })
}

/// The next batch, if it is whole and good in every respect.
fn next_good<F: klamm_io::DiskFile, D: Disk<File = F>>(
    scan: &mut Scan<'_, F>,
    segment: &Segment<D>,
    expected: Offset,
) -> Result<Option<Scanned>, ScanError> {
    let Some(batch) = scan.next()? else {
        return Ok(None);
    };
    let (base, last) = (batch.base_offset, batch.last_offset);
    if base < expected || last < base {
        let reason = BatchFault::NotRising {
            base,
            last,
            expected,
        };
        return Err(scan.damaged(batch.position, reason));
    }
    if !segment.reaches(last) {
        let base = segment.base_offset();
        return Err(scan.damaged(batch.position, BatchFault::OutOfReach { last, base }));
    }
    scan.check_crc(&batch)?;
    Ok(Some(batch))
}

fn note_producers<D: Disk>(
    segment: &Segment<D>,
    producers: &mut ProducerStates,
    batch: &Scanned,
) -> Result<(), SegmentError> {
    // Before the state changes: by then the transaction is no longer among the open ones.
    let before = producers.transactions().clone();
    for completed in replay::apply(producers, segment, batch)? {
        if completed.aborted {
            segment.note_aborted(&AbortedTransaction {
                producer_id: completed.producer_id,
                first_offset: completed.first_offset,
                last_offset: completed.last_offset,
                last_stable_offset: before.last_stable_offset_at(&completed),
            })?;
        }
    }
    Ok(())
}
