//! [`Load`]: opening the logs of one directory, by several threads.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use klamm_io::{Disk, DiskError, FileKind};
use klamm_primitives::{Offset, TopicPartition};
use parking_lot::Mutex;
use tracing::debug;

use crate::clean_shutdown::CleanShutdown;
use crate::config::LogConfig;
use crate::directory::{ClaimError, LogDirectory};
use crate::directory_checkpoints::{KnownOffsets, Offsets};
use crate::disk_failure::DiskFailure;
use crate::log_event::{DirectoryWork, OfflineReason};
use crate::names::{FileContent, FileName};
use crate::open::{Listening, OpenError, OpenOptions, Opening};
use crate::partition_log::PartitionLog;
use crate::small_file::SmallFileError;

/// How far the start is with one directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The directory.
    pub directory: &'a Path,
    /// Logs in it that are still to be opened.
    pub logs_remaining: usize,
    /// Segments of those that will be read through.
    pub segments_remaining: usize,
}

/// What opening a log needs to know that is the same for all.
pub(super) struct Surroundings<'a> {
    pub(super) config_of: &'a (dyn Fn(&TopicPartition) -> LogConfig + Sync),
    pub(super) progress: &'a (dyn Fn(&Progress<'_>) + Sync),
    pub(super) now_ms: i64,
}

/// A directory whose logs are being opened.
pub(super) struct Load<D: Disk> {
    pub(super) directory: Arc<LogDirectory<D>>,
    pub(super) partitions: Vec<TopicPartition>,
    /// The mark of a clean stop.
    pub(super) mark: Option<CleanShutdown>,
    pub(super) former: KnownOffsets,
    /// How many segments of each partition will be read through.
    segments: Vec<usize>,
    /// The next partition that a thread takes.
    next: AtomicUsize,
    /// Logs and segments that remain. Held for a subtraction alone.
    remaining: Mutex<(usize, usize)>,
    /// Whether the files of a log are not any more as a clean stop has left them.
    is_changed: AtomicBool,
    pub(super) done: Mutex<Vec<(TopicPartition, Loaded<D>)>>,
}

pub(super) type Loaded<D> = Result<(Arc<PartitionLog<D>>, Opening), OpenError>;

/// Why a directory's content could not be looked at.
pub(super) enum PrepareError {
    Claim(ClaimError),
    Checkpoint(SmallFileError),
}

impl<D: Disk> Load<D> {
    /// Looks at what a directory holds. Returns the directories to be removed as well.
    pub(super) fn prepare(
        directory: &Arc<LogDirectory<D>>,
    ) -> Result<(Self, Vec<PathBuf>), PrepareError> {
        let contents = directory.contents().map_err(PrepareError::Claim)?;
        let mark = CleanShutdown::read(directory.disk(), directory.path());
        let mark = mark.map_err(PrepareError::Checkpoint)?;
        let former = directory.checkpoints().read();
        let former = former.map_err(PrepareError::Checkpoint)?;
        let partitions = contents.partitions;
        let segments = partitions.iter().map(|partition| {
            let point = former.recovery_point.get(partition).copied();
            match mark {
                Some(_) => Ok(0),
                None => suspects(directory, partition, point.unwrap_or(Offset::ZERO)),
            }
        });
        let segments: Vec<_> = segments
            .collect::<Result<_, _>>()
            .map_err(|error| PrepareError::Claim(error.into()))?;
        let remaining = (partitions.len(), segments.iter().sum());
        let load = Self {
            directory: directory.clone(),
            partitions,
            mark,
            former,
            segments,
            next: AtomicUsize::new(0),
            remaining: Mutex::new(remaining),
            is_changed: AtomicBool::new(false),
            done: Mutex::default(),
        };
        Ok((load, contents.doomed))
    }

    /// Puts the mark of a clean stop back, if there was one and its logs are as that has left them. For
    /// a directory that is offline, so that nobody changes them any more.
    pub(super) fn restore_mark(&self) {
        let Some(mark) = self
            .mark
            .filter(|_| !self.is_changed.load(Ordering::Acquire))
        else {
            return;
        };
        if let Err(error) = mark.write(self.directory.disk(), self.directory.path()) {
            debug!(%error, "the next start reads the logs of a directory that is offline through");
        }
    }

