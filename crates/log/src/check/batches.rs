//! One segment: its batches, one by one, and beside them the entries of its indexes.

use std::path::{Path, PathBuf};

use klamm_io::{Disk, DiskError, DiskFile, OpenMode};
use klamm_primitives::{LeaderEpoch, Offset};
use klamm_records::{BatchHeader, Codecs, EndMarker, NO_TIMESTAMP, Outcome, RecordBatch};

use super::indexes::IndexChecks;
use super::problem::{Fault, Problem};
use super::{Depth, Report, SegmentSummary};
use crate::leader_epochs::LeaderEpochs;
use crate::leap::Witnesses;
use crate::names::{FileContent, FileName};
use crate::recover::Cut;
use crate::scan::{BatchFault, Scan, ScanError, Scanned};

/// What is needed to check a segment.
pub(super) struct SegmentCheck<'a, D> {
    pub(super) disk: &'a D,
    pub(super) directory: &'a Path,
    pub(super) base_offset: Offset,
    /// Where the next segment begins, if there is one.
    pub(super) follower: Option<Offset>,
    pub(super) epochs: &'a LeaderEpochs,
    pub(super) depth: Depth,
}

/// A batch, as the checks of the indexes want to know it.
pub(super) struct Seen<'a> {
    pub(super) scanned: &'a Scanned,
    /// Whether it ends a transaction that was aborted.
    pub(super) aborts: bool,
}

