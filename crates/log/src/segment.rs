//! [`Segment`]: one stretch of a log, as a file of batches and the indexes beside it.
//!
//! Shared by the log, which appends to the last segment, and by its readers. The file and the
//! indexes are opened when first needed, so that a segment that nobody reads costs no descriptor.

mod timestamps;

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use klamm_io::{Disk, DiskError, DiskErrorKind, DiskFile, OpenMode};
use klamm_primitives::Offset;
use klamm_records::NO_TIMESTAMP;
use parking_lot::Mutex;
use tracing::warn;

use crate::bounds::Place;
use crate::index_error::IndexError;
use crate::indexer::Indexer;
use crate::names::{FileContent, FileName, Transit};
use crate::offset_index::{OffsetIndex, OffsetPosition};
use crate::scan::{Scan, ScanError, Scanned};
use crate::time_index::{TimeIndex, TimestampOffset};
use crate::transaction_index::{AbortedTransaction, Search, TransactionIndex};

/// The indexes of one segment.
pub(crate) struct Indexes<D: Disk> {
    pub(crate) offset: OffsetIndex<D>,
    pub(crate) time: TimeIndex<D>,
    pub(crate) transaction: TransactionIndex<D>,
}

/// Bytes of log between two entries of an index that is made anew while it is read.
const REBUILT_INTERVAL: u32 = 4096;

/// A segment of so many bytes is read through faster than its index is opened.
const NEAR_END_LEN: u32 = 4096;

/// One segment of a log.
pub(crate) struct Segment<D: Disk> {
    disk: D,
    directory: PathBuf,
    base_offset: Offset,
    index_bytes: u32,
    file: OnceLock<D::File>,
    /// Bytes of whole batches. Raised after they are written, so that whoever reads this size
    /// finds them.
    size: AtomicU32,
    /// Opened when first needed. Guards the indexes alone; held while they are read from disk,
    /// never while batches are.
    indexes: Mutex<Option<Indexes<D>>>,
    /// Whether it is no longer appended to.
    is_sealed: AtomicBool,
    /// The largest timestamp, once it was asked for and the segment is sealed.
    largest: Mutex<Option<TimestampOffset>>,
    /// Whether the files have the names of such that wait to be removed. Changed while `indexes`
    /// is held, so that no index is opened under a name that is another segment's by now.
    is_retired: AtomicBool,
}

impl<D: Disk> Segment<D> {
    /// A segment whose file is there, or will be made by [`Segment::create`].
    pub(crate) fn new(
        disk: D,
        directory: PathBuf,
        base_offset: Offset,
        index_bytes: u32,
        size: u32,
    ) -> Self {
        Self {
            disk,
            directory,
            base_offset,
            index_bytes,
            file: OnceLock::new(),
            size: AtomicU32::new(size),
            indexes: Mutex::new(None),
            is_sealed: AtomicBool::new(false),
            largest: Mutex::new(None),
            is_retired: AtomicBool::new(false),
        }
    }

    /// Makes the file of a new, empty segment. Left-overs of its name are removed first.
    pub(crate) fn create(
        disk: D,
        directory: PathBuf,
        base_offset: Offset,
        index_bytes: u32,
        preallocated: Option<u32>,
    ) -> Result<Self, SegmentError> {
        let segment = Self::new(disk, directory, base_offset, index_bytes, 0);
        for content in FileContent::OF_A_SEGMENT {
            segment.remove_file(&segment.path(content))?;
        }
        let file = segment
            .disk
            .open(&segment.path(FileContent::Log), OpenMode::CreateNew)?;
        if let Some(len) = preallocated {
            file.allocate(u64::from(len))?;
        }
        segment.keep(file);
        // None of them has a file, which no later opening needs to find out.
        *segment.indexes.lock() = Some(segment.read_indexes()?);
        Ok(segment)
    }

    /// The same segment in a directory of another name.
    pub(crate) fn moved_to(&self, directory: PathBuf) -> Self {
        let (base_offset, index_bytes) = (self.base_offset, self.index_bytes);
        Self::new(
            self.disk.clone(),
            directory,
            base_offset,
            index_bytes,
            self.size(),
        )
    }

    /// The smallest offset that the segment may hold.
    pub(crate) fn base_offset(&self) -> Offset {
        self.base_offset
    }

    /// Bytes of its batches.
    pub(crate) fn size(&self) -> u32 {
        self.size.load(Ordering::Acquire)
    }

    /// Where a file of the segment is.
    pub(crate) fn path(&self, content: FileContent) -> PathBuf {
        let mut name = FileName::new(self.base_offset, content);
        if self.is_retired.load(Ordering::Acquire) {
            name = name.in_transit(Transit::Deleted);
        }
        self.directory.join(name.to_string())
    }

