//! What a segment knows of time: its largest timestamp, and where a timestamp is reached.

use std::sync::atomic::Ordering;

use klamm_io::Disk;
use klamm_primitives::Offset;
use klamm_records::{Codecs, FoundTimestamp, NO_TIMESTAMP, RecordBatch, RecordsError};

use super::{Segment, SegmentError};
use crate::names::FileContent;
use crate::time_index::TimestampOffset;

impl<D: Disk> Segment<D> {
    /// The largest timestamp and the last offset of the batch that has it; the file's time of
    /// modification where no batch has a timestamp.
    pub(crate) fn largest_timestamp(&self) -> Result<TimestampOffset, SegmentError> {
        let mut largest = self.scan_largest_timestamp()?;
        if largest.timestamp_ms == NO_TIMESTAMP {
            let metadata = self.disk.metadata(&self.path(FileContent::Log))?;
            largest.timestamp_ms = metadata.modified_ms;
        }
        Ok(largest)
    }

    /// As [`Segment::largest_timestamp`], without falling back on the file.
    pub(crate) fn scan_largest_timestamp(&self) -> Result<TimestampOffset, SegmentError> {
        if let Some(known) = *self.largest.lock() {
            return Ok(known);
        }
        let (mut largest, position) = self.with_indexes(|it| -> Result<_, SegmentError> {
            let last = it.time.last().unwrap_or(TimestampOffset {
                timestamp_ms: NO_TIMESTAMP,
                offset: self.base_offset,
            });
            Ok((last, it.offset.look_up(last.offset)?.position))
        })?;
        let mut scan = self.scan(position.min(self.size()))?;
        while let Some(batch) = scan.next()? {
            if batch.max_timestamp_ms > largest.timestamp_ms {
                largest = TimestampOffset {
                    timestamp_ms: batch.max_timestamp_ms,
                    offset: batch.last_offset,
                };
            }
        }
        if self.is_sealed.load(Ordering::Acquire) {
            *self.largest.lock() = Some(largest);
        }
        Ok(largest)
    }

    /// The largest timestamp of the records at or behind `from`, or [`NO_TIMESTAMP`].
    pub(crate) fn largest_timestamp_from(
        &self,
        from: Offset,
        codecs: &mut Codecs,
    ) -> Result<i64, SegmentError> {
        if from <= self.base_offset {
            return Ok(self.scan_largest_timestamp()?.timestamp_ms);
        }
        let mut largest = NO_TIMESTAMP;
        let Some(first) = self.find(from)? else {
            return Ok(largest);
        };
        let mut scan = self.scan(first.position)?;
        while let Some(scanned) = scan.next()? {
            if scanned.max_timestamp_ms <= largest {
                continue;
            }
            let batch = if scanned.base_offset < from {
                scan.read(&scanned)?
            } else {
                None
            };
            // Of the batch that reaches over `from`, only the records behind it count.
            largest = match batch {
                None => scanned.max_timestamp_ms,
                Some(batch) => max_timestamp_from(&batch, from, codecs)
                    .map_err(|error| scan.damaged(scanned.position, error.into()))?
                    .max(largest),
            };
        }
        Ok(largest)
    }

    /// The first record with this timestamp or a later one, at or behind `from`.
    pub(crate) fn find_timestamp(
        &self,
        timestamp_ms: i64,
        from: Offset,
        codecs: &mut Codecs,
    ) -> Result<Option<FoundTimestamp>, SegmentError> {
        let position = self.with_indexes(|it| -> Result<_, SegmentError> {
            // Everything before the entry's batch is earlier than its timestamp.
            let near = it.time.look_up(timestamp_ms)?;
            Ok(it.offset.look_up(near.offset.max(from))?.position)
        })?;
        let mut scan = self.scan(position.min(self.size()))?;
        while let Some(scanned) = scan.next()? {
            if scanned.max_timestamp_ms < timestamp_ms || scanned.last_offset < from {
                continue;
            }
            let Some(batch) = scan.read(&scanned)? else {
                continue;
            };
            match batch.find_timestamp(timestamp_ms, from, codecs) {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(error) => return Err(scan.damaged(scanned.position, error.into()).into()),
            }
        }
        Ok(None)
    }
}

/// The largest timestamp of a batch's records at or behind `from`.
fn max_timestamp_from(
    batch: &RecordBatch,
    from: Offset,
    codecs: &mut Codecs,
) -> Result<i64, RecordsError> {
    let mut largest = NO_TIMESTAMP;
    for record in batch.skim(codecs)? {
        let record = record?;
        if record.offset >= from {
            largest = largest.max(record.timestamp_ms);
        }
    }
    Ok(largest)
}
