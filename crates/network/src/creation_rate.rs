//! [`CreationRate`]: how fast connections may come.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// The time over which a rate is judged: so much may come at once after a quiet time, and no
/// single wait is longer.
const WINDOW: Duration = Duration::from_secs(1);

/// Counts what comes against a rate per second. (NE-043)
#[derive(Debug, Clone, Default)]
pub(crate) struct CreationRate {
    /// When all that came so far would have come, had it come at exactly the rate.
    spent_until: Option<Instant>,
}

impl CreationRate {
    /// How long to wait at this time before the next may be taken; nothing under no rate.
    pub(crate) fn wait(&self, now: Instant, rate: Option<NonZeroU32>) -> Duration {
        match (rate, self.spent_until) {
            (Some(rate), Some(spent_until)) => {
                let spent = spent_until.saturating_duration_since(now) + share(rate);
                spent.saturating_sub(WINDOW).min(WINDOW)
            }
            _ => Duration::ZERO,
        }
    }

    /// One has come. What comes in spite of a wait counts no further than that wait.
    pub(crate) fn record(&mut self, now: Instant, rate: Option<NonZeroU32>) {
        self.spent_until = rate.map(|rate| {
            let spent = self.spent_until.map_or(now, |spent| spent.max(now)) + share(rate);
            spent.min(now + 2 * WINDOW)
        });
    }

    /// Whether nothing would be lost by forgetting what came.
    pub(crate) fn is_spent(&self, now: Instant) -> bool {
        self.spent_until.is_none_or(|spent| spent <= now)
    }
}

/// What one takes of a rate.
fn share(rate: NonZeroU32) -> Duration {
    WINDOW / rate.get()
}

#[cfg(test)]
mod tests {
    use klamm_io::Clock as _;
    use klamm_io::sim::SimClock;

    use super::*;

    fn rate(per_second: u32) -> Option<NonZeroU32> {
        NonZeroU32::new(per_second)
    }

    #[test]
    fn ne_043_a_second_s_worth_comes_at_once_and_the_rest_at_the_rate() {
        let (start, mut creation) = (SimClock::new().now(), CreationRate::default());
        let mut now = start;
        for taken in 0..50_u32 {
            let wait = creation.wait(now, rate(10));
            let due = Duration::from_millis(100) * taken.saturating_sub(9);
            assert_eq!(now + wait - start, due, "connection {taken}");
            now += wait;
            creation.record(now, rate(10));
        }
    }

    #[test]
    fn ne_043_no_wait_is_longer_than_a_window() {
        let (now, mut creation) = (SimClock::new().now(), CreationRate::default());
        for _ in 0..100 {
            creation.record(now, rate(1));
        }
        assert_eq!(creation.wait(now, rate(1)), WINDOW);
        assert!(!creation.is_spent(now + WINDOW));
        assert!(creation.is_spent(now + 2 * WINDOW));
    }

    #[test]
    fn ne_045_without_a_rate_nobody_waits_and_what_came_is_forgotten() {
        let (now, mut creation) = (SimClock::new().now(), CreationRate::default());
        for _ in 0..5 {
            creation.record(now, rate(1));
        }
        assert_eq!(creation.wait(now, None), Duration::ZERO);
        creation.record(now, None);
        assert_eq!(creation.wait(now, rate(1)), Duration::ZERO);
    }
}
