//! [`Segment`]: one stretch of a log, as a file of batches and the indexes beside it.
//!
//! Shared by the log, which appends to the last segment, and by its readers. The file is opened when
//! it is needed, and stays so as [`OpenFiles`] has it; those of the indexes are opened for each use.
//! So a segment that nobody reads costs no descriptor, and many that are read no more than there may
//! be.

mod indexes;
mod look_up;
mod marks;
mod rescue;
mod timestamps;

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use klamm_io::{Disk, DiskError, DiskErrorKind, DiskFile, OpenMode};
use klamm_primitives::Offset;
use klamm_records::NO_TIMESTAMP;
use parking_lot::Mutex;

pub(crate) use self::indexes::Indexes;
use self::marks::Marks;
use crate::config::LogConfig;
use crate::flush::sync_file;
use crate::index_error::IndexError;
use crate::names::{FileContent, FileName, Transit};
use crate::open_files::{HeldFile, OpenFiles, failed_before};
use crate::scan::{Scan, ScanError};
use crate::time_index::TimestampOffset;
use crate::transaction_index::{AbortedTransaction, Search};

/// What the segments of a log have in common.
#[derive(Clone)]
pub(crate) struct Home<D: Disk> {
    disk: D,
    directory: PathBuf,
    /// `segment.index.bytes`.
    index_bytes: u32,
    open_files: Arc<OpenFiles<D::File>>,
}

impl<D: Disk> Home<D> {
    pub(crate) fn new(
        disk: D,
        directory: PathBuf,
        config: &LogConfig,
        open_files: &Arc<OpenFiles<D::File>>,
    ) -> Self {
        Self {
            disk,
            directory,
            index_bytes: config.index_bytes,
            open_files: open_files.clone(),
        }
    }
}

/// One segment of a log.
pub(crate) struct Segment<D: Disk> {
    home: Home<D>,
    base_offset: Offset,
    /// There once the file was needed.
    file: OnceLock<Arc<HeldFile<D::File>>>,
    /// Bytes of whole batches. Raised after they are written, so that whoever reads this size
    /// finds them.
    size: AtomicU32,
    /// Opened when first needed. Guards the indexes alone; held while they are read from disk.
    /// Records are read without it, and headers of batches only where an index does not fit them:
    /// for as long as it is made anew, whoever needs an index of this segment waits.
    indexes: Mutex<Option<Indexes<D>>>,
    /// What outlives the open files.
    marks: Marks,
    /// The largest timestamp, once it was asked for and the segment is sealed.
    largest: Mutex<Option<TimestampOffset>>,
    /// Whether the files have the names of such that wait to be removed. Changed while `indexes` and
    /// the file are held, so that nothing is opened under a name that is another segment's by now.
    is_retired: AtomicBool,
}

impl<D: Disk> Segment<D> {
    /// A segment whose file is there, or will be made by [`Segment::create`].
    pub(crate) fn new(home: Home<D>, base_offset: Offset, size: u32) -> Self {
        Self {
            home,
            base_offset,
            file: OnceLock::new(),
            size: AtomicU32::new(size),
            indexes: Mutex::new(None),
            marks: Marks::default(),
            largest: Mutex::new(None),
            is_retired: AtomicBool::new(false),
        }
    }

    /// Makes the file of a new, empty segment. Left-overs of its name are removed first, and where
    /// it fails none is left.
    pub(crate) fn create(
        home: Home<D>,
        base_offset: Offset,
        preallocated: Option<u32>,
    ) -> Result<Self, SegmentError> {
        let segment = Self::new(home, base_offset, 0);
        for content in FileContent::OF_A_SEGMENT {
            segment.remove_file(&segment.path(content))?;
        }
        let path = segment.path(FileContent::Log);
        let made = || segment.home.disk.open(&path, OpenMode::CreateNew);
        let file = segment.held().get(made)?;
        let filled = segment.fill_in(&file, preallocated);
        if filled.is_err() {
            segment.remove_file(&path)?;
        }
        filled.map(|()| segment)
    }

