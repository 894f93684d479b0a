//! [`RealDisk`]: the operating system's file systems.

use std::fs::{self, File, TryLockError};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::fs::{FallocateFlags, FlockOperation};
use rustix::io::Errno;

use crate::clock::unix_ms_of;
use crate::disk::{Disk, DiskFile, Entry, FileKind, Metadata, OpenMode, Space};
use crate::disk_error::{DiskError, DiskErrorKind, DiskOperation};

/// The operating system's file systems; a relative path starts at the current directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

/// An open file of [`RealDisk`].
#[derive(Debug, Clone)]
pub struct RealFile(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    file: File,
    path: Box<Path>,
}

/// A lock held through [`RealDisk`].
#[derive(Debug)]
pub struct RealLock {
    /// The locks belong to the open file and go with it.
    _file: File,
}

impl Disk for RealDisk {
    type File = RealFile;
    type Lock = RealLock;

    fn open(&self, path: &Path, mode: OpenMode) -> Result<RealFile, DiskError> {
        let file = open(path, mode).map_err(failed(DiskOperation::Open, path))?;
        Ok(RealFile(Arc::new(Opened {
            file,
            path: path.into(),
        })))
    }

    fn metadata(&self, path: &Path) -> Result<Metadata, DiskError> {
        fs::metadata(path)
            .and_then(|metadata| read_metadata(&metadata))
            .map_err(failed(DiskOperation::Metadata, path))
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        fs::create_dir_all(path).map_err(failed(DiskOperation::CreateDir, path))
    }

    fn list(&self, path: &Path) -> Result<Vec<Entry>, DiskError> {
        let list = || {
            let mut entries = Vec::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                let kind = match entry.file_type()? {
                    link if link.is_symlink() => {
                        // A link that leads nowhere is still a name in the directory.
                        fs::metadata(entry.path())
                            .map_or(FileKind::Other, |it| kind_of(it.file_type()))
                    }
                    plain => kind_of(plain),
                };
                entries.push(Entry {
                    name: entry.file_name(),
                    kind,
                });
            }
            entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            Ok(entries)
        };
        list().map_err(failed(DiskOperation::List, path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        fs::rename(from, to).map_err(|source| DiskError::rename(from, to, source))
    }

    fn remove_file(&self, path: &Path) -> Result<(), DiskError> {
        fs::remove_file(path).map_err(failed(DiskOperation::RemoveFile, path))
    }

    fn remove_dir(&self, path: &Path) -> Result<(), DiskError> {
        fs::remove_dir(path).map_err(failed(DiskOperation::RemoveDir, path))
    }

    fn sync_dir(&self, path: &Path) -> Result<(), DiskError> {
        let sync = || {
            let directory = File::open(path)?;
            if !directory.metadata()?.is_dir() {
                return Err(Errno::NOTDIR.into());
            }
            directory.sync_all()
        };
        sync().map_err(failed(DiskOperation::SyncDir, path))
    }

    /// Takes two locks: `flock`, which also tells holders within this process apart, and a POSIX
    /// record lock on the whole file, which is what a Java process would take and see.
    ///
    /// The record lock has the well-known flaw that it goes when the process closes *any*
    /// descriptor of the file: a second attempt within this process fails as it should, and from
    /// then on `flock` alone guards.
    fn try_lock(&self, path: &Path) -> Result<RealLock, DiskError> {
        let file = open(path, OpenMode::OpenOrCreate).map_err(failed(DiskOperation::Lock, path))?;
        let held_elsewhere = |source: io::Error| {
            DiskError::with_kind(DiskErrorKind::Locked, DiskOperation::Lock, path, source)
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(held_elsewhere(io::ErrorKind::WouldBlock.into()));
            }
            Err(TryLockError::Error(source)) => {
                return Err(DiskError::new(DiskOperation::Lock, path, source));
            }
        }
        match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(RealLock { _file: file }),
            Err(errno @ (Errno::AGAIN | Errno::ACCESS)) => Err(held_elsewhere(errno.into())),
            Err(errno) => Err(DiskError::new(DiskOperation::Lock, path, errno.into())),
        }
    }

    fn space(&self, path: &Path) -> Result<Space, DiskError> {
        let stat = rustix::fs::statvfs(path)
            .map_err(|errno| DiskError::new(DiskOperation::Space, path, errno.into()))?;
        Ok(Space {
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            available_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        })
    }
}

impl RealFile {
    fn file(&self) -> &File {
        &self.0.file
    }

    fn failed(&self, operation: DiskOperation) -> impl FnOnce(io::Error) -> DiskError {
        failed(operation, &self.0.path)
    }
}

