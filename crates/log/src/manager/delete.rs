//! Deleting partitions.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_io::{Disk, DiskErrorKind};
use klamm_primitives::TopicPartition;
use thiserror::Error;
use tracing::{info, warn};

use super::doomed::{Doomed, Named};
use super::unserved::Unserved;
use super::{Changing, LogManager};
use crate::directory::LogDirectory;
use crate::disk_failure::DiskFailure;
use crate::log_event::{DirectoryWork, LogEvent, OfflineReason};

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
        let named = Named {
            log,
            unique: (changing.random)(),
        };
        match self.take_name(named, &directory, now) {
            Ok(()) => Ok(()),
            Err(event) => {
                let unserved = Unserved::for_good(&directory, partition);
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
        let partition = named.log.partition().clone();
        let (renamed, delay) = {
            let mut log = named.log.lock();
            let renamed = log.rename_for_deletion(&partition, named.unique);
            (renamed, log.config().file_delete_delay)
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

fn has_vanished(error: &impl DiskFailure) -> bool {
    let disk_error = error.disk_error();
    disk_error.is_some_and(|it| it.kind() == DiskErrorKind::NotFound)
}
