//! [`EntryFile`]: entries of one length, ordered, in a file that is written from the end of.
//!
//! What the offset index and the time index have in common. The newest entries wait in memory
//! until some 4 KiB of them are there, and the file is made when they are first written: a
//! segment that is idle or small costs neither a file nor a page. Losing them loses nothing,
//! since recovery rebuilds the index of every segment that was not synced. The file is opened for
//! each use and closed after it: one in some 2 MiB of log, and one a look-up.
//!
//! While it is appended to, the file has its full size, the rest zeros that take no space, as
//! Apache Kafka keeps it; [`EntryFile::trim`] cuts it to its entries.

use std::path::{Path, PathBuf};

use klamm_io::{Disk, DiskError, DiskErrorKind, DiskFile, OpenMode};

use crate::disk_failure::DiskFailure;
use crate::flush::sync_file;

/// Bytes of entries that wait in memory, and the most that one look-up reads at once.
const CHUNK_LEN: usize = 4096;

/// The least room that a limit in bytes leaves: one entry, and one for when the segment is done.
const CAPACITY_MIN: u64 = 2;

/// Entries of `N` bytes. The caller knows their order and keeps it.
pub(crate) struct EntryFile<D: Disk, const N: usize> {
    disk: D,
    path: PathBuf,
    /// Whether there is a file.
    is_there: bool,
    /// Entries that the file holds.
    written: u64,
    /// Entries behind those, not written yet.
    tail: Vec<[u8; N]>,
    /// Entries that there may be at most.
    capacity: u64,
    /// Length of the file, beyond its entries while it is appended to.
    file_len: u64,
    /// Whether the file was changed and not synced since.
    is_dirty: bool,
}

impl<D: Disk, const N: usize> EntryFile<D, N> {
    const ENTRY_LEN: u64 = N as u64;
    const CHUNK_ENTRIES: usize = CHUNK_LEN / N;

