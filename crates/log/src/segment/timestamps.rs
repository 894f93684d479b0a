//! What a segment knows of time: its largest timestamp, and where a timestamp is reached.

use klamm_io::Disk;
use klamm_primitives::Offset;
use klamm_records::{Codecs, FoundTimestamp, NO_TIMESTAMP, RecordBatch, RecordsError};

use super::{Indexes, Segment, SegmentError};
use crate::names::FileContent;
use crate::time_index::TimestampOffset;

impl<D: Disk> Segment<D> {
    /// The largest timestamp and the last offset of the batch that has it; the file's time of
    /// modification where no batch has a timestamp.
    pub(crate) fn largest_timestamp(&self) -> Result<TimestampOffset, SegmentError> {
        let mut largest = self.scan_largest_timestamp()?;
        if largest.timestamp_ms == NO_TIMESTAMP {
            let metadata = self.home.disk.metadata(&self.path(FileContent::Log))?;
            largest.timestamp_ms = metadata.modified_ms;
        }
        Ok(largest)
    }

    /// As [`Segment::largest_timestamp`], without falling back on the file.
    pub(crate) fn scan_largest_timestamp(&self) -> Result<TimestampOffset, SegmentError> {
        if let Some(known) = *self.largest.lock() {
            return Ok(known);
        }
        let mut largest =
            self.with_indexes(|it| Ok::<_, SegmentError>(it.time.last().unwrap_or(self.none())))?;
        if !self.has_timestamp(&largest)? {
            // Slow and right, for this once: what is found is kept, or the index made anew.
            largest = self.none();
        }
        let mut scan = self.scan_near(largest.offset)?;
        while let Some(batch) = scan.next()? {
            if batch.max_timestamp_ms > largest.timestamp_ms {
                largest = TimestampOffset {
                    timestamp_ms: batch.max_timestamp_ms,
                    offset: batch.last_offset,
                };
            }
        }
        if self.marks.is_sealed.get() {
            *self.largest.lock() = Some(largest);
        }
        Ok(largest)
    }

    /// What is said of time where nothing is known.
    fn none(&self) -> TimestampOffset {
        TimestampOffset {
            timestamp_ms: NO_TIMESTAMP,
            offset: self.base_offset,
        }
    }

    /// Whether an entry of the time index is borne out by its batch. A time index that lies would
    /// hide records from those who look for them by time.
    fn has_timestamp(&self, entry: &TimestampOffset) -> Result<bool, SegmentError> {
        if entry.timestamp_ms == NO_TIMESTAMP {
            return Ok(true);
        }
        let batch = self.find(entry.offset)?;
        let is_there = batch.is_some_and(|it| {
            it.base_offset <= entry.offset && it.max_timestamp_ms == entry.timestamp_ms
        });
        if !is_there && !self.marks.is_index_new.get() {
            let mut indexes = self.indexes.lock();
            self.rebuild(&mut indexes, "a time does not fit the log")?;
        }
        Ok(is_there)
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
        // Everything before the entry's batch is earlier than its timestamp.
        let look_up = |it: &mut Indexes<D>| it.time.look_up(timestamp_ms);
        let mut near = self.with_indexes(|it| look_up(it).map_err(SegmentError::from))?;
        if !self.has_timestamp(&near)? {
            near = self.none();
        }
        let mut scan = self.scan_near(near.offset.max(from))?;
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
