//! [`LogManager`]: the logs of a broker, in one or more directories.
//!
//! It opens what is there, finds a directory for what is new, and gives up a directory that has
//! failed together with its partitions, while the others go on. What has to be done from time to
//! time is done by [`LogManager::run_due`], which a thread calls ([`Housekeeping`]) or a test.
//!
//! [`Housekeeping`]: crate::Housekeeping

mod compact;
mod create;
mod create_many;
mod delete;
mod doomed;
mod doubles;
mod load;
mod missing;
mod open;
mod options;
mod stop;
mod survey;
#[cfg(test)]
mod tests;
mod truncate;
mod unserved;
mod upkeep;

use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::Disk;
use klamm_primitives::{Offset, TopicPartition, Uuid};
use parking_lot::{Mutex, RwLock};
use tracing::error;

pub use self::compact::{Compacted, CompactionOutcome};
pub use self::create::{CreateError, NewPartition};
pub use self::delete::DeleteError;
use self::doomed::DoomedQueue;
pub use self::load::Progress;
pub use self::missing::MissingPartition;
pub use self::open::{Opened, StartError};
pub use self::options::{ManagerOptions, Now, Wiring};
pub use self::stop::Stopped;
pub use self::truncate::{CutError, CutTo};
use self::unserved::{LateOpenings, Unserved};
use self::upkeep::Schedule;
use crate::cleaner::Cleanings;
use crate::directory::LogDirectory;
use crate::directory_checkpoints::{KnownOffsets, Offsets};
use crate::log_event::{DirectoryOffline, DirectoryWork, LogEvent, OfflineReason};
use crate::partition_log::PartitionLog;

/// The logs of a broker, in one or more directories.
///
/// Shared by all threads behind an `Arc`. Looking up a log takes a short lock and never waits for
/// the disk. Making, deleting and checkpointing happen one at a time, and block on the disk.
///
/// Lock order: what belongs to late openings, `changing`, then one log, then any of the others,
/// which are held for copying alone. No lock is held while an event is told.
pub struct LogManager<D: Disk> {
    options: ManagerOptions,
    directories: Vec<Arc<LogDirectory<D>>>,
    logs: RwLock<HashMap<TopicPartition, Arc<PartitionLog<D>>>>,
    /// Partitions whose files are there, or may be, and which nobody can use: their directory has
    /// failed, or they could not be opened.
    unavailable: Mutex<HashMap<TopicPartition, Unserved<D>>>,
    /// Held by whoever makes or deletes partitions, writes checkpoints, or stops.
    changing: Mutex<Changing>,
    late: LateOpenings,
    doomed: Mutex<DoomedQueue<D>>,
    /// Waits for a log's pass to stop, so it is asked before any lock is taken.
    cleanings: Cleanings,
    schedule: Mutex<Schedule>,
    events: Box<dyn Fn(LogEvent<D>) + Send + Sync>,
}

struct Changing {
    random: Box<dyn FnMut() -> u128 + Send>,
}

/// What a log directory is and holds.
#[derive(Debug, Clone)]
pub struct DirectoryStatus {
    /// Where it is.
    pub path: PathBuf,
    /// What names it for good; `None` if it could not be read at the start.
    pub id: Option<Uuid>,
    /// Why it is offline, if it is.
    pub offline: Option<OfflineReason>,
    /// How many partitions are in use in it.
    pub partition_count: usize,
    /// Bytes of their segments' batches; indexes and snapshots do not count.
    pub size: u64,
    /// Partitions that wait for a sync.
    pub syncs_waiting: usize,
}

impl<D: Disk> LogManager<D> {
    /// The log of a partition; `None` if it is not here, or its directory has failed.
    pub fn get(&self, partition: &TopicPartition) -> Option<Arc<PartitionLog<D>>> {
        self.logs.read().get(partition).cloned()
    }

    /// All logs, in no order.
    pub fn all(&self) -> Vec<Arc<PartitionLog<D>>> {
        self.logs.read().values().cloned().collect()
    }

    /// How many logs there are.
    pub fn len(&self) -> usize {
        self.logs.read().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.logs.read().is_empty()
    }

    /// The directories, as they were given. Looks at every segment: for reports.
    pub fn directories(&self) -> Vec<DirectoryStatus> {
        let status = |directory: &Arc<LogDirectory<D>>| {
            let logs = self.logs_in(directory);
            DirectoryStatus {
                path: directory.path().to_owned(),
                id: directory.id(),
                offline: directory.offline_reason(),
                partition_count: logs.len(),
                size: logs.iter().map(|it| it.size()).sum(),
                syncs_waiting: directory.syncs().len(),
            }
        };
        self.directories.iter().map(status).collect()
    }

