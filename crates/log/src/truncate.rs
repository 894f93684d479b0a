//! Cutting the end off a log: what a follower does where its log and its leader's part ways.

use std::sync::Arc;

use klamm_io::Disk;
use klamm_primitives::Offset;

use crate::bounds::{Bound, Place};
use crate::leader_epochs::LeaderEpochs;
use crate::log::{ChangeError, Log, Shared, millis};
use crate::replay::{Replay, replay};
use crate::roll::Active;
use crate::segment::{Segment, SegmentError};

impl<D: Disk> Log<D> {
    /// Cuts the log so that no record has `offset` or more. It ends behind its last record then,
    /// as it would when it is opened again: before `offset`, if a batch reached over that, since
    /// it went as a whole, or if there was a gap. A follower goes on from the log end offset.
    /// An offset at or behind the log end changes nothing. Below the first segment nothing is
    /// left, and the log goes on from `offset`. Returns whether anything was cut.
    ///
    /// The cut is durable. A recovery point that the caller keeps on disk must be at or below the
    /// [`cut_point`](Self::cut_point) *before* this is called: a power cut in the middle leaves
    /// what looks like damage to records that were durable, and one later on would find what was
    /// appended since taken as good.
    ///
    /// # Errors
    /// [`ChangeError::Unavailable`], and any where no descriptor is left to look where to cut: the
    /// log is as it was. After any other it has failed; opening it again recovers it.
    ///
    /// # Panics
    /// With an offset below 0.
    pub fn truncate_to(&mut self, offset: Offset, now_ms: i64) -> Result<bool, ChangeError> {
        assert!(offset >= Offset::ZERO, "cut to a negative offset, {offset}");
        self.check_available()?;
        if offset >= self.log_end_offset() {
            return Ok(false);
        }
        let cut = if offset < self.shared.first_base() {
            self.start_over(offset, offset, now_ms)
        } else {
            let end = self.find_end(offset);
            let end = self.or_fail_unless_it_may_pass(end)?;
            self.cut_to(end, now_ms)
        };
        self.or_fail(cut)?;
        Ok(true)
    }

    /// Where the log would end if it were [cut](Self::truncate_to) at `offset`.
    ///
    /// # Errors
    /// Where the segment cannot be read.
    pub fn cut_point(&self, offset: Offset) -> Result<Offset, SegmentError> {
        let log_end = self.log_end_offset();
        if offset >= log_end {
            return Ok(log_end);
        }
        if offset < self.shared.first_base() {
            return Ok(offset);
        }
        Ok(self.find_end(offset)?.offset)
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

    fn cut_to(&mut self, end: Place, now_ms: i64) -> Result<(), ChangeError> {
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
        self.active = Active::reopen(last, &self.config, now_ms)?;
        self.change_epochs(|epochs| epochs.truncate_from_end(end.offset))?;
        self.rewind_producers(end.offset, now_ms)?;
        self.publish(bounds);
        Ok(())
    }

    /// Where the log ends if nothing at or behind `offset` stays: behind the last record before
    /// it, or where its segment begins.
    fn find_end(&self, offset: Offset) -> Result<Place, SegmentError> {
        self.shared.segment_for(offset).end_before(offset)
    }

    /// Brings the producers' state back to what it was at `offset`.
    fn rewind_producers(&mut self, offset: Offset, now_ms: i64) -> Result<(), SegmentError> {
        self.snapshots.remove_above(offset)?;
        let expiration_ms = millis(self.config.producer_id_expiration);
        let replay_to = Replay {
            end_offset: offset,
            high_watermark: self.high_watermark(),
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
