//! [`Runs`]: the batches of a segment, some hundred KiB of whole ones at a time.

use bytes::Bytes;
use klamm_io::{Disk, DiskFile};
use klamm_primitives::Offset;
use klamm_records::{FilterErrorCause, RecordBatches};

use super::clean::CleanError;
use crate::names::FileContent;
use crate::scan::{BatchFault, ScanError};
use crate::segment::{Segment, SegmentError};

/// Bytes that are read at once, unless one batch is larger.
const RUN_LEN: usize = 512 << 10;

/// Reads a segment from a position to its end.
pub(super) struct Runs<'a, D: Disk> {
    segment: &'a Segment<D>,
    position: u32,
    /// The least offset that may follow. A checksum does not cover offsets.
    expected: Offset,
    /// `max.message.bytes`: what is larger must prove that it is a batch before it is read.
    batch_bytes_max: u32,
}

/// Whole batches, one behind the other.
pub(super) struct Run {
    /// Where they begin in the file.
    pub(super) position: u32,
    pub(super) bytes: Bytes,
}

impl<'a, D: Disk> Runs<'a, D> {
    pub(super) fn new(segment: &'a Segment<D>, position: u32, batch_bytes_max: u32) -> Self {
        Self {
            segment,
            position,
            expected: segment.base_offset(),
            batch_bytes_max,
        }
    }

    /// The next batches; `None` at the end. Memory is taken for one run, or for one batch that
    /// is larger: above `max.message.bytes` only once its checksum is right.
    pub(super) fn next(&mut self) -> Result<Option<Run>, CleanError> {
        let left = self.segment.size().saturating_sub(self.position);
        if left == 0 {
            return Ok(None);
        }
        let position = self.position;
        let file = self.segment.file()?;
        let len = RUN_LEN.min(left as usize);
        let mut bytes = file.read_bytes_at(u64::from(position), len)?;
        let mut batches = RecordBatches::new(bytes.clone());
        let whole = loop {
            let start = batches.position();
            match batches.next() {
                Some(Ok(batch)) => {
                    let header = batch.header();
                    self.check_offsets(position, header.base_offset, header.last_offset())?;
                }
                Some(Err(error)) => {
                    let position = u64::from(position) + start as u64;
                    return Err(damaged(self.segment, position, error.into()));
                }
                None => break start,
            }
        };
        if whole > 0 {
            bytes.truncate(whole);
        } else {
            let mut scan = self.segment.scan(position)?;
            let Some(batch) = scan.next()? else {
                return Ok(None);
            };
            if batch.size > self.batch_bytes_max {
                scan.check_crc(&batch)?;
            }
            self.check_offsets(position, batch.base_offset, batch.last_offset)?;
            bytes = file.read_bytes_at(u64::from(position), batch.size as usize)?;
        }
        self.position += u32::try_from(bytes.len()).expect("a part of a segment");
        Ok(Some(Run { position, bytes }))
    }

    /// Whether the next batch of a run lies behind the one before it.
    fn check_offsets(
        &mut self,
        position: u32,
        base: Offset,
        last: Offset,
    ) -> Result<(), CleanError> {
        let expected = self.expected;
        match last.checked_add(1) {
            Some(next) if base >= expected && last >= base => {
                self.expected = next;
                Ok(())
            }
            _ => Err(CleanError::Segment(SegmentError::Scan(
                ScanError::Damaged {
                    path: self.segment.path(FileContent::Log),
                    position,
                    reason: BatchFault::NotRising {
                        base,
                        last,
                        expected,
                    },
                },
            ))),
        }
    }
}

/// The error for a batch at this position.
pub(super) fn damaged<D: Disk>(
    segment: &Segment<D>,
    position: u64,
    cause: FilterErrorCause,
) -> CleanError {
    CleanError::Damaged {
        path: segment.path(FileContent::Log),
        position,
        cause,
    }
}
