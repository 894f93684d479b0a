//! Deleting partitions.

use std::error::Error as StdError;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_io::{Disk, DiskErrorKind};
use klamm_primitives::{TopicId, TopicPartition};
use thiserror::Error;
use tracing::{info, warn};

use super::doomed::{Doomed, Named};
use super::unserved::Unserved;
use super::{Changing, LogManager};
use crate::directory::LogDirectory;
use crate::disk_failure::DiskFailure;
use crate::log::ChangeError;
use crate::log_event::{DirectoryWork, LogEvent, OfflineReason};
use crate::names::{DirectoryName, Fate};
use crate::partition_metadata;

/// How soon a directory is renamed that could not be for want of room.
const RENAME_RETRY: Duration = Duration::from_secs(5);

/// A partition was not deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DeleteError {
    /// It is not here.
    #[error("the partition is not here")]
    NotFound,
    /// Its directory has failed, perhaps just now; its files are where they are.
    #[error("the partition's log directory is offline")]
    Offline,
}

impl<D: Disk> LogManager<D> {
    /// Deletes a partition. Its directory gets another name at once, so that a new one can be
    /// made; the files are removed after `file.delete.delay.ms`, by [`LogManager::run_due`]. Where
    /// the disk has no room for the name it gets it later, by the same. A directory that has
    /// vanished is no error. Stops a compaction of it, and waits for the log's
    /// lock, so call it without.
    ///
    /// # Errors
    /// [`DeleteError`]; a directory in which it fails goes offline.
    pub fn delete(&self, partition: &TopicPartition, now: Instant) -> Result<(), DeleteError> {
        self.cleanings.pause(partition);
        let deleted = self.delete_named(&mut self.changing.lock(), partition, now);
        self.cleanings.resume(partition);
        deleted.map_err(|(error, event)| {
            if let Some(event) = event {
                self.tell(event);
            }
            error
        })
    }

    /// Deletes a partition whose files are here and could not be opened, if they are of a topic that
    /// `is_gone`. It is asked by the id that is among them; by `None` where that file is missing or
    /// makes no sense, so that only the caller can know whose the partition of this name was. As
    /// [`LogManager::delete`] otherwise. A recovery of it that is under way is ended, between two
    /// segments.
    ///
    /// # Errors
    /// [`DeleteError::NotFound`] if the partition can be used, or is not here;
    /// [`DeleteError::Offline`] also if it is not of such a topic, or the disk does not tell.
    pub fn delete_unserved(
        &self,
        partition: &TopicPartition,
        is_gone: impl FnOnce(Option<TopicId>) -> bool,
        now: Instant,
    ) -> Result<(), DeleteError> {
        let path = self.path_of_unserved(partition)?;
        let mut online = self.online_directories();
        let Some(directory) = online.find(|it| it.path_of(partition) == path).cloned() else {
            return Err(DeleteError::Offline);
        };
        let topic_id = match partition_metadata::read(directory.disk(), &path) {
            Ok(topic_id) => topic_id,
            // What cannot be read of a disk that is well will not be read another time.
            Err(error) if !error.takes_directory_offline() && !error.may_pass() => None,
            Err(_) => return Err(DeleteError::Offline),
        };
        if !is_gone(topic_id) {
            return Err(DeleteError::Offline);
        }
        // While it is recovered its files are written to by their names, which may soon be another's.
        self.give_up_opening(partition);
        let mut changing = self.changing.lock();
        if self.get(partition).is_some() {
            // That recovery was faster.
            drop(changing);
            return self.delete(partition, now);
        }
        if self.path_of_unserved(partition)? != path {
            return Err(DeleteError::NotFound);
        }
        // Its offsets are no more to be kept for a log that is opened later.
        directory.checkpoints().opened(partition);
        directory.checkpoints().partition_went(partition);
        let named = Named {
            partition: partition.clone(),
            log: None,
            topic_id,
            unique: (changing.random)(),
        };
        let renamed = self.take_name(named, &directory, now);
        drop(changing);
        renamed.map_err(|event| {
            if let Some(event) = event {
                self.tell(event);
            }
            DeleteError::Offline
        })
    }