    /// Leaves a partition out, as if it were not here.
    pub(super) fn leave_out(&mut self, partition: &TopicPartition) {
        if let Some(index) = self.partitions.iter().position(|it| it == partition) {
            self.partitions.remove(index);
            let segments = self.segments.remove(index);
            let remaining = self.remaining.get_mut();
            remaining.0 -= 1;
            remaining.1 -= segments;
        }
    }

    /// Opens logs until none is left, or the directory has failed.
    pub(super) fn work(&self, surroundings: &Surroundings<'_>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(partition) = self.partitions.get(index) else {
                return;
            };
            if !self.directory.is_online() {
                return;
            }
            let read = AtomicUsize::new(0);
            let segment_recovered = || {
                read.fetch_add(1, Ordering::Relaxed);
                self.tell_progress(surroundings, 0, 1);
                ControlFlow::Continue(())
            };
            let listening = Listening {
                changes: &|| self.is_changed.store(true, Ordering::Release),
                recovered: &segment_recovered,
            };
            let loaded = self.open(partition, surroundings, listening);
            match loaded {
                Err(error) if error.takes_directory_offline() => {
                    let reason = OfflineReason::new(DirectoryWork::Opening, error);
                    self.directory.go_offline(reason);
                    return;
                }
                loaded => self.done.lock().push((partition.clone(), loaded)),
            }
            // What was removed behind a cut, or could not be read, is over as well.
            let rest = self.segments[index].saturating_sub(read.into_inner());
            self.tell_progress(surroundings, 1, rest);
        }
    }

    /// Takes so many off what remains, and tells how much that is.
    fn tell_progress(&self, surroundings: &Surroundings<'_>, logs: usize, segments: usize) {
        let (logs_remaining, segments_remaining) = {
            let mut remaining = self.remaining.lock();
            remaining.0 -= logs;
            // Recovery splits overlong segments, which nobody could count before.
            remaining.1 = remaining.1.saturating_sub(segments);
            *remaining
        };
        (surroundings.progress)(&Progress {
            directory: self.directory.path(),
            logs_remaining,
            segments_remaining,
        });
    }

    fn open(
        &self,
        partition: &TopicPartition,
        surroundings: &Surroundings<'_>,
        listening: Listening<'_>,
    ) -> Loaded<D> {
        let was_clean = self.mark.is_some();
        let options = options_of(partition, was_clean, &self.former, surroundings.now_ms);
        let config = (surroundings.config_of)(partition);
        self.directory
            .open_log(partition, config, &options, listening)
    }
}

/// How a partition was left, by the checkpoints of its directory.
pub(super) fn options_of(
    partition: &TopicPartition,
    was_clean: bool,
    former: &KnownOffsets,
    now_ms: i64,
) -> OpenOptions {
    let known = |offsets: &Offsets| offsets.get(partition).copied().unwrap_or(Offset::ZERO);
    OpenOptions {
        recovery_point: known(&former.recovery_point),
        log_start: known(&former.log_start),
        high_watermark: known(&former.high_watermark),
        ..OpenOptions::new(was_clean, now_ms)
    }
}

/// How many segments recovery will read: the one that holds the recovery point, and those behind.
fn suspects<D: Disk>(
    directory: &LogDirectory<D>,
    partition: &TopicPartition,
    recovery_point: Offset,
) -> Result<usize, DiskError> {
    let entries = directory.disk().list(&directory.path_of(partition))?;
    let logs = entries
        .iter()
        .filter(|entry| entry.kind == FileKind::File)
        .filter_map(|entry| FileName::parse(entry.name.to_str()?))
        .filter(|name| name.content == FileContent::Log && name.transit.is_none());
    let offsets: Vec<_> = logs.map(|it| it.offset).collect();
    let first = offsets.iter().filter(|&&it| it <= recovery_point).max();
    let suspect = |it: &&Offset| first.is_none_or(|first| *it >= first);
    Ok(offsets.iter().filter(suspect).count())
}
