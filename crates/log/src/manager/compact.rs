//! Compacting: which log is next, a pass over it, and what is kept of that.

use std::error::Error;
use std::sync::Arc;

use klamm_io::Disk;
use klamm_primitives::TopicPartition;
use tracing::{debug, info, warn};

use super::doomed::Doomed;
use super::{LogManager, Now};
use crate::cleaner::{
    CleanError, Cleanable, Cleaning, CleaningCounts, Cleanings, Running, Swapped, filthiest,
};
use crate::disk_failure::DiskFailure;
use crate::log::ChangeError;
use crate::log_event::DirectoryWork;
use crate::partition_log::PartitionLog;
use crate::segment::SegmentError;

/// What became of one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// The log.
    pub partition: TopicPartition,
    /// What was done.
    pub counts: CleaningCounts,
    /// How it ended.
    pub outcome: CompactionOutcome,
}

/// How a pass has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompactionOutcome {
    /// It has come to its end.
    Done,
    /// It was stopped, or the log was cut or deleted meanwhile. What was put in place stays.
    Stopped,
    /// It has failed. If the log is the reason, the log is among the
    /// [uncleanable](Cleanings::uncleanable); if it is the disk, its directory is offline, unless
    /// the disk is only full.
    Failed,
}

/// Why a pass did not come to its end.
enum Interrupted {
    Clean(CleanError),
    Change(ChangeError),
    Outdated,
}

impl From<CleanError> for Interrupted {
    fn from(error: CleanError) -> Self {
        Self::Clean(error)
    }
}

impl<D: Disk> LogManager<D> {
    /// Which logs are being cleaned, which cannot be, and why. Cutting and deleting through the
    /// manager pause a log's cleaning by themselves.
    pub fn cleanings(&self) -> &Cleanings {
        &self.cleanings
    }

    /// Makes one pass over the log that needs it most; `None` if no log does. Blocks for long;
    /// `stop` is asked between the parts of the work. `key_bytes` bounds the memory for keys.
    /// Several threads may call it at a time.
    ///
    /// A log that cannot be cleaned, since a batch is damaged or of a format before magic 2, is
    /// left out from then on, with a warning, until [`Cleanings::try_again`].
    pub fn compact_next(
        &self,
        key_bytes: usize,
        now: Now,
        stop: &dyn Fn() -> bool,
    ) -> Option<Compacted> {
        let (log, running) = self.begin_next(now.unix_ms)?;
        let mut counts = CleaningCounts::default();
        let passed = self.pass(&log, &running, key_bytes, now, stop, &mut counts);
        let outcome = match passed {
            Ok(()) => CompactionOutcome::Done,
            Err(interrupted) => self.interrupted(&log, running, interrupted),
        };
        let partition = log.partition().clone();
        Some(Compacted {
            partition,
            counts,
            outcome,
        })
    }

    /// Chooses a log, and sees that nobody else does.
    fn begin_next(&self, now_ms: i64) -> Option<(Arc<PartitionLog<D>>, Running)> {
        loop {
            let mut candidates = Vec::new();
            for log in self.all() {
                if !self.cleanings.may_begin(log.partition()) {
                    continue;
                }
                let dirty_ratio_min = log.lock().config().dirty_ratio_min;
                match cleanable_of(&log, now_ms) {
                    Ok(Some(cleanable)) => candidates.push((log, cleanable, dirty_ratio_min)),
                    Ok(None) => {}
                    Err(error) => {
                        let running = self.cleanings.begin(log.partition())?;
                        self.interrupted(&log, running, CleanError::Segment(error).into());
                    }
                }
            }
            let (log, _) = filthiest(candidates)?;
            // Another thread may have been as fast; then the choice is made among the others.
            if let Some(running) = self.cleanings.begin(log.partition()) {
                return Some((log, running));
            }
        }
    }

