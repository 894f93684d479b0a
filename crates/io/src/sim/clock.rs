//! [`SimClock`]: a clock that stands still until it is moved.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::Clock;

/// What Unix time a new clock shows: 2024-01-01 00:00 UTC.
const UNIX_MS_AT_START: i64 = 1_704_067_200_000;

/// A clock that stands still until it is moved. The wall clock moves with the monotonic one and
/// can be set apart from it, either way.
///
/// Clones show the same time. A sleeper that becomes due is woken while the clock is moved, but
/// it runs when its executor runs it: a simulation moves to [`SimClock::next_deadline`], runs
/// what woke, and asks again.
///
/// ```
/// use std::time::Duration;
/// use klamm_io::{Clock, sim::SimClock};
///
/// let clock = SimClock::new();
/// let (start, unix_ms) = (clock.now(), clock.unix_ms());
/// clock.advance(Duration::from_secs(90));
/// clock.jump_unix_ms(-3_600_000);
/// assert_eq!(clock.now() - start, Duration::from_secs(90));
/// assert_eq!(clock.unix_ms() - unix_ms, 90_000 - 3_600_000);
/// ```
#[derive(Clone)]
pub struct SimClock {
    /// Held for a look or a change only; wakers are called after it is released.
    state: Arc<Mutex<State>>,
}

struct State {
    start: Instant,
    now: Instant,
    /// What the wall clock shows at `start`; setting the wall clock moves this.
    unix_ms_at_start: i64,
    /// Who sleeps until when; the number keeps those of one instant in the order of their first
    /// poll.
    sleepers: BTreeMap<(Instant, u64), Waker>,
    next_sleeper: u64,
}

impl SimClock {
    /// A clock that shows the first instant of 2024.
    #[expect(
        clippy::disallowed_methods,
        reason = "an `Instant` cannot be had otherwise; only distances from it are ever seen"
    )]
    pub fn new() -> Self {
        let start = Instant::now();
        Self {
            state: Arc::new(Mutex::new(State {
                start,
                now: start,
                unix_ms_at_start: UNIX_MS_AT_START,
                sleepers: BTreeMap::new(),
                next_sleeper: 0,
            })),
        }
    }

    /// Moves on by `step` and wakes whoever is due, the earliest deadline first.
    pub fn advance(&self, step: Duration) {
        self.advance_to(self.now() + step);
    }

    /// Moves on to `instant` and wakes whoever is due, the earliest deadline first. An instant
    /// that has passed changes nothing.
    pub fn advance_to(&self, instant: Instant) {
        let mut due = Vec::new();
        {
            let mut state = self.state.lock();
            state.now = state.now.max(instant);
            while let Some(first) = state.sleepers.first_entry()
                && first.key().0 <= instant
            {
                due.push(first.remove());
            }
        }
        for waker in due {
            waker.wake();
        }
    }

    /// The earliest instant that somebody sleeps until.
    pub fn next_deadline(&self) -> Option<Instant> {
        let state = self.state.lock();
        state.sleepers.first_key_value().map(|(key, _)| key.0)
    }

    /// Moves the wall clock alone, forward or back.
    pub fn jump_unix_ms(&self, by_ms: i64) {
        self.state.lock().unix_ms_at_start += by_ms;
    }
}

impl Default for SimClock {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for SimClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("SimClock")
            .field("elapsed", &(state.now - state.start))
            .field("sleepers", &state.sleepers.len())
            .finish_non_exhaustive()
    }
}

impl Clock for SimClock {
    fn now(&self) -> Instant {
        self.state.lock().now
    }

    fn unix_ms(&self) -> i64 {
        let state = self.state.lock();
        let elapsed_ms = (state.now - state.start).as_millis();
        state.unix_ms_at_start + i64::try_from(elapsed_ms).expect("simulated time is short")
    }

    fn sleep_until(&self, deadline: Option<Instant>) -> impl Future<Output = ()> + Send + 'static {
        self.sleep(deadline)
    }
}

impl SimClock {
    /// As [`Clock::sleep_until`], with a name for the future.
    pub fn sleep(&self, deadline: Option<Instant>) -> SimSleep {
        SimSleep {
            clock: self.clone(),
            deadline,
            waiting: None,
        }
    }
}

/// Waits for a [`SimClock`] to reach a deadline.
#[derive(Debug)]
pub struct SimSleep {
    clock: SimClock,
    deadline: Option<Instant>,
    /// The number among the clock's sleepers, from the first poll that had to wait.
    waiting: Option<u64>,
}

impl Future for SimSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.deadline else {
            return Poll::Pending;
        };
        let clock = self.clock.clone();
        let mut state = clock.state.lock();
        if state.now >= deadline {
            return Poll::Ready(());
        }
        let number = *self.waiting.get_or_insert_with(|| {
            state.next_sleeper += 1;
            state.next_sleeper
        });
        state
            .sleepers
            .insert((deadline, number), context.waker().clone());
        Poll::Pending
    }
}

impl Drop for SimSleep {
    fn drop(&mut self) {
        if let (Some(deadline), Some(number)) = (self.deadline, self.waiting) {
            self.clock.state.lock().sleepers.remove(&(deadline, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check_clock;

    #[tokio::test]
    async fn conforms() {
        let clock = SimClock::new();
        let pass = |step| {
            clock.advance(step);
            std::future::ready(())
        };
        check_clock(&clock, pass).await;
    }

    /// Covers C125.
    #[tokio::test]
    async fn a_wall_clock_that_jumps_moves_no_deadline() {
        let clock = SimClock::new();
        let (now, unix_ms) = (clock.now(), clock.unix_ms());
        let sleeper = tokio::spawn(clock.sleep(Some(now + Duration::from_secs(10))));
        tokio::task::yield_now().await;
        for jump_ms in [-3_600_000, 7_200_000] {
            clock.jump_unix_ms(jump_ms);
            tokio::task::yield_now().await;
            assert!(!sleeper.is_finished());
            assert_eq!(clock.now(), now);
        }
        assert_eq!(clock.unix_ms(), unix_ms + 3_600_000);
        clock.advance(Duration::from_secs(10));
        sleeper.await.unwrap();
    }

    #[tokio::test]
    async fn the_next_deadline_is_that_of_whoever_still_sleeps() {
        let clock = SimClock::new();
        let in_ms = |ms| clock.now() + Duration::from_millis(ms);
        assert_eq!(clock.next_deadline(), None);
        let sleepers = [20, 10].map(|ms| tokio::spawn(clock.sleep(Some(in_ms(ms)))));
        tokio::task::yield_now().await;
        assert_eq!(clock.next_deadline(), Some(in_ms(10)));
        sleepers[1].abort();
        tokio::task::yield_now().await;
        assert_eq!(clock.next_deadline(), Some(in_ms(20)));
        clock.advance_to(in_ms(20));
        assert_eq!(clock.next_deadline(), None);
        let earlier = clock.now();
        clock.advance(Duration::from_millis(5));
        let now = clock.now();
        clock.advance_to(earlier);
        assert_eq!(clock.now(), now, "time does not go back");
    }
}
