//! What of a log can be cleaned, and taking the work out of it.

use klamm_io::Disk;
use klamm_primitives::Offset;

use super::choose::Cleanable;
use super::clean::{Cleaning, Limits};
use super::rules::LastOfProducers;
use super::transactions::TransactionWalk;
use crate::index_error::IndexError;
use crate::log::{Log, millis};
use crate::segment::SegmentError;
use crate::transaction_index::AbortedTransaction;

impl<D: Disk> Log<D> {
    /// How much of the log is dirty, `cleaner_offset` being what the last pass has noted; `None`
    /// without `compact` in the policy, or for a log that has failed.
    ///
    /// An offset that is not the log's any more counts as none: everything is dirty then.
    ///
    /// # Errors
    /// [`SegmentError`] where a segment's timestamps are needed and cannot be read.
    pub fn cleanable(
        &self,
        cleaner_offset: Option<Offset>,
        now_ms: i64,
    ) -> Result<Option<Cleanable>, SegmentError> {
        if !self.config.cleanup_policy.compact || self.check_available().is_err() {
            return Ok(None);
        }
        let (log_start, log_end) = (self.log_start_offset(), self.log_end_offset());
        let first_dirty = cleaner_offset
            .filter(|it| (log_start..=log_end).contains(it))
            .unwrap_or(log_start);

        let segments = self.shared.all_segments();
        let Some((active, closed)) = segments.split_last() else {
            return Ok(None);
        };
        // Where transactions are open nobody knows yet which records count.
        let stable = self.last_stable_offset();
        let mut end = closed.len();
        let lag_min_ms = millis(self.config.compaction_lag_min);
        let young_ms = now_ms.saturating_sub(lag_min_ms);
        for (index, segment) in closed.iter().enumerate() {
            let next_base = segments[index + 1].base_offset();
            let is_young = lag_min_ms > 0
                && next_base > first_dirty
                && segment.largest_timestamp()?.timestamp_ms > young_ms;
            if next_base > stable || is_young {
                end = index;
                break;
            }
        }
        let first_uncleanable = closed
            .get(end)
            .map_or(active.base_offset(), |it| it.base_offset());
        let (mut clean_bytes, mut dirty_bytes) = (0, 0);
        let mut is_overdue = false;
        for (index, segment) in closed[..end].iter().enumerate() {
            let next_base = segments[index + 1].base_offset();
            let size = u64::from(segment.size());
            if next_base <= first_dirty {
                clean_bytes += size;
                continue;
            }
            dirty_bytes += size;
            if let Some(lag_max) = self.config.compaction_lag_max
                && !is_overdue
                && let Some(first) = segment.scan(0)?.next()?
            {
                let oldest_ms = now_ms.saturating_sub(millis(lag_max));
                is_overdue = (0..oldest_ms).contains(&first.max_timestamp_ms);
            }
        }
        Ok(Some(Cleanable {
            first_dirty,
            first_uncleanable: first_uncleanable.max(first_dirty),
            clean_bytes,
            dirty_bytes,
            is_overdue,
        }))
    }

    /// Takes out the work of cleaning what [`Log::cleanable`] has told of. `map_bytes` bounds the
    /// memory for keys, 24 bytes each (`log.cleaner.dedupe.buffer.size`, and of that
    /// `log.cleaner.io.buffer.load.factor`).
    ///
    /// # Errors
    /// [`IndexError`] where a transaction index cannot be read.
    pub fn begin_cleaning(
        &self,
        cleanable: &Cleanable,
        map_bytes: usize,
        now_ms: i64,
    ) -> Result<Cleaning<D>, IndexError> {
        let end = cleanable.first_uncleanable;
        let segments = self.shared.segments.read();
        let active = self.active.segment.base_offset();
        let sources: Vec<_> = segments
            .range(..end.min(active))
            .map(|it| it.1.clone())
            .collect();
        drop(segments);
        let from = sources.first().map_or(end, |it| it.base_offset());
        let mut aborted: Vec<AbortedTransaction> = Vec::new();
        for segment in self.shared.all_segments() {
            let search = segment.aborted_in(from, end)?;
            aborted.extend(search.found);
            if !search.go_on {
                break;
            }
        }
        let config = &self.config;
        let limits = Limits {
            segment: config.segment_bytes,
            index: config.index_bytes,
            index_interval: config.index_interval_bytes,
            batch: config.batch_bytes_max,
            map: map_bytes,
        };
        Ok(Cleaning::new(
            self.disk.clone(),
            self.directory.clone(),
            limits,
            sources,
            (cleanable.first_dirty, end),
            TransactionWalk::new(aborted),
            LastOfProducers::new(&self.producers.to_snapshot()),
            (now_ms, millis(config.tombstone_retention)),
            self.shared.bounds.lock().cuts,
        ))
    }
}
