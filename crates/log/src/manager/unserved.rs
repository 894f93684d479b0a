//! [`Unserved`]: partitions whose files are here and which nobody can use, for good or for now.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::Disk;
use klamm_primitives::TopicPartition;
use tracing::error;

use super::create::{CreateError, NewPartition};
use super::{LogManager, known_offsets};
use crate::directory::LogDirectory;
use crate::disk_failure::DiskFailure;
use crate::log_event::{DirectoryWork, LogEvent, OfflineReason};
use crate::open::OpenOptions;
use crate::partition_log::PartitionLog;

/// A partition that is not served.
pub(super) struct Unserved<D: Disk> {
    /// Its directory.
    pub(super) path: PathBuf,
    until: Until<D>,
}

/// How long that lasts.
enum Until<D: Disk> {
    /// The next start.
    NextStart,
    /// It is opened once more, which may do better.
    OpenedAgain(Again<D>),
    /// It is deleted, and its directory has still to lose its name.
    Renamed,
}

struct Again<D: Disk> {
    directory: Arc<LogDirectory<D>>,
    options: OpenOptions,
}

impl<D: Disk> Clone for Again<D> {
    fn clone(&self) -> Self {
        Self {
            directory: self.directory.clone(),
            options: self.options,
        }
    }
}

impl<D: Disk> Unserved<D> {
    /// One that no call will serve before the next start.
    pub(super) fn for_good(directory: &LogDirectory<D>, partition: &TopicPartition) -> Self {
        Self {
            path: directory.path_of(partition),
            until: Until::NextStart,
        }
    }

    /// One that is deleted, and whose directory could not be given another name.
    pub(super) fn until_renamed(directory: &LogDirectory<D>, partition: &TopicPartition) -> Self {
        Self {
            path: directory.path_of(partition),
            until: Until::Renamed,
        }
    }

    /// Whether it is deleted.
    pub(super) fn is_deleted(&self) -> bool {
        matches!(self.until, Until::Renamed)
    }

    /// One that could not be opened for want of room, descriptors or memory.
    pub(super) fn for_now(
        directory: &Arc<LogDirectory<D>>,
        partition: &TopicPartition,
        options: OpenOptions,
    ) -> Self {
        let again = Again {
            directory: directory.clone(),
            options,
        };
        Self {
            path: directory.path_of(partition),
            until: Until::OpenedAgain(again),
        }
    }
}

impl<D: Disk> LogManager<D> {
    /// Opens a partition that could not be opened before, if it is one; `None` if its files are not
    /// here. Called under the lock of whoever changes partitions, which a long recovery holds up.
    pub(super) fn open_unserved(
        &self,
        new: &NewPartition<'_>,
        now_ms: i64,
        events: &mut Vec<LogEvent<D>>,
    ) -> Option<Result<Arc<PartitionLog<D>>, CreateError>> {
        let (path, again) = {
            let unavailable = self.unavailable.lock();
            let unserved = unavailable.get(new.partition)?;
            let path = unserved.path.clone();
            match &unserved.until {
                Until::Renamed => return Some(Err(CreateError::NameTaken { path })),
                Until::NextStart => (path, None),
                Until::OpenedAgain(again) => (path, Some(again.clone())),
            }
        };
        let Some(again) = again.filter(|it| it.directory.is_online()) else {
            return Some(Err(CreateError::Unavailable { path }));
        };
        let (partition, directory) = (new.partition, &again.directory);
        let options = OpenOptions {
            now_ms,
            ..again.options
        };
        let config = new.config.clone();
        let opened = directory.open_log(partition, config, &options, &|| ());
        Some(match opened {
            Ok((log, _)) => {
                self.unavailable.lock().remove(partition);
                if self.insert(&log) {
                    directory.checkpoints().opened(partition);
                    self.confirm(log, new.topic_id, events)
                } else {
                    // Its directory has failed meanwhile. Made anew in another one it would be empty.
                    let for_good = Unserved::for_good(directory, partition);
                    self.unavailable.lock().insert(partition.clone(), for_good);
                    Err(CreateError::Unavailable { path })
                }
            }
            Err(error) if error.takes_directory_offline() => {
                let reason = OfflineReason::new(DirectoryWork::Opening, error);
                events.extend(self.take_offline(directory, reason));
                Err(CreateError::Unavailable { path })
            }
            Err(error) if error.may_pass() => Err(CreateError::Shortage(error)),
            Err(error) => {
                error!(%partition, error = &error as &dyn Error, "log not opened, left as it is");
                let for_good = Unserved::for_good(directory, partition);
                self.unavailable.lock().insert(partition.clone(), for_good);
                Err(CreateError::Unavailable { path })
            }
        })
    }

    /// Serves a partition no more, and leaves its files and what the checkpoints say of it as they
    /// are: its log is not that of the partition of this name. It is closed, and counts as one that
    /// could not be opened. Nothing happens if it is not here.
    pub fn set_aside(&self, partition: &TopicPartition) {
        let _changing = self.changing.lock();
        let Some(log) = self.logs.write().remove(partition) else {
            return;
        };
        let directory = log.directory();
        directory.partition_went();
        let known = known_offsets(std::slice::from_ref(&log));
        directory.checkpoints().set_aside(known);
        let for_good = Unserved::for_good(directory, partition);
        self.unavailable.lock().insert(partition.clone(), for_good);
        log.lock().fail();
    }
}
