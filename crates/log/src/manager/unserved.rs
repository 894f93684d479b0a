//! [`Unserved`]: partitions whose files are here and which nobody can use, for good or for now.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::Disk;
use klamm_primitives::TopicPartition;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use tracing::error;

use super::create::{CreateError, NewPartition};
use super::{LogManager, known_offsets};
use crate::directory::LogDirectory;
use crate::disk_failure::DiskFailure;
use crate::log_event::{DirectoryWork, LogEvent, OfflineReason};
use crate::open::{OpenError, OpenOptions};
use crate::partition_log::PartitionLog;
use crate::stop_signal::StopSignal;

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
    /// Held by whoever opens it; who comes meanwhile waits. Taken before the manager's locks.
    turn: Arc<Mutex<()>>,
}

impl<D: Disk> Clone for Again<D> {
    fn clone(&self) -> Self {
        Self {
            directory: self.directory.clone(),
            options: self.options,
            turn: self.turn.clone(),
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
            turn: Arc::default(),
        };
        Self {
            path: directory.path_of(partition),
            until: Until::OpenedAgain(again),
        }
    }
}

/// Openings after the start. They may take as long as a recovery does, and hold no lock that
/// anybody else waits for; a stop ends them, and goes on once none is left.
#[derive(Default)]
pub(super) struct LateOpenings {
    stop: StopSignal,
    /// Read by whoever opens a log, written to wait for them. Taken before `changing`.
    under_way: RwLock<()>,
}

impl LateOpenings {
    /// `None` once all are to end.
    fn begin(&self) -> Option<RwLockReadGuard<'_, ()>> {
        let begun = self.under_way.read();
        (!self.stop.is_asked_for()).then_some(begun)
    }

    /// Whether all are to end.
    pub(super) fn are_to_end(&self) -> bool {
        self.stop.is_asked_for()
    }

    /// Ends all, which takes as long as reading through a segment, and lets none begin.
    pub(super) fn end(&self) {
        self.stop.ask();
        drop(self.under_way.write());
    }
}

impl<D: Disk> LogManager<D> {
    /// How a partition is to be opened that could not be before, if it is one.
    fn again(&self, partition: &TopicPartition) -> Option<Again<D>> {
        match &self.unavailable.lock().get(partition)?.until {
            Until::OpenedAgain(again) => Some(again.clone()),
            Until::NextStart | Until::Renamed => None,
        }
    }

    /// Whether the partition could not be opened before, and is to be by [`LogManager::open_late`].
    pub(super) fn is_to_be_opened(&self, partition: &TopicPartition) -> bool {
        self.again(partition).is_some()
    }

    /// Why a partition cannot be made although it is not served: its files are here.
    pub(super) fn refuse_unserved(&self, partition: &TopicPartition) -> Result<(), CreateError> {
        let unavailable = self.unavailable.lock();
        let Some(unserved) = unavailable.get(partition) else {
            return Ok(());
        };
        let path = unserved.path.clone();
        Err(match unserved.until {
            Until::Renamed => CreateError::NameTaken { path },
            Until::NextStart | Until::OpenedAgain(_) => CreateError::Unavailable { path },
        })
    }

    /// Opens and recovers a partition that could not be opened before; `None` if it is not one, or
    /// not any more. Called without locks, and holds none that others wait for while it reads.
    pub(super) fn open_late(
        &self,
        new: &NewPartition<'_>,
        now_ms: i64,
        events: &mut Vec<LogEvent<D>>,
    ) -> Option<Result<Arc<PartitionLog<D>>, CreateError>> {
        let partition = new.partition;
        let again = self.again(partition)?;
        let _turn = again.turn.lock();
        let Some(_begun) = self.late.begin() else {
            return Some(Err(CreateError::NoDirectory));
        };
        let is_it = |now: &Again<D>| Arc::ptr_eq(&now.turn, &again.turn);
        // Whoever had the turn before may have come to an end with it.
        if !self.again(partition).as_ref().is_some_and(is_it) {
            return None;
        }
        let directory = &again.directory;
        let path = directory.path_of(partition);
        if !directory.is_online() {
            return Some(Err(CreateError::Unavailable { path }));
        }
        let options = OpenOptions {
            now_ms,
            ..again.options
        };
        let go_on = || {
            if self.late.are_to_end() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let opened = directory.open_log(partition, new.config.clone(), &options, &go_on);

        let _changing = self.changing.lock();
        if !self.again(partition).as_ref().is_some_and(is_it) {
            // Nobody wants it any more; it was opened for nothing, and is as after a crash.
            return Some(Err(CreateError::Unavailable { path }));
        }
        let for_good = || {
            let for_good = Unserved::for_good(directory, partition);
            self.unavailable.lock().insert(partition.clone(), for_good);
            CreateError::Unavailable { path: path.clone() }
        };
        Some(match opened {
            Ok((log, _)) => {
                self.unavailable.lock().remove(partition);
                if self.insert(&log) {
                    directory.checkpoints().opened(partition);
                    self.confirm(log, new.topic_id, events)
                } else {
                    // Its directory has failed meanwhile. Made anew in another one it would be empty.
                    Err(for_good())
                }
            }
            Err(OpenError::Stopped) => Err(CreateError::NoDirectory),
            Err(error) if error.takes_directory_offline() => {
                let reason = OfflineReason::new(DirectoryWork::Opening, error);
                events.extend(self.take_offline(directory, reason));
                Err(CreateError::Unavailable { path })
            }
            Err(error) if error.may_pass() => Err(CreateError::Shortage(error)),
            Err(error) => {
                error!(%partition, error = &error as &dyn Error, "log not opened, left as it is");
                Err(for_good())
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
