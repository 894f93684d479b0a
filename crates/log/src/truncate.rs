//! Cutting the end off a log: what a follower does where its log and its leader's part ways.

use std::sync::Arc;

use klamm_io::Disk;
use klamm_primitives::Offset;

use crate::bounds::{Bound, Place};
use crate::config::LogConfig;
use crate::indexer::Indexer;
use crate::log::{ChangeError, Log, Shared, millis};
use crate::replay::{Replay, replay};
use crate::roll::Active;
use crate::segment::{Segment, SegmentError};

impl<D: Disk> Log<D> {
    /// Cuts the log so that no record has `offset` or more. One at or behind the log end changes
    /// no record. Below the first segment nothing is left, and the log goes on from `offset`.
    /// Returns whether anything was cut.
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
        self.snapshots.remove_all()?;
        self.change_epochs(|epochs| epochs.clear())?;
        self.producers.clear(offset);
        let former = self.shared.all_segments();
        // Newest first: a crash leaves a log that ends earlier, without a hole.
        for segment in former.iter().rev() {
            segment.remove()?;
        }
        let segment = Arc::new(self.create_segment(offset)?);
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
        bounds.high_watermark = Bound {
            offset,
            place: Some(log_end),
        };
        bounds.last_stable = bounds.high_watermark;
        bounds.cuts += 1;
        self.publish(bounds);
        Ok(())
    }

    fn cut_to(&mut self, offset: Offset, now_ms: i64) -> Result<(), ChangeError> {
        // Readers see the new end before the bytes go.
        let end = self.find_end(offset)?;
        let mut bounds = *self.shared.bounds.lock();
        bounds.cuts += 1;
        bounds.log_start = bounds.log_start.min(offset);
        bounds.log_end = end;
        if bounds.high_watermark.offset >= offset {
            bounds.high_watermark = Bound {
                offset,
                place: Some(end),
            };
        } else {
            bounds.high_watermark.place = None;
        }
        bounds.last_stable = Bound::at(bounds.last_stable.offset.min(bounds.high_watermark.offset));
        *self.shared.bounds.lock() = bounds;
        self.recovery_point = self.recovery_point.min(offset);

        let gone: Vec<_> = {
            let mut segments = self.shared.segments.write();
            let gone = segments.split_off(&(end.segment_base + 1));
            gone.into_values().collect()
        };
        for segment in gone.iter().rev() {
            segment.remove()?;
        }
        let last = last_segment(&self.shared);
        last.truncate_to(offset)?;
        self.active = reopen(last, &self.config, now_ms)?;
        self.change_epochs(|epochs| epochs.truncate_from_end(offset))?;
        self.rewind_producers(offset, now_ms)?;
        self.publish(bounds);
        Ok(())
    }

    /// Where `offset` would be appended: in the segment that holds it, before the batch that
    /// reaches to it.
    fn find_end(&self, offset: Offset) -> Result<Place, SegmentError> {
        let segment = self
            .shared
            .segment_for(offset)
            .expect("the first segment begins at or below the offset");
        let batch = segment.find(offset)?;
        Ok(Place {
            offset,
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
    let largest = segment.scan_largest_timestamp()?;
    let first = segment.scan(0)?.next()?;
    let first_timestamp_ms = first.map(|batch| batch.max_timestamp_ms);
    let indexer = Indexer::new(largest);
    Ok(Active::new(
        segment,
        config,
        now_ms,
        indexer,
        first_timestamp_ms,
    ))
}
