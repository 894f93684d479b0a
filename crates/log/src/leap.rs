//! Batches whose offset is too high to be true.
//!
//! No checksum covers the base offset of a batch. A bit that flips in it and makes it lower is seen at
//! once. One that makes it higher looks like a gap, and gaps there are: compaction leaves them, and so do
//! followers of compacted logs. So a leap is believed unless something contradicts it that was written
//! when the batch was where it belongs.
//!
//! | what | contradicts a leap to a batch, where `expected` should follow |
//! |---|---|
//! | the next segment | if it begins at or behind `expected` and not behind the batch: segments do not overlap |
//! | the batch behind | if it is good and goes back into the leap; where compaction may have been, two of them |
//! | the leader epochs | if a later epoch than the batch's begins within the leap |
//! | recovery point, high watermark | if they lie within the leap, which is by one high bit, and nothing was compacted: a batch ended there once |
//!
//! What nothing contradicts cannot be told from a gap: the last batch of a log where it leaps over nothing
//! but what was written since the checkpoints, or by a low bit; and one of a compacted log that leaps less
//! than the next segment or batch is away.

use std::fmt;

use klamm_io::DiskFile;
use klamm_primitives::{LeaderEpoch, Offset};

use crate::leader_epochs::LeaderEpochs;
use crate::scan::{Scan, ScanError, Scanned};

/// The least bit that a checkpoint speaks against. A log that was compacted once, or that was imported,
/// has gaps as well, and small ones differ by a single bit as often as not.
const HIGH_BIT_MIN: u32 = 16;

/// What contradicts the offset of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contradiction {
    /// The next segment begins here.
    Segment(Offset),
    /// A batch behind it begins here.
    Batch(Offset),
    /// A later leader epoch begins within.
    LeaderEpoch {
        /// That epoch.
        epoch: LeaderEpoch,
        /// Where it begins.
        start: Offset,
    },
    /// The log was durable up to here, so that a batch ended here.
    RecoveryPoint(Offset),
    /// The high watermark was here, so that a batch ended here.
    HighWatermark(Offset),
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segment(offset) => write!(f, "the next segment begins at {offset}"),
            Self::Batch(offset) => write!(f, "a batch behind begins at {offset}"),
            Self::LeaderEpoch { epoch, start } => {
                write!(f, "leader epoch {epoch} begins at {start}")
            }
            Self::RecoveryPoint(offset) => write!(f, "the recovery point was {offset}"),
            Self::HighWatermark(offset) => write!(f, "the high watermark was {offset}"),
        }
    }
}

/// What is known of a log beside the batches of one segment.
#[derive(Clone, Copy)]
pub(crate) struct Witnesses<'a> {
    /// Where the next segment begins, if there is one.
    pub(crate) follower: Option<Offset>,
    /// The leader epochs as they were on disk.
    pub(crate) epochs: &'a LeaderEpochs,
    /// The recovery point, 0 if it is not known or was raised with the log start.
    pub(crate) recovery_point: Offset,
    /// The high watermark, 0 if it is not known or was raised with the log start.
    pub(crate) high_watermark: Offset,
    /// Whether compaction may have left gaps.
    pub(crate) may_have_gaps: bool,
}

impl Witnesses<'_> {
    /// What contradicts a good batch, the one that the walk has just passed, which leaps over offsets
    /// from `expected` on. The walk is where it was afterwards. `is_in_reach`: of its segment's base
    /// offset; one that is not may be of a segment of its own, and the next segment a copy of that.
    ///
    /// # Errors
    /// [`ScanError::Disk`] alone.
    pub(crate) fn contradict<F: DiskFile>(
        &self,
        scan: &mut Scan<F>,
        batch: &Scanned,
        expected: Offset,
        is_in_reach: bool,
    ) -> Result<Option<Contradiction>, ScanError> {
        let leap = expected..=batch.last_offset;
        if batch.base_offset <= expected {
            return Ok(None);
        }
        if is_in_reach {
            if let Some(follower) = self.follower.filter(|it| leap.contains(it)) {
                return Ok(Some(Contradiction::Segment(follower)));
            }
            let behind = self.goes_back(scan, batch, expected);
            scan.go_back_to(batch.end());
            if let Some(behind) = behind? {
                return Ok(Some(Contradiction::Batch(behind)));
            }
        }
        let Some(header) = &batch.header else {
            return Ok(None);
        };
        if let Some(epoch) = header.leader_epoch_if_set() {
            let mut entries = self.epochs.entries().iter();
            let later = entries.find(|it| it.epoch > epoch && leap.contains(&it.start_offset));
            if let Some(later) = later {
                return Ok(Some(Contradiction::LeaderEpoch {
                    epoch: later.epoch,
                    start: later.start_offset,
                }));
            }
        }
        let differs = batch.base_offset.get() ^ expected.get();
        let is_high_bit = differs.count_ones() == 1 && differs.trailing_zeros() >= HIGH_BIT_MIN;
        if self.may_have_gaps || !is_high_bit {
            return Ok(None);
        }
        // Where the batch is expected, nothing ended behind that yet.
        let is_within = |point: Offset| point > expected && leap.contains(&point);
        Ok(if is_within(self.recovery_point) {
            Some(Contradiction::RecoveryPoint(self.recovery_point))
        } else if is_within(self.high_watermark) {
            Some(Contradiction::HighWatermark(self.high_watermark))
        } else {
            None
        })
    }

    /// Where the good batches behind begin, if they go back into the leap. That one does may as well be
    /// a bit of its own, where the leap may be true.
    fn goes_back<F: DiskFile>(
        &self,
        scan: &mut Scan<F>,
        batch: &Scanned,
        expected: Offset,
    ) -> Result<Option<Offset>, ScanError> {
        let needed = if self.may_have_gaps { 2 } else { 1 };
        let (mut least, mut first) = (expected, None);
        for _ in 0..needed {
            let behind = match scan.next() {
                Ok(Some(behind)) => behind,
                Ok(None) | Err(ScanError::Damaged { .. }) => return Ok(None),
                Err(error) => return Err(error),
            };
            if !(least..=batch.last_offset).contains(&behind.base_offset) {
                return Ok(None);
            }
            match scan.check_crc(&behind) {
                Ok(()) => {}
                Err(ScanError::Damaged { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
            first.get_or_insert(behind.base_offset);
            least = behind.last_offset + 1;
        }
        Ok(first)
    }
}
