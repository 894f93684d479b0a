//! [`DoomedQueue`]: files and directories that have lost their names, or should have, and wait to be
//! removed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use klamm_io::{Disk, DiskError, DiskErrorKind, FileKind};
use klamm_primitives::{TopicId, TopicPartition};
use tracing::warn;

use crate::directory::LogDirectory;
use crate::partition_log::PartitionLog;
use crate::retention::RetiredFiles;

/// What waits to be removed.
pub(super) enum Doomed<D: Disk> {
    /// The directory of a deleted partition, with all in it.
    Directory(PathBuf),
    /// Old segments.
    Files(RetiredFiles<D>),
    /// A deleted partition whose directory has its name still.
    Partition(Named<D>),
}

/// A deleted partition whose directory is to get another name.
pub(super) struct Named<D: Disk> {
    pub(super) partition: TopicPartition,
    /// Its log; `None` if that could not be opened.
    pub(super) log: Option<Arc<PartitionLog<D>>>,
    /// The id of its topic, if it has said so.
    pub(super) topic_id: Option<TopicId>,
    /// What makes the new name one of its own.
    pub(super) unique: u128,
}

/// What waits, and the log directory that it is in.
type Waiting<D> = (Arc<LogDirectory<D>>, Doomed<D>);

/// Files and directories that wait to be removed, by the time when they may.
pub(super) struct DoomedQueue<D: Disk> {
    by_time: BTreeMap<(Instant, u64), Waiting<D>>,
    /// Keeps those apart that have one time.
    next: u64,
}

impl<D: Disk> DoomedQueue<D> {
    pub(super) fn new() -> Self {
        Self {
            by_time: BTreeMap::new(),
            next: 0,
        }
    }

    pub(super) fn push(
        &mut self,
        due: Instant,
        directory: Arc<LogDirectory<D>>,
        doomed: Doomed<D>,
    ) {
        self.by_time.insert((due, self.next), (directory, doomed));
        self.next += 1;
    }

    /// One of those whose time has come.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Waiting<D>> {
        let first = self.by_time.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// When the first may go.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let ((due, _), _) = self.by_time.first_key_value()?;
        Some(*due)
    }
}

/// Removes a partition's directory. What is gone already is no error. Nobody puts a directory into
/// one; where somebody has, it and what it is in are left alone.
pub(super) fn remove_directory<D: Disk>(disk: &D, path: &Path) -> Result<(), DiskError> {
    let entries = match disk.list(path) {
        Err(error) if error.kind() == DiskErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries.iter().filter(|it| it.kind != FileKind::Directory) {
        match disk.remove_file(&path.join(&entry.name)) {
            Err(error) if error.kind() != DiskErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    match disk.remove_dir(path) {
        Err(error) if error.kind() == DiskErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == DiskErrorKind::DirectoryNotEmpty => {
            warn!(%error, "something else is in a deleted partition's directory, left alone");
            Ok(())
        }
        removed => removed,
    }
}