impl<D: Disk> SegmentCheck<'_, D> {
    /// Checks a segment whose offsets should not be below `expected`.
    pub(super) fn run(
        &self,
        expected: Offset,
        codecs: &mut Codecs,
        report: &mut Report,
    ) -> Result<Walked, DiskError> {
        let path = self.path(FileContent::Log);
        let file = self.disk.open(&path, OpenMode::Read)?;
        let len = file.metadata()?.len;
        let mut summary = SegmentSummary {
            path: path.clone(),
            len,
            batches: 0,
            records: 0,
            first_offset: None,
            last_offset: None,
            max_timestamp_ms: None,
        };
        let Some(size) = u32::try_from(len)
            .ok()
            .filter(|&len| len <= i32::MAX.unsigned_abs())
        else {
            report.add(Problem::of_file(path, Fault::TooLarge { len }));
            report.segments.push(summary);
            return Ok(Walked {
                expected,
                cut: None,
            });
        };
        let mut indexes = IndexChecks::open(self, report)?;
        let mut scan = Scan::new(file, 0, size);
        let mut walk = Walk {
            expected: expected.max(self.base_offset),
            base_offset: self.base_offset,
            epoch: None,
            cut: None,
        };
        loop {
            let scanned = match scan.next() {
                Ok(Some(scanned)) => scanned,
                Ok(None) => break,
                Err(ScanError::Disk(error)) => return Err(error),
                Err(ScanError::Damaged {
                    position, reason, ..
                }) => {
                    end_of_batches(&path, position, size, &reason, report);
                    walk.cut.get_or_insert(walk.expected);
                    break;
                }
            };
            self.check_batch(&path, &mut scan, &scanned, &mut walk, size, report)?;
            let aborts = self.check_records(&path, &mut scan, &scanned, codecs, report)?;
            let seen = Seen {
                scanned: &scanned,
                aborts,
            };
            indexes.batch(&seen, report)?;
            summary.add(&scanned);
        }
        indexes.end(report)?;
        report.segments.push(summary);
        Ok(Walked {
            expected: walk.expected,
            cut: walk.cut,
        })
    }

    pub(super) fn path(&self, content: FileContent) -> PathBuf {
        let name = FileName::new(self.base_offset, content);
        self.directory.join(name.to_string())
    }

    /// What a repair looks at: offsets, reach and checksum; and the leader epoch.
    fn check_batch(
        &self,
        path: &Path,
        scan: &mut Scan<D::File>,
        batch: &Scanned,
        walk: &mut Walk,
        size: u32,
        report: &mut Report,
    ) -> Result<(), DiskError> {
        let at = |fault| Problem {
            path: path.to_owned(),
            position: Some(u64::from(batch.position)),
            offset: Some(batch.base_offset),
            fault,
        };
        let expected = walk.expected;
        let mut faults = match scan.check_crc(batch) {
            Ok(()) => self.leap(scan, batch, walk)?,
            Err(ScanError::Disk(error)) => return Err(error),
            Err(ScanError::Damaged { reason, .. }) => vec![reason],
        };
        // One that is where it does not belong says nothing of where the others do.
        if !matches!(faults[..], [BatchFault::Leaps { .. }]) {
            faults.extend(walk.faults(batch));
        }
        for reason in faults {
            report.add(at(Fault::Batch(reason.to_string())));
            // What is out of reach is moved into a segment of its own, not cut.
            if !matches!(reason, BatchFault::OutOfReach { .. }) {
                cut_at(path, batch.position, size, &reason, report);
                walk.cut.get_or_insert(expected);
            }
        }
        let Some(epoch) = batch.header.and_then(|it| it.leader_epoch_if_set()) else {
            return Ok(());
        };
        if let Some(former) = walk.epoch.filter(|&former| former > epoch) {
            report.add(at(Fault::EpochFalls { epoch, former }));
        }
        walk.epoch = Some(epoch);
        let listed = self.epochs.epoch_for(batch.base_offset);
        if listed != Some(epoch) && !self.epochs.entries().is_empty() {
            report.add(at(Fault::EpochDiffers { epoch, listed }));
        }
        Ok(())
    }

    /// That a batch leaps over offsets, if something contradicts it: the files, for nothing else is known
    /// here, nor whether the log is compacted.
    fn leap(
        &self,
        scan: &mut Scan<D::File>,
        batch: &Scanned,
        walk: &Walk,
    ) -> Result<Vec<BatchFault>, DiskError> {
        let witnesses = Witnesses {
            follower: self.follower,
            epochs: self.epochs,
            recovery_point: Offset::ZERO,
            high_watermark: Offset::ZERO,
            may_have_gaps: true,
        };
        let (base, last, expected) = (batch.base_offset, batch.last_offset, walk.expected);
        let is_in_reach = walk.reaches(last);
        match witnesses.contradict(scan, batch, expected, is_in_reach) {
            Ok(contradiction) => Ok(contradiction
                .map(|contradiction| BatchFault::Leaps {
                    base,
                    last,
                    expected,
                    contradiction,
                })
                .into_iter()
                .collect()),
            Err(ScanError::Disk(error)) => Err(error),
            Err(ScanError::Damaged { reason, .. }) => Ok(vec![reason]),
        }
    }

    /// Reads the records of a batch, if that is asked for, and of a marker in any case. Says
    /// whether it aborts a transaction.
    fn check_records(
        &self,
        path: &Path,
        scan: &mut Scan<D::File>,
        scanned: &Scanned,
        codecs: &mut Codecs,
        report: &mut Report,
    ) -> Result<bool, DiskError> {
        let Some(header) = &scanned.header else {
            return Ok(false);
        };
        // Markers are some 80 bytes long; what says that it is one and is larger lies.
        let is_marker = header.attributes.is_control() && scanned.size <= MARKER_SIZE_MAX;
        if self.depth != Depth::Records && !is_marker {
            return Ok(false);
        }
        // A length that lies is not to take memory.
        match scan.check_crc(scanned) {
            Ok(()) => {}
            Err(ScanError::Disk(error)) => return Err(error),
            Err(ScanError::Damaged { .. }) => return Ok(false),
        }
        let batch = match scan.read(scanned) {
            Ok(Some(batch)) => batch,
            Err(ScanError::Disk(error)) => return Err(error),
            // Told before, by the header.
            Ok(None) | Err(ScanError::Damaged { .. }) => return Ok(false),
        };
        let at = |fault| Problem {
            path: path.to_owned(),
            position: Some(u64::from(scanned.position)),
            offset: Some(scanned.base_offset),
            fault,
        };
        let mut aborts = false;
        if let Err(fault) = records(&batch, codecs, &mut aborts, |fault| {
            if self.depth == Depth::Records {
                report.add(at(fault));
            }
        }) {
            report.add(at(fault));
        }
        Ok(aborts)
    }
}

/// The largest batch that is taken for a marker.
const MARKER_SIZE_MAX: u32 = 4096;

