//! The indexes of one segment: opened when first needed, and made anew where they cannot be
//! right.

use klamm_io::Disk;
use klamm_primitives::Offset;
use klamm_records::NO_TIMESTAMP;
use tracing::warn;

use super::{Segment, SegmentError};
use crate::index_error::IndexError;
use crate::indexer::Indexer;
use crate::names::FileContent;
use crate::offset_index::OffsetIndex;
use crate::scan::ScanError;
use crate::time_index::TimeIndex;
use crate::transaction_index::TransactionIndex;

/// The indexes of one segment.
pub(crate) struct Indexes<D: Disk> {
    pub(crate) offset: OffsetIndex<D>,
    pub(crate) time: TimeIndex<D>,
    pub(crate) transaction: TransactionIndex<D>,
}

impl<D: Disk> Indexes<D> {
    /// Whether a file was changed and not synced since.
    pub(super) fn is_dirty(&self) -> bool {
        self.offset.file().is_dirty() || self.time.file().is_dirty() || self.transaction.is_dirty()
    }

    /// The indexes, if their files are not as they are, or an empty one would be missed; otherwise they
    /// are as well opened anew.
    pub(super) fn if_needed(self, segment_is_empty: bool) -> Option<Self> {
        let is_missed = !segment_is_empty && !self.offset.file().has_file();
        let differ = self.offset.file().differs_from_file()
            || self.time.file().differs_from_file()
            || is_missed;
        differ.then_some(self)
    }
}

/// Bytes of log between two entries of an index that is made anew while it is read.
const REBUILT_INTERVAL: u32 = 4096;

/// A segment of so many bytes is read through faster than its index is opened.
const NEAR_END_LEN: u32 = 4096;

impl<D: Disk> Segment<D> {
    /// Acts on the indexes, opening them if need be.
    pub(crate) fn with_indexes<T, E: From<IndexError>>(
        &self,
        act: impl FnOnce(&mut Indexes<D>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut indexes = self.indexes.lock();
        if indexes.is_none() {
            *indexes = Some(self.open_indexes()?);
        }
        act(indexes.as_mut().expect("opened above"))
    }

    /// Where a batch begins that is not far from the end, without keeping the indexes open. They
    /// are made anew if they cannot be right.
    pub(crate) fn position_near_end(&self) -> Result<u32, SegmentError> {
        if self.size() <= NEAR_END_LEN {
            return Ok(0);
        }
        let path = self.path(FileContent::OffsetIndex);
        let bytes = u64::from(self.home.index_bytes);
        let index = OffsetIndex::open(self.home.disk.clone(), path, self.base_offset, bytes);
        let near = match index {
            Ok(index) if self.fits(&index) => index.last(),
            _ => self.with_indexes(|it| Ok::<_, SegmentError>(it.offset.last()))?,
        };
        Ok(near.map_or(0, |it| it.position))
    }

    /// Opens the indexes. An offset or time index that cannot be right, and an offset index that
    /// is missing, are made anew from the batches.
    fn open_indexes(&self) -> Result<Indexes<D>, IndexError> {
        match self.read_indexes() {
            Ok(indexes) if self.fits(&indexes.offset) => Ok(indexes),
            Ok(indexes) => self.rebuilt("it does not fit the log", indexes.transaction),
            Err(IndexError::Damaged { path, what })
                if path != self.path(FileContent::TransactionIndex) =>
            {
                self.rebuilt(&what, self.read_transaction_index()?)
            }
            Err(error) => Err(error),
        }
    }

    fn fits(&self, index: &OffsetIndex<D>) -> bool {
        let size = self.size();
        let ends_inside = index.last().is_none_or(|last| last.position < size);
        ends_inside && (index.file().has_file() || size == 0)
    }

    /// Puts indexes that were made anew in the place of those that are open. Where that fails none
    /// are open, and whoever needs them next tries again. That the transaction index is not synced
    /// is not forgotten.
    pub(super) fn rebuild(
        &self,
        indexes: &mut Option<Indexes<D>>,
        reason: &str,
    ) -> Result<(), IndexError> {
        if let Some(former) = indexes.take() {
            let is_dirty = former.transaction.is_dirty();
            let rebuilt = self.rebuilt(reason, former.transaction);
            if is_dirty && rebuilt.is_err() {
                self.marks.owes_index_sync.set(true);
            }
            *indexes = Some(rebuilt?);
        }
        Ok(())
    }

    /// Makes offset and time index anew. The batches' headers are read up to the first that is
    /// damaged: whoever reads on gets to know of it then. The transaction index is kept: it
    /// cannot be had from the headers, and may not be synced yet.
    fn rebuilt(
        &self,
        reason: &str,
        transaction: TransactionIndex<D>,
    ) -> Result<Indexes<D>, IndexError> {
        let path = self.path(FileContent::OffsetIndex);
        warn!(path = %path.display(), reason, "making an index anew");
        self.marks.is_index_new.set(true);
        self.remove_file(&path)?;
        self.remove_file(&self.path(FileContent::TimeIndex))?;
        let mut indexes = Indexes {
            transaction,
            ..self.read_indexes()?
        };
        let mut indexer = Indexer::empty(self.base_offset);
        let mut scan = self.scan(0)?;
        loop {
            match scan.next() {
                Ok(Some(batch)) => {
                    if let Some(entries) = indexer.take(REBUILT_INTERVAL, &batch.indexed()) {
                        indexes.add(&entries)?;
                    }
                }
                Ok(None) | Err(ScanError::Damaged { .. }) => break,
                Err(ScanError::Disk(error)) => return Err(error.into()),
            }
        }
        if indexer.largest().timestamp_ms != NO_TIMESTAMP {
            indexes.time.append_if_later(indexer.largest())?;
        }
        indexes.offset.trim()?;
        indexes.time.trim()?;
        Ok(indexes)
    }

    pub(super) fn read_indexes(&self) -> Result<Indexes<D>, IndexError> {
        let (disk, base) = (&self.home.disk, self.base_offset);
        let path = |content| self.path(content);
        let bytes = u64::from(self.home.index_bytes);
        let offset = OffsetIndex::open(disk.clone(), path(FileContent::OffsetIndex), base, bytes);
        let time = TimeIndex::open(disk.clone(), path(FileContent::TimeIndex), base, bytes);
        let (mut offset, mut time) = (offset?, time?);
        if self.marks.owes_index_sync.get() {
            offset.file_mut().set_dirty();
            time.file_mut().set_dirty();
        }
        Ok(Indexes {
            offset,
            time,
            transaction: self.read_transaction_index()?,
        })
    }

    fn read_transaction_index(&self) -> Result<TransactionIndex<D>, IndexError> {
        let path = self.path(FileContent::TransactionIndex);
        let mut index = TransactionIndex::open(self.home.disk.clone(), path, self.base_offset)?;
        if self.marks.owes_index_sync.get() {
            index.set_dirty();
        }
        Ok(index)
    }

    /// Removes the files of the indexes and begins with empty ones: they are to be rebuilt.
    pub(crate) fn reset_indexes(&self) -> Result<(), SegmentError> {
        let mut indexes = self.indexes.lock();
        *self.largest.lock() = None;
        for content in FileContent::OF_A_SEGMENT {
            if content != FileContent::Log {
                self.remove_file(&self.path(content))?;
            }
        }
        *indexes = Some(self.read_indexes()?);
        Ok(())
    }

    /// Whether the offset can be said relative to the base offset.
    pub(crate) fn reaches(&self, offset: Offset) -> bool {
        (0..=i64::from(i32::MAX)).contains(&(offset.get().saturating_sub(self.base_offset.get())))
    }
}
