//! [`Fault`]: what goes wrong, where and how often.

use std::fmt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::{DiskErrorKind, DiskOperation};

/// Something that is to go wrong on a [`SimDisk`](super::SimDisk).
///
/// It holds for calls of one operation or of all, under any path or some; lets a number of them
/// pass, then strikes a number of times. What is not said is: all operations, any path, at once,
/// one time, with an I/O error.
///
/// ```
/// use klamm_io::{DiskErrorKind, DiskOperation, sim::Fault};
///
/// // The third write to any `.log` file stops after 100 bytes, because the disk is full.
/// let fault = Fault::on(DiskOperation::Write)
///     .where_path(|path| path.extension().is_some_and(|it| it == "log"))
///     .after(2)
///     .stopping_after_bytes(100)
///     .failing_with(DiskErrorKind::Full);
/// ```
pub struct Fault {
    operation: Option<DiskOperation>,
    path: Box<dyn Fn(&Path) -> bool + Send>,
    pass: u64,
    strikes: u64,
    pub(super) effect: Effect,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Effect {
    Fail {
        errno: Errno,
        /// Bytes of a write that are written before it fails.
        bytes_before: usize,
    },
    CutPower,
}

impl Fault {
    /// On calls of one operation.
    pub fn on(operation: DiskOperation) -> Self {
        Self {
            operation: Some(operation),
            ..Self::on_any()
        }
    }

    /// On calls of every operation.
    pub fn on_any() -> Self {
        Self {
            operation: None,
            path: Box::new(|_| true),
            pass: 0,
            strikes: 1,
            effect: Effect::Fail {
                errno: Errno::IO,
                bytes_before: 0,
            },
        }
    }

    /// Only under paths that begin with this one. An open file counts under the path it was
    /// opened under.
    #[must_use]
    pub fn under(self, path: impl Into<PathBuf>) -> Self {
        let prefix = path.into();
        self.where_path(move |path| path.starts_with(&prefix))
    }

    /// Only under paths that the predicate takes.
    #[must_use]
    pub fn where_path(self, predicate: impl Fn(&Path) -> bool + Send + 'static) -> Self {
        Self {
            path: Box::new(predicate),
            ..self
        }
    }

    /// Lets `count` calls pass first.
    #[must_use]
    pub fn after(self, count: u64) -> Self {
        Self {
            pass: count,
            ..self
        }
    }

    /// Strikes `count` times.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self {
            strikes: count,
            ..self
        }
    }

    /// Strikes until the faults are cleared.
    #[must_use]
    pub fn always(self) -> Self {
        self.times(u64::MAX)
    }

    /// Fails with an error of this kind.
    #[must_use]
    pub fn failing_with(self, kind: DiskErrorKind) -> Self {
        let bytes_before = match self.effect {
            Effect::Fail { bytes_before, .. } => bytes_before,
            Effect::CutPower => 0,
        };
        Self {
            effect: Effect::Fail {
                errno: errno_of(kind),
                bytes_before,
            },
            ..self
        }
    }

    /// A write that fails has written its first `count` bytes.
    #[must_use]
    pub fn stopping_after_bytes(self, count: usize) -> Self {
        let errno = match self.effect {
            Effect::Fail { errno, .. } => errno,
            Effect::CutPower => Errno::IO,
        };
        Self {
            effect: Effect::Fail {
                errno,
                bytes_before: count,
            },
            ..self
        }
    }

    /// Instead of an error the power goes: this call and all later ones fail. A change that the
    /// call asked for has reached the cache and may survive; a sync has done nothing.
    #[must_use]
    pub fn cutting_power(self) -> Self {
        Self {
            effect: Effect::CutPower,
            ..self
        }
    }

    /// Counts a call; says whether the fault strikes it.
    pub(super) fn strikes(&mut self, operation: DiskOperation, path: &Path) -> bool {
        if self.operation.is_some_and(|it| it != operation) || !(self.path)(path) {
            return false;
        }
        if self.pass > 0 {
            self.pass -= 1;
            return false;
        }
        let strikes = self.strikes > 0;
        self.strikes = self.strikes.saturating_sub(1);
        strikes
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault")
            .field("operation", &self.operation)
            .field("pass", &self.pass)
            .field("strikes", &self.strikes)
            .field("effect", &self.effect)
            .finish_non_exhaustive()
    }
}

/// The error number that an operating system would give for this kind.
fn errno_of(kind: DiskErrorKind) -> Errno {
    match kind {
        DiskErrorKind::NotFound => Errno::NOENT,
        DiskErrorKind::AlreadyExists => Errno::EXIST,
        DiskErrorKind::Denied => Errno::ACCESS,
        DiskErrorKind::Full => Errno::NOSPC,
        DiskErrorKind::TooManyFiles => Errno::MFILE,
        DiskErrorKind::NoMemory => Errno::NOMEM,
        DiskErrorKind::Locked => Errno::AGAIN,
        DiskErrorKind::NotADirectory => Errno::NOTDIR,
        DiskErrorKind::IsADirectory => Errno::ISDIR,
        DiskErrorKind::NotAFile => Errno::LOOP,
        DiskErrorKind::DirectoryNotEmpty => Errno::NOTEMPTY,
        DiskErrorKind::UnexpectedEnd | DiskErrorKind::Failed => Errno::IO,
    }
}