    /// Takes an existing file as full of entries to its end, a missing one as empty. A length
    /// that is no multiple of the entry's counts as its whole entries; see
    /// [`EntryFile::has_whole_entries`].
    pub(crate) fn open(disk: D, path: PathBuf, bytes_max: u64) -> Result<Self, DiskError> {
        let found = match disk.metadata(&path) {
            Ok(metadata) => Some(metadata.len),
            Err(error) if error.kind() == DiskErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let file_len = found.unwrap_or(0);
        Ok(Self {
            is_there: found.is_some(),
            is_dirty: false,
            disk,
            path,
            written: file_len / Self::ENTRY_LEN,
            tail: Vec::new(),
            capacity: (bytes_max / Self::ENTRY_LEN).max(CAPACITY_MIN),
            file_len,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a file.
    pub(crate) fn has_file(&self) -> bool {
        self.is_there
    }

    /// Whether the file was changed and not synced since.
    pub(crate) fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Says that the file was changed before it was opened here, and not synced since.
    pub(crate) fn set_dirty(&mut self) {
        self.is_dirty = true;
    }

    /// Whether the file is not as the index is: entries are in memory alone, or there is unused space
    /// behind those of the file.
    pub(crate) fn differs_from_file(&self) -> bool {
        !self.tail.is_empty() || self.file_len != self.written * Self::ENTRY_LEN
    }

    /// Says that the file has another name by now.
    pub(crate) fn set_path(&mut self, path: PathBuf) {
        self.path = path;
    }

    /// Entries, those in memory included.
    pub(crate) fn len(&self) -> u64 {
        self.written + self.tail.len() as u64
    }

    /// Entries that there may be at most.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Whether no further entry has room.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    /// Whether the file ends at an entry's end.
    pub(crate) fn has_whole_entries(&self) -> bool {
        self.file_len.is_multiple_of(Self::ENTRY_LEN)
    }

    /// Puts an entry behind the others. The caller has checked that there is room. While the disk
    /// is full, or no descriptor is to be had, the entries wait in memory for longer.
    pub(crate) fn push(&mut self, entry: [u8; N]) -> Result<(), DiskError> {
        debug_assert!(!self.is_full(), "{} is full", self.path.display());
        if self.tail.len() >= Self::CHUNK_ENTRIES {
            match self.write() {
                Err(error) if !error.may_pass() => return Err(error),
                _ => {}
            }
        }
        self.tail.push(entry);
        Ok(())
    }

    /// The entry at `index`, `None` past the last.
    pub(crate) fn get(&self, index: u64) -> Result<Option<[u8; N]>, DiskError> {
        if index >= self.len() {
            return Ok(None);
        }
        if let Some(in_tail) = index.checked_sub(self.written) {
            let in_tail = usize::try_from(in_tail).expect("the tail is in memory");
            return Ok(Some(self.tail[in_tail]));
        }
        let file = self.disk.open(&self.path, OpenMode::Read)?;
        Ok(Some(Self::read_entry(&file, index)?))
    }

    fn read_entry(file: &D::File, index: u64) -> Result<[u8; N], DiskError> {
        let mut entry = [0; N];
        file.read_exact_at(&mut entry, index * Self::ENTRY_LEN)?;
        Ok(entry)
    }

    /// The last entry.
    pub(crate) fn last(&self) -> Result<Option<[u8; N]>, DiskError> {
        match self.len().checked_sub(1) {
            Some(index) => self.get(index),
            None => Ok(None),
        }
    }

    /// How many entries from the front are `before`; those must stand in front of all others.
    pub(crate) fn partition_point(
        &self,
        before: impl Fn(&[u8; N]) -> bool,
    ) -> Result<u64, DiskError> {
        if self.tail.first().is_some_and(&before) {
            let in_tail = self.tail.partition_point(before);
            return Ok(self.written + in_tail as u64);
        }
        if self.written == 0 {
            return Ok(0);
        }
        let file = self.disk.open(&self.path, OpenMode::Read)?;
        // Halve by single reads until the rest fits into one.
        let (mut low, mut high) = (0, self.written);
        while high - low > Self::CHUNK_ENTRIES as u64 {
            let middle = low + (high - low) / 2;
            if before(&Self::read_entry(&file, middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let count = usize::try_from(high - low).expect("at most a chunk");
        let mut chunk = vec![[0; N]; count];
        file.read_exact_at(chunk.as_flattened_mut(), low * Self::ENTRY_LEN)?;
        Ok(low + chunk.partition_point(before) as u64)
    }

    /// Drops the entries from `len` on. The file keeps its size; what stood there reads as zeros
    /// again, so that an old entry is never taken for a new one.
    pub(crate) fn truncate(&mut self, len: u64) -> Result<(), DiskError> {
        if let Some(in_tail) = len.checked_sub(self.written) {
            self.tail
                .truncate(usize::try_from(in_tail).unwrap_or(usize::MAX));
            return Ok(());
        }
        let full = self.file_len;
        self.is_dirty = true;
        let file = self.open_or_make()?;
        file.set_len(len * Self::ENTRY_LEN)?;
        file.set_len(full)?;
        self.tail.clear();
        self.written = len;
        Ok(())
    }

    /// Writes what waits in memory. Not synced.
    pub(crate) fn write(&mut self) -> Result<(), DiskError> {
        if self.tail.is_empty() {
            return Ok(());
        }
        let full = self.capacity * Self::ENTRY_LEN;
        let position = self.written * Self::ENTRY_LEN;
        self.is_dirty = true;
        let file = self.open_or_make()?;
        if self.file_len < full {
            file.set_len(full)?;
        }
        file.write_all_at(self.tail.as_flattened(), position)?;
        self.file_len = self.file_len.max(full);
        self.written += self.tail.len() as u64;
        self.tail.clear();
        Ok(())
    }

    /// Writes and makes durable what was changed. A file that was removed meanwhile is fine.
    pub(crate) fn sync(&mut self) -> Result<(), DiskError> {
        self.write()?;
        if !self.is_dirty {
            return Ok(());
        }
        sync_file(&self.disk, &self.path)?;
        self.is_dirty = false;
        Ok(())
    }

    /// Writes what waits and cuts the file to its entries, making it if need be.
    pub(crate) fn trim(&mut self) -> Result<(), DiskError> {
        self.write()?;
        let len = self.written * Self::ENTRY_LEN;
        if self.file_len != len || !self.is_there {
            self.is_dirty = true;
            self.open_or_make()?.set_len(len)?;
            self.file_len = len;
        }
        self.tail = Vec::new();
        Ok(())
    }

    /// The file, to be changed.
    fn open_or_make(&mut self) -> Result<D::File, DiskError> {
        let file = self.disk.open(&self.path, OpenMode::OpenOrCreate)?;
        self.is_there = true;
        Ok(file)
    }
}
