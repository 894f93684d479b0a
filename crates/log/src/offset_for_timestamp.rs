//! Offsets by time: what `ListOffsets` asks a partition for.

use klamm_io::Disk;
use klamm_primitives::{LeaderEpoch, Offset};
use klamm_records::{Codecs, NO_TIMESTAMP};

use crate::read::{Isolation, LogReader, ReadError};
use crate::segment::SegmentError;

/// A place in time, or one of the places that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeTarget {
    /// The first record with this timestamp or a later one, in Unix milliseconds.
    AtOrAfter(i64),
    /// The log start offset (-2).
    Earliest,
    /// The end of what the reader may see (-1).
    Latest(Isolation),
    /// The first record that has the largest timestamp (-3).
    MaxTimestamp,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetAndTime {
    /// The offset.
    pub offset: Offset,
    /// The record's timestamp; `None` for places that have a name instead of a time.
    pub timestamp_ms: Option<i64>,
    /// The leader epoch that goes with the offset, if it is known.
    pub leader_epoch: Option<LeaderEpoch>,
}

impl<D: Disk> LogReader<D> {
    /// Finds an offset by time; `None` if no record is as late, or none has a timestamp.
    ///
    /// [`TimeTarget::Earliest`] and [`TimeTarget::Latest`] are answered without the disk.
    /// `codecs` bounds what decompressing a batch may take.
    ///
    /// # Errors
    /// [`ReadError::Segment`] where the disk refuses or a batch is damaged.
    pub fn offset_for_timestamp(
        &self,
        target: TimeTarget,
        codecs: &mut Codecs,
    ) -> Result<Option<OffsetAndTime>, ReadError> {
        match target {
            TimeTarget::AtOrAfter(timestamp_ms) => self.look(|bounds| {
                let from = bounds.log_start;
                Ok(self.at_or_after(timestamp_ms, from, codecs)?)
            }),
            TimeTarget::Earliest => Ok(Some(self.earliest())),
            TimeTarget::Latest(isolation) => Ok(Some(self.latest(isolation))),
            TimeTarget::MaxTimestamp => {
                self.look(|bounds| Ok(self.max_timestamp(bounds.log_start, codecs)?))
            }
        }
    }

    fn earliest(&self) -> OffsetAndTime {
        let offset = self.shared.bounds.lock().log_start;
        let first = self.shared.epochs.read().earliest();
        OffsetAndTime {
            offset,
            timestamp_ms: None,
            leader_epoch: first
                .filter(|first| first.start_offset <= offset)
                .map(|first| first.epoch),
        }
    }

    fn latest(&self, isolation: Isolation) -> OffsetAndTime {
        let bounds = *self.shared.bounds.lock();
        let offset = match isolation {
            Isolation::LogEnd => bounds.log_end.offset,
            Isolation::HighWatermark => bounds.high_watermark.offset,
            Isolation::Committed => bounds.last_stable.offset,
        };
        OffsetAndTime {
            offset,
            timestamp_ms: None,
            leader_epoch: self.shared.epochs.read().latest().map(|it| it.epoch),
        }
    }

    fn at_or_after(
        &self,
        timestamp_ms: i64,
        from: Offset,
        codecs: &mut Codecs,
    ) -> Result<Option<OffsetAndTime>, SegmentError> {
        for segment in self.shared.all_segments() {
            if segment.size() == 0 || segment.largest_timestamp()?.timestamp_ms < timestamp_ms {
                continue;
            }
            if let Some(found) = segment.find_timestamp(timestamp_ms, from, codecs)? {
                return Ok(Some(OffsetAndTime {
                    offset: found.offset,
                    timestamp_ms: Some(found.timestamp_ms),
                    leader_epoch: found.leader_epoch,
                }));
            }
        }
        Ok(None)
    }

    fn max_timestamp(
        &self,
        from: Offset,
        codecs: &mut Codecs,
    ) -> Result<Option<OffsetAndTime>, SegmentError> {
        let mut largest = NO_TIMESTAMP;
        for segment in self.shared.all_segments() {
            if segment.size() > 0 {
                largest = largest.max(segment.largest_timestamp_from(from, codecs)?);
            }
        }
        if largest == NO_TIMESTAMP {
            return Ok(None);
        }
        self.at_or_after(largest, from, codecs)
    }
}
