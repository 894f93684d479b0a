//! Deleting partitions.

use std::time::Instant;

use klamm_io::{Disk, DiskErrorKind};
use klamm_primitives::TopicPartition;
use thiserror::Error;
use tracing::info;

use super::doomed::Doomed;
use super::unserved::Unserved;
use super::{Changing, LogManager};
use crate::disk_failure::DiskFailure;
use crate::log_event::{DirectoryWork, LogEvent, OfflineReason};

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
    /// made; the files are removed after `file.delete.delay.ms`, by [`LogManager::run_due`]. A
    /// directory that has vanished is no error. Stops a compaction of it, and waits for the log's
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
            let is_unavailable = self.is_unavailable(partition);
            let error = if is_unavailable {
                DeleteError::Offline
            } else {
                DeleteError::NotFound
            };
            return Err((error, None));
        };
        let directory = log.directory();
        directory.partition_went();
        directory.checkpoints().partition_went(partition);
        let (renamed, delay) = {
            let mut log = log.lock();
            let renamed = log.rename_for_deletion(partition, (changing.random)());
            (renamed, log.config().file_delete_delay)
        };
        match renamed {
            Ok(path) => {
                info!(%partition, path = %path.display(), "partition deleted");
                let doomed = Doomed::Directory(path);
                self.doomed
                    .lock()
                    .push(now + delay, directory.clone(), doomed);
                Ok(())
            }
            Err(error) if has_vanished(&error) => Ok(()),
            Err(error) => {
                let unserved = Unserved::for_good(directory, partition);
                self.unavailable.lock().insert(partition.clone(), unserved);
                let reason = OfflineReason::new(DirectoryWork::Deleting, error);
                Err((DeleteError::Offline, self.take_offline(directory, reason)))
            }
        }
    }
}

fn has_vanished(error: &impl DiskFailure) -> bool {
    let disk_error = error.disk_error();
    disk_error.is_some_and(|it| it.kind() == DiskErrorKind::NotFound)
}
