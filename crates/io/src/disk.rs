//! [`Disk`] and [`DiskFile`]: what the storage layers ask of a file system.
//!
//! All calls block, some for long (a sync on a busy disk takes seconds): they belong on threads
//! of their own, never on those that drive sockets. Used through generics (`D: Disk`), so that
//! the real side is called directly.
//!
//! What is durable and when:
//!
//! | done | survives the process | survives the power |
//! |---|---|---|
//! | write, cut, extend, allocate | at once | after [`DiskFile::sync_data`] |
//! | create, rename, remove | at once | after [`Disk::sync_dir`] of each directory it touched |
//! | modification time | at once | after [`DiskFile::sync_all`] |
//!
//! Before that, any part of it may or may not be there after a power cut: single sectors of a
//! write, the new length without the new bytes (which then read as zeros), a rename without the
//! contents of the file renamed. A file that was synced is still lost with its name when the
//! directory was not.

use std::ffi::OsString;
use std::io::IoSlice;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::DiskError;
use crate::disk_error::DiskOperation;

/// A file system, or a part of one.
///
/// A clone is another handle to the same disk. Every error names operation and path; a failed
/// call has changed nothing unless it says otherwise.
pub trait Disk: Clone + Send + Sync + 'static {
    /// An open file.
    type File: DiskFile;

    /// A lock that is held; dropping it, or the end of the process in any way, releases it.
    type Lock: Send + Sync + 'static;

    /// Opens a file. The directories above it must exist.
    ///
    /// # Errors
    /// By kind: `NotFound`, `AlreadyExists` ([`OpenMode::CreateNew`]), `Denied`, `Full`,
    /// `TooManyFiles`, `IsADirectory`, `NotADirectory` (a part of the path), `Failed`.
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Self::File, DiskError>;

    /// Length, kind and modification time of what has this name.
    ///
    /// # Errors
    /// `NotFound` where nothing has it, `Denied`, `NotADirectory`, `Failed`.
    fn metadata(&self, path: &Path) -> Result<Metadata, DiskError>;

    /// Makes a directory and those above it that are missing; fine where it is there.
    ///
    /// # Errors
    /// `AlreadyExists` or `NotADirectory` where a file is in the way; `Denied`, `Full`,
    /// `Failed`. Some of the directories above may have been made.
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError>;

    /// What is in a directory, sorted by name.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, `Denied`, `TooManyFiles`, `Failed`.
    fn list(&self, path: &Path) -> Result<Vec<Entry>, DiskError>;

    /// Gives a file or directory another name, in one step: others see the old name or the new.
    /// A file takes the place of a file, a directory that of an empty directory. Handles stay
    /// open and read the same bytes.
    ///
    /// # Errors
    /// `NotFound`, `Denied`, `DirectoryNotEmpty`, `IsADirectory`, `NotADirectory`, `Full`,
    /// `Failed` (also for a move to another file system).
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;

    /// Takes a file's name away. Handles that are open go on; the space is free after the last
    /// of them is gone.
    ///
    /// # Errors
    /// `NotFound`, `Denied`, `IsADirectory`, `Failed`.
    fn remove_file(&self, path: &Path) -> Result<(), DiskError>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `NotFound`, `Denied`, `DirectoryNotEmpty`, `NotADirectory`, `Failed`.
    fn remove_dir(&self, path: &Path) -> Result<(), DiskError>;

    /// Makes durable which names the directory holds: what was created in it, renamed into or
    /// out of it, and removed from it.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, `Denied`, `Failed`. Which names are durable is unknown then.
    fn sync_dir(&self, path: &Path) -> Result<(), DiskError>;

    /// Takes the lock that the file stands for, creating the file where it is missing. Does not
    /// wait.
    ///
    /// # Errors
    /// `Locked` where another process, or another holder within this one, has it; otherwise as
    /// [`Disk::open`].
    fn try_lock(&self, path: &Path) -> Result<Self::Lock, DiskError>;

    /// The one name of what has many: absolute, without links, `.` and `..`. What is not there yet is
    /// named by what is there of the directories above it.
    ///
    /// # Errors
    /// `Denied`, `NotADirectory` (a part of the path), `NotAFile` (a link to itself), `Failed`.
    fn resolve(&self, path: &Path) -> Result<PathBuf, DiskError>;

    /// The space of the file system that the path is on.
    ///
    /// # Errors
    /// `NotFound`, `Denied`, `Failed`.
    fn space(&self, path: &Path) -> Result<Space, DiskError>;
}

