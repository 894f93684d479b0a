//! Making partitions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use klamm_io::{Disk, DiskError, DiskErrorKind};
use klamm_primitives::{TopicId, TopicPartition};
use thiserror::Error;

use super::doomed::remove_directory;
use super::unserved::Unserved;
use super::{Changing, LogManager};
use crate::config::LogConfig;
use crate::directory::LogDirectory;
use crate::disk_failure::DiskFailure;
use crate::log::Log;
use crate::log_event::{DirectoryWork, LogEvent, OfflineReason};
use crate::names::{DirectoryName, Fate};
use crate::open::{Listening, OpenError, OpenOptions};
use crate::partition_log::PartitionLog;
use crate::partition_metadata;

/// A partition could not be made. Nothing is left of it, if nothing was there.
#[derive(Debug, Error)]
pub enum CreateError {
    /// It is there, and belongs to another topic of the same name.
    #[error(
        "{path}/partition.metadata says topic id {found}, and the topic has {expected}: these are \
         records of another topic of that name; move the directory out of the log directory, or, if \
         they are this topic's all the same, stop the broker and put {expected} into the file",
        path = path.display()
    )]
    InconsistentTopicId {
        /// The partition's directory.
        path: PathBuf,
        /// The id that it has.
        found: TopicId,
        /// The id that was asked for.
        expected: TopicId,
    },
    /// Its files are there, but the directory has failed, or they could not be opened at the
    /// start.
    #[error("{path} is there and cannot be used", path = path.display())]
    Unavailable {
        /// The partition's directory.
        path: PathBuf,
    },
    /// Something else has the name of its directory: it came after the start, or was deleted while
    /// the disk had no room for another name.
    #[error("{path} is in the way", path = path.display())]
    NameTaken {
        /// What is in the way.
        path: PathBuf,
    },
    /// All directories have failed, or the manager has stopped or is about to.
    #[error("no log directory is online")]
    NoDirectory,
    /// The disks are full, or the process has run out of something. All directories go on. Its files
    /// may be there, and wait to be opened; or to go, if it is new.
    #[error("no partition can be made or opened now: {0}")]
    Shortage(#[source] OpenError),
}

impl<D: Disk> LogManager<D> {
    /// The log of a partition, made where it is missing: in the directory with the fewest
    /// partitions, and where that fails in the one after. A directory in which it fails goes
    /// offline, unless it is only full. One that is there, and could not be opened at the start
    /// because something was wanting, is opened and recovered now, which may take long and which
    /// nobody waits for but who asks for the same one.
    ///
    /// `config` and `now_ms` (Unix time) are for a new one. The topic's id is on disk before the
    /// first record can be; a log that had none gets this one. While a directory is
    /// [offline](LogManager::has_offline_directory) only the caller can know whether a partition
    /// is new or was there.
    ///
    /// # Errors
    /// [`CreateError`]; nothing is left of a partition that could not be made, unless there was no
    /// room to take its name back ([`CreateError::Shortage`]): the next call begins with that.
    pub fn create(
        &self,
        partition: &TopicPartition,
        topic_id: Option<TopicId>,
        config: &LogConfig,
        now_ms: i64,
    ) -> Result<Arc<PartitionLog<D>>, CreateError> {
        let new = NewPartition {
            partition,
            topic_id,
            config,
        };
        let mut events = Vec::new();
        let created = loop {
            if let Some(opened) = self.open_late(&new, now_ms, &mut events) {
                break opened;
            }
            let mut changing = self.changing.lock();
            if let Some(log) = self.get(partition) {
                break self.confirm(log, topic_id, &mut events);
            }
            if !self.is_to_be_opened(partition) {
                break self.create_new(&mut changing, &new, now_ms, &mut events);
            }
        };
        for event in events {
            self.tell(event);
        }
        created
    }

    /// A log that is there: it must be of the same topic.
    pub(super) fn confirm(
        &self,
        log: Arc<PartitionLog<D>>,
        topic_id: Option<TopicId>,
        events: &mut Vec<LogEvent<D>>,
    ) -> Result<Arc<PartitionLog<D>>, CreateError> {
        match (log.topic_id(), topic_id) {
            (Some(found), Some(expected)) if found != expected => {
                Err(CreateError::InconsistentTopicId {
                    path: log.directory().path_of(log.partition()),
                    found,
                    expected,
                })
            }
            (None, Some(id)) => {
                let directory = log.directory();
                let path = directory.path_of(log.partition());
                match partition_metadata::write(directory.disk(), &path, id) {
                    Ok(()) => {
                        log.set_topic_id(id);
                        Ok(log)
                    }
                    Err(error) if error.takes_directory_offline() => {
                        let reason = OfflineReason::new(DirectoryWork::Creating, error);
                        events.extend(self.take_offline(directory, reason));
                        Err(CreateError::Unavailable { path })
                    }
                    Err(error) => Err(CreateError::Shortage(error.into())),
                }
            }
            _ => Ok(log),
        }
    }

