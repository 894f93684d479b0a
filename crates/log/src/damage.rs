//! [`DamageTold`]: what readers have found damaged, each told once.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tracing::error;

use crate::index_error::IndexError;
use crate::scan::ScanError;
use crate::segment::SegmentError;

/// Places that are told of in one log. Who has so many has been told.
const TOLD_MAX: usize = 64;

/// What readers have found damaged in one log. A consumer asks for the same batch again and again;
/// the log says once that it is damaged, with path and position, and the consumer hears it each
/// time.
#[derive(Debug, Default)]
pub(crate) struct DamageTold {
    /// What was said. Held while one line is logged; nothing else is locked under it.
    told: Mutex<BTreeSet<String>>,
}

impl DamageTold {
    /// Tells of an error, if it is one of damage and news.
    pub(crate) fn tell(&self, error: &SegmentError) {
        if !matches!(
            error,
            SegmentError::Scan(ScanError::Damaged { .. })
                | SegmentError::Index(IndexError::Damaged { .. })
        ) {
            return;
        }
        let what = error.to_string();
        let mut told = self.told.lock();
        if told.len() < TOLD_MAX && !told.contains(&what) {
            error!(error = what, "a log is damaged where it is read");
            told.insert(what);
        }
    }

    /// How much was told.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.told.lock().len()
    }
}
