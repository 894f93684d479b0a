//! [`Tally`]: what became of each record.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where a record stands in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which input, counted from 0.
    pub(crate) input: usize,
    /// Which line or record of it, counted from 1.
    pub(crate) number: u64,
}

/// Counts what became of records. The sender's task counts outcomes here, record by record, so
/// that nothing but a counter is touched for one that is acknowledged.
#[derive(Debug)]
pub(crate) struct Tally {
    names: Vec<String>,
    pub(crate) read: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    /// Handed over. One may have its outcome before it is counted here.
    pub(crate) sent: AtomicU64,
    pub(crate) acknowledged: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Held to note or take failures; nothing else is locked under it.
    failures: Mutex<Vec<FailedRun>>,
}

/// Neighbours of an input that failed for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FailedRun {
    first: Place,
    last: u64,
    reason: String,
}

impl Tally {
    /// With nothing counted; the inputs have these names.
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self {
            names,
            read: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            failures: Mutex::new(Vec::new()),
        }
    }

    /// How many records that were handed over have no outcome.
    pub(crate) fn on_the_way(&self) -> u64 {
        let settled =
            self.acknowledged.load(Ordering::Relaxed) + self.failed.load(Ordering::Relaxed);
        self.sent.load(Ordering::Relaxed).saturating_sub(settled)
    }

    /// A record was acknowledged.
    pub(crate) fn acknowledge(&self) {
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
    }

    /// A record failed.
    pub(crate) fn fail(&self, place: Place, reason: &impl fmt::Display) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        let reason = reason.to_string();
        let mut failures = self.failures();
        match failures.last_mut() {
            Some(run)
                if run.first.input == place.input
                    && run.last + 1 == place.number
                    && run.reason == reason =>
            {
                run.last = place.number;
            }
            _ => failures.push(FailedRun {
                first: place,
                last: place.number,
                reason,
            }),
        }
    }

    /// What failed since the last call, in words.
    pub(crate) fn take_failures(&self) -> Vec<String> {
        let failures = mem::take(&mut *self.failures());
        let words = failures.into_iter().map(|run| {
            let FailedRun {
                first,
                last,
                reason,
            } = run;
            if last == first.number {
                format!("{}: {reason}", self.describe(first))
            } else {
                format!("{} to {last}: {reason}", self.describe(first))
            }
        });
        words.collect()
    }

    /// A place in words.
    pub(crate) fn describe(&self, place: Place) -> String {
        format!("{}, record {}", self.names[place.input], place.number)
    }

    fn failures(&self) -> MutexGuard<'_, Vec<FailedRun>> {
        // Whoever panicked with it had pushed a whole run or none.
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_with_the_same_reason_are_told_as_one() {
        let tally = Tally::new(vec!["a".to_owned(), "b".to_owned()]);
        let place = |input, number| Place { input, number };
        for (input, number, reason) in [
            (0, 1, "late"),
            (0, 2, "late"),
            (0, 3, "late"),
            (0, 5, "late"),
            (0, 6, "large"),
            (1, 7, "large"),
        ] {
            tally.fail(place(input, number), &reason);
        }
        tally.acknowledge();
        tally.read.store(10, Ordering::Relaxed);
        tally.sent.store(9, Ordering::Relaxed);
        assert_eq!(tally.on_the_way(), 2);
        let told = tally.take_failures();
        let expected = [
            "a, record 1 to 3: late",
            "a, record 5: late",
            "a, record 6: large",
            "b, record 7: large",
        ];
        assert_eq!(told, expected);
        assert_eq!(tally.take_failures(), [""; 0]);
        assert_eq!(tally.failed.load(Ordering::Relaxed), 6);
        assert_eq!(tally.acknowledged.load(Ordering::Relaxed), 1);
    }
}
