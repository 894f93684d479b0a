//! [`FileRange`]: bytes that are still in a file.

use std::fmt;

use bytes::Bytes;

use crate::disk::unexpected_end;
use crate::{DiskError, DiskFile};

/// A stretch of a file, handed on in place of the bytes. It keeps its file open, whatever
/// becomes of the name meanwhile.
///
/// The log makes them; the network sends them, from the file or by way of memory.
#[derive(Clone)]
pub struct FileRange<F> {
    /// The file.
    pub file: F,
    /// Where in the file the range begins, in bytes.
    pub position: u64,
    /// Bytes in the range.
    pub len: usize,
}

impl<F> FileRange<F> {
    /// Whether it holds no byte.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Drops `count` bytes from the front, those that have been sent.
    ///
    /// # Panics
    /// Where the range is shorter than that.
    pub const fn advance(&mut self, count: usize) {
        assert!(count <= self.len, "advanced past the end of a file range");
        self.position += count as u64;
        self.len -= count;
    }
}

impl<F: DiskFile> FileRange<F> {
    /// Reads the whole range into memory. Blocks.
    ///
    /// # Errors
    /// `UnexpectedEnd` where the file has become shorter; otherwise as [`DiskFile::read_at`].
    pub fn read(&self) -> Result<Bytes, DiskError> {
        let bytes = self.file.read_bytes_at(self.position, self.len)?;
        if bytes.len() == self.len {
            Ok(bytes)
        } else {
            Err(unexpected_end(self.file.path()))
        }
    }

    /// Fills the buffer from the front of the range, as far as either goes; returns how many
    /// bytes that were. Blocks.
    ///
    /// # Errors
    /// As [`FileRange::read`].
    pub fn read_front(&self, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let wanted = buffer.len().min(self.len);
        self.file
            .read_exact_at(&mut buffer[..wanted], self.position)?;
        Ok(wanted)
    }
}

impl<F: DiskFile> fmt::Debug for FileRange<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileRange")
            .field("path", &self.file.path())
            .field("position", &self.position)
            .field("len", &self.len)
            .finish()
    }
}