    fn fill_in(&self, file: &D::File, preallocated: Option<u32>) -> Result<(), SegmentError> {
        if let Some(len) = preallocated {
            file.allocate(u64::from(len))?;
        }
        // None of them has a file, which no later opening needs to find out.
        *self.indexes.lock() = Some(self.read_indexes()?);
        Ok(())
    }

    /// The same segment in a directory of another name, with no file open.
    pub(crate) fn moved_to(&self, directory: PathBuf) -> Self {
        let home = Home {
            directory,
            ..self.home.clone()
        };
        let moved = Self {
            marks: self.marks.clone(),
            ..Self::new(home, self.base_offset, self.size())
        };
        if let Some(file) = self.file.get() {
            if file.owes_sync() {
                moved.marks.owes_log_sync.set(true);
            }
            if file.has_failed() {
                moved.marks.has_lost_sync.set(true);
            }
        }
        moved
    }

    /// The same segment with no file open: who needs it next opens it. What is not synced yet is not
    /// forgotten, and neither are entries of an index that found no room on the disk. Whoever has
    /// this one reads on by it, and nobody may append to it.
    pub(crate) fn let_go(&self) -> Self {
        let mut indexes = self.indexes.lock();
        let open = indexes.take();
        if open.as_ref().is_some_and(Indexes::is_dirty) {
            self.marks.owes_index_sync.set(true);
        }
        let fresh = self.moved_to(self.home.directory.clone());
        *fresh.indexes.lock() = open.and_then(|open| open.if_needed(self.size() == 0));
        *fresh.largest.lock() = *self.largest.lock();
        fresh
    }

    /// Whether the file of batches is open.
    pub(crate) fn holds_file(&self) -> bool {
        self.file.get().is_some_and(|file| file.is_open())
    }

    /// Whether a file is open, or may be.
    pub(crate) fn is_open(&self) -> bool {
        self.holds_file() || self.indexes.lock().is_some()
    }

    /// The segment to be looked through once: its files are closed again when this is dropped, if
    /// they are now.
    pub(crate) fn for_once(self: &Arc<Self>) -> Arc<Self> {
        if self.is_open() {
            return self.clone();
        }
        Arc::new(self.moved_to(self.home.directory.clone()))
    }

    /// Says that nothing of the segment is known to be durable.
    pub(crate) fn owe_sync(&self) {
        self.marks.owes_log_sync.set(true);
        self.marks.owes_index_sync.set(true);
    }

    /// Whether something may not be durable that no open file tells of.
    pub(crate) fn owes_sync(&self) -> bool {
        self.marks.owes_log_sync.get() || self.marks.owes_index_sync.get()
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
        self.home.directory.join(name.to_string())
    }

    /// What it has in common with the other segments of its log.
    pub(crate) fn home(&self) -> &Home<D> {
        &self.home
    }

    /// The file of batches, for reading.
    pub(crate) fn file(&self) -> Result<D::File, DiskError> {
        self.held().get(|| self.open())
    }

    fn held(&self) -> &Arc<HeldFile<D::File>> {
        self.file.get_or_init(|| self.home.open_files.closed_file())
    }

    fn open(&self) -> Result<D::File, DiskError> {
        let path = self.path(FileContent::Log);
        self.home.disk.open(&path, OpenMode::ReadWrite)
    }

    /// The file of batches, for reading, and not kept open.
    pub(crate) fn open_anew(&self) -> Result<D::File, DiskError> {
        self.home
            .disk
            .open(&self.path(FileContent::Log), OpenMode::Read)
    }

