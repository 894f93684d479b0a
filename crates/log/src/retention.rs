//! Retention: which old segments go, by age, by size, and because nobody reads them any more.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::{Disk, DiskError, DiskErrorKind};
use klamm_primitives::Offset;
use tracing::{info, warn};

use crate::log::{ChangeError, Log, millis};
use crate::segment::{Segment, SegmentError};

/// Why a segment goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetentionReason {
    /// All of it lies before the log start offset.
    LogStart,
    /// Its newest record is older than `retention.ms`.
    Age,
    /// The log is larger than `retention.bytes`.
    Size,
}

/// Files that have the name of such that wait to be removed. They are removed when the caller
/// says so, after `file.delete.delay.ms`, so that slow readers find them.
#[must_use = "the files stay until they are removed"]
#[derive(Debug)]
pub struct RetiredFiles<D: Disk> {
    disk: D,
    paths: Vec<PathBuf>,
}

impl<D: Disk> RetiredFiles<D> {
    pub(crate) fn new(disk: D) -> Self {
        Self {
            disk,
            paths: Vec::new(),
        }
    }

    /// Where they are.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    pub(crate) fn extend(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.paths.extend(paths);
    }

    /// Removes the files; fine where one is gone.
    ///
    /// # Errors
    /// The first that could not be removed; those behind it are still there, and opening the log
    /// removes them.
    pub fn remove(self) -> Result<(), DiskError> {
        for path in &self.paths {
            match self.disk.remove_file(path) {
                Err(error) if error.kind() != DiskErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

impl<D: Disk> Log<D> {
    /// Lets old segments go, oldest first: those before the log start offset, whatever the policy
    /// says; with `delete` in the policy those that are too old, then those that make the log too
    /// large. Stops at the first that stays, and at the high watermark. The log start offset
    /// follows.
    ///
    /// # Errors
    /// [`ChangeError::Unavailable`]. After any other the log has failed; the files that could be
    /// renamed are no longer part of it. Want of descriptors or room is none: what could be done
    /// was done, and the next pass goes on.
    pub fn delete_old_segments(&mut self, now_ms: i64) -> Result<RetiredFiles<D>, ChangeError> {
        self.check_available()?;
        let mut retired = RetiredFiles::new(self.disk.clone());
        let deleted = self.try_delete_old_segments(&mut retired, now_ms);
        match self.or_fail_unless_it_may_pass(deleted) {
            Err(error) if !self.is_failed() => {
                let (directory, error) = (self.directory.display(), &error as &dyn Error);
                warn!(%directory, error, "old segments stay until the next pass");
                Ok(retired)
            }
            deleted => deleted.map(|()| retired),
        }
    }

    fn try_delete_old_segments(
        &mut self,
        retired: &mut RetiredFiles<D>,
        now_ms: i64,
    ) -> Result<(), ChangeError> {
        let log_start = self.log_start_offset();
        self.delete_while(retired, RetentionReason::LogStart, now_ms, |_, end| {
            Ok(end <= log_start)
        })?;
        if !self.config.cleanup_policy.delete {
            return Ok(());
        }
        if let Some(age_max) = self.config.retention_age {
            let oldest_ms = now_ms.saturating_sub(millis(age_max));
            self.delete_while(retired, RetentionReason::Age, now_ms, |segment, _| {
                Ok(segment.largest_timestamp()?.timestamp_ms < oldest_ms)
            })?;
        }
        if let Some(size_max) = self.config.retention_bytes {
            let mut excess = self.size().saturating_sub(size_max);
            self.delete_while(retired, RetentionReason::Size, now_ms, |segment, _| {
                let size = u64::from(segment.size());
                let goes = excess >= size;
                excess -= if goes { size } else { 0 };
                Ok(goes)
            })?;
        }
        Ok(())
    }

    /// Retires segments from the oldest on while `goes` says so of a segment and the offset where
    /// it ends.
    fn delete_while(
        &mut self,
        retired: &mut RetiredFiles<D>,
        reason: RetentionReason,
        now_ms: i64,
        mut goes: impl FnMut(&Segment<D>, Offset) -> Result<bool, SegmentError>,
    ) -> Result<(), ChangeError> {
        loop {
            let (oldest, next_base) = self.oldest();
            let is_active = next_base.is_none();
            let end = next_base.unwrap_or(self.log_end_offset());
            // An empty active segment is what is left when nothing is.
            let is_empty = is_active && oldest.size() == 0;
            if is_empty || end > self.high_watermark() || !goes(&oldest, end)? {
                return Ok(());
            }
            if is_active {
                self.roll(end, now_ms)?;
            }
            self.retire_oldest(retired, reason, &oldest, end)?;
        }
    }

    fn oldest(&self) -> (Arc<Segment<D>>, Option<Offset>) {
        let segments = self.shared.segments.read();
        let mut oldest = segments.values();
        let first = oldest.next().expect("a log has a segment").clone();
        (first, oldest.next().map(|it| it.base_offset()))
    }

    fn retire_oldest(
        &mut self,
        retired: &mut RetiredFiles<D>,
        reason: RetentionReason,
        oldest: &Segment<D>,
        end: Offset,
    ) -> Result<(), ChangeError> {
        let base_offset = oldest.base_offset();
        // Readers are told first that it is gone.
        self.raise_log_start(end)?;
        self.shared.segments.write().remove(&base_offset);
        let (size, directory) = (oldest.size(), self.directory.display());
        info!(%directory, %base_offset, size, ?reason, "segment deleted");
        let files = oldest.retire();
        retired.extend(self.or_fail(files)?);
        let snapshot = self.snapshots.retire(base_offset);
        retired.extend(self.or_fail(snapshot)?);
        Ok(())
    }
}
