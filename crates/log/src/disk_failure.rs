//! What an error says about the disk below it: whether a log directory can still be relied upon.

use klamm_io::{DiskError, DiskErrorKind};

use crate::cleaner::CleanError;
use crate::index_error::IndexError;
use crate::log::ChangeError;
use crate::open::OpenError;
use crate::scan::ScanError;
use crate::segment::SegmentError;
use crate::small_file::SmallFileError;

/// An error that the disk may be the cause of.
pub(crate) trait DiskFailure {
    /// The disk's own error; `None` where it was something else, such as a damaged file.
    fn disk_error(&self) -> Option<&DiskError>;

    /// Whether the directory cannot be relied upon any more. A full disk still reads and removes,
    /// and a process without descriptors or memory says nothing about the disk.
    fn takes_directory_offline(&self) -> bool {
        self.disk_error().is_some_and(|error| {
            !matches!(
                error.kind(),
                DiskErrorKind::Full | DiskErrorKind::TooManyFiles | DiskErrorKind::NoMemory
            )
        })
    }

    /// Whether the process has run out of something; to try again once it has more may do.
    fn is_shortage(&self) -> bool {
        self.disk_error().is_some_and(|error| {
            matches!(
                error.kind(),
                DiskErrorKind::TooManyFiles | DiskErrorKind::NoMemory
            )
        })
    }
}

impl DiskFailure for DiskError {
    fn disk_error(&self) -> Option<&DiskError> {
        Some(self)
    }
}

impl DiskFailure for SmallFileError {
    fn disk_error(&self) -> Option<&DiskError> {
        match self {
            Self::Disk(error) => Some(error),
            Self::Damaged { .. } => None,
        }
    }
}

impl DiskFailure for IndexError {
    fn disk_error(&self) -> Option<&DiskError> {
        match self {
            Self::Disk(error) => Some(error),
            Self::NotRising { .. }
            | Self::OutOfReach { .. }
            | Self::Full { .. }
            | Self::Damaged { .. } => None,
        }
    }
}

impl DiskFailure for SegmentError {
    fn disk_error(&self) -> Option<&DiskError> {
        match self {
            Self::Disk(error) | Self::Scan(ScanError::Disk(error)) => Some(error),
            Self::Scan(ScanError::Damaged { .. }) => None,
            Self::Index(error) => error.disk_error(),
        }
    }
}

impl DiskFailure for ChangeError {
    fn disk_error(&self) -> Option<&DiskError> {
        match self {
            Self::Unavailable(_) => None,
            Self::Segment(error) => error.disk_error(),
            Self::Disk(error) => Some(error),
        }
    }
}

impl DiskFailure for CleanError {
    fn disk_error(&self) -> Option<&DiskError> {
        match self {
            Self::Disk(error) => Some(error),
            Self::Segment(error) => error.disk_error(),
            Self::Stopped | Self::Damaged { .. } => None,
        }
    }
}

impl DiskFailure for OpenError {
    fn disk_error(&self) -> Option<&DiskError> {
        match self {
            Self::Disk(error) => Some(error),
            Self::SmallFile(error) => error.disk_error(),
            Self::Segment(error) => error.disk_error(),
            Self::TooLarge { .. } => None,
        }
    }
}
