//! Rolling: when a segment is done, and how the next one begins.

use std::sync::Arc;
use std::time::Duration;

use klamm_io::Disk;
use klamm_primitives::Offset;

use crate::bounds::{Bound, Place};
use crate::config::LogConfig;
use crate::index_error::IndexError;
use crate::indexer::{Indexed, Indexer};
use crate::log::{ChangeError, Log, millis};
use crate::segment::{Segment, SegmentError};
use crate::time_index::TimestampOffset;

/// The segment that is appended to, and what only whoever appends needs to know of it.
pub(crate) struct Active<D: Disk> {
    pub(crate) segment: Arc<Segment<D>>,
    /// `None` until the first append after the segment was found as it had been left: a partition
    /// that is idle since its opening has read nothing for it.
    progress: Option<Progress>,
    /// When the segment was made or opened, for records without timestamps.
    created_ms: i64,
    /// What is taken off `segment.ms`.
    jitter: Duration,
}

/// What the batches of a segment have come to.
struct Progress {
    indexer: Indexer,
    /// The timestamp from which the segment's age counts: that of its first append, if it had one.
    first_timestamp_ms: Option<i64>,
}

impl Progress {
    fn none(base_offset: Offset) -> Self {
        Self {
            indexer: Indexer::empty(base_offset),
            first_timestamp_ms: None,
        }
    }

    fn of<D: Disk>(segment: &Segment<D>) -> Result<Self, SegmentError> {
        // They are open from here on, so that no append finds out too late that they cannot be.
        let indexed = segment.with_indexes(|it| Ok::<_, SegmentError>(it.offset.last()))?;
        if segment.size() == 0 {
            return Ok(Self::none(segment.base_offset()));
        }
        let since_entry = segment.size() - indexed.map_or(0, |it| it.position);
        let first = segment.scan(0)?.next()?;
        Ok(Self {
            indexer: Indexer::new(since_entry, segment.scan_largest_timestamp()?),
            first_timestamp_ms: first.map(|batch| batch.max_timestamp_ms),
        })
    }
}

impl<D: Disk> Active<D> {
    fn new(
        segment: Arc<Segment<D>>,
        config: &LogConfig,
        now_ms: i64,
        progress: Option<Progress>,
    ) -> Self {
        let jitter = jitter(segment.base_offset(), now_ms, config.segment_jitter);
        Self {
            segment,
            progress,
            created_ms: now_ms,
            jitter,
        }
    }

    /// A segment without records.
    pub(crate) fn empty(segment: Arc<Segment<D>>, config: &LogConfig, now_ms: i64) -> Self {
        let progress = Progress::none(segment.base_offset());
        Self::new(segment, config, now_ms, Some(progress))
    }

    /// A segment as it was found. It is looked at when it is first appended to.
    pub(crate) fn idle(segment: Arc<Segment<D>>, config: &LogConfig, now_ms: i64) -> Self {
        Self::new(segment, config, now_ms, None)
    }

    /// A segment that was cut or recovered: what it holds is seen now.
    pub(crate) fn reopen(
        segment: Arc<Segment<D>>,
        config: &LogConfig,
        now_ms: i64,
    ) -> Result<Self, SegmentError> {
        let progress = Progress::of(&segment)?;
        Ok(Self::new(segment, config, now_ms, Some(progress)))
    }

    /// Whether the segment is as it was found, so that nothing of it has to be written.
    pub(crate) fn is_idle(&self) -> bool {
        self.progress.is_none()
    }

    fn progress(&mut self) -> Result<&mut Progress, SegmentError> {
        let progress = match self.progress.take() {
            Some(progress) => progress,
            None => Progress::of(&self.segment)?,
        };
        Ok(self.progress.insert(progress))
    }

    /// Ends appending to the segment, as far as its indexes go. Those of one that is as it was found
    /// are done with, unless they wait for room on the disk.
    pub(crate) fn seal_indexes(&self) -> Result<(), SegmentError> {
        let progress = self.progress.as_ref();
        let base_offset = self.segment.base_offset();
        let largest = progress.map_or(Indexer::empty(base_offset).largest(), |it| {
            it.indexer.largest()
        });
        self.segment.seal_indexes(largest)
    }

    /// Ends appending to the segment. Returns its largest timestamp.
    pub(crate) fn seal(&mut self) -> Result<TimestampOffset, SegmentError> {
        let largest = self.progress()?.indexer.largest();
        self.segment.seal(largest)?;
        Ok(largest)
    }

    /// Adds what was written to the indexes, after [`Active::must_roll`] was asked about it.
    pub(crate) fn index(
        &mut self,
        batches: impl Iterator<Item = Indexed>,
        config: &LogConfig,
    ) -> Result<(), IndexError> {
        let progress = self.progress.as_mut();
        let progress = progress.expect("it was looked at before this was written");
        for batch in batches {
            let interval = config.index_interval_bytes;
            progress.indexer.add(&self.segment, interval, &batch)?;
        }
        if progress.first_timestamp_ms.is_none() {
            progress.first_timestamp_ms = Some(progress.indexer.largest().timestamp_ms);
        }
        Ok(())
    }

