//! What has to be done from time to time: retention, checkpoints, `flush.ms`, the expiry of
//! producers, and the removal of files whose delay is over.
//!
//! Each pass can be called by itself; [`LogManager::run_due`] calls those whose time has come.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_io::{Disk, DiskError};
use tracing::warn;

use super::doomed::{Doomed, remove_directory};
use super::{LogManager, ManagerOptions, Now, known_offsets, log_start, offsets};
use crate::directory::LogDirectory;
use crate::disk_failure::DiskFailure;
use crate::log::ChangeError;
use crate::log_event::{DirectoryWork, LogEvent, OfflineReason};
use crate::offset_checkpoint::Checkpoint;
use crate::partition_log::PartitionLog;

/// Retention leaves a start alone for so long.
const FIRST_RETENTION: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Retention,
    RecoveryPoints,
    LogStarts,
    HighWatermarks,
    AgedFlushes,
    ProducerExpiry,
}

/// When each task is due. A task that was late is not made up for.
pub(super) struct Schedule {
    tasks: Vec<Scheduled>,
}

struct Scheduled {
    task: Task,
    interval: Duration,
    due: Instant,
}

impl Schedule {
    pub(super) fn new(options: &ManagerOptions, now: Instant) -> Self {
        let after = |task, interval, first| Scheduled {
            task,
            interval,
            due: now + first,
        };
        let every = |task, interval| after(task, interval, interval);
        let retention = options.retention_check_interval;
        let mut tasks = vec![
            after(Task::Retention, retention, FIRST_RETENTION),
            every(Task::RecoveryPoints, options.recovery_point_interval),
            every(Task::LogStarts, options.log_start_interval),
            every(Task::HighWatermarks, options.high_watermark_interval),
            every(Task::ProducerExpiry, options.producer_expiry_interval),
        ];
        if let Some(interval) = options.flush_check_interval {
            tasks.push(every(Task::AgedFlushes, interval));
        }
        Self { tasks }
    }

    fn next_deadline(&self) -> Instant {
        let deadlines = self.tasks.iter().map(|it| it.due);
        deadlines.min().expect("there are always some")
    }

    fn take_due(&mut self, now: Instant) -> Vec<Task> {
        let due = self.tasks.iter_mut().filter(|it| it.due <= now);
        let begin_anew = |it: &mut Scheduled| {
            it.due = now + it.interval;
            it.task
        };
        due.map(begin_anew).collect()
    }
}

impl<D: Disk> LogManager<D> {
    /// When [`LogManager::run_due`] next has something to do. A partition that is deleted
    /// meanwhile may bring it forward.
    pub fn next_deadline(&self) -> Instant {
        let removal = self.doomed.lock().next_deadline();
        let task = self.schedule.lock().next_deadline();
        removal.map_or(task, |removal| removal.min(task))
    }

    /// Does what is due. Blocks on the disk. What fails is told as an event, or logged. A disk that
    /// did not give the records of a [read](crate::Read) when they were sent is given up first, and
    /// syncs that could not be done for want of descriptors are asked for again.
    pub fn run_due(&self, now: Now) {
        self.give_up_unread();
        for directory in self.online_directories() {
            directory.syncs().push_put_off();
        }
        let tasks = self.schedule.lock().take_due(now.instant);
        for task in tasks {
            match task {
                Task::Retention => self.apply_retention(now),
                Task::RecoveryPoints => self.checkpoint_all(),
                Task::LogStarts => self.checkpoint(Checkpoint::LogStart),
                Task::HighWatermarks => {
                    self.checkpoint(Checkpoint::HighWatermark);
                    self.checkpoint_synced();
                }
                Task::AgedFlushes => self.flush_aged(now.instant),
                Task::ProducerExpiry => self.expire_producers(now.unix_ms),
            }
        }
        self.remove_doomed(now.instant);
    }

    /// Takes those directories offline of which somebody could not read.
    fn give_up_unread(&self) {
        for directory in self.online_directories() {
            let reason = directory.take_unread();
            if let Some(event) = reason.and_then(|reason| self.take_offline(directory, reason)) {
                self.tell(event);
            }
        }
    }

    /// Lets old segments go, of every log by its own settings; their files are removed later. Of
    /// a log that is compacted, only those before its log start, and none at all if it is for the
    /// cleaner to delete.
    pub fn apply_retention(&self, now: Now) {
        for log in self.all() {
            let policy = log.lock().config().cleanup_policy;
            if !(policy.compact && policy.delete && self.options.has_cleaner) {
                self.retain(&log, now);
            }
        }
    }

    /// Lets old segments of one log go.
    pub(super) fn retain(&self, log: &Arc<PartitionLog<D>>, now: Now) {
        let (retired, delay) = {
            let mut log = log.lock();
            let delay = log.config().file_delete_delay;
            (log.delete_old_segments(now.unix_ms), delay)
        };
        match retired {
            Ok(files) if files.is_empty() => {}
            Ok(files) => {
                let directory = log.directory().clone();
                let doomed = Doomed::Files(files);
                self.doomed
                    .lock()
                    .push(now.instant + delay, directory, doomed);
            }
            Err(ChangeError::Unavailable(_)) => {}
            Err(error) => self.log_has_failed(log, DirectoryWork::Deleting, error),
        }
    }

