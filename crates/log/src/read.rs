//! [`LogReader`]: reads a log while it is appended to.
//!
//! A read yields no bytes but a range of a file that holds them; whoever sends it to a socket
//! never has it in memory.

use std::sync::Arc;

use klamm_io::{Disk, DiskFile, FileRange};
use klamm_primitives::{LeaderEpoch, Offset};
use thiserror::Error;

use crate::bounds::{Bound, Bounds, Place};
use crate::leader_epochs::EpochEnd;
use crate::log::Shared;
use crate::offset_index::OffsetPosition;
use crate::segment::{Segment, SegmentError};
use crate::transaction_index::AbortedTransaction;

/// Up to where a reader may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Followers: everything up to the log end offset.
    LogEnd,
    /// Consumers: up to the high watermark.
    HighWatermark,
    /// Consumers of committed transactions: up to the last stable offset, with the list of the
    /// aborted ones to pass over.
    Committed,
}

/// How much a read may yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadLimit {
    /// Bytes at most. The last batch may be cut by it, and readers drop it then.
    pub bytes_max: u32,
    /// Whether the first batch comes whole even if it is larger, so that a reader with too small
    /// a limit gets on (KIP-74).
    pub whole_first_batch: bool,
}

impl ReadLimit {
    /// Nothing may be found: only offsets and errors are asked for. No file is looked at for it.
    pub const NOTHING: Self = Self {
        bytes_max: 0,
        whole_first_batch: false,
    };

    fn is_nothing(self) -> bool {
        self == Self::NOTHING
    }
}

/// What a read found.
#[derive(Debug)]
pub struct Read<F: DiskFile> {
    /// The batches, as they stand in the file: the first one reaches to the offset asked for and
    /// may begin below it. `None` if there is nothing to read yet.
    pub range: Option<FileRange<F>>,
    /// Where the range begins, or would; the end of what the reader sees if
    /// [nothing](ReadLimit::NOTHING) was asked for.
    pub start: Place,
    /// The limit has cut the first batch: the range holds a part of it and nothing else.
    pub first_batch_is_cut: bool,
    /// The offsets of the log as the read saw them.
    pub offsets: LogOffsets,
    /// The aborted transactions with records in what was read, by their markers; `None` unless
    /// [`Isolation::Committed`] was asked for.
    pub aborted: Option<Vec<AbortedTransaction>>,
}

/// The offsets of a log at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOffsets {
    /// The first offset that is read.
    pub log_start: Offset,
    /// Up to where consumers of committed transactions read.
    pub last_stable: Offset,
    /// Up to where consumers read.
    pub high_watermark: Offset,
    /// One past the last record.
    pub log_end: Offset,
}

/// A read was refused, or failed.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The offset is not one of the log's.
    #[error("offset {offset} is not within {log_start} to {log_end}")]
    OffsetOutOfRange {
        /// What was asked for.
        offset: Offset,
        /// The log start offset.
        log_start: Offset,
        /// The log end offset.
        log_end: Offset,
    },
    /// A segment could not be read.
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

/// Reads a log. A clone reads the same one; all stay valid, also when the log is closed.
pub struct LogReader<D: Disk> {
    pub(crate) shared: Arc<Shared<D>>,
}

impl<D: Disk> Clone for LogReader<D> {
    fn clone(&self) -> Self {
        Self::new(self.shared.clone())
    }
}

impl<D: Disk> LogReader<D> {
    pub(crate) fn new(shared: Arc<Shared<D>>) -> Self {
        Self { shared }
    }

    /// The log's offsets.
    pub fn offsets(&self) -> LogOffsets {
        offsets(&self.shared.bounds.lock())
    }

    /// Reads from the batch that reaches to `offset` on, at most to the end of its segment.
    /// Between log start and log end there is no error: past the last visible record nothing is
    /// found.
    ///
    /// # Errors
    /// [`ReadError::OffsetOutOfRange`]; [`ReadError::Segment`] where the disk refuses or a batch
    /// is damaged. (B3.1, B3.3)
    pub fn read(
        &self,
        offset: Offset,
        limit: ReadLimit,
        isolation: Isolation,
    ) -> Result<Read<D::File>, ReadError> {
        loop {
            let swaps = self.shared.bounds.lock().swaps;
            let read = self.look(|bounds| self.read_within(offset, limit, isolation, bounds))?;
            // What compaction takes out of the records it takes out of the list of aborted
            // transactions too, so both must come from the same segments.
            if isolation != Isolation::Committed || swaps == self.shared.bounds.lock().swaps {
                return Ok(read);
            }
        }
    }