    fn path_of_unserved(&self, partition: &TopicPartition) -> Result<PathBuf, DeleteError> {
        match self.unavailable.lock().get(partition) {
            Some(unserved) if !unserved.is_deleted() => Ok(unserved.path.clone()),
            _ => Err(DeleteError::NotFound),
        }
    }

    fn delete_named(
        &self,
        changing: &mut Changing,
        partition: &TopicPartition,
        now: Instant,
    ) -> Result<(), (DeleteError, Option<LogEvent<D>>)> {
        let Some(log) = self.logs.write().remove(partition) else {
            let error = match self.unavailable.lock().get(partition) {
                Some(unserved) if !unserved.is_deleted() => DeleteError::Offline,
                _ => DeleteError::NotFound,
            };
            return Err((error, None));
        };
        let directory = log.directory().clone();
        directory.partition_went();
        directory.checkpoints().partition_went(partition);
        let topic_id = log.topic_id();
        let named = Named {
            partition: partition.clone(),
            log: Some(log),
            topic_id,
            unique: (changing.random)(),
        };
        match self.take_name(named, &directory, now) {
            Ok(()) => Ok(()),
            Err(event) => {
                let unserved = Unserved::for_good(&directory, partition).of_topic(topic_id);
                self.unavailable.lock().insert(partition.clone(), unserved);
                Err((DeleteError::Offline, event))
            }
        }
    }

    /// Gives the directory of a deleted partition the name of one that waits to be removed; later,
    /// if there is no room for it. Fails where the log directory does, which then goes offline.
    pub(super) fn take_name(
        &self,
        named: Named<D>,
        directory: &Arc<LogDirectory<D>>,
        now: Instant,
    ) -> Result<(), Option<LogEvent<D>>> {
        let partition = named.partition.clone();
        let (renamed, delay) = if let Some(log) = &named.log {
            let mut log = log.lock();
            let renamed = log.rename_for_deletion(&partition, named.unique);
            (renamed, log.config().file_delete_delay)
        } else {
            let renamed = rename_unopened(directory, &partition, named.unique);
            (renamed, self.options.file_delete_delay)
        };
        let (due, doomed) = match renamed {
            Ok(path) => {
                info!(%partition, path = %path.display(), "partition deleted");
                (now + delay, Some(Doomed::Directory(path)))
            }
            Err(error) if has_vanished(&error) => (now, None),
            Err(error) if error.may_pass() => {
                let error = &error as &dyn StdError;
                warn!(%partition, error, "deleted, and keeps its name for want of something");
                let unserved = Unserved::until_renamed(directory, &partition);
                let unserved = unserved.of_topic(named.topic_id);
                self.unavailable.lock().insert(partition, unserved);
                let again = Doomed::Partition(named);
                let due = now + RENAME_RETRY;
                self.doomed.lock().push(due, directory.clone(), again);
                return Ok(());
            }
            Err(error) => {
                let reason = OfflineReason::new(DirectoryWork::Deleting, error);
                return Err(self.take_offline(directory, reason));
            }
        };
        self.unavailable.lock().remove(&partition);
        if let Some(doomed) = doomed {
            self.doomed.lock().push(due, directory.clone(), doomed);
        }
        Ok(())
    }
}

/// As [`Log::rename_for_deletion`](crate::Log::rename_for_deletion), of a log that is not open.
fn rename_unopened<D: Disk>(
    directory: &LogDirectory<D>,
    partition: &TopicPartition,
    unique: u128,
) -> Result<PathBuf, ChangeError> {
    let disk = directory.disk();
    let name = DirectoryName::fated(partition, unique, Fate::Delete).to_string();
    let renamed = directory.path().join(name);
    match disk.rename(&directory.path_of(partition), &renamed) {
        // It was renamed before, and that could not be made durable.
        Err(error)
            if error.kind() == DiskErrorKind::NotFound && disk.metadata(&renamed).is_ok() => {}
        done => done?,
    }
    disk.sync_dir(directory.path())?;
    Ok(renamed)
}

fn has_vanished(error: &impl DiskFailure) -> bool {
    let disk_error = error.disk_error();
    disk_error.is_some_and(|it| it.kind() == DiskErrorKind::NotFound)
}
