//! [`TimingWheel`]: many timeouts, a clock that is passed in.

use std::time::Instant;

use crate::config::{ConfigError, WheelConfig};
use crate::slab::Key;
use crate::ticks::Ticks;
use crate::timers::Timers;

/// Names a value in a [`TimingWheel`]. It finds nothing once that value has left, also when
/// another one has its place. Only for the wheel that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimerKey(Key);

/// A hierarchical timing wheel: values with deadlines, handed out when those have come.
///
/// Adding, cancelling and rescheduling take constant time, however many values wait.
/// [`advance`](Self::advance) costs one step for each occupied slot that has come; empty slots
/// and idle wheels cost nothing, however long the jump. A value takes 24 to 32 bytes beside itself
/// and no allocation but for the growth of one vector.
///
/// The wheel has no clock and no thread: it is told the time. Nothing is handed out before its
/// deadline; it may be up to one tick late. Times before `start` count as `start`. Deadlines more
/// than 584 years after it never come.
///
/// It has no lock either: one owner, or a mutex around it.
///
/// ```
/// use std::time::{Duration, Instant};
/// use klamm_purgatory::{TimingWheel, WheelConfig};
///
/// # fn main() -> Result<(), klamm_purgatory::ConfigError> {
/// # #[expect(clippy::disallowed_methods, reason = "an example has to begin somewhere")]
/// let start = Instant::now();
/// let after = |ms| start + Duration::from_millis(ms);
/// let mut wheel = TimingWheel::new(start, WheelConfig::default())?;
/// let reply = wheel.insert(after(30), "no reply");
/// wheel.insert(after(500), "close the connection");
///
/// assert_eq!(wheel.cancel(reply), Some("no reply"));
/// let mut expired = Vec::new();
/// wheel.advance(after(499), &mut expired);
/// assert!(expired.is_empty());
/// wheel.advance(after(500), &mut expired);
/// assert_eq!(expired, ["close the connection"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TimingWheel<T> {
    ticks: Ticks,
    timers: Timers<T>,
}

impl<T> TimingWheel<T> {
    /// An empty wheel, its time at `start`.
    ///
    /// # Errors
    /// [`ConfigError::Tick`] and [`ConfigError::Slots`].
    pub fn new(start: Instant, config: WheelConfig) -> Result<Self, ConfigError> {
        let ticks = Ticks::new(start, config.tick).ok_or(ConfigError::Tick(config.tick))?;
        let timers = Timers::new(config.check_slots()?);
        Ok(Self { ticks, timers })
    }

    /// Adds `value`, to be handed out by the first [`advance`](Self::advance) at or after
    /// `deadline`. If that has passed, this means the next one, whatever time it is given.
    pub fn insert(&mut self, deadline: Instant, value: T) -> TimerKey {
        let deadline = self.ticks.not_before(deadline);
        TimerKey(self.timers.insert(deadline, value))
    }

    /// Takes a waiting value out. `None` if it was handed out or cancelled before.
    pub fn cancel(&mut self, key: TimerKey) -> Option<T> {
        self.timers.remove(key.0)
    }

    /// Gives a waiting value another deadline, earlier or later. False, and nothing done, if it
    /// was handed out or cancelled before.
    pub fn reschedule(&mut self, key: TimerKey, deadline: Instant) -> bool {
        self.timers
            .reschedule(key.0, self.ticks.not_before(deadline))
    }

    /// Whether the value still waits.
    pub fn contains(&self, key: TimerKey) -> bool {
        self.timers.contains(key.0)
    }

    /// Moves the time to `now` and appends to `expired` all values whose deadline has come, in
    /// order of their ticks. Returns how many. A `now` earlier than one given before does not
    /// move the time.
    pub fn advance(&mut self, now: Instant, expired: &mut Vec<T>) -> usize {
        let before = expired.len();
        self.timers.advance(self.ticks.begun_at(now), expired);
        expired.len() - before
    }