    /// Where a reader's sight ends, and the place of that offset. Between two places of one segment
    /// lie as many bytes as their positions differ by, which tells how much can be read without
    /// reading. Looks at the disk at most once for each offset.
    ///
    /// # Errors
    /// [`ReadError::Segment`] where the disk refuses or a batch is damaged.
    pub fn visible_end(&self, isolation: Isolation) -> Result<Place, ReadError> {
        self.look(|bounds| Ok(self.visible_end_within(isolation, bounds)?))
    }

    /// As [`Log::end_of_epoch`](crate::Log::end_of_epoch), without the log's lock.
    pub fn end_of_epoch(&self, epoch: LeaderEpoch) -> Option<EpochEnd> {
        let log_end_offset = self.shared.bounds.lock().log_end.offset;
        self.shared.epochs.read().end_of(epoch, log_end_offset)
    }

    fn visible_end_within(
        &self,
        isolation: Isolation,
        bounds: &Bounds,
    ) -> Result<Place, SegmentError> {
        match isolation {
            Isolation::LogEnd => Ok(bounds.log_end),
            Isolation::HighWatermark => self.placed(bounds.high_watermark, bounds),
            Isolation::Committed => self.placed(bounds.last_stable, bounds),
        }
    }

    /// Looks something up. What seems damaged because it was cut off, deleted or swapped out
    /// meanwhile is looked up again. What is damaged is told in the process's log, too, once.
    pub(crate) fn look<T>(
        &self,
        mut look: impl FnMut(&Bounds) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let mut bounds = *self.shared.bounds.lock();
        loop {
            let looked = look(&bounds);
            if !matches!(looked, Err(ReadError::Segment(_))) {
                return looked;
            }
            let now = *self.shared.bounds.lock();
            let version = |it: &Bounds| (it.cuts, it.swaps, it.log_start);
            if version(&now) == version(&bounds) {
                if let Err(ReadError::Segment(error)) = &looked {
                    self.shared.damage.tell_damage(error);
                }
                return looked;
            }
            bounds = now;
        }
    }

    fn read_within(
        &self,
        offset: Offset,
        limit: ReadLimit,
        isolation: Isolation,
        bounds: &Bounds,
    ) -> Result<Read<D::File>, ReadError> {
        if offset < bounds.log_start || offset > bounds.log_end.offset {
            return Err(ReadError::OffsetOutOfRange {
                offset,
                log_start: bounds.log_start,
                log_end: bounds.log_end.offset,
            });
        }
        let visible_end = self.visible_end_within(isolation, bounds)?;
        let mut read = if limit.is_nothing() {
            nothing(visible_end, bounds)
        } else if offset >= visible_end.offset {
            let start = if offset == visible_end.offset {
                visible_end
            } else {
                self.placed(Bound::at(offset), bounds)?
            };
            nothing(start, bounds)
        } else {
            self.read_visible(offset, limit, visible_end, bounds)?
        };
        if isolation == Isolation::Committed {
            read.aborted = Some(self.aborted(offset, &read, visible_end)?);
        }
        Ok(read)
    }

