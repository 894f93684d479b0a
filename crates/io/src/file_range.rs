//! [`FileRange`]: bytes that are still in a file.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use crate::disk::unexpected_end;
use crate::{DiskError, DiskErrorKind, DiskFile};

/// Gets to know that a range could not be read. Whoever makes ranges learns so of a disk that
/// fails while others read.
pub trait RangeWatcher: Send + Sync {
    /// The disk did not give the bytes. Called by whoever reads, wherever that is: it must not
    /// block.
    fn range_not_read(&self, error: &DiskError);
}

/// Has a file that need not be open all the time.
pub trait FileSource<F>: Send + Sync {
    /// The file, opened if it is not.
    ///
    /// # Errors
    /// As [`Disk::open`](crate::Disk::open); `NotFound` also where another file has its name by now.
    fn file(&self) -> Result<F, DiskError>;

    /// Where it is, or was.
    fn path(&self) -> PathBuf;
}

/// A stretch of a file, handed on in place of the bytes.
///
/// The log makes them, and the network sends them, by way of memory. Until then the file of a
/// [source](FileRange::of) may be closed and opened again, so that those who are slow to take what they
/// asked for keep no descriptor from others.
pub struct FileRange<F> {
    file: Held<F>,
    /// Where in the file the range begins, in bytes.
    pub position: u64,
    /// Bytes in the range.
    pub len: usize,
    watcher: Option<Arc<dyn RangeWatcher>>,
}

enum Held<F> {
    Open(F),
    Source(Arc<dyn FileSource<F>>),
}

impl<F: Clone> Clone for FileRange<F> {
    fn clone(&self) -> Self {
        Self {
            file: match &self.file {
                Held::Open(file) => Held::Open(file.clone()),
                Held::Source(source) => Held::Source(source.clone()),
            },
            watcher: self.watcher.clone(),
            ..*self
        }
    }
}

impl<F> FileRange<F> {
    /// So many bytes of a file, from a position on. It keeps the file open, whatever becomes of the name
    /// meanwhile.
    pub const fn new(file: F, position: u64, len: usize) -> Self {
        Self::within(Held::Open(file), position, len)
    }

    /// So many bytes of a file that is opened to read them, from a position on.
    pub fn of(source: Arc<dyn FileSource<F>>, position: u64, len: usize) -> Self {
        Self::within(Held::Source(source), position, len)
    }

    const fn within(file: Held<F>, position: u64, len: usize) -> Self {
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
    /// `UnexpectedEnd` where the file has become shorter, those of a [`FileSource`]; otherwise as
    /// [`DiskFile::read_at`].
    pub fn read(&self) -> Result<Bytes, DiskError> {
        let file = self.file()?;
        let read = file.read_bytes_at(self.position, self.len);
        self.or_told(match read {
            Ok(bytes) if bytes.len() < self.len => Err(unexpected_end(file.path())),
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
        let file = self.file()?;
        let read = file.read_exact_at(&mut buffer[..wanted], self.position);
        self.or_told(read)?;
        Ok(wanted)
    }

    /// The file, for those who send from it.
    ///
    /// # Errors
    /// Those of a [`FileSource`].
    pub fn file(&self) -> Result<F, DiskError> {
        match &self.file {
            Held::Open(file) => Ok(file.clone()),
            Held::Source(source) => match source.file() {
                // It was deleted since, which is no fault of the disk.
                Err(error) if error.kind() == DiskErrorKind::NotFound => Err(error),
                opened => self.or_told(opened),
            },
        }
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
        let path = match &self.file {
            Held::Open(file) => file.path().to_owned(),
            Held::Source(source) => source.path(),
        };
        f.debug_struct("FileRange")
            .field("path", &path)
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

    /// Opens its file each time, and cannot once it is gone.
    struct Opens(SimDisk);

    impl FileSource<crate::sim::SimFile> for Opens {
        fn file(&self) -> Result<crate::sim::SimFile, DiskError> {
            self.0.open(&self.path(), OpenMode::Read)
        }

        fn path(&self) -> PathBuf {
            "/file".into()
        }
    }

    #[test]
    fn a_range_of_a_source_keeps_nothing_open_and_tells_of_no_file_that_is_gone() {
        let disk = SimDisk::new(0);
        let file = disk.open(Path::new("/file"), OpenMode::CreateNew).unwrap();
        file.write_all_at(b"0123456789", 0).unwrap();
        drop(file);
        let told = Arc::new(Told::default());
        let mut range = FileRange::of(Arc::new(Opens(disk.clone())), 2, 8);
        range = range.watched_by(Some(told.clone()));
        range.advance(1);
        assert_eq!(range.clone().read().unwrap()[..], *b"3456789");
        assert_eq!(disk.open_files(), 0);
        disk.set_open_files_max(Some(0));
        range.read_front(&mut [0; 3]).unwrap_err();
        assert_eq!(*told.0.lock(), [DiskErrorKind::TooManyFiles]);
        disk.set_open_files_max(None);
        disk.remove_file(Path::new("/file")).unwrap();
        let gone = range.read_front(&mut [0; 3]).unwrap_err();
        assert_eq!(gone.kind(), DiskErrorKind::NotFound);
        assert_eq!(told.0.lock().len(), 1);
    }
}