    pub(super) fn create_new(
        &self,
        changing: &mut Changing,
        new: &NewPartition<'_>,
        now_ms: i64,
        events: &mut Vec<LogEvent<D>>,
    ) -> Result<Arc<PartitionLog<D>>, CreateError> {
        self.take_back_late(new.partition, changing, events)?;
        self.refuse_unserved(new.partition)?;
        let mut candidates: Vec<_> = self.online_directories().collect();
        // Stable: among equals the one that was given first.
        candidates.sort_by_key(|it| it.partition_count());
        let mut shortage = None;
        for directory in candidates {
            match self.make(directory, new, now_ms, changing) {
                Ok(log) if self.insert(&log) => return Ok(log),
                Ok(_failed_meanwhile) => {}
                Err(MakeError::NameTaken(path)) => return Err(CreateError::NameTaken { path }),
                // Made in another directory as well, it could be in two after a power cut.
                Err(MakeError::NotUndone(error)) => {
                    return Err(CreateError::Shortage(error.into()));
                }
                Err(MakeError::NameKept(error)) => {
                    self.keep_for_later(directory, new.partition);
                    return Err(CreateError::Shortage(error.into()));
                }
                Err(MakeError::Open(error)) if error.takes_directory_offline() => {
                    let reason = OfflineReason::new(DirectoryWork::Creating, error);
                    events.extend(self.take_offline(directory, reason));
                }
                Err(MakeError::Open(error)) => shortage = Some(error),
            }
        }
        Err(shortage.map_or(CreateError::NoDirectory, CreateError::Shortage))
    }