/// How the walk through a segment has ended.
pub(super) struct Walked {
    /// The least offset that may follow.
    pub(super) expected: Offset,
    /// Where the log would end by a repair, if that would cut the segment.
    pub(super) cut: Option<Offset>,
}

/// Where a walk through the segments is.
struct Walk {
    base_offset: Offset,
    /// The least offset that may follow.
    expected: Offset,
    epoch: Option<LeaderEpoch>,
    /// The least offset that might have followed where a repair would cut first.
    cut: Option<Offset>,
}

impl Walk {
    /// Whether the offset is in reach of the segment's base offset.
    fn reaches(&self, last: Offset) -> bool {
        let reach = last.get().saturating_sub(self.base_offset.get());
        (0..=i64::from(i32::MAX)).contains(&reach)
    }

    /// What is wrong with the offsets of the next batch.
    fn faults(&mut self, batch: &Scanned) -> Vec<BatchFault> {
        let (base, last, expected) = (batch.base_offset, batch.last_offset, self.expected);
        let mut faults = Vec::new();
        if base < expected || last < base {
            faults.push(BatchFault::NotRising {
                base,
                last,
                expected,
            });
        }
        if !self.reaches(last) {
            let base = self.base_offset;
            let first = batch.base_offset;
            faults.push(BatchFault::OutOfReach { first, last, base });
            self.base_offset = first;
        }
        self.expected = last.checked_add(1).unwrap_or(last).max(expected);
        faults
    }
}

impl SegmentSummary {
    fn add(&mut self, batch: &Scanned) {
        let count = batch.header.map_or(1, |header| header.record_count);
        self.batches += 1;
        self.records += u64::try_from(count).unwrap_or(0);
        self.first_offset = self.first_offset.or(Some(batch.base_offset));
        self.last_offset = Some(batch.last_offset);
        if batch.max_timestamp_ms != NO_TIMESTAMP {
            self.max_timestamp_ms = self.max_timestamp_ms.max(Some(batch.max_timestamp_ms));
        }
    }
}

/// Tells what stands where a batch should, and how much of the file that is.
fn end_of_batches(path: &Path, position: u32, size: u32, reason: &BatchFault, report: &mut Report) {
    let at = |fault| Problem {
        path: path.to_owned(),
        position: Some(u64::from(position)),
        offset: None,
        fault,
    };
    report.add(at(Fault::Batch(reason.to_string())));
    let count = u64::from(size - position);
    report.add(at(Fault::BytesBehind { count }));
    cut_at(path, position, size, reason, report);
}

/// Notes what a repair would cut: everything from the first bad batch on.
fn cut_at(path: &Path, position: u32, size: u32, reason: &BatchFault, report: &mut Report) {
    if report.would_cut.is_none() {
        report.would_cut = Some(Cut {
            path: path.to_owned(),
            position,
            bytes: size - position,
            reason: reason.to_string(),
        });
    }
}

/// Reads the records of a batch through.
fn records(
    batch: &RecordBatch,
    codecs: &mut Codecs,
    aborts: &mut bool,
    mut tell: impl FnMut(Fault),
) -> Result<(), Fault> {
    let header: &BatchHeader = batch.header();
    let unreadable = |error: klamm_records::RecordsError| Fault::Records(error.to_string());
    let mut reader = batch.read(codecs).map_err(unreadable)?;
    let is_whole = i64::from(header.record_count) == i64::from(header.last_offset_delta) + 1;
    let mut expected = header.base_offset;
    let mut max_timestamp_ms = NO_TIMESTAMP;
    while let Some(record) = reader.next().map_err(unreadable)? {
        let found = record.offset;
        if found != expected && (is_whole || found < expected) {
            tell(Fault::RecordOffset { found, expected });
        }
        expected = found.checked_add(1).unwrap_or(found);
        max_timestamp_ms = max_timestamp_ms.max(record.timestamp_ms);
        if header.attributes.is_control() {
            let marker = EndMarker::parse(record.key, record.value);
            *aborts |= marker.is_ok_and(|it| it.outcome == Outcome::Abort);
        }
    }
    let stored = header.max_timestamp_ms;
    if header.record_count > 0 && stored != max_timestamp_ms {
        let computed = max_timestamp_ms;
        tell(Fault::MaxTimestamp { stored, computed });
    }
    Ok(())
}
