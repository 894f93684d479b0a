//! [`Log`]: the records of one partition, from the log start offset to the log end offset.
//!
//! One owner appends, rolls, cuts and cleans through `&mut Log`; any number of [`LogReader`]s
//! read at the same time and never wait for it. What they share is [`Shared`]: the list of
//! segments, and the offsets between which is read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use klamm_io::{Disk, DiskError, RangeWatcher};
use klamm_primitives::{LeaderEpoch, Offset};
use parking_lot::{Mutex, RwLock};
use thiserror::Error;

use crate::bounds::Bounds;
use crate::config::LogConfig;
use crate::damage::Told;
use crate::disk_failure::DiskFailure;
use crate::flush::Syncs;
use crate::leader_epochs::{EpochEnd, EpochStart, LeaderEpochs};
use crate::open_files::OpenFiles;
use crate::producer_state::{ProducerStates, SnapshotFiles};
use crate::read::LogReader;
use crate::roll::Active;
use crate::segment::{Home, Segment, SegmentError};

/// The log of one partition.
///
/// Not synchronised: its owner puts it under a lock of its own. All calls may block on the disk.
/// Making records durable is the work of a [`Flush`](crate::Flush). Appending waits for no sync but
/// that of the list of leader epochs, when a leader has changed and the list is
/// [kept](LogConfig::keeps_leader_epochs), and for that of another file, where as many are open as
/// there [may be](crate::ManagerOptions::open_files_max) and one is closed for it.
///
/// After an error that leaves the file or its sync in doubt the log is
/// [failed](Log::is_failed): it refuses every change until it is opened again. A full disk, and a
/// process that has no descriptor left, refuse the one call.
pub struct Log<D: Disk> {
    pub(crate) disk: D,
    pub(crate) directory: PathBuf,
    pub(crate) config: LogConfig,
    pub(crate) open_files: Arc<OpenFiles<D::File>>,
    pub(crate) shared: Arc<Shared<D>>,
    pub(crate) active: Active<D>,
    pub(crate) producers: ProducerStates,
    pub(crate) snapshots: SnapshotFiles<D>,
    /// Everything below is synced.
    pub(crate) recovery_point: Offset,
    pub(crate) syncs: Arc<Syncs>,
    /// Whether the list of leader epochs has one more than is on disk.
    pub(crate) has_begun_epoch: bool,
    pub(crate) condition: Condition,
}

/// Whether a log takes changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    Open,
    Failed,
    Closed,
}

/// What the log and its readers have in common.
pub(crate) struct Shared<D: Disk> {
    /// By base offset; never empty, and the last one is appended to. Written when a segment
    /// comes or goes. Taken before `bounds` where both are needed.
    pub(crate) segments: RwLock<BTreeMap<Offset, Arc<Segment<D>>>>,
    /// The offsets between which is read. Held for copying alone.
    pub(crate) bounds: Mutex<Bounds>,
    /// Held for look-ups alone.
    pub(crate) epochs: RwLock<LeaderEpochs>,
    /// Who gets to know that the bytes of a read could not be had. Set where a log comes under a
    /// manager.
    pub(crate) watcher: OnceLock<Arc<dyn RangeWatcher>>,
    /// Damage that readers have met.
    pub(crate) damage: Told,
}

impl<D: Disk> Shared<D> {
    /// The segment that holds `offset`, or the last one before it, or the first of all: an empty
    /// log may have been rolled to a later offset.
    pub(crate) fn segment_for(&self, offset: Offset) -> Arc<Segment<D>> {
        let segments = self.segments.read();
        let before = segments.range(..=offset).next_back();
        let found = before.or_else(|| segments.first_key_value());
        found.expect("a log has a segment").1.clone()
    }

    /// The base offset of the first segment.
    pub(crate) fn first_base(&self) -> Offset {
        let segments = self.segments.read();
        *segments.first_key_value().expect("a log has a segment").0
    }

    /// The segment behind the one with this base offset.
    pub(crate) fn segment_after(&self, base_offset: Offset) -> Option<Arc<Segment<D>>> {
        let segments = self.segments.read();
        segments
            .range(base_offset + 1..)
            .next()
            .map(|it| it.1.clone())
    }

    /// All segments, oldest first.
    pub(crate) fn all_segments(&self) -> Vec<Arc<Segment<D>>> {
        self.segments.read().values().cloned().collect()
    }
}

/// The log takes no changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unavailable {
    /// An earlier error left the file or its sync in doubt.
    #[error("the log has failed and must be opened again")]
    Failed,
    /// It was closed.
    #[error("the log is closed")]
    Closed,
}

/// A log could not be changed. Where the cause [may pass](crate::DiskFailure::may_pass) and nothing
/// had been changed yet the log goes on as it was; otherwise it has failed.
#[derive(Debug, Error)]
pub enum ChangeError {
    /// The log takes no changes.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A segment could not be read or changed.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

impl<D: Disk> Log<D> {
    /// A handle to read by.
    pub fn reader(&self) -> LogReader<D> {
        LogReader::new(self.shared.clone())
    }

    /// The partition's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The settings.
    pub fn config(&self) -> &LogConfig {
        &self.config
    }

    /// Changes the settings from here on: the next append, roll or retention goes by them.
    pub fn set_config(&mut self, config: LogConfig) {
        self.config = config;
    }

    /// Whether an earlier error has left the log in doubt.
    pub fn is_failed(&self) -> bool {
        self.condition == Condition::Failed
    }

