//! [`Backoff`]: how long to wait before the next attempt. (P1.3)

use std::time::Duration;

use fastrand::Rng;

/// How much a wait may be shortened or lengthened, so that clients that failed together do not
/// try again together.
const JITTER: f64 = 0.2;

/// Waits that double from attempt to attempt up to a largest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backoff {
    /// The first wait.
    pub(crate) first: Duration,
    /// The longest wait, jitter included.
    pub(crate) most: Duration,
}

impl Backoff {
    /// The wait after `attempts` failed ones, from 1.
    ///
    /// Where the largest wait is not above the first, it is the wait each time, without jitter.
    pub(crate) fn after(self, attempts: u32, rng: &mut Rng) -> Duration {
        if self.most <= self.first {
            return self.most;
        }
        let doublings = attempts.saturating_sub(1).min(u32::BITS - 1);
        let plain = self.first.saturating_mul(1 << doublings).min(self.most);
        let factor = 1.0 - JITTER + 2.0 * JITTER * rng.f64();
        plain.mul_f64(factor).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers PR-073, P1.3.
    #[test]
    fn waits_double_within_a_fifth_up_to_the_most() {
        let backoff = Backoff {
            first: Duration::from_millis(100),
            most: Duration::from_secs(1),
        };
        let mut rng = Rng::with_seed(7);
        let windows = [
            (80, 120),
            (160, 240),
            (320, 480),
            (640, 960),
            (800, 1000),
            (800, 1000),
        ];
        for (attempts, (least, most)) in (1..).zip(windows) {
            let waits: Vec<_> = (0..1000)
                .map(|_| backoff.after(attempts, &mut rng).as_millis())
                .collect();
            assert!(
                waits.iter().all(|wait| (least..=most).contains(wait)),
                "{attempts}"
            );
            assert!(waits.iter().any(|wait| *wait < least + (most - least) / 4));
            assert!(waits.iter().any(|wait| *wait > most - (most - least) / 4));
        }
        assert!(backoff.after(u32::MAX, &mut rng) <= backoff.most);
    }

    #[test]
    fn a_most_below_the_first_is_the_wait() {
        let backoff = Backoff {
            first: Duration::from_millis(100),
            most: Duration::from_millis(30),
        };
        assert_eq!(backoff.after(5, &mut Rng::with_seed(1)), backoff.most);
    }
}