/// An open file, read and written at positions: there is no cursor, and nothing is appended.
///
/// A clone is the same open file, and the file stays open until the last clone is dropped, also
/// under another name or none. Calls from several threads are fine; of two writes to the same
/// bytes at one time either may win, byte by byte.
pub trait DiskFile: Clone + Send + Sync + 'static {
    /// The path under which it was opened; it may have another name by now.
    fn path(&self) -> &Path;

    /// Reads from `position` on until the buffer is full or the file ends; returns how many
    /// bytes that were (0 at and behind the end).
    ///
    /// # Errors
    /// `Failed`, `NoMemory`. What the buffer holds then is unknown.
    fn read_at(&self, buffer: &mut [u8], position: u64) -> Result<usize, DiskError>;

    /// Where the next byte at or behind `position` stands that may not be zero, as far as that is known
    /// without reading: `position` itself where it is not; `None` where nothing but zeros follows up to
    /// the end. So that space which was reserved and never written need not be read. Through this handle
    /// nothing is read ahead any more, where the system can be told so.
    ///
    /// # Errors
    /// `Failed`.
    fn next_written(&self, position: u64) -> Result<Option<u64>, DiskError> {
        Ok(Some(position))
    }

    /// Writes all bytes from `position` on. Behind the end the file grows; a gap reads as zeros.
    ///
    /// # Errors
    /// `Full`, `Denied` (opened for reading), `Failed`. Some of the bytes may have been written,
    /// and the file may have grown by them.
    fn write_all_at(&self, bytes: &[u8], position: u64) -> Result<(), DiskError>;

    /// Writes the pieces one behind the other from `position` on, in as few system calls as they
    /// fit in. Any number of pieces will do, empty ones too.
    ///
    /// # Errors
    /// As [`DiskFile::write_all_at`].
    fn write_all_vectored_at(&self, pieces: &[IoSlice<'_>], position: u64)
    -> Result<(), DiskError>;

    /// Length, kind and modification time.
    ///
    /// # Errors
    /// `Failed`.
    fn metadata(&self) -> Result<Metadata, DiskError>;

    /// Cuts the file, or extends it by zeros that take no space yet.
    ///
    /// # Errors
    /// `Denied` (opened for reading), `Full`, `Failed`.
    fn set_len(&self, len: u64) -> Result<(), DiskError>;

    /// Reserves space for the first `len` bytes, so that writing them cannot run out of it, and
    /// extends a shorter file to `len` by zeros. A longer one keeps its length. Where the file
    /// system cannot reserve, it only extends, and says so.
    ///
    /// # Errors
    /// `Full`, `Denied` (opened for reading), `Failed`.
    fn allocate(&self, len: u64) -> Result<Allocated, DiskError>;

    /// Makes the contents and the length durable.
    ///
    /// # Errors
    /// `Failed`, `Full`. What is durable of the bytes written since the last success is unknown
    /// from then on, and *a later success does not make them durable*: the operating system may
    /// have forgotten them. Do not try again; stop relying on the file.
    fn sync_data(&self) -> Result<(), DiskError>;

    /// As [`DiskFile::sync_data`], and the modification time as well.
    ///
    /// # Errors
    /// As [`DiskFile::sync_data`].
    fn sync_all(&self) -> Result<(), DiskError>;

    /// Sets the modification time, in milliseconds since 1970-01-01 UTC.
    ///
    /// # Errors
    /// `Denied`, `Failed`.
    fn set_modified_ms(&self, unix_ms: i64) -> Result<(), DiskError>;

    /// The descriptor, for those who hand the file to the operating system (`sendfile`). `None`
    /// where there is none: then read.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Fills the buffer from `position` on.
    ///
    /// # Errors
    /// `UnexpectedEnd` where the file ends first; otherwise as [`DiskFile::read_at`].
    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> Result<(), DiskError> {
        if self.read_at(buffer, position)? == buffer.len() {
            Ok(())
        } else {
            Err(unexpected_end(self.path()))
        }
    }

    /// Reads `len` bytes from `position` on into memory of their own, less where the file ends
    /// first. The caller bounds `len`: that much memory is taken.
    ///
    /// # Errors
    /// As [`DiskFile::read_at`].
    fn read_bytes_at(&self, position: u64, len: usize) -> Result<Bytes, DiskError> {
        let mut buffer = vec![0; len];
        let read = self.read_at(&mut buffer, position)?;
        buffer.truncate(read);
        Ok(Bytes::from(buffer))
    }
}

/// The file ends before the bytes that were asked for.
pub(crate) fn unexpected_end(path: &Path) -> DiskError {
    DiskError::new(
        DiskOperation::Read,
        path,
        std::io::ErrorKind::UnexpectedEof.into(),
    )
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenMode {
    /// For reading. It must exist.
    Read,
    /// For reading and writing. It must exist.
    ReadWrite,
    /// For reading and writing, created where it does not exist.
    OpenOrCreate,
    /// For reading and writing. It must not exist.
    CreateNew,
    /// For reading and writing, created where it does not exist and emptied where it does.
    CreateOrTruncate,
}

/// What [`DiskFile::allocate`] has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Allocated {
    /// The space is reserved.
    Reserved,
    /// The file system cannot reserve any. The file has the length.
    Extended,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A plain file.
    File,
    /// A directory.
    Directory,
    /// Anything else: a socket, a device, a link that leads nowhere.
    Other,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The last part of the path.
    pub name: OsString,
    /// What it stands for; a symbolic link counts as what it leads to.
    pub kind: FileKind,
}

/// What the file system knows of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// File or directory.
    pub kind: FileKind,
    /// Length in bytes; without meaning for directories.
    pub len: u64,
    /// When it was last written, in milliseconds since 1970-01-01 UTC, rounded down.
    pub modified_ms: i64,
}

/// The space of a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// All there is.
    pub total_bytes: u64,
    /// What this process may still use.
    pub available_bytes: u64,
}