    /// Whether a directory has failed. A partition that is not here may then be there, so only
    /// one that is known to be new may be [created](LogManager::create).
    pub fn has_offline_directory(&self) -> bool {
        self.directories.iter().any(|it| !it.is_online())
    }

    /// Whether the partition has files here that cannot be used: in a directory that has failed,
    /// or because they could not be opened.
    pub fn is_unavailable(&self, partition: &TopicPartition) -> bool {
        self.unavailable.lock().contains_key(partition)
    }

    /// Takes the log's directory offline: using the log has shown that the disk fails. Its
    /// partitions go with it. Waits for the lock of each of their logs, so call it without one.
    pub fn report_failure(&self, log: &PartitionLog<D>, error: impl Error + Send + Sync + 'static) {
        let reason = OfflineReason::new(DirectoryWork::Using, error);
        if let Some(event) = self.take_offline(log.directory(), reason) {
            self.tell(event);
        }
    }

    /// Gives a directory and its partitions up; `None` if that was done already. The event is
    /// told by the caller, once it holds no lock.
    pub(crate) fn take_offline(
        &self,
        directory: &Arc<LogDirectory<D>>,
        reason: OfflineReason,
    ) -> Option<LogEvent<D>> {
        if !directory.go_offline(reason.clone()) {
            return None;
        }
        // From here on no log comes to the directory: see `LogManager::insert`.
        let mut gone = Vec::new();
        {
            let mut logs = self.logs.write();
            let mut unavailable = self.unavailable.lock();
            logs.retain(|partition, log| {
                let stays = !Arc::ptr_eq(log.directory(), directory);
                if !stays {
                    let unserved = Unserved::for_good(directory, partition);
                    unavailable.insert(partition.clone(), unserved.of_topic(log.topic_id()));
                    gone.push(log.clone());
                }
                stays
            });
        }
        for log in &gone {
            log.lock().fail();
        }
        let partitions: Vec<_> = gone.iter().map(|it| it.partition().clone()).collect();
        let (path, partition_count) = (directory.path().display(), partitions.len());
        error!(%path, partition_count, error = &reason as &dyn Error, "log directory offline");
        Some(LogEvent::DirectoryOffline(DirectoryOffline {
            path: directory.path().to_owned(),
            id: directory.id(),
            partitions,
            reason,
        }))
    }

    /// Puts a log where it is found, unless its directory has failed meanwhile.
    fn insert(&self, log: &Arc<PartitionLog<D>>) -> bool {
        let mut logs = self.logs.write();
        let is_online = log.directory().is_online();
        if is_online {
            logs.insert(log.partition().clone(), log.clone());
            log.directory().partition_came();
        }
        is_online
    }

    /// Tells the receiver. Called without any lock.
    pub(crate) fn tell(&self, event: LogEvent<D>) {
        (self.events)(event);
    }

    pub(crate) fn log_directories(&self) -> &[Arc<LogDirectory<D>>] {
        &self.directories
    }

    fn online_directories(&self) -> impl Iterator<Item = &Arc<LogDirectory<D>>> {
        self.directories.iter().filter(|it| it.is_online())
    }

    fn logs_in(&self, directory: &Arc<LogDirectory<D>>) -> Vec<Arc<PartitionLog<D>>> {
        let logs = self.logs.read();
        let within = logs
            .values()
            .filter(|it| Arc::ptr_eq(it.directory(), directory));
        within.cloned().collect()
    }
}

/// The offsets of logs, as checkpoints keep them.
fn known_offsets<D: Disk>(logs: &[Arc<PartitionLog<D>>]) -> KnownOffsets {
    let recovery_point = |log: &PartitionLog<D>| Some(log.lock().recovery_point());
    KnownOffsets {
        recovery_point: offsets(logs, recovery_point),
        log_start: offsets(logs, log_start),
        high_watermark: offsets(logs, |log| Some(log.reader().offsets().high_watermark)),
    }
}

fn offsets<D: Disk>(
    logs: &[Arc<PartitionLog<D>>],
    of: impl Fn(&PartitionLog<D>) -> Option<Offset>,
) -> Offsets {
    let entry = |log: &Arc<PartitionLog<D>>| Some((log.partition().clone(), of(log)?));
    logs.iter().filter_map(entry).collect()
}

/// The log start offset, where it is not told by the first segment; or where it may have raised
/// the recovery point, since that segment may not be durable yet.
fn log_start<D: Disk>(log: &PartitionLog<D>) -> Option<Offset> {
    let recovery_point = log.lock().recovery_point();
    let reader = log.reader();
    let log_start = reader.offsets().log_start;
    let segments = reader.shared.segments.read();
    let first = segments.keys().next().copied();
    let is_told = first.is_some_and(|first| log_start <= first);
    let raised = log_start > Offset::ZERO && log_start >= recovery_point;
    (!is_told || raised).then_some(log_start)
}
