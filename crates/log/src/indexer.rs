//! [`Indexer`]: decides which batches of a segment get index entries, as they are appended or
//! recovered.

use klamm_io::Disk;
use klamm_primitives::Offset;
use klamm_records::NO_TIMESTAMP;

use crate::index_error::IndexError;
use crate::offset_index::OffsetPosition;
use crate::segment::{Indexes, Segment};
use crate::time_index::TimestampOffset;

/// A batch as an index wants to know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Indexed {
    /// Where it begins in the segment's file, in bytes.
    pub(crate) position: u32,
    /// Its bytes.
    pub(crate) size: u32,
    pub(crate) last_offset: Offset,
    pub(crate) max_timestamp_ms: i64,
}

/// What is known of the batches that a segment holds so far, as far as the next entry depends
/// on it.
#[derive(Debug)]
pub(crate) struct Indexer {
    bytes_since_entry: u32,
    /// The largest timestamp so far, and the last offset of the first batch that had it.
    largest: TimestampOffset,
}

/// Entries that a batch gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entries {
    offset: OffsetPosition,
    largest: TimestampOffset,
}

impl Indexer {
    /// For a segment with so many bytes from its last indexed batch on, and this largest
    /// timestamp.
    pub(crate) fn new(bytes_since_entry: u32, largest: TimestampOffset) -> Self {
        Self {
            bytes_since_entry,
            largest,
        }
    }

    /// For a segment without records.
    pub(crate) fn empty(base_offset: Offset) -> Self {
        let largest = TimestampOffset {
            timestamp_ms: NO_TIMESTAMP,
            offset: base_offset,
        };
        Self::new(0, largest)
    }

    /// The largest timestamp so far, [`NO_TIMESTAMP`] if no batch had one.
    pub(crate) fn largest(&self) -> TimestampOffset {
        self.largest
    }

    /// Takes the next batch. It gets entries if more than `interval` bytes lie between the start
    /// of the last one that did and its own.
    pub(crate) fn take(&mut self, interval: u32, batch: &Indexed) -> Option<Entries> {
        if batch.max_timestamp_ms > self.largest.timestamp_ms {
            self.largest = TimestampOffset {
                timestamp_ms: batch.max_timestamp_ms,
                offset: batch.last_offset,
            };
        }
        let is_due = self.bytes_since_entry > interval;
        if is_due {
            self.bytes_since_entry = 0;
        }
        self.bytes_since_entry = self.bytes_since_entry.saturating_add(batch.size);
        is_due.then_some(Entries {
            offset: OffsetPosition {
                offset: batch.last_offset,
                position: batch.position,
            },
            largest: self.largest,
        })
    }

    /// Takes the next batch of a segment and writes its entries, if it gets any.
    pub(crate) fn add<D: Disk>(
        &mut self,
        segment: &Segment<D>,
        interval: u32,
        batch: &Indexed,
    ) -> Result<(), IndexError> {
        match self.take(interval, batch) {
            Some(entries) => segment.with_indexes(|it| it.add(&entries)),
            None => Ok(()),
        }
    }
}

impl<D: Disk> Indexes<D> {
    /// Adds entries. Without room there are none: a sparse index need not have them. Neither are
    /// there if the batch has them, because a reader had the index made anew just now.
    pub(crate) fn add(&mut self, entries: &Entries) -> Result<(), IndexError> {
        let last = self.offset.last();
        let is_new = last.is_none_or(|last| last.offset < entries.offset.offset);
        if is_new && !self.offset.is_full() {
            self.offset.append(entries.offset)?;
        }
        if entries.largest.timestamp_ms != NO_TIMESTAMP && !self.time.is_full() {
            self.time.append_if_later(entries.largest)?;
        }
        Ok(())
    }
}
