//! [`Told`]: what readers have found wrong, each told once.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tracing::error;

use crate::index_error::IndexError;
use crate::scan::ScanError;
use crate::segment::SegmentError;

/// Places that are told of in one log, or one directory. Who has so many has been told.
const TOLD_MAX: usize = 64;

/// What readers have found wrong in one log or directory. A consumer asks for the same batch again
/// and again; it is logged once that it is damaged, with path and position, and the consumer hears
/// it each time.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// What was said. Held while one line is logged; nothing else is locked under it.
    told: Mutex<BTreeSet<String>>,
}

impl Told {
    /// Tells of an error, if it is one of damage and news.
    pub(crate) fn tell_damage(&self, error: &SegmentError) {
        if !matches!(
            error,
            SegmentError::Scan(ScanError::Damaged { .. })
                | SegmentError::Index(IndexError::Damaged { .. })
        ) {
            return;
        }
        self.tell_once(error.to_string(), |what| {
            error!(error = what, "a log is damaged where it is read");
        });
    }

    /// Lets `tell` say this, unless it was said before.
    pub(crate) fn tell_once(&self, what: String, tell: impl FnOnce(&str)) {
        let mut told = self.told.lock();
        if told.len() < TOLD_MAX && !told.contains(&what) {
            tell(&what);
            told.insert(what);
        }
    }

    /// How much was told.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.told.lock().len()
    }
}