    /// When to call [`advance`](Self::advance) next; `None` if no value waits, or none whose
    /// deadline an [`Instant`] can name.
    ///
    /// Never later than the earliest deadline, rounded up to a tick. It may be earlier, since a
    /// value that is far away moves towards its own tick in steps, of which each wheel takes one.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.ticks.instant_of(self.timers.next_visit()?)
    }

    /// How many values wait.
    pub fn len(&self) -> usize {
        self.timers.len()
    }

    /// Whether no value waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::an_instant;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn pu_026_a_value_waits_its_whole_time_and_its_neighbour_stays() {
        let start = an_instant();
        let mut wheel = TimingWheel::new(start, WheelConfig::default()).unwrap();
        let added = start + Duration::from_micros(400);
        wheel.insert(added + ms(20), "short");
        wheel.insert(added + ms(200_000), "long");
        let mut expired = Vec::new();
        let early = added + Duration::from_nanos(19_999_999);
        assert_eq!(wheel.advance(early, &mut expired), 0);
        assert_eq!(wheel.advance(added + ms(20), &mut expired), 0);
        assert_eq!(wheel.next_deadline(), Some(start + ms(21)));
        assert_eq!(wheel.advance(start + ms(21), &mut expired), 1);
        assert_eq!((expired, wheel.len()), (vec!["short"], 1));
    }

    /// Covers PU-044: the only clock is the monotonic one, and one that goes back is no harm.
    #[test]
    fn pu_044_the_time_is_an_instant_and_never_goes_back() {
        let start = an_instant();
        let mut wheel = TimingWheel::new(start, WheelConfig::default()).unwrap();
        let mut expired = Vec::new();
        wheel.insert(start + ms(3_600_000), 1);
        wheel.advance(start + ms(1_000), &mut expired);
        wheel.advance(start, &mut expired);
        wheel.insert(start + ms(1_000), 2);
        assert_eq!(wheel.next_deadline(), Some(start + ms(1_000)));
        wheel.advance(start, &mut expired);
        assert_eq!((expired, wheel.len()), (vec![2], 1));
    }

    #[test]
    fn keys_work_for_their_own_value_alone() {
        let start = an_instant();
        let mut wheel = TimingWheel::new(start, WheelConfig::default()).unwrap();
        let first = wheel.insert(start + ms(5), 1);
        assert!(wheel.reschedule(first, start + ms(50)));
        assert_eq!(wheel.cancel(first), Some(1));
        let second = wheel.insert(start + ms(5), 2);
        assert!(!wheel.contains(first) && wheel.contains(second));
        assert!(!wheel.reschedule(first, start));
        assert_eq!(wheel.cancel(first), None);
        assert_eq!(wheel.len(), 1);
    }

    #[test]
    fn a_deadline_that_no_instant_can_name_has_no_next_deadline() {
        let start = an_instant();
        let mut wheel = TimingWheel::new(start, WheelConfig::default()).unwrap();
        assert_eq!(wheel.next_deadline(), None);
        let mut reach = Duration::from_secs(1);
        while let Some(further) = reach.checked_mul(2)
            && start.checked_add(further).is_some()
        {
            reach = further;
        }
        wheel.insert(start + reach, ());
        let mut expired = Vec::new();
        assert_eq!(wheel.advance(start + reach, &mut expired), 0);
        wheel.next_deadline();
        assert_eq!(wheel.len(), 1);
    }

    #[test]
    fn what_does_not_divide_time_is_refused() {
        let start = an_instant();
        let made = |tick, slots| {
            TimingWheel::<()>::new(start, WheelConfig { tick, slots }).map(|wheel| wheel.len())
        };
        assert_eq!(
            made(Duration::ZERO, 20),
            Err(ConfigError::Tick(Duration::ZERO))
        );
        assert_eq!(made(ms(1), 1), Err(ConfigError::Slots(1)));
        assert_eq!(made(ms(1), 65), Err(ConfigError::Slots(65)));
        assert_eq!(made(ms(1), 64), Ok(0));
    }
}
