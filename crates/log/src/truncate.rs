//! Cutting the end off a log: what a follower does where its log and its leader's part ways.

use std::sync::Arc;

use klamm_io::Disk;
use klamm_primitives::Offset;

use crate::bounds::{Bound, Place};
use crate::config::LogConfig;
use crate::indexer::Indexer;
use crate::leader_epochs::LeaderEpochs;
use crate::log::{ChangeError, Log, Shared, millis};
use crate::replay::{Replay, replay};
use crate::roll::Active;
use crate::segment::{Segment, SegmentError};

impl<D: Disk> Log<D> {
    /// Cuts the log so that no record has `offset` or more; it then ends there. A batch that
    /// reaches over `offset` goes as a whole, and the log ends where it began, so that a follower
    /// that goes on from the log end offset gets all of it again. An offset at or behind the log
    /// end changes nothing. Below the first segment nothing is left, and the log goes on from
    /// `offset`. Returns whether anything was cut.
    ///
    /// The cut is durable. What the caller keeps of the recovery point and the high watermark
    /// must be written down before it appends anything: a recovery that begins behind what was
    /// appended since would take it as good.
    ///
    /// # Errors
    /// [`ChangeError::Unavailable`]. After any other the log has failed; opening it again
    /// recovers it.
    ///
    /// # Panics
    /// With an offset below 0.
    pub fn truncate_to(&mut self, offset: Offset, now_ms: i64) -> Result<bool, ChangeError> {
        assert!(offset >= Offset::ZERO, "cut to a negative offset, {offset}");
        self.check_available()?;
        if offset >= self.log_end_offset() {
            return Ok(false);
        }
        let first_base = self.shared.segments.read().keys().next().copied();
        let cut = if first_base.is_none_or(|first| offset < first) {
            self.start_over(offset, offset, now_ms)
        } else {
            self.cut_to(offset, now_ms)
        };
        self.or_fail(cut)?;
        Ok(true)
    }

    /// Drops everything, records, producers and leader epochs, and goes on from `offset`, with
    /// the log start at `log_start` or there.
    ///
    /// # Errors
    /// As [`Log::truncate_to`].
    pub fn truncate_fully_and_start_at(
        &mut self,
        offset: Offset,
        log_start: Option<Offset>,
        now_ms: i64,
    ) -> Result<(), ChangeError> {
        self.check_available()?;
        let started = self.start_over(offset, log_start.unwrap_or(offset), now_ms);
        self.or_fail(started)
    }

    fn start_over(
        &mut self,
        offset: Offset,
        log_start: Offset,
        now_ms: i64,
    ) -> Result<(), ChangeError> {
        // Without snapshots a crash leaves a log that is read through; with those of records that
        // are gone it would know producers that it must not.
        self.snapshots.remove_all()?;
        self.producers.clear(offset);
        // Newest first: a crash leaves a log that ends earlier, without a hole.
        for segment in self.shared.all_segments().iter().rev() {
            segment.remove()?;
        }
        let segment = Arc::new(self.create_segment(offset)?);
        self.disk.sync_dir(&self.directory)?;
        {
            let mut segments = self.shared.segments.write();
            segments.clear();
            segments.insert(offset, segment.clone());
        }
        self.active = Active::empty(segment, &self.config, now_ms);
        self.recovery_point = offset;
        let log_end = Place {
            offset,
            segment_base: offset,
            position: 0,
        };
        let mut bounds = *self.shared.bounds.lock();
        bounds.log_start = log_start.min(offset);
        bounds.log_end = log_end;
        bounds.high_watermark = Bound::placed(log_end);
        bounds.last_stable = bounds.high_watermark;
        bounds.cuts += 1;
        self.publish(bounds);
        self.change_epochs(LeaderEpochs::clear)?;
        Ok(())
    }

    fn cut_to(&mut self, offset: Offset, now_ms: i64) -> Result<(), ChangeError> {
        let end = self.find_end(offset)?;
        // Readers see the new end before the bytes go.
        let mut bounds = *self.shared.bounds.lock();
        bounds.cuts += 1;
        bounds.log_start = bounds.log_start.min(end.offset);
        bounds.log_end = end;
        bounds.high_watermark = if bounds.high_watermark.offset >= end.offset {
            Bound::placed(end)
        } else {
            Bound::at(bounds.high_watermark.offset)
        };
        bounds.last_stable = Bound::at(bounds.last_stable.offset.min(end.offset));
        *self.shared.bounds.lock() = bounds;
        self.recovery_point = self.recovery_point.min(end.offset);

        let gone = {
            let mut segments = self.shared.segments.write();
            segments.split_off(&(end.segment_base + 1))
        };
        // Newest first, and for good before anything new gets such a name: otherwise a crash
        // could bring one of them back behind a hole.
        for segment in gone.values().rev() {
            segment.remove()?;
        }
        if !gone.is_empty() {
            self.disk.sync_dir(&self.directory)?;
        }
        let last = last_segment(&self.shared);
        last.truncate_to(end.offset)?;
        self.active = reopen(last, &self.config, now_ms)?;
        self.change_epochs(|epochs| epochs.truncate_from_end(end.offset))?;
        self.rewind_producers(end.offset, now_ms)?;
        self.publish(bounds);
        Ok(())
    }

    /// Where the log ends if nothing at or behind `offset` stays: before the batch that reaches
    /// to it, and no later than that one begins.
    fn find_end(&self, offset: Offset) -> Result<Place, SegmentError> {
        let segment = self
            .shared
            .segment_for(offset)
            .expect("the first segment begins at or below the offset");
        let batch = segment.find(offset)?;
        Ok(Place {
            offset: batch.map_or(offset, |batch| batch.base_offset.min(offset)),
            segment_base: segment.base_offset(),
            position: batch.map_or(segment.size(), |batch| batch.position),
        })
    }

    /// Brings the producers' state back to what it was at `offset`.
    fn rewind_producers(&mut self, offset: Offset, now_ms: i64) -> Result<(), SegmentError> {
        self.snapshots.remove_above(offset)?;
        let expiration_ms = millis(self.config.producer_id_expiration);
        let replay_to = Replay {
            end_offset: offset,
            log_start: self.log_start_offset(),
            now_ms,
            expiration_ms,
        };
        self.producers = replay(&mut self.snapshots, &self.shared.all_segments(), &replay_to)?;
        Ok(())
    }
}

/// The segment that is appended to.
pub(crate) fn last_segment<D: Disk>(shared: &Shared<D>) -> Arc<Segment<D>> {
    let segments = shared.segments.read();
    let last = segments.values().next_back();
    last.expect("a log has a segment").clone()
}

/// Makes a segment with records the one that is appended to.
pub(crate) fn reopen<D: Disk>(
    segment: Arc<Segment<D>>,
    config: &LogConfig,
    now_ms: i64,
) -> Result<Active<D>, SegmentError> {
    if segment.size() == 0 {
        return Ok(Active::empty(segment, config, now_ms));
    }
    let indexed = segment.with_indexes(|it| Ok::<_, SegmentError>(it.offset.last()))?;
    let since_entry = segment.size() - indexed.map_or(0, |it| it.position);
    let indexer = Indexer::new(since_entry, segment.scan_largest_timestamp()?);
    let first = segment.scan(0)?.next()?;
    let first_timestamp_ms = first.map(|batch| batch.max_timestamp_ms);
    Ok(Active::new(
        segment,
        config,
        now_ms,
        indexer,
        first_timestamp_ms,
    ))
}