    /// The file of batches.
    pub(crate) fn file(&self) -> Result<&D::File, DiskError> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = self
            .disk
            .open(&self.path(FileContent::Log), OpenMode::ReadWrite)?;
        Ok(self.keep(file))
    }

    /// The file of batches, for reading, and not kept open.
    pub(crate) fn open_anew(&self) -> Result<D::File, DiskError> {
        self.disk.open(&self.path(FileContent::Log), OpenMode::Read)
    }

    fn keep(&self, file: D::File) -> &D::File {
        self.file.get_or_init(|| file)
    }

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
        let bytes = u64::from(self.index_bytes);
        let index = OffsetIndex::open(self.disk.clone(), path, self.base_offset, bytes);
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
            Ok(_) => self.rebuild_indexes("it does not fit the log"),
            Err(IndexError::Damaged { path, what })
                if path != self.path(FileContent::TransactionIndex) =>
            {
                self.rebuild_indexes(&what)
            }
            Err(error) => Err(error),
        }
    }

    fn fits(&self, index: &OffsetIndex<D>) -> bool {
        let size = self.size();
        let ends_inside = index.last().is_none_or(|last| last.position < size);
        ends_inside && (index.was_there() || size == 0)
    }

    /// Makes offset and time index anew. The batches' headers are read up to the first that is
    /// damaged: whoever reads on gets to know of it then.
    fn rebuild_indexes(&self, reason: &str) -> Result<Indexes<D>, IndexError> {
        let path = self.path(FileContent::OffsetIndex);
        warn!(path = %path.display(), reason, "making an index anew");
        self.remove_file(&path)?;
        self.remove_file(&self.path(FileContent::TimeIndex))?;
        let mut indexes = self.read_indexes()?;
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
            indexes.time.append(indexer.largest())?;
        }
        indexes.offset.trim()?;
        indexes.time.trim()?;
        Ok(indexes)
    }

    fn read_indexes(&self) -> Result<Indexes<D>, IndexError> {
        let (disk, base) = (&self.disk, self.base_offset);
        let path = |content| self.path(content);
        let bytes = u64::from(self.index_bytes);
        let offset = OffsetIndex::open(disk.clone(), path(FileContent::OffsetIndex), base, bytes);
        let time = TimeIndex::open(disk.clone(), path(FileContent::TimeIndex), base, bytes);
        let path = path(FileContent::TransactionIndex);
        let transaction = TransactionIndex::open(disk.clone(), path, base);
        Ok(Indexes {
            offset: offset?,
            time: time?,
            transaction: transaction?,
        })
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

    /// Writes pieces of `len` bytes behind the batches, and returns where. The size is raised by
    /// [`Segment::written`].
    pub(crate) fn write(&self, pieces: &[IoSlice<'_>]) -> Result<u32, DiskError> {
        let position = self.size();
        self.file()?
            .write_all_vectored_at(pieces, u64::from(position))?;
        Ok(position)
    }

    /// Says that batches up to this position are written.
    pub(crate) fn written(&self, size: u32) {
        self.size.store(size, Ordering::Release);
    }

    /// Takes back what a failed write may have left behind the batches.
    pub(crate) fn unwrite(&self) -> Result<(), DiskError> {
        self.file()?.set_len(u64::from(self.size()))
    }

    /// A walk through the batches from a position on.
    pub(crate) fn scan(&self, position: u32) -> Result<Scan<'_, D::File>, DiskError> {
        Ok(Scan::new(self.file()?, position, self.size()))
    }

    /// The first batch that reaches to `offset`.
    pub(crate) fn find(&self, offset: Offset) -> Result<Option<Scanned>, SegmentError> {
        let near: OffsetPosition =
            self.with_indexes(|it| it.offset.look_up(offset).map_err(SegmentError::from))?;
        // An index that lies must not send a reader past the end.
        let position = near.position.min(self.size());
        Ok(self.scan(position)?.find(offset)?)
    }

    /// Says that nothing is appended from here on.
    pub(crate) fn set_sealed(&self) {
        self.is_sealed.store(true, Ordering::Release);
    }

    /// The aborted transactions of this segment that have records in `from..to`.
    pub(crate) fn aborted_in(&self, from: Offset, to: Offset) -> Result<Search, IndexError> {
        self.with_indexes(|it| it.transaction.search(from, to))
    }

    /// Notes an aborted transaction whose marker is here.
    pub(crate) fn note_aborted(&self, aborted: &AbortedTransaction) -> Result<(), IndexError> {
        self.with_indexes(|it| it.transaction.append(aborted))
    }

    /// Where the segment would end without the batches that reach to `offset`.
    pub(crate) fn end_before(&self, offset: Offset) -> Result<Place, SegmentError> {
        let mut end = Place {
            offset: self.base_offset,
            segment_base: self.base_offset,
            position: 0,
        };
        // An entry of a batch that stays.
        let near =
            self.with_indexes(|it| it.offset.look_up(offset - 1).map_err(SegmentError::from))?;
        let mut scan = self.scan(near.position.min(self.size()))?;
        end.position = near.position;
        while let Some(batch) = scan.next()? {
            if batch.last_offset >= offset {
                break;
            }
            end.offset = batch.last_offset + 1;
            end.position = batch.end();
        }
        Ok(end)
    }

    /// Cuts the batches from `offset` on, and the indexes with them. Returns how many bytes went.
    pub(crate) fn truncate_to(&self, offset: Offset) -> Result<u32, SegmentError> {
        let size = self.size();
        let position = self.find(offset)?.map_or(size, |batch| batch.position);
        self.with_indexes(|it| -> Result<_, SegmentError> {
            it.offset.truncate_to(offset)?;
            it.time.truncate_to(offset)?;
            it.transaction.truncate_to(offset)?;
            Ok(())
        })?;
        self.cut(position)?;
        Ok(size - position)
    }

    /// Cuts the file behind this position, durably: what is written there next must not be mixed
    /// up with what stood there, should the power go.
    pub(crate) fn cut(&self, position: u32) -> Result<(), DiskError> {
        self.is_sealed.store(false, Ordering::Release);
        *self.largest.lock() = None;
        let file = self.file()?;
        // Readers first: what they see is a size of whole batches throughout.
        self.size.store(position, Ordering::Release);
        if file.metadata()?.len == u64::from(position) {
            return Ok(());
        }
        file.set_len(u64::from(position))?;
        file.sync_data()
    }

    /// Makes the batches durable that were written before.
    pub(crate) fn sync_log(&self) -> Result<(), DiskError> {
        match self.file.get() {
            Some(file) => file.sync_data(),
            None => Ok(()),
        }
    }

    /// Makes everything durable, the indexes too: from here on they are trusted after a crash.
    pub(crate) fn sync_all(&self) -> Result<(), DiskError> {
        if let Some(indexes) = self.indexes.lock().as_mut() {
            indexes.offset.sync()?;
            indexes.time.sync()?;
            indexes.transaction.sync()?;
        }
        self.sync_log()
    }

    /// Ends appending: the last entry of the time index, the files cut to what they hold.
    pub(crate) fn seal(&self, largest: TimestampOffset) -> Result<(), SegmentError> {
        self.with_indexes(|it| -> Result<_, SegmentError> {
            if largest.timestamp_ms != NO_TIMESTAMP {
                it.time.append(largest)?;
            }
            it.offset.trim()?;
            it.time.trim()?;
            Ok(())
        })?;
        self.set_sealed();
        *self.largest.lock() = Some(largest);
        if let Some(file) = self.file.get()
            && file.metadata()?.len != u64::from(self.size())
        {
            file.set_len(u64::from(self.size()))?;
        }
        Ok(())
    }

    /// Gives the files the names of such that wait to be removed. Readers that hold the segment
    /// read on, also when its names are those of another segment by then.
    pub(crate) fn retire(&self) -> Result<Vec<PathBuf>, DiskError> {
        match self.file() {
            Err(error) if error.kind() != DiskErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut indexes = self.indexes.lock();
        let mut retired = Vec::new();
        for content in FileContent::OF_A_SEGMENT {
            let name = FileName::new(self.base_offset, content);
            let from = self.directory.join(name.to_string());
            let to = name.in_transit(Transit::Deleted).to_string();
            let to = self.directory.join(to);
            match self.disk.rename(&from, &to) {
                Ok(()) => retired.push(to),
                Err(error) if error.kind() == DiskErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.is_retired.store(true, Ordering::Release);
        if let Some(open) = indexes.as_mut() {
            open.offset.set_path(self.path(FileContent::OffsetIndex));
            open.time.set_path(self.path(FileContent::TimeIndex));
            let path = self.path(FileContent::TransactionIndex);
            open.transaction.set_path(path);
        }
        Ok(retired)
    }

    /// Removes the files at once.
    pub(crate) fn remove(&self) -> Result<(), DiskError> {
        for content in FileContent::OF_A_SEGMENT {
            self.remove_file(&self.path(content))?;
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> Result<(), DiskError> {
        match self.disk.remove_file(path) {
            Err(error) if error.kind() != DiskErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// A segment could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The file holds something that is no batch.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// An index refused, or is damaged.
    #[error(transparent)]
    Index(#[from] IndexError),
}
