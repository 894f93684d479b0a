//! [`Summary`]: the account of a run.

use std::fmt;
use std::sync::atomic::Ordering;

use serde::Serialize;

use crate::ending::Ending;
use crate::output::Records;
use crate::produce::tally::Tally;

/// What was read and never given to the producer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// Records that are none: a separator is missing, say.
    pub(crate) refused: u64,
    /// Records that were read and not sent, as the run was to end.
    pub(crate) unsent: u64,
    /// There may be more input, which was not read.
    pub(crate) is_input_unfinished: bool,
}

/// The account of a run: every record that was read is in one of the four other counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    /// Lines or frames of the input.
    read: u64,
    /// Written, as far as `acks` asks for.
    acknowledged: u64,
    /// Given to the producer, and not acknowledged.
    failed: u64,
    /// Not records.
    refused: u64,
    /// Read and not sent.
    unsent: u64,
    /// The input was not read to its end, by an error in it.
    input_unfinished: bool,
    /// Somebody asked to end.
    interrupted: bool,
    /// False with `acks=0`: what counts as acknowledged was put into a connection, no more.
    brokers_confirm: bool,
}

impl Summary {
    /// What was counted, once every record has its outcome.
    ///
    /// # Panics
    /// If a record is not accounted for.
    pub(crate) fn new(tally: &Tally, left: Left, brokers_confirm: bool, interrupted: bool) -> Self {
        let summary = Self {
            read: tally.read.load(Ordering::Relaxed),
            acknowledged: tally.acknowledged.load(Ordering::Relaxed),
            failed: tally.failed.load(Ordering::Relaxed),
            refused: left.refused,
            unsent: left.unsent,
            input_unfinished: left.is_input_unfinished,
            interrupted,
            brokers_confirm,
        };
        let accounted = summary.acknowledged + summary.failed + summary.refused + summary.unsent;
        assert_eq!(accounted, summary.read, "a record is not accounted for");
        summary
    }

    /// How the run has ended.
    pub(crate) fn ending(&self) -> Ending {
        let missing = self.failed + self.refused;
        match (missing, self.input_unfinished, self.interrupted) {
            (0, false, true) => Ending::Interrupted,
            (0, false, false) if self.unsent == 0 => Ending::Complete,
            _ => Ending::Incomplete,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let acknowledged = if self.brokers_confirm {
            "acknowledged"
        } else {
            "sent, which nobody confirms (acks=0)"
        };
        write!(
            f,
            "{} read: {} {acknowledged}, {} failed",
            Records(self.read),
            self.acknowledged,
            self.failed
        )?;
        if self.refused > 0 {
            write!(f, ", {} not readable", self.refused)?;
        }
        if self.unsent > 0 {
            write!(f, ", {} not sent", self.unsent)?;
        }
        if self.input_unfinished {
            f.write_str("; the input was not read to its end")?;
        }
        if self.interrupted {
            f.write_str("; interrupted")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::produce::tally::Place;

    fn tally(read: u64, acknowledged: u64, failed: u64) -> Tally {
        let tally = Tally::new(vec!["a".to_owned()]);
        tally.read.store(read, Ordering::Relaxed);
        (0..acknowledged).for_each(|_| tally.acknowledge());
        let place = |number| Place { input: 0, number };
        (0..failed).for_each(|number| tally.fail(place(number), &"late"));
        tally
    }

    #[test]
    fn every_record_is_in_one_count_and_the_ending_follows() {
        let ending = |tally: &Tally, left, interrupted| {
            Summary::new(tally, left, true, interrupted).ending()
        };
        let none = Left::default();
        assert_eq!(ending(&tally(3, 3, 0), none, false), Ending::Complete);
        assert_eq!(ending(&tally(3, 3, 0), none, true), Ending::Interrupted);
        assert_eq!(ending(&tally(3, 2, 1), none, true), Ending::Incomplete);
        let unsent = Left { unsent: 1, ..none };
        assert_eq!(ending(&tally(3, 2, 0), unsent, true), Ending::Interrupted);
        let left = Left {
            refused: 1,
            unsent: 1,
            is_input_unfinished: true,
        };
        let summary = Summary::new(&tally(9, 6, 1), left, true, false);
        assert_eq!(summary.ending(), Ending::Incomplete);
        assert_eq!(
            summary.to_string(),
            "9 records read: 6 acknowledged, 1 failed, 1 not readable, 1 not sent; \
             the input was not read to its end"
        );
    }

    #[test]
    #[should_panic(expected = "not accounted for")]
    fn a_record_that_is_in_no_count_is_not_passed_over() {
        Summary::new(&tally(3, 2, 0), Left::default(), true, false);
    }
}
