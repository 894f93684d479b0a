//! Cutting logs: what a follower does where its logs and its leader's part ways.

use std::sync::Arc;

use klamm_io::{Disk, DiskError};
use klamm_primitives::Offset;
use thiserror::Error;

use super::{LogManager, log_start, offsets};
use crate::directory::LogDirectory;
use crate::disk_failure::DiskFailure;
use crate::log::{ChangeError, Log};
use crate::log_event::{DirectoryWork, OfflineReason};
use crate::offset_checkpoint::Checkpoint;
use crate::partition_log::PartitionLog;
use crate::segment::SegmentError;

/// Where a log is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutTo {
    /// Nothing at or behind the offset stays: see [`Log::truncate_to`].
    Offset(Offset),
    /// Nothing stays at all: see [`Log::truncate_fully_and_start_at`].
    Nothing {
        /// From where the log goes on.
        start_at: Offset,
        /// Its log start offset, if that is another one.
        log_start: Option<Offset>,
    },
}

/// A log was not cut.
#[derive(Debug, Error)]
pub enum CutError {
    /// The recovery point on disk could not be lowered, or the log start not be written that goes
    /// before it, without which a crash in the middle could
    /// not be told from damage. The log is as it was.
    #[error("the recovery point could not be lowered: {0}")]
    Checkpoint(#[source] Arc<DiskError>),
    /// The log cannot be read where it is to be cut, and is as it was.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The log has failed.
    #[error(transparent)]
    Change(#[from] ChangeError),
}

impl<D: Disk> LogManager<D> {
    /// Cuts logs, each where it is told. First the recovery points on disk are lowered, in one
    /// writing a directory, so cut many logs in one call. Whoever compacts one of them stops and
    /// comes back to it later. Waits for the locks of the logs, so call it without. Returns what
    /// came of each, in order: whether anything was cut.
    ///
    /// Where the disk fails, its directory goes offline.
    ///
    /// # Panics
    /// With an offset below 0.
    pub fn truncate(
        &self,
        cuts: &[(Arc<PartitionLog<D>>, CutTo)],
        now_ms: i64,
    ) -> Vec<Result<bool, CutError>> {
        for (log, _) in cuts {
            self.cleanings.pause(log.partition());
        }
        let mut results: Vec<Option<Result<bool, CutError>>> = Vec::new();
        results.resize_with(cuts.len(), || None);
        let mut events = Vec::new();
        {
            let _changing = self.changing.lock();
            for directory in &self.directories {
                let of_directory = |it: &usize| Arc::ptr_eq(cuts[*it].0.directory(), directory);
                let indices: Vec<_> = (0..cuts.len()).filter(of_directory).collect();
                if indices.is_empty() {
                    continue;
                }
                for (index, result) in self.cut_in(directory, cuts, &indices, now_ms) {
                    if let Err(error) = &result
                        && let Some(reason) = offline_reason(error)
                    {
                        events.extend(self.take_offline(directory, reason));
                    }
                    results[index] = Some(result);
                }
            }
        }
        for (log, _) in cuts {
            self.cleanings.resume(log.partition());
        }
        for event in events {
            self.tell(event);
        }
        let results = results.into_iter();
        results
            .map(|it| it.expect("each log is in one of the directories"))
            .collect()
    }

    /// Cuts the logs of one directory. Called under the lock of whoever writes checkpoints.
    fn cut_in(
        &self,
        directory: &LogDirectory<D>,
        cuts: &[(Arc<PartitionLog<D>>, CutTo)],
        indices: &[usize],
        now_ms: i64,
    ) -> Vec<(usize, Result<bool, CutError>)> {
        let mut results = Vec::new();
        let mut ready = Vec::new();
        let logs: Vec<_> = self.all();
        let logs: Vec<_> = logs
            .into_iter()
            .filter(|it| std::ptr::eq(&raw const **it.directory(), directory))
            .collect();
        let mut points = offsets(&logs, |log| Some(log.lock().recovery_point()));
        let mut starts = offsets(&logs, log_start);
        for &index in indices {
            let (log, to) = &cuts[index];
            match floor(&log.lock(), *to) {
                Ok(floor) => {
                    // One that was deleted meanwhile has no line, and needs none.
                    if let Some(point) = points.get_mut(log.partition()) {
                        *point = floor.min(*point);
                    }
                    // The log start goes down with the end, as the cut will have it.
                    if let Some(start) = starts.get_mut(log.partition()) {
                        *start = floor.min(*start);
                    }
                    ready.push(index);
                }
                Err(error) => results.push((index, Err(error.into()))),
            }
        }
        let checkpoints = directory.checkpoints();
        // In this order, as whoever writes all of them does.
        let written = checkpoints
            .write(Checkpoint::LogStart, &starts)
            .and_then(|()| checkpoints.write(Checkpoint::RecoveryPoint, &points));
        if let Err(error) = written {
            let error = Arc::new(error);
            let failed = ready
                .into_iter()
                .map(|index| (index, Err(CutError::Checkpoint(error.clone()))));
            results.extend(failed);
            return results;
        }
        for index in ready {
            let (log, to) = &cuts[index];
            let cut = {
                let mut log = log.lock();
                cut(&mut log, *to, now_ms).map(|has_cut| (has_cut, log.log_end_offset()))
            };
            let cut = cut.map_err(CutError::from).and_then(|(has_cut, end)| {
                let noted = checkpoints.log_was_cut(log.partition(), end);
                noted.map_err(|error| CutError::Change(error.into()))?;
                Ok(has_cut)
            });
            results.push((index, cut));
        }
        results
    }
}

/// The highest recovery point that is right before and after the cut.
fn floor<D: Disk>(log: &Log<D>, to: CutTo) -> Result<Offset, SegmentError> {
    match to {
        CutTo::Offset(offset) => log.cut_point(offset),
        CutTo::Nothing { start_at, .. } => Ok(start_at),
    }
}

fn cut<D: Disk>(log: &mut Log<D>, to: CutTo, now_ms: i64) -> Result<bool, ChangeError> {
    match to {
        CutTo::Offset(offset) => log.truncate_to(offset, now_ms),
        CutTo::Nothing {
            start_at,
            log_start,
        } => log
            .truncate_fully_and_start_at(start_at, log_start, now_ms)
            .map(|()| true),
    }
}

/// What an error says about the directory.
fn offline_reason(error: &CutError) -> Option<OfflineReason> {
    let disk_error = match error {
        CutError::Checkpoint(error) => Some(&**error),
        CutError::Segment(error) => error.disk_error(),
        CutError::Change(error) => error.disk_error(),
    };
    let disk_error = disk_error.filter(|it| it.takes_directory_offline())?;
    let source = std::io::Error::other(disk_error.to_string());
    Some(OfflineReason::new(DirectoryWork::Cutting, source))
}