    /// Whether a segment that began at this timestamp has been appended to for long enough.
    fn is_old(
        &self,
        first_timestamp_ms: Option<i64>,
        config: &LogConfig,
        now_ms: i64,
        incoming_max_timestamp_ms: i64,
    ) -> bool {
        let first = first_timestamp_ms.filter(|&first| first >= 0);
        let age_ms = match first {
            Some(first) => incoming_max_timestamp_ms.saturating_sub(first),
            None => now_ms.saturating_sub(self.created_ms),
        };
        age_ms > millis(config.roll_age_max()).saturating_sub(millis(self.jitter))
    }

    /// Whether the log must roll before `incoming` is written.
    pub(crate) fn must_roll(
        &mut self,
        config: &LogConfig,
        incoming: &Incoming,
        now_ms: i64,
    ) -> Result<bool, SegmentError> {
        let first_timestamp_ms = self.progress()?.first_timestamp_ms;
        let size = self.segment.size();
        if !self.segment.reaches(incoming.last_offset) {
            return Ok(true);
        }
        if size == 0 {
            return Ok(false);
        }
        let too_large = u64::from(size) + incoming.size > u64::from(config.segment_bytes);
        let newest_ms = incoming.max_timestamp_ms;
        if too_large || self.is_old(first_timestamp_ms, config, now_ms, newest_ms) {
            return Ok(true);
        }
        self.segment
            .with_indexes(|it| Ok(it.offset.is_full() || it.time.is_full()))
    }
}

/// What is about to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Incoming {
    pub(crate) size: u64,
    pub(crate) last_offset: Offset,
    pub(crate) max_timestamp_ms: i64,
}

/// A number between nothing and `max`, another one for each segment, so that the segments of many
/// partitions that began together do not all end together.
fn jitter(base_offset: Offset, now_ms: i64, max: Duration) -> Duration {
    let max_ms = u64::try_from(max.as_millis()).unwrap_or(u64::MAX);
    if max_ms == 0 {
        return Duration::ZERO;
    }
    // The finalizer of SplitMix64: every bit of the input moves every bit of the output.
    let mut mixed = base_offset.get().cast_unsigned() ^ now_ms.cast_unsigned().rotate_left(32);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Duration::from_millis((mixed ^ (mixed >> 31)) % max_ms.saturating_add(1).max(1))
}

impl<D: Disk> Log<D> {
    /// Ends the segment that is appended to and begins one at `base_offset`, or at the log end
    /// offset if that lies behind it. Without records in it the segment is replaced, or stays if
    /// it begins there already.
    ///
    /// # Errors
    /// [`ChangeError::Unavailable`], and any where the disk is full or no descriptor is left: the
    /// log is as it was, and the next append tries to roll again. After any other it has failed:
    /// the new segment may be there in part.
    pub fn roll(&mut self, base_offset: Offset, now_ms: i64) -> Result<(), ChangeError> {
        self.check_available()?;
        let rolled = self.try_roll(base_offset, now_ms);
        self.or_fail_unless_it_may_pass(rolled)
    }

    fn try_roll(&mut self, base_offset: Offset, now_ms: i64) -> Result<(), ChangeError> {
        let mut bounds = *self.shared.bounds.lock();
        let base_offset = base_offset.max(bounds.log_end.offset);
        let former = self.active.segment.clone();
        let is_empty = former.size() == 0;
        if is_empty && former.base_offset() == base_offset {
            return Ok(());
        }
        // What was known of the producers at this point: recovery begins from here.
        if self.config.keeps_producer_snapshots {
            self.snapshots
                .write(base_offset, &self.producers.to_snapshot())?;
        }
        let largest = self.active.seal()?;
        // The last that may fail and leave everything as it was: nothing of a segment may stay
        // beside one that is appended to over its base offset.
        let segment = Arc::new(self.create_segment(base_offset)?);
        former.set_sealed(Some(largest));
        bounds.log_end = Place {
            segment_base: base_offset,
            position: 0,
            ..bounds.log_end
        };
        // The place of whatever stood at the log end has moved with it.
        for bound in [&mut bounds.high_watermark, &mut bounds.last_stable] {
            if bound.offset == bounds.log_end.offset {
                *bound = Bound::placed(bounds.log_end);
            }
        }
        {
            let mut segments = self.shared.segments.write();
            if is_empty {
                segments.remove(&former.base_offset());
            }
            segments.insert(base_offset, segment.clone());
        }
        self.active = Active::empty(segment, &self.config, now_ms);
        self.publish(bounds);
        if is_empty {
            let removed = former.remove();
            self.or_fail(removed)?;
            let removed = self.snapshots.remove(former.base_offset());
            self.or_fail(removed)?;
        }
        Ok(())
    }

    /// Makes the file of a new segment.
    pub(crate) fn create_segment(
        &mut self,
        base_offset: Offset,
    ) -> Result<Segment<D>, ChangeError> {
        let config = &self.config;
        let preallocated = config.preallocate.then_some(config.segment_bytes);
        let segment = Segment::create(self.home(), base_offset, preallocated)?;
        self.syncs.made_a_name();
        Ok(segment)
    }
}
