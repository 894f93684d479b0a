//! [`Marks`]: what is known of a segment whether or not its files are open.

use std::sync::atomic::{AtomicBool, Ordering};

/// What is known of a segment whether or not its files are open. One that takes the place of another,
/// with no file open, gets all of its marks by [`Clone`].
#[derive(Debug, Default, Clone)]
pub(super) struct Marks {
    /// The offset and the time index were made here, and are not trusted less than the log.
    pub(super) is_index_new: Mark,
    /// The batches may not be durable although no file is open that was written to: those of a log
    /// that is recovered were written by a process that is gone.
    pub(super) owes_log_sync: Mark,
    /// A sync of the batches has failed: what it has lost no later one makes durable.
    pub(super) has_lost_sync: Mark,
    /// The files of the indexes were changed and not synced, of which no open index knows: they
    /// were let go of, after recovery or because one could not be made anew. Changed while the
    /// segment's indexes are locked.
    pub(super) owes_index_sync: Mark,
    /// It is no longer appended to.
    pub(super) is_sealed: Mark,
}

/// Something that holds or does not, for several threads.
#[derive(Debug, Default)]
pub(super) struct Mark(AtomicBool);

impl Mark {
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    pub(super) fn set(&self, holds: bool) {
        self.0.store(holds, Ordering::Release);
    }

    /// Sets it, and says what it was.
    pub(super) fn swap(&self, holds: bool) -> bool {
        self.0.swap(holds, Ordering::AcqRel)
    }
}

/// As it is now; the two are set apart from each other afterwards.
impl Clone for Mark {
    fn clone(&self) -> Self {
        Self(AtomicBool::new(self.get()))
    }
}
