//! [`FileRange`]: bytes that are still in a file.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::disk::unexpected_end;
use crate::{DiskError, DiskFile};

/// Gets to know that a range could not be read. Whoever makes ranges learns so of a disk that
/// fails while others read.
pub trait RangeWatcher: Send + Sync {
    /// The disk did not give the bytes. Called by whoever reads, wherever that is: it must not
    /// block.
    fn range_not_read(&self, error: &DiskError);
}

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
    watcher: Option<Arc<dyn RangeWatcher>>,
}

impl<F> FileRange<F> {
    /// So many bytes of a file, from a position on.
    pub const fn new(file: F, position: u64, len: usize) -> Self {
        Self {
            file,
            position,
            len,
            watcher: None,
        }
    }

    /// The same range, whose watcher is told if [`FileRange::read`] or [`FileRange::read_front`]
    /// fails.
    #[must_use]
    pub fn watched_by(self, watcher: Option<Arc<dyn RangeWatcher>>) -> Self {
        Self { watcher, ..self }
    }

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
        let read = self.file.read_bytes_at(self.position, self.len);
        self.or_told(match read {
            Ok(bytes) if bytes.len() < self.len => Err(unexpected_end(self.file.path())),
            read => read,
        })
    }

    /// Fills the buffer from the front of the range, as far as either goes; returns how many
    /// bytes that were. Blocks.
    ///
    /// # Errors
    /// As [`FileRange::read`].
    pub fn read_front(&self, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let wanted = buffer.len().min(self.len);
        let read = self
            .file
            .read_exact_at(&mut buffer[..wanted], self.position);
        self.or_told(read)?;
        Ok(wanted)
    }

    /// Passes a result on; of an error the watcher gets to know.
    fn or_told<T>(&self, read: Result<T, DiskError>) -> Result<T, DiskError> {
        if let (Err(error), Some(watcher)) = (&read, &self.watcher) {
            watcher.range_not_read(error);
        }
        read
    }
}

impl<F: DiskFile> fmt::Debug for FileRange<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileRange")
            .field("path", &self.file.path())
            .field("position", &self.position)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use parking_lot::Mutex;

    use super::*;
    use crate::sim::{Fault, SimDisk};
    use crate::{Disk, DiskErrorKind, DiskOperation, OpenMode};

    #[derive(Default)]
    struct Told(Mutex<Vec<DiskErrorKind>>);

    impl RangeWatcher for Told {
        fn range_not_read(&self, error: &DiskError) {
            self.0.lock().push(error.kind());
        }
    }

    #[test]
    fn the_watcher_is_told_of_each_read_that_fails_and_of_no_other() {
        let disk = SimDisk::new(0);
        let file = disk.open(Path::new("/file"), OpenMode::CreateNew).unwrap();
        file.write_all_at(&[1; 10], 0).unwrap();
        let told = Arc::new(Told::default());
        let range = |len| FileRange::new(file.clone(), 2, len).watched_by(Some(told.clone()));
        assert_eq!(range(8).read().unwrap().len(), 8);
        assert_eq!(range(8).read_front(&mut [0; 3]).unwrap(), 3);
        assert_eq!(*told.0.lock(), []);

        range(9).read().unwrap_err();
        disk.inject(Fault::on(DiskOperation::Read).times(2));
        let mut clone = range(8).clone();
        clone.advance(1);
        clone.read_front(&mut [0; 3]).unwrap_err();
        range(8).read().unwrap_err();
        let expected = [
            DiskErrorKind::UnexpectedEnd,
            DiskErrorKind::Failed,
            DiskErrorKind::Failed,
        ];
        assert_eq!(*told.0.lock(), expected);
        // Without a watcher nobody is told.
        FileRange::new(file, 2, 9).read().unwrap_err();
        assert_eq!(told.0.lock().len(), 3);
    }
}