    /// Makes the partition in one directory. It gets its name last, so that a crash leaves none
    /// without a topic id, but at most one that the next start removes.
    fn make(
        &self,
        directory: &Arc<LogDirectory<D>>,
        new: &NewPartition<'_>,
        now_ms: i64,
        changing: &mut Changing,
    ) -> Result<Arc<PartitionLog<D>>, MakeError> {
        let disk = directory.disk();
        let path = directory.path_of(new.partition);
        match disk.metadata(&path) {
            Ok(_) => return Err(MakeError::NameTaken(path)),
            Err(error) if error.kind() == DiskErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        if directory.checkpoints().may_remember(new.partition) {
            self.write_all_checkpoints(directory)?;
        }
        let unique = (changing.random)();
        let nameless = DirectoryName::fated(new.partition, unique, Fate::Delete);
        let nameless = directory.path().join(nameless.to_string());
        let made = make_named(directory, new, now_ms, &nameless, &path);
        made.map_err(|error| {
            let undone = directory.take_back(&path, &nameless);
            // Where this fails, the next start does it.
            let _ = remove_directory(disk, &nameless);
            match undone.and_then(|was_named| directory.forget_names(was_named)) {
                Err(undo) if !error.takes_directory_offline() => undo,
                _ => error,
            }
        })
    }

    /// Notes that a partition has its name, although it should have lost it.
    pub(super) fn keep_for_later(
        &self,
        directory: &Arc<LogDirectory<D>>,
        partition: &TopicPartition,
    ) {
        let kept = Unserved::until_undone(directory, partition);
        self.unavailable.lock().insert(partition.clone(), kept);
    }

    /// Takes the name of a partition back that kept it for want of room, if it did, so that it can be
    /// made. It is not used as it is: its name may not be durable, and no sync would mend that after
    /// one that has failed.
    fn take_back_late(
        &self,
        partition: &TopicPartition,
        changing: &mut Changing,
        events: &mut Vec<LogEvent<D>>,
    ) -> Result<(), CreateError> {
        let Some(directory) = self.still_named_in(partition) else {
            return Ok(());
        };
        let path = directory.path_of(partition);
        if !directory.is_online() {
            return Err(CreateError::Unavailable { path });
        }
        let nameless = DirectoryName::fated(partition, (changing.random)(), Fate::Delete);
        let nameless = directory.path().join(nameless.to_string());
        let undone = directory.take_back(&path, &nameless);
        // Where this fails, the next start does it.
        _ = remove_directory(directory.disk(), &nameless);
        // It may have lost its name before, and only that not durably.
        match undone.and_then(|_| directory.forget_names(true)) {
            Ok(()) => {
                self.unavailable.lock().remove(partition);
                Ok(())
            }
            Err(MakeError::NotUndone(error) | MakeError::NameKept(error)) => {
                Err(CreateError::Shortage(error.into()))
            }
            Err(MakeError::NameTaken(path)) => Err(CreateError::NameTaken { path }),
            Err(MakeError::Open(error)) => {
                let reason = OfflineReason::new(DirectoryWork::Creating, error);
                events.extend(self.take_offline(&directory, reason));
                Err(CreateError::Unavailable { path })
            }
        }
    }
}

/// Makes the partition under another name first, and then gives it its own.
fn make_named<D: Disk>(
    directory: &Arc<LogDirectory<D>>,
    new: &NewPartition<'_>,
    now_ms: i64,
    nameless: &Path,
    path: &Path,
) -> Result<Arc<PartitionLog<D>>, MakeError> {
    let disk = directory.disk();
    disk.create_dir_all(nameless)?;
    if let Some(id) = new.topic_id {
        partition_metadata::write(disk, nameless, id)?;
    }
    disk.rename(nameless, path)?;
    disk.sync_dir(directory.path())?;
    open_made(directory, new, path, now_ms)
}

/// Opens the log of a partition that has just got its name.
pub(super) fn open_made<D: Disk>(
    directory: &Arc<LogDirectory<D>>,
    new: &NewPartition<'_>,
    path: &Path,
    now_ms: i64,
) -> Result<Arc<PartitionLog<D>>, MakeError> {
    let options = OpenOptions::new(true, now_ms);
    let (disk, config) = (directory.disk().clone(), new.config.clone());
    let (open_files, path) = (directory.open_files().clone(), path.to_owned());
    let nobody = Listening::NOBODY;
    let (log, _) = Log::open_telling(disk, open_files, path, config, &options, nobody)?;
    let log = PartitionLog::new(new.partition.clone(), new.topic_id, directory.clone(), log);
    Ok(Arc::new(log))
}

/// A partition that is to be made.
#[derive(Debug, Clone, Copy)]
pub struct NewPartition<'a> {
    /// Its name.
    pub partition: &'a TopicPartition,
    /// The id of its topic.
    pub topic_id: Option<TopicId>,
    /// How its log is kept.
    pub config: &'a LogConfig,
}

/// A partition could not be made in a directory.
#[derive(Debug, Error)]
pub(super) enum MakeError {
    #[error("{} is there", .0.display())]
    NameTaken(PathBuf),
    #[error(transparent)]
    Open(OpenError),
    /// It failed, and may be there after a power cut all the same: a descriptor was wanting to make
    /// sure that it is not.
    #[error("that the name was taken back is not durable: {0}")]
    NotUndone(DiskError),
    /// It failed, and is there all the same: there was no room to take its name back.
    #[error("the name could not be taken back: {0}")]
    NameKept(DiskError),
}

impl MakeError {
    pub(super) fn takes_directory_offline(&self) -> bool {
        match self {
            Self::NameTaken(_) | Self::NotUndone(_) | Self::NameKept(_) => false,
            Self::Open(error) => error.takes_directory_offline(),
        }
    }
}

impl<D: Disk> LogDirectory<D> {
    /// Takes a partition's name back, if it has got it. Says whether it had.
    pub(super) fn take_back(&self, path: &Path, nameless: &Path) -> Result<bool, MakeError> {
        match self.disk().rename(path, nameless) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == DiskErrorKind::NotFound => Ok(false),
            Err(error) if error.takes_directory_offline() => Err(error.into()),
            Err(error) => Err(MakeError::NameKept(error)),
        }
    }

    /// Makes durable that partitions have lost their names again, if they had got them.
    pub(super) fn forget_names(&self, were_named: bool) -> Result<(), MakeError> {
        if !were_named {
            return Ok(());
        }
        self.disk().sync_dir(self.path()).map_err(|error| {
            if error.takes_directory_offline() {
                error.into()
            } else {
                MakeError::NotUndone(error)
            }
        })
    }
}

impl From<OpenError> for MakeError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

impl From<DiskError> for MakeError {
    fn from(error: DiskError) -> Self {
        Self::Open(error.into())
    }
}
