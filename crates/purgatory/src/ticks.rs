//! From instants to ticks and back, rounded so that nothing is early.

use std::time::{Duration, Instant};

/// Counts the ticks of one length since one instant.
///
/// What happens *at* an instant is rounded up to a tick and what time it *is* is rounded down, so
/// that a deadline's tick has come only when the deadline itself has. The count sees 584 years
/// far; what lies beyond has a tick that never comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticks {
    start: Instant,
    tick_nanos: u64,
}

/// The farthest nanosecond: deadlines reach it and the time does not, so that the ticks in
/// between, one at least, stand for "never". The number above it is left for the wheels.
const FAR: u64 = u64::MAX - 1;

impl Ticks {
    /// `None` if the tick is zero or longer than 584 years.
    pub(crate) fn new(start: Instant, tick: Duration) -> Option<Self> {
        let tick_nanos = u64::try_from(tick.as_nanos()).ok()?;
        (tick_nanos > 0).then_some(Self { start, tick_nanos })
    }

    /// The last tick that has begun at `now`; 0 before the start.
    #[inline]
    pub(crate) fn begun_at(&self, now: Instant) -> u64 {
        self.nanos_until(now).min(FAR - 1) / self.tick_nanos
    }

    /// The first tick that begins at `deadline` or after it; 0 before the start.
    #[inline]
    pub(crate) fn not_before(&self, deadline: Instant) -> u64 {
        self.nanos_until(deadline).div_ceil(self.tick_nanos)
    }

    /// When `tick` begins; `None` beyond what an [`Instant`] can name.
    pub(crate) fn instant_of(&self, tick: u64) -> Option<Instant> {
        let nanos = tick.checked_mul(self.tick_nanos)?;
        self.start.checked_add(Duration::from_nanos(nanos))
    }

    #[inline]
    fn nanos_until(&self, instant: Instant) -> u64 {
        let since_start = instant.saturating_duration_since(self.start);
        u64::try_from(since_start.as_nanos()).map_or(FAR, |nanos| nanos.min(FAR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::an_instant;
    use proptest::prelude::*;

    #[test]
    fn deadlines_are_rounded_up_and_the_time_down() {
        let start = an_instant();
        let ticks = Ticks::new(start, Duration::from_millis(20)).unwrap();
        let at = |micros| start + Duration::from_micros(micros);
        assert_eq!(ticks.begun_at(at(19_999)), 0);
        assert_eq!(ticks.begun_at(at(20_000)), 1);
        assert_eq!(ticks.not_before(at(20_000)), 1);
        assert_eq!(ticks.not_before(at(20_001)), 2);
        assert_eq!(ticks.instant_of(2), Some(at(40_000)));
    }

    #[test]
    fn what_lies_before_the_start_is_tick_zero() {
        let early = an_instant();
        let ticks = Ticks::new(early + Duration::from_secs(1), Duration::from_millis(1)).unwrap();
        assert_eq!((ticks.begun_at(early), ticks.not_before(early)), (0, 0));
    }

    #[test]
    fn a_tick_of_no_length_and_one_without_end_are_refused() {
        assert!(Ticks::new(an_instant(), Duration::ZERO).is_none());
        assert!(Ticks::new(an_instant(), Duration::MAX).is_none());
    }

    #[test]
    fn what_is_too_far_away_to_count_never_comes() {
        let start = an_instant();
        let far = Duration::from_hours(600 * 366 * 24);
        for tick_nanos in [1, 3, 5, 1_000_000, u64::MAX] {
            let ticks = Ticks::new(start, Duration::from_nanos(tick_nanos)).unwrap();
            assert!(ticks.begun_at(start + far) < ticks.not_before(start + far));
        }
    }

    proptest! {
        /// Covers PU-026: a deadline's tick has begun only at or after the deadline, and then
        /// within one tick.
        #[test]
        fn pu_026_a_tick_never_begins_before_the_deadline_it_stands_for(
            deadline in 0u64..1 << 50,
            now in 0u64..1 << 50,
            tick in 1u64..1 << 30,
        ) {
            let start = an_instant();
            let ticks = Ticks::new(start, Duration::from_nanos(tick)).unwrap();
            let at = |nanos| start + Duration::from_nanos(nanos);
            let has_come = ticks.begun_at(at(now)) >= ticks.not_before(at(deadline));
            if has_come {
                prop_assert!(now >= deadline);
            } else {
                prop_assert!(now < deadline + tick);
            }
            let due = ticks.instant_of(ticks.not_before(at(deadline))).unwrap();
            prop_assert!(due >= at(deadline) && due < at(deadline + tick));
        }
    }
}
