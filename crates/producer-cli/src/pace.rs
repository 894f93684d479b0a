//! [`Pace`]: how many records a second are sent. (PR-153)

use std::str::FromStr;
use std::time::{Duration, Instant};

use thiserror::Error;

/// Waits that are shorter are not worth a timer: they gather until they are as long.
const DEBT_MIN: Duration = Duration::from_millis(2);

/// Records a second, as `--throughput` says it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Throughput {
    /// -1: as many as can be.
    Unlimited,
    /// So many; fractions are fine, and 0 is never.
    PerSecond(f64),
}

/// What is no throughput.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected records a second, 0 or more, or -1 for no limit")]
pub(crate) struct InvalidThroughput;

impl FromStr for Throughput {
    type Err = InvalidThroughput;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse::<f64>() {
            Ok(-1.0) => Ok(Self::Unlimited),
            Ok(rate) if rate.is_finite() && rate >= 0.0 => Ok(Self::PerSecond(rate)),
            _ => Err(InvalidThroughput),
        }
    }
}

impl Throughput {
    /// The number that stands for it.
    pub(crate) fn number(self) -> f64 {
        match self {
            Self::Unlimited => -1.0,
            Self::PerSecond(rate) => rate,
        }
    }
}

/// What has to be waited for before the next record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing.
    No,
    /// That time.
    Until(Instant),
    /// The end of the program.
    Forever,
}

/// Says when the next record is due. Every record has its time from the start on, so that what was
/// late is caught up and rounding does not add up.
#[derive(Debug)]
pub(crate) struct Pace {
    throughput: Throughput,
    start: Instant,
}

impl Pace {
    /// Counts from `start` on.
    pub(crate) fn new(throughput: Throughput, start: Instant) -> Self {
        Self { throughput, start }
    }

    /// The wait before the record that has `sent` records before it.
    pub(crate) fn before(&self, sent: u64, now: Instant) -> Wait {
        let rate = match self.throughput {
            Throughput::Unlimited => return Wait::No,
            Throughput::PerSecond(0.0) => return Wait::Forever,
            Throughput::PerSecond(rate) => rate,
        };
        #[expect(clippy::cast_precision_loss, reason = "2^53 records are many")]
        let due = Duration::try_from_secs_f64(sent as f64 / rate);
        let due = due.ok().and_then(|after| self.start.checked_add(after));
        match due {
            None => Wait::Forever,
            Some(due) if due.saturating_duration_since(now) >= DEBT_MIN => Wait::Until(due),
            Some(_) => Wait::No,
        }
    }

    /// Whether there is anything to ask: without a limit nobody has to know the time.
    pub(crate) fn is_limited(&self) -> bool {
        self.throughput != Throughput::Unlimited
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::{Clock, SystemClock};

    use super::*;

    fn pace(rate: f64) -> (Pace, Instant) {
        let start = SystemClock.now();
        (Pace::new(Throughput::PerSecond(rate), start), start)
    }

    #[test]
    fn pr_153_less_than_two_milliseconds_of_debt_are_not_waited_for() {
        let (pace, start) = pace(1_000.0);
        let ms = Duration::from_millis;
        assert_eq!(pace.before(0, start), Wait::No);
        assert_eq!(pace.before(1, start), Wait::No);
        assert_eq!(pace.before(2, start), Wait::Until(start + ms(2)));
        assert_eq!(pace.before(3, start + ms(2)), Wait::No);
        assert_eq!(pace.before(4, start + ms(2)), Wait::Until(start + ms(4)));
        // Whoever is late catches up.
        assert_eq!(pace.before(1_000, start + ms(1_500)), Wait::No);
        let due = start + ms(2_000);
        assert_eq!(pace.before(2_000, start + ms(1_500)), Wait::Until(due));
    }

    #[test]
    fn pr_153_a_target_of_0_blocks_for_good() {
        let (pace, start) = pace(0.0);
        assert_eq!(pace.before(0, start), Wait::Forever);
        assert_eq!(pace.before(9, start + DEBT_MIN * 1_000), Wait::Forever);
    }

    /// Covers PR-149, PR-153.
    #[test]
    fn fractions_are_fine_and_minus_1_is_no_limit() {
        let (pace, start) = pace(0.5);
        let due = start + Duration::from_secs(6);
        assert_eq!(pace.before(3, start), Wait::Until(due));
        assert_eq!("-1".parse(), Ok(Throughput::Unlimited));
        assert_eq!("0.25".parse(), Ok(Throughput::PerSecond(0.25)));
        for wrong in ["-2", "", "fast", "NaN", "inf", "-0.5"] {
            assert_eq!(wrong.parse::<Throughput>(), Err(InvalidThroughput));
        }
        let unlimited = Pace::new(Throughput::Unlimited, start);
        assert_eq!(unlimited.before(u64::MAX, start), Wait::No);
        assert!(!unlimited.is_limited());
        let (least, start) = self::pace(f64::MIN_POSITIVE);
        assert_eq!(least.before(1, start), Wait::Forever);
    }
}
