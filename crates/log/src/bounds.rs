//! [`Bounds`]: the offsets between which a log is read.

use klamm_io::Disk;
use klamm_primitives::Offset;
use thiserror::Error;

use crate::log::{ChangeError, Log};

/// An offset and where in the log's files it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The offset.
    pub offset: Offset,
    /// The base offset of the segment that it is in.
    pub segment_base: Offset,
    /// Where the batch with that offset begins in the segment's file, in bytes.
    pub position: u32,
}

/// An offset that may have been told without its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) offset: Offset,
    /// Found when it is first read up to.
    pub(crate) place: Option<Place>,
}

impl Bound {
    pub(crate) const fn at(offset: Offset) -> Self {
        Self {
            offset,
            place: None,
        }
    }

    pub(crate) const fn placed(place: Place) -> Self {
        Self {
            offset: place.offset,
            place: Some(place),
        }
    }
}

/// The offsets between which a log is read: start ≤ last stable ≤ high watermark ≤ end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) log_start: Offset,
    pub(crate) last_stable: Bound,
    pub(crate) high_watermark: Bound,
    pub(crate) log_end: Place,
    /// Rises whenever bytes that readers may have been told of are taken away or replaced. What
    /// a reader has found under another number may not be there any more.
    pub(crate) cuts: u64,
    /// How often compaction has put segments in the place of others. Raised while the list of
    /// segments is held for writing: who finds it as before has looked at the same ones
    /// throughout.
    pub(crate) swaps: u64,
}

/// The high watermark cannot lie behind the log end offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("high watermark {high_watermark} is past the log end offset {log_end_offset}")]
pub struct PastLogEnd {
    /// What was asked for.
    pub high_watermark: Offset,
    /// Where the log ends.
    pub log_end_offset: Offset,
}

impl<D: Disk> Log<D> {
    /// Up to where consumers read.
    pub fn high_watermark(&self) -> Offset {
        self.shared.bounds.lock().high_watermark.offset
    }

    /// Up to where consumers of committed transactions read.
    pub fn last_stable_offset(&self) -> Offset {
        self.shared.bounds.lock().last_stable.offset
    }

    /// The log end offset and its place.
    pub fn log_end(&self) -> Place {
        self.shared.bounds.lock().log_end
    }

    /// Sets the high watermark, in either direction, as near to `offset` as log start and log end
    /// allow. Returns what it became.
    pub fn set_high_watermark(&mut self, offset: Offset) -> Offset {
        let mut bounds = *self.shared.bounds.lock();
        let offset = offset.max(bounds.log_start).min(bounds.log_end.offset);
        bounds.high_watermark = bound_at(offset, bounds.log_end);
        self.publish(bounds);
        offset
    }

    /// Raises the high watermark, if `offset` is above it. `place` spares the next reader the
    /// search, if it is known. Returns the former one if it moved.
    ///
    /// # Errors
    /// [`PastLogEnd`]; nothing has changed.
    pub fn raise_high_watermark(
        &mut self,
        offset: Offset,
        place: Option<Place>,
    ) -> Result<Option<Offset>, PastLogEnd> {
        let mut bounds = *self.shared.bounds.lock();
        if offset > bounds.log_end.offset {
            return Err(PastLogEnd {
                high_watermark: offset,
                log_end_offset: bounds.log_end.offset,
            });
        }
        let former = bounds.high_watermark.offset;
        if offset <= former {
            return Ok(None);
        }
        bounds.high_watermark = match place.filter(|place| place.offset == offset) {
            Some(place) => Bound::placed(place),
            None => bound_at(offset, bounds.log_end),
        };
        self.publish(bounds);
        Ok(Some(former))
    }

    /// Raises the log start offset: older records are no longer read, and their segments go with
    /// the next retention. A lower or equal offset changes nothing. Says whether it moved.
    ///
    /// # Errors
    /// [`ChangeError::Unavailable`]; [`ChangeError::Disk`] if the leader epochs could not be
    /// written. The log has failed then, unless the disk is only full or the process short of
    /// descriptors: it is as it was then.
    pub fn raise_log_start(&mut self, offset: Offset) -> Result<bool, ChangeError> {
        self.check_available()?;
        let mut bounds = *self.shared.bounds.lock();
        let offset = offset.min(bounds.log_end.offset);
        if offset <= bounds.log_start {
            return Ok(false);
        }
        let changed = self.change_epochs(|epochs| epochs.truncate_from_start(offset));
        self.or_fail_unless_it_may_pass(changed)?;
        bounds.log_start = offset;
        self.recovery_point = self.recovery_point.max(offset);
        self.producers.log_start_moved(offset);
        if bounds.high_watermark.offset < offset {
            bounds.high_watermark = bound_at(offset, bounds.log_end);
        }
        self.publish(bounds);
        Ok(true)
    }

    /// Makes new bounds visible, with the last stable offset that follows from them.
    pub(crate) fn publish(&mut self, mut bounds: Bounds) {
        self.producers
            .high_watermark_moved(bounds.high_watermark.offset);
        let unstable = self.producers.transactions().first_unstable_offset();
        let stable = unstable.map(|offset| offset.max(bounds.log_start));
        bounds.last_stable = match stable {
            Some(offset) if offset < bounds.high_watermark.offset => {
                let known = bounds.last_stable;
                if known.offset == offset {
                    known
                } else {
                    Bound::at(offset)
                }
            }
            _ => bounds.high_watermark,
        };
        debug_assert!(bounds.log_start <= bounds.high_watermark.offset);
        debug_assert!(bounds.high_watermark.offset <= bounds.log_end.offset);
        *self.shared.bounds.lock() = bounds;
    }
}

fn bound_at(offset: Offset, log_end: Place) -> Bound {
    if offset == log_end.offset {
        Bound::placed(log_end)
    } else {
        Bound::at(offset)
    }
}
