//! [`DiskError`]: what failed, on which path, and what a caller can make of it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use thiserror::Error;

/// What was asked of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiskOperation {
    /// Opening or creating a file.
    Open,
    /// Reading from a file.
    Read,
    /// Writing to a file.
    Write,
    /// Cutting or extending a file.
    SetLen,
    /// Reserving space for a file.
    Allocate,
    /// Making a file's contents durable.
    Sync,
    /// Setting a file's modification time.
    SetModified,
    /// Asking for length, kind and modification time.
    Metadata,
    /// Making a directory.
    CreateDir,
    /// Listing a directory.
    List,
    /// Giving a file or directory another name.
    Rename,
    /// Removing a file.
    RemoveFile,
    /// Removing a directory.
    RemoveDir,
    /// Making a directory's entries durable.
    SyncDir,
    /// Taking the lock that a file stands for.
    Lock,
    /// Asking for the space of the file system.
    Space,
}

impl DiskOperation {
    /// What it does, as the verb of an error message.
    const fn verb(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::SetLen => "set the length of",
            Self::Allocate => "allocate space for",
            Self::Sync => "sync",
            Self::SetModified => "set the modification time of",
            Self::Metadata => "look up",
            Self::CreateDir => "create directory",
            Self::List => "list directory",
            Self::Rename => "rename",
            Self::RemoveFile => "remove file",
            Self::RemoveDir => "remove directory",
            Self::SyncDir => "sync directory",
            Self::Lock => "lock",
            Self::Space => "ask for the space of",
        }
    }
}

impl fmt::Display for DiskOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb())
    }
}

/// What a caller can tell apart and act upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DiskErrorKind {
    /// Nothing has that name.
    NotFound,
    /// The name is taken.
    AlreadyExists,
    /// The process has no right to do this, the file system is read-only, or the file was opened
    /// for reading.
    Denied,
    /// No space is left, or none within the quota. What is there can still be read and removed.
    Full,
    /// The process or the machine has no file descriptor left.
    TooManyFiles,
    /// No memory was left to do this; it says nothing about the file.
    NoMemory,
    /// Somebody else holds the lock.
    Locked,
    /// A directory was needed and something else is there.
    NotADirectory,
    /// A file was needed and a directory is there.
    IsADirectory,
    /// A file was needed and something is there that is neither a file nor a directory: a link that
    /// leads nowhere or to itself, a pipe, a socket, a device. Somebody has put it there; it says
    /// nothing about the disk.
    NotAFile,
    /// The directory to remove holds something.
    DirectoryNotEmpty,
    /// The file ends before the bytes that were asked for.
    UnexpectedEnd,
    /// Everything else, first of all that the device failed (`EIO`).
    Failed,
}

impl DiskErrorKind {
    fn of(operation: DiskOperation, error: &io::Error) -> Self {
        // Not every code has a stable `io::ErrorKind`.
        match Errno::from_io_error(error) {
            Some(Errno::MFILE | Errno::NFILE) => return Self::TooManyFiles,
            Some(Errno::DQUOT) => return Self::Full,
            // Our descriptors are always open, so this one was opened for reading only.
            Some(Errno::BADF) => return Self::Denied,
            // What cannot be read or written at a position.
            Some(Errno::LOOP | Errno::SPIPE) => return Self::NotAFile,
            // A socket, or a device that nobody drives. In the midst of reading it is the disk.
            Some(Errno::NXIO | Errno::NODEV)
                if matches!(operation, DiskOperation::Open | DiskOperation::Allocate) =>
            {
                return Self::NotAFile;
            }
            // Of a file no length is asked that it cannot have, and a file can be synced.
            Some(Errno::INVAL)
                if matches!(operation, DiskOperation::Sync | DiskOperation::SetLen) =>
            {
                return Self::NotAFile;
            }
            _ => {}
        }
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::AlreadyExists => Self::AlreadyExists,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::Denied,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            io::ErrorKind::OutOfMemory => Self::NoMemory,
            io::ErrorKind::NotADirectory => Self::NotADirectory,
            io::ErrorKind::IsADirectory => Self::IsADirectory,
            io::ErrorKind::DirectoryNotEmpty => Self::DirectoryNotEmpty,
            io::ErrorKind::UnexpectedEof => Self::UnexpectedEnd,
            io::ErrorKind::WouldBlock if operation == DiskOperation::Lock => Self::Locked,
            _ => Self::Failed,
        }
    }
}

/// A failed call of a [`Disk`](crate::Disk) or [`DiskFile`](crate::DiskFile).
///
/// One pointer wide, so that it weighs nothing in the results of the calls that succeed.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct DiskError(Box<Facts>);

#[derive(Debug, Error)]
#[error("cannot {operation} {}", Paths(path, destination.as_deref()))]
struct Facts {
    kind: DiskErrorKind,
    operation: DiskOperation,
    path: PathBuf,
    /// The new name, for [`DiskOperation::Rename`].
    destination: Option<PathBuf>,
    source: io::Error,
}

impl DiskError {
    /// Names what failed; the kind follows from `source`.
    pub fn new(operation: DiskOperation, path: &Path, source: io::Error) -> Self {
        Self(Box::new(Facts {
            kind: DiskErrorKind::of(operation, &source),
            operation,
            path: path.to_owned(),
            destination: None,
            source,
        }))
    }

    /// The same for a rename, which has a second path.
    #[must_use]
    pub fn with_destination(mut self, destination: &Path) -> Self {
        self.0.destination = Some(destination.to_owned());
        self
    }

    /// What a caller can act upon.
    pub fn kind(&self) -> DiskErrorKind {
        self.0.kind
    }

    /// What was asked.
    pub fn operation(&self) -> DiskOperation {
        self.0.operation
    }

    /// The path it was asked of; for an open file the one it was opened under.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The second path of a rename.
    pub fn destination(&self) -> Option<&Path> {
        self.0.destination.as_deref()
    }

    /// The operating system's error, with its number where it has one.
    pub fn io_error(&self) -> &io::Error {
        &self.0.source
    }
}

/// The one path of most operations, or the two of a rename.
struct Paths<'a>(&'a Path, Option<&'a Path>);

impl fmt::Display for Paths<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0.display())?;
        match self.1 {
            Some(destination) => write!(f, " to `{}`", destination.display()),
            None => Ok(()),
        }
    }
}
