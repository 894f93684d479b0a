//! What an error says about the disk below it: whether a log directory can still be relied upon.

use std::sync::Arc;

use klamm_io::{DiskError, DiskErrorKind};

use crate::append::AppendError;
use crate::cleaner::CleanError;
use crate::index_error::IndexError;
use crate::log::ChangeError;
use crate::open::OpenError;
use crate::read::ReadError;
use crate::scan::ScanError;
use crate::segment::SegmentError;
use crate::small_file::SmallFileError;

/// An error that the disk may be the cause of: the one place where it is told which of them mean
/// that the disk fails.
pub trait DiskFailure {
    /// The disk's own error; `None` where it was something else, such as a damaged file.
    fn disk_error(&self) -> Option<&DiskError>;

    /// Whether the directory cannot be relied upon any more. A full disk still reads and removes,
    /// a process without descriptors or memory says nothing about the disk, a file that is too
    /// short is damaged by itself, and a directory, a link or a pipe in the place of a file was put
    /// there by somebody.
    fn takes_directory_offline(&self) -> bool {
        let of_a_file = |kind| {
            matches!(
                kind,
                DiskErrorKind::UnexpectedEnd
                    | DiskErrorKind::IsADirectory
                    | DiskErrorKind::NotAFile
            )
        };
        self.disk_error()
            .is_some_and(|error| !self.may_pass() && !of_a_file(error.kind()))
    }

    /// Whether the same may succeed later, with no more done than making room: the disk is full, or
    /// the process has run out of descriptors or memory.
    fn may_pass(&self) -> bool {
        self.is_shortage()
            || self
                .disk_error()
                .is_some_and(|error| error.kind() == DiskErrorKind::Full)
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

impl<E: DiskFailure> DiskFailure for Arc<E> {
    fn disk_error(&self) -> Option<&DiskError> {
        E::disk_error(self)
    }
}

impl DiskFailure for AppendError {
    fn disk_error(&self) -> Option<&DiskError> {
        match self {
            Self::NotWritten(error) => Some(error),
            Self::Failed(error) => error.disk_error(),
            Self::Unavailable(_)
            | Self::BatchTooLarge { .. }
            | Self::SetTooLarge { .. }
            | Self::NotRising { .. }
            | Self::TooFarApart { .. }
            | Self::OffsetsUsedUp { .. }
            | Self::Producer(_)
            | Self::Marker(_) => None,
        }
    }
}

impl DiskFailure for ReadError {
    fn disk_error(&self) -> Option<&DiskError> {
        match self {
            Self::OffsetOutOfRange { .. } => None,
            Self::Segment(error) => error.disk_error(),
        }
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
            Self::TailLost { .. } | Self::TooLarge { .. } | Self::Stopped => None,
        }
    }
}
