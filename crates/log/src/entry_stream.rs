//! [`EntryStream`]: the entries of an index file one after the other, whatever the file holds.
//!
//! For those who look at files that may be anything: it keeps a few KiB in memory, however long
//! the file is, and believes nothing about order.

use std::path::Path;

use klamm_io::{Disk, DiskError, DiskErrorKind, DiskFile, OpenMode};

/// Entries that are read at once.
const CHUNK_ENTRIES: usize = 512;

/// Entries of `N` bytes, read from the start of a file.
pub(crate) struct EntryStream<F, const N: usize> {
    file: F,
    len: u64,
    /// Entries that were read from the file.
    read: u64,
    chunk: Vec<[u8; N]>,
    /// The next one of the chunk.
    next: usize,
}

impl<F: DiskFile, const N: usize> EntryStream<F, N> {
    /// Opens the file; `None` where there is none.
    pub(crate) fn open<D: Disk<File = F>>(
        disk: &D,
        path: &Path,
    ) -> Result<Option<Self>, DiskError> {
        let file = match disk.open(path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == DiskErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let len = file.metadata()?.len;
        Ok(Some(Self {
            file,
            len,
            read: 0,
            chunk: Vec::new(),
            next: 0,
        }))
    }

    /// Bytes behind the last whole entry of the file.
    pub(crate) fn odd_bytes(&self) -> u64 {
        self.len % N as u64
    }

    /// The next entry and where it stands, in bytes; `None` behind the last whole one.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, [u8; N])>, DiskError> {
        if self.next == self.chunk.len() && !self.fill()? {
            return Ok(None);
        }
        let index = self.read - self.chunk.len() as u64 + self.next as u64;
        let entry = self.chunk[self.next];
        self.next += 1;
        Ok(Some((index * N as u64, entry)))
    }

    fn fill(&mut self) -> Result<bool, DiskError> {
        let left = self.len / N as u64 - self.read;
        let count = usize::try_from(left).map_or(CHUNK_ENTRIES, |left| left.min(CHUNK_ENTRIES));
        self.chunk.clear();
        self.next = 0;
        if count == 0 {
            return Ok(false);
        }
        self.chunk.resize(count, [0; N]);
        let position = self.read * N as u64;
        self.file
            .read_exact_at(self.chunk.as_flattened_mut(), position)?;
        self.read += count as u64;
        Ok(true)
    }
}

/// The `i64` at a position of an entry.
pub(crate) fn i64_at(entry: &[u8], position: usize) -> i64 {
    let bytes = entry[position..position + 8].try_into();
    i64::from_be_bytes(bytes.expect("8 bytes were taken"))
}

/// The `i32` at a position of an entry.
pub(crate) fn i32_at(entry: &[u8], position: usize) -> i32 {
    let bytes = entry[position..position + 4].try_into();
    i32::from_be_bytes(bytes.expect("4 bytes were taken"))
}