    /// Refuses all changes from here on: whoever syncs for this log has seen a sync fail.
    pub fn fail(&mut self) {
        if self.condition == Condition::Open {
            self.condition = Condition::Failed;
        }
    }

    /// One past the last record.
    pub fn log_end_offset(&self) -> Offset {
        self.shared.bounds.lock().log_end.offset
    }

    /// The first offset that is read.
    pub fn log_start_offset(&self) -> Offset {
        self.shared.bounds.lock().log_start
    }

    /// Everything below this offset is synced.
    pub fn recovery_point(&self) -> Offset {
        self.recovery_point
    }

    /// Bytes of all segments' batches.
    pub fn size(&self) -> u64 {
        let segments = self.shared.segments.read();
        segments.values().map(|it| u64::from(it.size())).sum()
    }

    /// How many segments there are.
    pub fn segment_count(&self) -> usize {
        self.shared.segments.read().len()
    }

    /// How many producers the log knows.
    pub fn producer_count(&self) -> usize {
        self.producers.len()
    }

    /// Forgets producers that have not written for `producer.id.expiration.ms`. Returns how many.
    pub fn expire_producers(&mut self, now_ms: i64) -> usize {
        let expiration_ms = millis(self.config.producer_id_expiration);
        self.producers.expire(now_ms, expiration_ms)
    }

    /// Where a leader epoch ended, by which a follower finds where it diverged; `None` where
    /// that is not known here.
    pub fn end_of_epoch(&self, epoch: LeaderEpoch) -> Option<EpochEnd> {
        let log_end_offset = self.log_end_offset();
        self.shared.epochs.read().end_of(epoch, log_end_offset)
    }

    /// The latest leader epoch that the log knows.
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.shared.epochs.read().latest().map(|it| it.epoch)
    }

    /// The greatest leader epoch below this one that the log knows.
    pub fn epoch_before(&self, epoch: LeaderEpoch) -> Option<EpochStart> {
        self.shared.epochs.read().previous(epoch)
    }

    /// The smallest leader epoch above this one that the log knows.
    pub fn epoch_after(&self, epoch: LeaderEpoch) -> Option<EpochStart> {
        self.shared.epochs.read().next(epoch)
    }

    /// The leader epochs, oldest first.
    pub fn epochs(&self) -> Vec<EpochStart> {
        self.shared.epochs.read().entries().to_vec()
    }

    /// Notes that the leader of `epoch` begins at the log end offset, before its first append. It
    /// goes to the disk with that: an epoch without records is nothing that a restart needs, and
    /// who leads thousands of idle partitions after one has nothing to write.
    ///
    /// # Errors
    /// [`ChangeError::Unavailable`].
    pub fn begin_epoch(&mut self, epoch: LeaderEpoch) -> Result<(), ChangeError> {
        self.check_available()?;
        let start_offset = self.log_end_offset();
        let mut epochs = self.shared.epochs.write();
        self.has_begun_epoch |= epochs.assign(epoch, start_offset);
        Ok(())
    }

    /// Notes where an epoch begins; it is on disk when this returns.
    pub(crate) fn assign_epoch(
        &mut self,
        epoch: LeaderEpoch,
        start_offset: Offset,
    ) -> Result<(), DiskError> {
        // Nearly always the latest epoch goes on, which no lock for writing is needed to see.
        if self.latest_epoch() == Some(epoch) && !self.has_begun_epoch {
            return Ok(());
        }
        let has_begun = self.has_begun_epoch;
        self.change_epochs(|epochs| epochs.assign(epoch, start_offset) || has_begun)
    }

    /// Changes the list of epochs, and writes it if anything changed, where it is kept.
    pub(crate) fn change_epochs(
        &mut self,
        change: impl FnOnce(&mut LeaderEpochs) -> bool,
    ) -> Result<(), DiskError> {
        let mut epochs = self.shared.epochs.read().clone();
        if change(&mut epochs) {
            if self.config.keeps_leader_epochs {
                epochs.write(&self.disk, &self.directory)?;
            }
            *self.shared.epochs.write() = epochs;
            self.has_begun_epoch = false;
        }
        Ok(())
    }

    /// What a segment of this log is made with.
    pub(crate) fn home(&self) -> Home<D> {
        let (disk, directory) = (self.disk.clone(), self.directory.clone());
        Home::new(disk, directory, &self.config, &self.open_files)
    }

    pub(crate) fn check_available(&self) -> Result<(), Unavailable> {
        match self.condition {
            Condition::Open => Ok(()),
            Condition::Failed => Err(Unavailable::Failed),
            Condition::Closed => Err(Unavailable::Closed),
        }
    }

    /// Passes on the result of something that has changed nothing if it failed. Only a disk that
    /// fails leaves the log failed, not one that is full nor a process that has no descriptor or
    /// memory left.
    pub(crate) fn or_fail_unless_it_may_pass<T, E: DiskFailure>(
        &mut self,
        result: Result<T, E>,
    ) -> Result<T, E> {
        if let Err(error) = &result
            && !error.may_pass()
        {
            self.fail();
        }
        result
    }

    /// Passes a result on; an error leaves the log failed.
    pub(crate) fn or_fail<T, E>(&mut self, result: Result<T, E>) -> Result<T, E> {
        if result.is_err() {
            self.fail();
        }
        result
    }
}

/// A duration in milliseconds, as long as those go.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