    /// Writes pieces behind the batches, and returns where. The size is raised by
    /// [`Segment::written`].
    pub(crate) fn write(&self, pieces: &[IoSlice<'_>]) -> Result<u32, NotWritten> {
        let position = self.size();
        let at = u64::from(position);
        let mut taken_back = Ok(());
        let written = self.held().write(
            || self.open(),
            |file| {
                let written = file.write_all_vectored_at(pieces, at);
                if written.is_err() {
                    taken_back = file.set_len(at);
                }
                written
            },
        );
        match (written, taken_back) {
            (_, Err(error)) => Err(NotWritten::InDoubt(error)),
            (Err(error), _) => Err(NotWritten::AsItWas(error)),
            (Ok(()), _) => Ok(position),
        }
    }

    /// Says that batches up to this position are written.
    pub(crate) fn written(&self, size: u32) {
        self.size.store(size, Ordering::Release);
    }

    /// A walk through the batches from a position on.
    pub(crate) fn scan(&self, position: u32) -> Result<Scan<D::File>, DiskError> {
        Ok(Scan::new(self.file()?, position, self.size()))
    }

    /// Says that nothing is appended from here on, and what the largest timestamp is if that is
    /// known.
    pub(crate) fn set_sealed(&self, largest: Option<TimestampOffset>) {
        self.marks.is_sealed.set(true);
        *self.largest.lock() = largest;
    }

    /// The aborted transactions of this segment that have records in `from..to`.
    pub(crate) fn aborted_in(&self, from: Offset, to: Offset) -> Result<Search, IndexError> {
        self.with_indexes(|it| it.transaction.search(from, to))
    }

    /// Sees to it that noting aborted transactions needs no descriptor, which is kept until they
    /// are noted or [let go of](Self::let_go_of_aborted).
    pub(crate) fn prepare_to_note_aborted(&self) -> Result<(), IndexError> {
        self.with_indexes(|it| it.transaction.hold_open())
    }

    /// Notes aborted transactions whose markers are here.
    pub(crate) fn note_aborted(&self, aborted: &[AbortedTransaction]) -> Result<(), IndexError> {
        self.with_indexes(|it| {
            for transaction in aborted {
                it.transaction.append(transaction)?;
            }
            it.transaction.let_go();
            Ok(())
        })
    }

    /// Says that no aborted transactions are noted after all.
    pub(crate) fn let_go_of_aborted(&self) {
        if let Some(indexes) = self.indexes.lock().as_mut() {
            indexes.transaction.let_go();
        }
    }

    /// Cuts the batches from `offset` on, and the indexes with them. Returns how many bytes went.
    pub(crate) fn truncate_to(&self, offset: Offset) -> Result<u32, SegmentError> {
        let size = self.size();
        let position = self.find(offset)?.map_or(size, |batch| batch.position);
        self.with_indexes(|it| -> Result<_, SegmentError> {
            it.offset.truncate_to(offset)?;
            it.time.truncate_to(offset)?;
            it.transaction.truncate_to(offset)?;
            // With the lock held: an index that a reader makes anew goes as far as the batches.
            self.size.store(position, Ordering::Release);
            Ok(())
        })?;
        self.cut(position)?;
        Ok(size - position)
    }

    /// Cuts the file behind this position, durably: what is written there next must not be mixed
    /// up with what stood there, should the power go.
    pub(crate) fn cut(&self, position: u32) -> Result<(), DiskError> {
        self.marks.is_sealed.set(false);
        *self.largest.lock() = None;
        let len = self.file()?.metadata()?.len;
        // Readers first: what they see is a size of whole batches throughout.
        self.size.store(position, Ordering::Release);
        if len == u64::from(position) {
            return Ok(());
        }
        self.set_len(position)?;
        self.held().sync().map(drop)
    }

    fn set_len(&self, len: u32) -> Result<(), DiskError> {
        let set = |file: &D::File| file.set_len(u64::from(len));
        self.held().write(|| self.open(), set)
    }

    /// Makes the batches durable that were written before.
    pub(crate) fn sync_log(&self) -> Result<(), DiskError> {
        if self.marks.has_lost_sync.get() {
            return Err(failed_before(&self.path(FileContent::Log)));
        }
        let is_synced = match self.file.get() {
            Some(file) => file.sync()?,
            None => false,
        };
        if !is_synced && self.marks.owes_log_sync.get() {
            sync_file(&self.home.disk, &self.path(FileContent::Log))?;
        }
        self.marks.owes_log_sync.set(false);
        Ok(())
    }

    /// Makes everything durable, the indexes too: from here on they are trusted after a crash.
    pub(crate) fn sync_all(&self) -> Result<(), DiskError> {
        {
            let mut indexes = self.indexes.lock();
            if let Some(indexes) = indexes.as_mut() {
                indexes.offset.sync()?;
                indexes.time.sync()?;
                indexes.transaction.sync()?;
            } else if self.marks.owes_index_sync.get() {
                for content in FileContent::OF_A_SEGMENT {
                    if content != FileContent::Log {
                        sync_file(&self.home.disk, &self.path(content))?;
                    }
                }
            }
            self.marks.owes_index_sync.set(false);
        }
        self.sync_log()
    }

    /// Writes what stays where nothing more is appended: the last entry of the time index, and the
    /// files cut to what they hold. Where it fails the segment can be appended to all the same.
    pub(crate) fn seal(&self, largest: TimestampOffset) -> Result<(), SegmentError> {
        self.seal_indexes(largest)?;
        Ok(self.cut_off_reserved()?)
    }

    /// As [`Segment::seal`], of the indexes. One without entries that has no file gets none where the
    /// segment has no batch either, so that nobody misses it.
    pub(crate) fn seal_indexes(&self, largest: TimestampOffset) -> Result<(), SegmentError> {
        let is_empty = self.size() == 0;
        self.with_indexes(|it| -> Result<_, SegmentError> {
            if largest.timestamp_ms != NO_TIMESTAMP {
                it.time.append_if_later(largest)?;
            }
            if !is_empty || it.offset.file().has_file() {
                it.offset.trim()?;
            }
            if !is_empty || it.time.file().has_file() {
                it.time.trim()?;
            }
            Ok(())
        })
    }

    /// Cuts off space that was reserved behind the batches.
    pub(crate) fn cut_off_reserved(&self) -> Result<(), DiskError> {
        if self.file.get().is_some() {
            let path = self.path(FileContent::Log);
            if self.home.disk.metadata(&path)?.len != u64::from(self.size()) {
                self.set_len(self.size())?;
            }
        }
        Ok(())
    }

    /// Gives the files the names of such that wait to be removed. Readers that hold the segment
    /// read on, also when its names are those of another segment by then: nobody opens the file by
    /// the name that it has lost.
    pub(crate) fn retire(&self) -> Result<Vec<PathBuf>, DiskError> {
        let mut indexes = self.indexes.lock();
        let retired = self.held().exclusively(|| self.rename_to_retired())?;
        if let Some(open) = indexes.as_mut() {
            open.offset.set_path(self.path(FileContent::OffsetIndex));
            open.time.set_path(self.path(FileContent::TimeIndex));
            let path = self.path(FileContent::TransactionIndex);
            open.transaction.set_path(path);
        }
        Ok(retired)
    }

    fn rename_to_retired(&self) -> Result<Vec<PathBuf>, DiskError> {
        let mut retired = Vec::new();
        for content in FileContent::OF_A_SEGMENT {
            let name = FileName::new(self.base_offset, content);
            let from = self.home.directory.join(name.to_string());
            let to = name.in_transit(Transit::Deleted).to_string();
            let to = self.home.directory.join(to);
            match self.home.disk.rename(&from, &to) {
                Ok(()) => retired.push(to),
                Err(error) if error.kind() == DiskErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.is_retired.store(true, Ordering::Release);
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
        match self.home.disk.remove_file(path) {
            Err(error) if error.kind() != DiskErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Batches could not be written.
pub(crate) enum NotWritten {
    /// The file is as it was before.
    AsItWas(DiskError),
    /// Something may stand behind the batches that could not be taken away.
    InDoubt(DiskError),
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

impl SegmentError {
    /// The disk's own error.
    ///
    /// # Errors
    /// This one, where it is no error of the disk.
    pub(crate) fn into_disk_error(self) -> Result<DiskError, Self> {
        match self {
            Self::Disk(error)
            | Self::Scan(ScanError::Disk(error))
            | Self::Index(IndexError::Disk(error)) => Ok(error),
            other => Err(other),
        }
    }
}