    fn pass(
        &self,
        log: &Arc<PartitionLog<D>>,
        running: &Running,
        key_bytes: usize,
        now: Now,
        stop: &dyn Fn() -> bool,
        counts: &mut CleaningCounts,
    ) -> Result<(), Interrupted> {
        // Before the pass began the log may have been cut, or closed.
        let cleanable = cleanable_of(log, now.unix_ms).map_err(CleanError::from)?;
        let cleanable = cleanable.ok_or(Interrupted::Outdated)?;
        let begun = log
            .lock()
            .begin_cleaning(&cleanable, key_bytes, now.unix_ms);
        let mut cleaning = begun.map_err(CleanError::from)?;
        let must_stop = || running.must_stop() || stop();
        let ran = self.run(log, &mut cleaning, now, &must_stop);
        *counts = cleaning.counts();
        ran?;
        let (partition, end_offset) = (log.partition(), cleaning.end_offset());
        let checkpoints = log.directory().checkpoints();
        let noted = checkpoints.set_cleaner_offset(partition, end_offset);
        noted.map_err(CleanError::from)?;
        info!(%partition, %end_offset, ?counts, "log compacted");
        if log.lock().config().cleanup_policy.delete {
            self.retain(log, now);
        }
        Ok(())
    }

    fn run(
        &self,
        log: &Arc<PartitionLog<D>>,
        cleaning: &mut Cleaning<D>,
        now: Now,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<(), Interrupted> {
        while let Some(cleaned) = cleaning.next(must_stop)? {
            let (swapped, delay) = {
                let mut log = log.lock();
                (log.swap_in(cleaned), log.config().file_delete_delay)
            };
            match swapped.map_err(Interrupted::Change)? {
                Swapped::Done(files) => {
                    let directory = log.directory().clone();
                    self.doomed
                        .lock()
                        .push(now.instant + delay, directory, Doomed::Files(files));
                }
                Swapped::Outdated => return Err(Interrupted::Outdated),
            }
        }
        Ok(())
    }

    /// Decides what the end of a pass means for its log.
    fn interrupted(
        &self,
        log: &Arc<PartitionLog<D>>,
        running: Running,
        interrupted: Interrupted,
    ) -> CompactionOutcome {
        let partition = log.partition();
        match interrupted {
            Interrupted::Outdated
            | Interrupted::Clean(CleanError::Stopped)
            | Interrupted::Change(ChangeError::Unavailable(_)) => {
                debug!(%partition, "compaction stopped");
                CompactionOutcome::Stopped
            }
            Interrupted::Change(error) if !log.lock().is_failed() => {
                warn!(%partition, error = &error as &dyn Error, "not compacted now");
                CompactionOutcome::Failed
            }
            Interrupted::Change(error) => {
                self.log_has_failed(log, DirectoryWork::Compacting, error);
                CompactionOutcome::Failed
            }
            Interrupted::Clean(error) => {
                match error.disk_error() {
                    Some(_) if error.takes_directory_offline() => {
                        self.log_has_failed(log, DirectoryWork::Compacting, error);
                    }
                    Some(_) => {
                        warn!(%partition, error = &error as &dyn Error, "not compacted now");
                    }
                    None => {
                        warn!(%partition, error = &error as &dyn Error,
                            "log cannot be compacted, left out from here on");
                        running.fail(&error);
                    }
                }
                CompactionOutcome::Failed
            }
        }
    }

    /// Lets old segments go of the logs that are compacted and go by age and size as well: those
    /// that [`LogManager::apply_retention`] leaves to who compacts.
    pub fn apply_retention_to_compacted(&self, now: Now) {
        for log in self.all() {
            let policy = log.lock().config().cleanup_policy;
            if policy.compact && policy.delete {
                self.retain(&log, now);
            }
        }
    }
}

fn cleanable_of<D: Disk>(
    log: &PartitionLog<D>,
    now_ms: i64,
) -> Result<Option<Cleanable>, SegmentError> {
    let checkpoints = log.directory().checkpoints();
    let cleaner_offset = checkpoints.cleaner_offset(log.partition());
    log.lock().cleanable(cleaner_offset, now_ms)
}
