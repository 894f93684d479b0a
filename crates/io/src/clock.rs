//! [`Clock`]: what the time is and when it will be a given one.
//!
//! There are two times. The *monotonic* one never goes back and has no date: every timeout,
//! session and linger counts in it. *Unix* time is what the machine's wall clock shows; it may
//! jump either way, and serves record timestamps and retention alone.

use std::future::{Future, pending};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The seam between tasks and time.
///
/// What decides takes the time as an argument and never holds a clock; the shells around it ask
/// one and wait by one. A clone shows the same time.
pub trait Clock: Clone + Send + Sync + 'static {
    /// The monotonic time: never less than what an earlier call returned.
    fn now(&self) -> Instant;

    /// The wall clock in milliseconds since 1970-01-01 UTC. May be less than what an earlier
    /// call returned, or much greater.
    fn unix_ms(&self) -> i64;

    /// Waits until [`Clock::now`] has reached `deadline`; never ends for `None`, so that what a
    /// core returns as its next deadline can be passed as it is.
    ///
    /// Sleepers wake in the order of their deadlines. A deadline that has passed ends at once.
    /// The future may be dropped at any time.
    fn sleep_until(&self, deadline: Option<Instant>) -> impl Future<Output = ()> + Send + 'static;
}

/// The machine's clocks. Waiting needs tokio's timers, so a runtime with time enabled.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[inline]
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks; by tokio's name, so that it agrees with the timers"
    )]
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks, for each record: the system's own two numbers, without \
                  the detour of a duration"
    )]
    fn unix_ms(&self) -> i64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        now.tv_sec * 1_000 + now.tv_nsec / 1_000_000
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that waits")]
    fn sleep_until(&self, deadline: Option<Instant>) -> impl Future<Output = ()> + Send + 'static {
        let now = self.now();
        async move {
            match deadline {
                // The runtime's timers would round up to the next millisecond.
                Some(deadline) if deadline <= now => {}
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => pending().await,
            }
        }
    }
}

/// Milliseconds since 1970, rounded down; negative before. Times beyond `i64` are clamped.
pub(crate) fn unix_ms_of(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => {
            let nanos = before.duration().as_nanos();
            i64::try_from(nanos.div_ceil(1_000_000)).map_or(i64::MIN, |ms| -ms)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::check_clock;

    #[tokio::test]
    async fn conforms() {
        let wait = |step| SystemClock.sleep_until(Some(SystemClock.now() + step));
        check_clock(&SystemClock, wait).await;
    }

    #[test]
    fn unix_time_is_rounded_down_on_both_sides_of_1970() {
        for (nanos, before_ms, after_ms) in [
            (0, 0, 0),
            (1, -1, 0),
            (999_999, -1, 0),
            (1_000_000, -1, 1),
            (1_500_000, -2, 1),
        ] {
            let distance = Duration::from_nanos(nanos);
            assert_eq!(unix_ms_of(UNIX_EPOCH - distance), before_ms);
            assert_eq!(unix_ms_of(UNIX_EPOCH + distance), after_ms);
        }
    }
}
