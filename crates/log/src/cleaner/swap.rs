//! Swapping cleaned segments in: readers see either the old ones or the new, and so does whoever
//! opens the log after a crash at any point.
//!
//! | names on disk | after a crash |
//! |---|---|
//! | `.cleaned` beside the old segments | the old ones stay |
//! | some `.swap`, some `.cleaned` | the old ones stay |
//! | all `.swap`; the old ones go one by one to `.deleted` | the new ones are put in place |
//! | the new ones go one by one to their plain names, logs first | the same |

use std::sync::Arc;

use klamm_io::Disk;
use tracing::info;

use super::output::{Place, Written};
use crate::log::{ChangeError, Log};
use crate::names::Transit;
use crate::retention::RetiredFiles;
use crate::segment::Segment;

/// Segments that were written anew, synced, and wait to be put in the place of those they were
/// made from.
#[must_use = "the log is as it was until they are swapped in"]
pub struct Cleaned<D: Disk> {
    place: Place<D>,
    sources: Vec<Arc<Segment<D>>>,
    written: Vec<Written>,
    cuts: u64,
}

impl<D: Disk> Cleaned<D> {
    pub(super) fn new(
        place: Place<D>,
        sources: Vec<Arc<Segment<D>>>,
        written: Vec<Written>,
        cuts: u64,
    ) -> Self {
        Self {
            place,
            sources,
            written,
            cuts,
        }
    }

    /// Removes the files. So does opening the log.
    pub fn discard(self) {
        for written in &self.written {
            self.place.discard(written.base_offset);
        }
    }
}

/// What became of cleaned segments.
#[derive(Debug)]
pub enum Swapped<D: Disk> {
    /// They are part of the log; the former ones wait to be removed.
    Done(RetiredFiles<D>),
    /// The log was cut, or let old segments go, since the pass began. What was written anew was
    /// removed; the pass is over.
    Outdated,
}

impl<D: Disk> Log<D> {
    /// Puts cleaned segments in the place of those they were made from. Renames some files and
    /// syncs none.
    ///
    /// # Errors
    /// [`ChangeError::Unavailable`]: what was written anew is gone, and the log is as it was. After any
    /// other the log has failed; opening it ends the swap or undoes it. (LG-213)
    pub fn swap_in(&mut self, cleaned: Cleaned<D>) -> Result<Swapped<D>, ChangeError> {
        if let Err(error) = self.check_available() {
            cleaned.discard();
            return Err(error.into());
        }
        if !self.is_as_cleaned(&cleaned) {
            cleaned.discard();
            return Ok(Swapped::Outdated);
        }
        let swapped = self.try_swap_in(&cleaned);
        self.or_fail(swapped).map(Swapped::Done)
    }

    /// Whether the log still has what was cleaned, as it was.
    fn is_as_cleaned(&self, cleaned: &Cleaned<D>) -> bool {
        let cuts = self.shared.bounds.lock().cuts;
        let segments = self.shared.segments.read();
        let is_there = |source: &Arc<Segment<D>>| {
            let there = segments.get(&source.base_offset());
            there.is_some_and(|it| Arc::ptr_eq(it, source))
        };
        cuts == cleaned.cuts && cleaned.sources.iter().all(is_there)
    }

    fn try_swap_in(&mut self, cleaned: &Cleaned<D>) -> Result<RetiredFiles<D>, ChangeError> {
        let (place, written) = (&cleaned.place, &cleaned.written);
        self.syncs.made_a_name();
        // The last one first: while one is `.cleaned`, those behind it count for nothing.
        for it in written.iter().rev() {
            let (from, to) = (Some(Transit::Cleaned), Some(Transit::Swap));
            place.rename(it.base_offset, from, to)?;
        }
        let mut retired = RetiredFiles::new(self.disk.clone());
        for source in &cleaned.sources {
            retired.extend(source.retire()?);
            let base_offset = source.base_offset();
            if !written.iter().any(|it| it.base_offset == base_offset) {
                retired.extend(self.snapshots.retire(base_offset)?);
            }
        }
        for it in written {
            place.rename(it.base_offset, Some(Transit::Swap), None)?;
        }
        self.show(cleaned);
        let before: u64 = cleaned.sources.iter().map(|it| u64::from(it.size())).sum();
        let after: u64 = written.iter().map(|it| u64::from(it.size)).sum();
        let directory = self.directory.display();
        let base_offset = cleaned.sources.first().map(|it| it.base_offset().get());
        let segments = cleaned.sources.len();
        info!(%directory, ?base_offset, segments, before, after, "segments cleaned");
        Ok(retired)
    }

    /// Shows readers the new segments.
    fn show(&self, cleaned: &Cleaned<D>) {
        let mut segments = self.shared.segments.write();
        let bounds = &mut *self.shared.bounds.lock();
        for source in &cleaned.sources {
            let base_offset = source.base_offset();
            segments.remove(&base_offset);
            // A place in a segment that is no more is none.
            for bound in [&mut bounds.high_watermark, &mut bounds.last_stable] {
                if bound.place.is_some_and(|it| it.segment_base == base_offset) {
                    bound.place = None;
                }
            }
        }
        for it in &cleaned.written {
            let segment = Segment::new(self.home(), it.base_offset, it.size);
            segment.set_sealed(None);
            segments.insert(it.base_offset, Arc::new(segment));
        }
        bounds.swaps += 1;
    }
}