    fn read_visible(
        &self,
        offset: Offset,
        limit: ReadLimit,
        visible_end: Place,
        bounds: &Bounds,
    ) -> Result<Read<D::File>, ReadError> {
        let mut segment = Some(self.shared.segment_for(offset));
        while let Some(held) = segment.take() {
            if held.base_offset() > visible_end.segment_base {
                break;
            }
            // Compaction and leaders' gaps leave segments that end before the offset.
            let Some(first) = held.find(offset)? else {
                segment = self.shared.segment_after(held.base_offset());
                continue;
            };
            let end = if held.base_offset() == visible_end.segment_base {
                // Known before compaction put a shorter segment in this one's place.
                visible_end.position.min(held.size())
            } else {
                held.size()
            };
            let start = Place {
                offset,
                segment_base: held.base_offset(),
                position: first.position,
            };
            if first.position >= end {
                return Ok(nothing(start, bounds));
            }
            let least = if limit.whole_first_batch {
                first.size
            } else {
                0
            };
            let len = limit.bytes_max.max(least).min(end - first.position);
            let file = held.file().map_err(SegmentError::from)?;
            let range = FileRange::new(file, u64::from(first.position), len as usize)
                .watched_by(self.shared.watcher.get().cloned());
            return Ok(Read {
                range: Some(range).filter(|range| !range.is_empty()),
                first_batch_is_cut: (1..first.size).contains(&len),
                ..nothing(start, bounds)
            });
        }
        // What lay between was compacted away.
        Ok(nothing(visible_end, bounds))
    }

    /// A bound with its place, found if it is not known and kept for the next reader.
    fn placed(&self, bound: Bound, bounds: &Bounds) -> Result<Place, SegmentError> {
        if let Some(place) = bound.place {
            return Ok(place);
        }
        if bound.offset >= bounds.log_end.offset {
            return Ok(bounds.log_end);
        }
        let mut place = bounds.log_end;
        let mut segment = Some(self.shared.segment_for(bound.offset));
        while let Some(held) = segment.take() {
            if let Some(batch) = held.find(bound.offset)? {
                place = Place {
                    offset: bound.offset,
                    segment_base: held.base_offset(),
                    position: batch.position,
                };
                break;
            }
            segment = self.shared.segment_after(held.base_offset());
        }
        let place = Place {
            offset: bound.offset,
            ..place
        };
        let now = &mut *self.shared.bounds.lock();
        if now.cuts == bounds.cuts {
            for known in [&mut now.high_watermark, &mut now.last_stable] {
                if *known == bound {
                    known.place = Some(place);
                }
            }
        }
        Ok(place)
    }

    /// The aborted transactions with records in what was read.
    fn aborted(
        &self,
        offset: Offset,
        read: &Read<D::File>,
        visible_end: Place,
    ) -> Result<Vec<AbortedTransaction>, SegmentError> {
        let Some(range) = &read.range else {
            return Ok(Vec::new());
        };
        let end = range.position + range.len as u64;
        let segment = self.shared.segment_for(read.start.segment_base);
        let to = self
            .end_of_range(&segment, read.start, end)?
            .min(visible_end.offset);
        let mut found = Vec::new();
        let mut next = Some(segment);
        while let Some(segment) = next.take() {
            let search = segment.aborted_in(offset, to)?;
            found.extend(search.found);
            if search.go_on {
                next = self.shared.segment_after(segment.base_offset());
            }
        }
        Ok(found)
    }

    /// An offset at or behind the end of a range, near to it: by the offset index, if the batch that
    /// its entry leads to bears it out, or the base of the next segment. One that comes too early
    /// would hide that transactions were aborted.
    fn end_of_range(
        &self,
        segment: &Segment<D>,
        start: Place,
        end: u64,
    ) -> Result<Offset, SegmentError> {
        let size = end.saturating_sub(u64::from(start.position));
        let size = u32::try_from(size).expect("a range lies within its segment");
        let start = OffsetPosition {
            offset: start.offset,
            position: start.position,
        };
        let bound = segment.with_indexes(|it| -> Result<_, SegmentError> {
            Ok(it.offset.upper_bound(start, size)?)
        })?;
        if let Some(bound) = bound
            && segment.bears_out(&bound)?
        {
            return Ok(bound.offset);
        }
        let next = self.shared.segment_after(segment.base_offset());
        Ok(next.map_or(Offset::new(i64::MAX), |it| it.base_offset()))
    }
}

fn nothing<F: DiskFile>(start: Place, bounds: &Bounds) -> Read<F> {
    Read {
        range: None,
        start,
        first_batch_is_cut: false,
        offsets: offsets(bounds),
        aborted: None,
    }
}

fn offsets(bounds: &Bounds) -> LogOffsets {
    LogOffsets {
        log_start: bounds.log_start,
        last_stable: bounds.last_stable.offset,
        high_watermark: bounds.high_watermark.offset,
        log_end: bounds.log_end.offset,
    }
}
