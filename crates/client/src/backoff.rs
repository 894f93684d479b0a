//! [`Backoff`]: how long to wait after a number of failures.

use std::time::Duration;

/// The share by which a wait may be longer or shorter, so that clients that failed together do
/// not come back together.
const JITTER: f64 = 0.2;

/// Longer than anything runs, and short enough that adding it to any instant is safe. What is set
/// to more is taken for this.
pub(crate) const FOREVER: Duration = Duration::from_hours(100 * 365 * 24);

/// A wait that doubles with each failure up to a maximum, give or take a fifth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backoff {
    base: Duration,
    max: Duration,
}

impl Backoff {
    /// From `base` to `max`. Without room between the two it is constant, without jitter.
    pub(crate) fn new(base: Duration, max: Duration) -> Self {
        let max = max.min(FOREVER);
        Self {
            base: base.min(max),
            max,
        }
    }

    /// The wait after so many failures before the last; never above the maximum.
    pub(crate) fn after(self, failures: u32, random: &mut fastrand::Rng) -> Duration {
        if self.base == self.max || self.base.is_zero() {
            return self.base;
        }
        let factor = 1.0 - JITTER + 2.0 * JITTER * random.f64();
        // 2^62 times the shortest base is beyond any maximum.
        let doubled = 2f64.powi(i32::try_from(failures.min(62)).unwrap_or(62));
        let seconds = self.base.as_secs_f64() * doubled;
        let wait = seconds.min(self.max.as_secs_f64()) * factor;
        Duration::from_secs_f64(wait).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn doubles_up_to_the_maximum_give_or_take_a_fifth() {
        let mut random = fastrand::Rng::with_seed(1);
        let backoff = Backoff::new(MS(50), MS(1_000));
        for failures in 0..100 {
            let middle = (50.0 * 2f64.powi(failures)).min(1_000.0);
            let wait = backoff.after(failures.unsigned_abs(), &mut random);
            let wait = wait.as_secs_f64() * 1_000.0;
            assert!(wait >= middle * 0.8 && wait <= middle * 1.2, "{wait}");
            assert!(wait <= 1_000.0, "{wait}");
        }
        let waits: Vec<_> = (0..9).map(|_| backoff.after(0, &mut random)).collect();
        assert!(waits.windows(2).any(|pair| pair[0] != pair[1]), "{waits:?}");
    }

    #[test]
    fn without_room_it_is_constant() {
        let mut random = fastrand::Rng::with_seed(1);
        for (base, max, wait) in [(80, 80, 80), (100, 30, 30), (0, 1_000, 0), (0, 0, 0)] {
            let backoff = Backoff::new(MS(base), MS(max));
            for failures in [0, 1, 5, 100, u32::MAX] {
                assert_eq!(backoff.after(failures, &mut random), MS(wait));
            }
        }
        let endless = Backoff::new(Duration::MAX, Duration::MAX);
        assert_eq!(endless.after(7, &mut random), FOREVER);
    }
}
