//! Syncing: what is durable, and the work of making more of it so.
//!
//! An append never syncs. Whoever syncs takes the work out of the log as a [`Flush`], does it
//! without the log's lock, and tells the log what came of it; so one worker can gather the syncs
//! of many logs, and appends go on meanwhile.

use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::{Disk, DiskError, DiskErrorKind};
use klamm_primitives::Offset;

use crate::log::{Log, Unavailable};
use crate::segment::Segment;

/// Files to sync, so that a log is durable up to an offset.
#[must_use = "nothing is synced before it runs"]
pub struct Flush<D: Disk> {
    disk: D,
    directory: PathBuf,
    /// Oldest first. All but the last are done with.
    segments: Vec<Arc<Segment<D>>>,
    has_new_names: bool,
    up_to: Offset,
}

impl<D: Disk> Flush<D> {
    /// Up to where the log is durable once this has run: the log end offset when it was taken
    /// out.
    pub fn up_to(&self) -> Offset {
        self.up_to
    }

    /// Syncs. Blocks, without any lock of the log. A directory that was deleted meanwhile is no
    /// error.
    ///
    /// # Errors
    /// What is durable is unknown then, and must not be tried again: tell the log by
    /// [`Log::fail`].
    pub fn run(&self) -> Result<(), DiskError> {
        if let Some((last, done)) = self.segments.split_last() {
            for segment in done {
                segment.sync_all()?;
            }
            // The indexes of the last segment are rebuilt after a crash, so they cost no sync
            // here.
            last.sync_log()?;
        }
        if self.has_new_names {
            match self.disk.sync_dir(&self.directory) {
                Err(error) if error.kind() != DiskErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

impl<D: Disk> Log<D> {
    /// How many records are not known to be durable.
    pub fn unflushed_records(&self) -> u64 {
        let unflushed = self.log_end_offset() - self.recovery_point;
        u64::try_from(unflushed).unwrap_or(0)
    }

    /// Whether `flush.messages` asks for a sync.
    pub(crate) fn flush_is_due(&self) -> bool {
        let limit = self.config.flush_records;
        limit.is_some_and(|limit| self.unflushed_records() >= limit)
    }

    /// Takes out the work of making everything durable that is in the log now; `None` if it is.
    ///
    /// # Errors
    /// [`Unavailable`]: a log that failed is not synced again.
    pub fn begin_flush(&mut self) -> Result<Option<Flush<D>>, Unavailable> {
        self.check_available()?;
        let up_to = self.log_end_offset();
        if up_to <= self.recovery_point && !self.has_new_names {
            return Ok(None);
        }
        // The segment that holds the recovery point, and those behind it.
        let from = self.recovery_point;
        let segments = self.shared.segments.read();
        let first = segments.range(..=from).next_back().map(|it| *it.0);
        let segments = segments
            .range(first.unwrap_or(Offset::ZERO)..)
            .map(|it| it.1.clone())
            .collect();
        Ok(Some(Flush {
            disk: self.disk.clone(),
            directory: self.directory.clone(),
            segments,
            has_new_names: std::mem::take(&mut self.has_new_names),
            up_to,
        }))
    }

    /// Notes that a flush has run well: everything below `up_to` is durable. Never goes back.
    pub fn flushed(&mut self, up_to: Offset) {
        let up_to = up_to.min(self.log_end_offset());
        self.recovery_point = self.recovery_point.max(up_to);
    }

    /// Syncs here and now. Blocks.
    ///
    /// # Errors
    /// [`FlushError`]; after one of the disk the log has failed.
    pub fn flush(&mut self) -> Result<(), FlushError> {
        let Some(flush) = self.begin_flush()? else {
            return Ok(());
        };
        let ran = flush.run();
        self.or_fail(ran)?;
        self.flushed(flush.up_to());
        Ok(())
    }
}

/// A log could not be synced.
#[derive(Debug, thiserror::Error)]
pub enum FlushError {
    /// The log takes no changes.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The disk refused. The log has failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
}