impl DiskFile for RealFile {
    fn path(&self) -> &Path {
        &self.0.path
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> Result<usize, DiskError> {
        let mut read = 0;
        while read < buffer.len() {
            match self
                .file()
                .read_at(&mut buffer[read..], position + read as u64)
            {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(source) if source.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(self.failed(DiskOperation::Read)(source)),
            }
        }
        Ok(read)
    }

    fn write_all_at(&self, bytes: &[u8], position: u64) -> Result<(), DiskError> {
        self.file()
            .write_all_at(bytes, position)
            .map_err(self.failed(DiskOperation::Write))
    }

    fn write_all_vectored_at(
        &self,
        pieces: &[IoSlice<'_>],
        position: u64,
    ) -> Result<(), DiskError> {
        write_all_vectored(
            pieces,
            position,
            |pieces, position| loop {
                match rustix::io::pwritev(self.file(), pieces, position) {
                    Err(Errno::INTR) => {}
                    written => return Ok(written?),
                }
            },
            |bytes, position| self.file().write_all_at(bytes, position),
        )
        .map_err(self.failed(DiskOperation::Write))
    }

    fn metadata(&self) -> Result<Metadata, DiskError> {
        self.file()
            .metadata()
            .and_then(|metadata| read_metadata(&metadata))
            .map_err(self.failed(DiskOperation::Metadata))
    }

    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        self.file()
            .set_len(len)
            .map_err(self.failed(DiskOperation::SetLen))
    }

    fn allocate(&self, len: u64) -> Result<(), DiskError> {
        if len == 0 {
            // The system call refuses an empty range.
            return Ok(());
        }
        let extend = || {
            if self.file().metadata()?.len() < len {
                self.file().set_len(len)?;
            }
            Ok(())
        };
        loop {
            match rustix::fs::fallocate(self.file(), FallocateFlags::empty(), 0, len) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                    return extend().map_err(self.failed(DiskOperation::Allocate));
                }
                Err(errno) => return Err(self.failed(DiskOperation::Allocate)(errno.into())),
            }
        }
    }

    fn sync_data(&self) -> Result<(), DiskError> {
        self.file()
            .sync_data()
            .map_err(self.failed(DiskOperation::Sync))
    }

    fn sync_all(&self) -> Result<(), DiskError> {
        self.file()
            .sync_all()
            .map_err(self.failed(DiskOperation::Sync))
    }

    fn set_modified_ms(&self, unix_ms: i64) -> Result<(), DiskError> {
        let distance = Duration::from_millis(unix_ms.unsigned_abs());
        let time = if unix_ms < 0 {
            UNIX_EPOCH.checked_sub(distance)
        } else {
            UNIX_EPOCH.checked_add(distance)
        };
        time.ok_or_else(|| io::ErrorKind::InvalidInput.into())
            .and_then(|time| self.file().set_modified(time))
            .map_err(self.failed(DiskOperation::SetModified))
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file().as_fd())
    }

    fn read_bytes_at(&self, position: u64, len: usize) -> Result<Bytes, DiskError> {
        // Read into memory that nobody has cleared first.
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let from = position + bytes.len() as u64;
            match rustix::io::pread(self.file(), spare_capacity(&mut bytes), from) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(self.failed(DiskOperation::Read)(errno.into())),
            }
        }
        // The allocator may have given more than was asked for.
        bytes.truncate(len);
        Ok(Bytes::from(bytes))
    }
}

fn open(path: &Path, mode: OpenMode) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(mode != OpenMode::Read);
    match mode {
        OpenMode::Read | OpenMode::ReadWrite => {}
        OpenMode::OpenOrCreate => {
            options.create(true);
        }
        OpenMode::CreateNew => {
            options.create_new(true);
        }
        OpenMode::CreateOrTruncate => {
            options.create(true).truncate(true);
        }
    }
    let file = options.open(path)?;
    if mode == OpenMode::Read && file.metadata()?.is_dir() {
        // For writing the operating system refuses by itself.
        return Err(Errno::ISDIR.into());
    }
    Ok(file)
}

fn failed(operation: DiskOperation, path: &Path) -> impl FnOnce(io::Error) -> DiskError {
    move |source| DiskError::new(operation, path, source)
}

fn kind_of(file_type: fs::FileType) -> FileKind {
    if file_type.is_file() {
        FileKind::File
    } else if file_type.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Other
    }
}

fn read_metadata(metadata: &fs::Metadata) -> io::Result<Metadata> {
    Ok(Metadata {
        kind: kind_of(metadata.file_type()),
        len: metadata.len(),
        modified_ms: unix_ms_of(metadata.modified()?),
    })
}

/// Writes all pieces, whatever each call of `write` takes: a call may stop anywhere and may look
/// at the first pieces only (the operating system takes 1024 at most). A piece that was written
/// in part is finished by `write_rest`, so that the pieces need not be copied to be cut.
fn write_all_vectored(
    mut pieces: &[IoSlice<'_>],
    mut position: u64,
    mut write: impl FnMut(&[IoSlice<'_>], u64) -> io::Result<usize>,
    mut write_rest: impl FnMut(&[u8], u64) -> io::Result<()>,
) -> io::Result<()> {
    loop {
        while pieces.first().is_some_and(|piece| piece.is_empty()) {
            pieces = &pieces[1..];
        }
        if pieces.is_empty() {
            return Ok(());
        }
        let mut written = write(pieces, position)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        position += written as u64;
        while let Some((piece, later)) = pieces.split_first() {
            if written < piece.len() {
                if written > 0 {
                    let rest = &piece[written..];
                    write_rest(rest, position)?;
                    position += rest.len() as u64;
                    pieces = later;
                }
                break;
            }
            written -= piece.len();
            pieces = later;
        }
    }
}
