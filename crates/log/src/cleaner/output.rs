//! [`Output`]: a segment that is being written anew, under names that an opening log removes.

use std::path::{Path, PathBuf};

use klamm_io::{Disk, DiskError, DiskErrorKind, DiskFile, OpenMode};
use klamm_primitives::Offset;
use klamm_records::{BatchHeader, NO_TIMESTAMP};

use crate::indexer::{Indexed, Indexer};
use crate::names::{FileContent, FileName, Transit};
use crate::offset_index::OffsetIndex;
use crate::segment::{Indexes, SegmentError};
use crate::time_index::TimeIndex;
use crate::transaction_index::{AbortedTransaction, TransactionIndex};

/// Where the files of segments are, and how their indexes are made.
#[derive(Clone)]
pub(super) struct Place<D> {
    pub(super) disk: D,
    pub(super) directory: PathBuf,
    pub(super) index_bytes: u32,
    pub(super) index_interval_bytes: u32,
}

impl<D: Disk> Place<D> {
    pub(super) fn path(
        &self,
        base_offset: Offset,
        content: FileContent,
        transit: Option<Transit>,
    ) -> PathBuf {
        let mut name = FileName::new(base_offset, content);
        name.transit = transit;
        self.directory.join(name.to_string())
    }

    /// Gives the files of a segment names of another transit. The log must be there, the others
    /// may be.
    pub(super) fn rename(
        &self,
        base_offset: Offset,
        from: Option<Transit>,
        to: Option<Transit>,
    ) -> Result<(), DiskError> {
        for content in FileContent::OF_A_SEGMENT {
            let to = self.path(base_offset, content, to);
            let from = self.path(base_offset, content, from);
            match self.disk.rename(&from, &to) {
                Err(error)
                    if error.kind() == DiskErrorKind::NotFound && content != FileContent::Log => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Removes what there is of a segment that was being written. What cannot be removed now is
    /// when the log is opened.
    pub(super) fn discard(&self, base_offset: Offset) {
        for content in FileContent::OF_A_SEGMENT {
            let path = self.path(base_offset, content, Some(Transit::Cleaned));
            _ = self.disk.remove_file(&path);
        }
    }
}

/// A segment that was written anew and synced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    pub(super) base_offset: Offset,
    pub(super) size: u32,
}

/// A segment that is being written anew.
pub(super) struct Output<D: Disk> {
    pub(super) base_offset: Offset,
    place: Place<D>,
    file: D::File,
    size: u32,
    indexes: Indexes<D>,
    indexer: Indexer,
}

impl<D: Disk> Output<D> {
    pub(super) fn create(place: &Place<D>, base_offset: Offset) -> Result<Self, SegmentError> {
        place.discard(base_offset);
        let path = |content| place.path(base_offset, content, Some(Transit::Cleaned));
        let file = place
            .disk
            .open(&path(FileContent::Log), OpenMode::CreateOrTruncate)?;
        let disk = || place.disk.clone();
        let bytes = u64::from(place.index_bytes);
        let indexes = Indexes {
            offset: OffsetIndex::open(disk(), path(FileContent::OffsetIndex), base_offset, bytes)?,
            time: TimeIndex::open(disk(), path(FileContent::TimeIndex), base_offset, bytes)?,
            transaction: TransactionIndex::open(
                disk(),
                path(FileContent::TransactionIndex),
                base_offset,
            )?,
        };
        Ok(Self {
            base_offset,
            place: place.clone(),
            file,
            size: 0,
            indexes,
            indexer: Indexer::empty(base_offset),
        })
    }

    /// Whether the batch can stand in this segment: by its offsets, and by the position behind
    /// it.
    pub(super) fn has_room_for(&self, position: u32, batch: &BatchHeader) -> bool {
        let reach = batch
            .last_offset()
            .get()
            .saturating_sub(self.base_offset.get());
        let end = u64::from(self.size) + u64::from(position) + batch.size() as u64;
        reach <= i64::from(i32::MAX) && end <= i32::MAX.cast_unsigned().into()
    }

    /// Adds whole batches, with their headers.
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        batches: &[BatchHeader],
    ) -> Result<(), SegmentError> {
        self.file.write_all_at(bytes, u64::from(self.size))?;
        for batch in batches {
            let size = u32::try_from(batch.size()).expect("a part of a segment");
            let indexed = Indexed {
                position: self.size,
                size,
                last_offset: batch.last_offset(),
                max_timestamp_ms: batch.max_timestamp_ms,
            };
            let interval = self.place.index_interval_bytes;
            if let Some(entries) = self.indexer.take(interval, &indexed) {
                self.indexes.add(&entries)?;
            }
            self.size += size;
        }
        Ok(())
    }

    pub(super) fn note_aborted(
        &mut self,
        aborted: &AbortedTransaction,
    ) -> Result<(), SegmentError> {
        Ok(self.indexes.transaction.append(aborted)?)
    }

    /// Ends the segment and makes it durable, but for its names. `modified_ms` is when the last
    /// of those was modified that it was made from: retention goes by it where no record has a
    /// timestamp.
    pub(super) fn finish(mut self, modified_ms: i64) -> Result<Written, SegmentError> {
        let largest = self.indexer.largest();
        if largest.timestamp_ms != NO_TIMESTAMP {
            self.indexes.time.append(largest)?;
        }
        self.indexes.offset.trim()?;
        self.indexes.time.trim()?;
        for content in [FileContent::OffsetIndex, FileContent::TimeIndex] {
            self.sync(content)?;
        }
        self.indexes.transaction.sync()?;
        self.file.set_modified_ms(modified_ms)?;
        self.file.sync_all()?;
        Ok(Written {
            base_offset: self.base_offset,
            size: self.size,
        })
    }

    fn sync(&self, content: FileContent) -> Result<(), DiskError> {
        let path: &Path = &self
            .place
            .path(self.base_offset, content, Some(Transit::Cleaned));
        self.place.disk.open(path, OpenMode::ReadWrite)?.sync_data()
    }
}