    /// A log has failed by this error, and its directory too if it is the disk's.
    pub(super) fn log_has_failed<E>(
        &self,
        log: &Arc<PartitionLog<D>>,
        work: DirectoryWork,
        error: E,
    ) where
        E: DiskFailure + Error + Send + Sync + 'static,
    {
        if error.takes_directory_offline() {
            let reason = OfflineReason::new(work, error);
            if let Some(event) = self.take_offline(log.directory(), reason) {
                self.tell(event);
            }
        } else {
            let partition = log.partition();
            warn!(%partition, error = &error as &dyn Error, "log failed while {work}");
            self.tell(LogEvent::LogFailed { log: log.clone() });
        }
    }

    /// Writes the high watermarks, or the log starts, of all directories.
    fn checkpoint(&self, checkpoint: Checkpoint) {
        self.checkpoint_each(|directory| {
            let logs = self.logs_in(directory);
            let offsets = match checkpoint {
                Checkpoint::HighWatermark => {
                    offsets(&logs, |log| Some(log.reader().offsets().high_watermark))
                }
                Checkpoint::LogStart => offsets(&logs, log_start),
                Checkpoint::RecoveryPoint => {
                    offsets(&logs, |log| Some(log.lock().recovery_point()))
                }
                Checkpoint::Cleaner => return Ok(()),
            };
            directory.checkpoints().write(checkpoint, &offsets)
        });
    }

    /// Writes recovery points, log starts and high watermarks of all directories, of their own
    /// logs alone. What has not changed is not written.
    pub fn checkpoint_all(&self) {
        self.checkpoint_each(|directory| self.write_all_checkpoints(directory));
    }

    /// Writes the checkpoints of directories in which records were synced lately: what was acknowledged
    /// as durable is known as that after a crash, so that damage to it is no torn end of a log.
    fn checkpoint_synced(&self) {
        self.checkpoint_each(|directory| {
            if !directory.take_synced() {
                return Ok(());
            }
            // What could not be written, for want of room, say, is owed to the next pass.
            self.write_all_checkpoints(directory)
                .inspect_err(|_| directory.note_synced())
        });
    }

    fn checkpoint_each(&self, write: impl Fn(&Arc<LogDirectory<D>>) -> Result<(), DiskError>) {
        for directory in self.online_directories() {
            let written = {
                // So that no partition goes between the look at the logs and the writing.
                let _changing = self.changing.lock();
                write(directory)
            };
            let Err(error) = written else { continue };
            if error.takes_directory_offline() {
                let reason = OfflineReason::new(DirectoryWork::Checkpointing, error);
                if let Some(event) = self.take_offline(directory, reason) {
                    self.tell(event);
                }
            } else {
                warn!(error = &error as &dyn Error, "checkpoint not written");
            }
        }
    }

    /// Called under the lock of whoever changes partitions.
    pub(super) fn write_all_checkpoints(
        &self,
        directory: &Arc<LogDirectory<D>>,
    ) -> Result<(), DiskError> {
        let known = known_offsets(&self.logs_in(directory));
        directory.checkpoints().write_all(&known)
    }

    /// Asks for a sync of the logs that have had unsynced records for `flush.ms`, as far as these
    /// passes can tell: one that came right after a pass is seen by the next.
    pub fn flush_aged(&self, now: Instant) {
        for log in self.all() {
            let age_max = {
                let log = log.lock();
                let unflushed = log.unflushed_records() > 0;
                log.config().flush_age.filter(|_| unflushed)
            };
            let mut since = log.unflushed_since.lock();
            let Some(age_max) = age_max else {
                *since = None;
                continue;
            };
            if now.duration_since(*since.get_or_insert(now)) >= age_max {
                *since = None;
                log.request_sync();
            }
        }
    }

    /// Forgets producers that have not written for `producer.id.expiration.ms`.
    pub fn expire_producers(&self, now_ms: i64) {
        for log in self.all() {
            log.lock().expire_producers(now_ms);
        }
    }

    /// Removes files and directories whose delay is over.
    pub fn remove_doomed(&self, now: Instant) {
        loop {
            let due = self.doomed.lock().pop_due(now);
            let Some((directory, doomed)) = due else {
                return;
            };
            if !directory.is_online() {
                continue;
            }
            let removed = match doomed {
                Doomed::Files(files) => files.remove(),
                Doomed::Directory(path) => remove_directory(directory.disk(), &path),
                Doomed::Partition(named) => {
                    if let Err(Some(event)) = self.take_name(named, &directory, now) {
                        self.tell(event);
                    }
                    continue;
                }
            };
            match removed {
                Ok(()) => {}
                Err(error) if error.takes_directory_offline() => {
                    let reason = OfflineReason::new(DirectoryWork::Deleting, error);
                    if let Some(event) = self.take_offline(&directory, reason) {
                        self.tell(event);
                    }
                }
                Err(error) => {
                    let error = &error as &dyn Error;
                    warn!(error, "not removed now; the next start removes it");
                }
            }
        }
    }
}
