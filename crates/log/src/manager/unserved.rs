//! [`Unserved`]: partitions whose files are here and which nobody can use, for good or for now.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use klamm_io::Disk;
use klamm_primitives::{TopicId, TopicPartition};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use tracing::{error, info};

use super::create::{CreateError, NewPartition};
use super::{LogManager, known_offsets};
use crate::directory::LogDirectory;
use crate::disk_failure::DiskFailure;
use crate::log_event::{DirectoryWork, LogEvent, OfflineReason};
use crate::open::{Listening, OpenError, OpenOptions};
use crate::partition_log::PartitionLog;
use crate::stop_signal::StopSignal;

/// A partition that is not served.
pub(super) struct Unserved<D: Disk> {
    /// Its directory.
    pub(super) path: PathBuf,
    /// The id of its topic, if that was seen before it could not be used.
    topic_id: Option<TopicId>,
    until: Until<D>,
}

/// How long that lasts.
enum Until<D: Disk> {
    /// The next start.
    NextStart,
    /// It is opened once more, which may do better.
    OpenedAgain(Again<D>),
    /// The next call that would make it: it was not made, nothing was written to it, and its name,
    /// which may not be durable, has still to be taken back.
    Undone(Arc<LogDirectory<D>>),
    /// It is deleted, and its directory has still to lose its name.
    Renamed,
}

struct Again<D: Disk> {
    directory: Arc<LogDirectory<D>>,
    options: OpenOptions,
    turn: Arc<Turn>,
}

/// Who may open a partition late, one at a time, until it is given up.
#[derive(Default)]
struct Turn {
    /// Held by whoever opens it; who comes meanwhile waits. Taken before the manager's locks.
    opening: Mutex<()>,
    is_given_up: AtomicBool,
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
            topic_id: None,
            until: Until::NextStart,
        }
    }

    /// One that is deleted, and whose directory could not be given another name.
    pub(super) fn until_renamed(directory: &LogDirectory<D>, partition: &TopicPartition) -> Self {
        Self {
            path: directory.path_of(partition),
            topic_id: None,
            until: Until::Renamed,
        }
    }

    /// One that was not made, and whose name could not be taken back.
    pub(super) fn until_undone(
        directory: &Arc<LogDirectory<D>>,
        partition: &TopicPartition,
    ) -> Self {
        Self {
            path: directory.path_of(partition),
            topic_id: None,
            until: Until::Undone(directory.clone()),
        }
    }

    /// The same, whose topic's id is known.
    pub(super) fn of_topic(self, topic_id: Option<TopicId>) -> Self {
        Self { topic_id, ..self }
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
            topic_id: None,
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

    /// Asks all to end, and lets none begin.
    fn ask_to_end(&self) {
        self.stop.ask();
    }

    /// Ends all, which takes as long as reading through a segment, and lets none begin.
    pub(super) fn end(&self) {
        self.ask_to_end();
        drop(self.under_way.write());
    }
}

impl<D: Disk> LogManager<D> {
    /// Asks recoveries by [`LogManager::create`] to end, each between two segments, and lets no other
    /// begin: what they were to open is left as it is, with [`CreateError::NoDirectory`]. Waits for
    /// none. For whoever has to end the threads that wait for them before it can
    /// [stop](LogManager::stop) the logs, which then comes soon: there is no way back.
    pub fn end_late_openings(&self) {
        self.late.ask_to_end();
    }

    /// How a partition is to be opened that could not be before, if it is one.
    fn again(&self, partition: &TopicPartition) -> Option<Again<D>> {
        match &self.unavailable.lock().get(partition)?.until {
            Until::OpenedAgain(again) => Some(again.clone()),
            Until::NextStart | Until::Renamed | Until::Undone(_) => None,
        }
    }

    /// The directory in which a partition has a name that it should have lost, if it has.
    pub(super) fn still_named_in(
        &self,
        partition: &TopicPartition,
    ) -> Option<Arc<LogDirectory<D>>> {
        match &self.unavailable.lock().get(partition)?.until {
            Until::Undone(directory) => Some(directory.clone()),
            Until::NextStart | Until::Renamed | Until::OpenedAgain(_) => None,
        }
    }

    /// Ends a late opening of the partition, if there is one, between two segments, and lets no other
    /// begin. Called without locks.
    pub(super) fn give_up_opening(&self, partition: &TopicPartition) {
        if let Some(again) = self.again(partition) {
            again.turn.is_given_up.store(true, Ordering::Release);
            drop(again.turn.opening.lock());
        }
    }

    /// Opens and recovers a partition that [waits for that](LogManager::is_to_be_opened), as
    /// [`LogManager::create`] would, and makes none; `None` if it does not, or not any more. For
    /// whoever would not begin a recovery while others wait for it.
    ///
    /// # Errors
    /// [`CreateError`]; after [`CreateError::Shortage`] it waits on.
    pub fn open_waiting(
        &self,
        new: &NewPartition<'_>,
        now_ms: i64,
    ) -> Option<Result<Arc<PartitionLog<D>>, CreateError>> {
        let mut events = Vec::new();
        let opened = self.open_late(new, now_ms, &mut events);
        for event in events {
            self.tell(event);
        }
        opened
    }

    /// Whether the partition has files here that could not be opened for want of something, and that
    /// [`LogManager::create`] or [`LogManager::open_waiting`] would open and recover.
    pub fn is_to_be_opened(&self, partition: &TopicPartition) -> bool {
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
            Until::NextStart | Until::OpenedAgain(_) | Until::Undone(_) => {
                CreateError::Unavailable { path }
            }
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
        let _opening = again.turn.opening.lock();
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
        let is_given_up = || again.turn.is_given_up.load(Ordering::Acquire);
        if !directory.is_online() || is_given_up() {
            return Some(Err(CreateError::Unavailable { path }));
        }
        let options = OpenOptions {
            now_ms,
            ..again.options
        };
        let go_on = || {
            if self.late.are_to_end() || is_given_up() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let config = new.config.clone();
        let listening = Listening {
            recovered: &go_on,
            ..Listening::NOBODY
        };
        let opened = directory.open_log(partition, config, &options, listening);

        let _changing = self.changing.lock();
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
            Err(OpenError::Stopped) if is_given_up() => Err(CreateError::Unavailable { path }),
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
        let for_good = Unserved::for_good(directory, partition).of_topic(log.topic_id());
        self.unavailable.lock().insert(partition.clone(), for_good);
        log.lock().fail();
    }

    /// Frees the name of a partition whose directory is offline, if it is of a topic that `is_deleted`:
    /// one of that name may be made in another directory then. The files stay where they are; the next
    /// start that finds both tells them apart, provided that it is told of the
    /// [deleted topics](super::ManagerOptions::deleted_topics). Says whether the name was freed.
    pub fn forget_offline(
        &self,
        partition: &TopicPartition,
        is_deleted: impl FnOnce(TopicId) -> bool,
    ) -> bool {
        let _changing = self.changing.lock();
        let mut unavailable = self.unavailable.lock();
        let Some(unserved) = unavailable.get(partition) else {
            return false;
        };
        let is_online = |path: &Path| {
            let mut online = self.online_directories();
            online.any(|it| path.parent() == Some(it.path()))
        };
        if is_online(&unserved.path) || !unserved.topic_id.is_some_and(is_deleted) {
            return false;
        }
        let path = unserved.path.display();
        info!(%partition, %path, "deleted while its log directory is offline, the next start removes it");
        unavailable.remove(partition);
        true
    }
}
