//! [`Sampled`]: average, maximum and rate over the last few windows, and the total.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::config::MetricsWindow;

#[derive(Debug, Clone, Copy)]
struct Sample {
    start: Instant,
    sum: f64,
    count: u32,
    max: f64,
}

/// Values over time.
#[derive(Debug)]
pub(super) struct Sampled {
    window: Duration,
    samples_max: usize,
    /// The newest last; at most as many as may be kept.
    samples: VecDeque<Sample>,
    began: Instant,
    total: f64,
}

impl Sampled {
    pub(super) fn new(window: &MetricsWindow, now: Instant) -> Self {
        Self {
            window: window.window.max(Duration::from_millis(1)),
            samples_max: window.samples,
            samples: VecDeque::new(),
            began: now,
            total: 0.0,
        }
    }

    pub(super) fn record(&mut self, value: f64, now: Instant) {
        self.total += value;
        match self.samples.back_mut() {
            Some(last) if now.saturating_duration_since(last.start) < self.window => {
                last.sum += value;
                last.count += 1;
                last.max = last.max.max(value);
            }
            _ => {
                if self.samples.len() == self.samples_max {
                    self.samples.pop_front();
                }
                self.samples.push_back(Sample {
                    start: now,
                    sum: value,
                    count: 1,
                    max: value,
                });
            }
        }
    }

    /// Those that are not too old.
    fn recent(&self, now: Instant) -> impl Iterator<Item = &Sample> {
        let kept = u32::try_from(self.samples_max).unwrap_or(u32::MAX);
        let age_max = self.window.saturating_mul(kept);
        let samples = self.samples.iter();
        samples.filter(move |sample| now.saturating_duration_since(sample.start) < age_max)
    }

    pub(super) fn avg(&self, now: Instant) -> f64 {
        let sum: f64 = self.recent(now).map(|sample| sample.sum).sum();
        let count: u32 = self.recent(now).map(|sample| sample.count).sum();
        sum / f64::from(count)
    }

    pub(super) fn max(&self, now: Instant) -> f64 {
        let largest = self.recent(now).map(|sample| sample.max);
        largest.fold(f64::NAN, f64::max)
    }

    /// Per second. Until the windows but the last have gone by, as if they had, so that the first
    /// values do not look like a flood.
    pub(super) fn rate(&self, now: Instant) -> f64 {
        // The sum of nothing would be -0.0, which is printed so.
        let sum = self.recent(now).fold(0.0, |sum, sample| sum + sample.sum);
        let oldest = self
            .recent(now)
            .next()
            .map_or(self.began, |sample| sample.start);
        let whole = u32::try_from(self.samples_max.saturating_sub(1)).unwrap_or(u32::MAX);
        let least = self.window.saturating_mul(whole.max(1));
        let elapsed = now.saturating_duration_since(oldest).max(least);
        sum / elapsed.as_secs_f64()
    }

    pub(super) fn total(&self) -> f64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::Clock;
    use klamm_io::sim::SimClock;

    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn averages_and_rates_forget_what_is_old_and_totals_do_not() {
        let start = SimClock::new().now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut sampled = Sampled::new(&MetricsWindow::default(), start);
        assert!(sampled.avg(start).is_nan() && sampled.max(start).is_nan());
        sampled.record(10.0, at(0));
        sampled.record(20.0, at(10));
        near(sampled.avg(at(10)), 15.0);
        near(sampled.rate(at(10)), 1.0);
        sampled.record(60.0, at(40));
        near(sampled.avg(at(40)), 30.0);
        near(sampled.max(at(40)), 60.0);
        near(sampled.rate(at(40)), 90.0 / 40.0);
        near(sampled.avg(at(65)), 60.0);
        near(sampled.rate(at(200)), 0.0);
        let printed = format!("{:.3}", sampled.rate(at(200)));
        assert_eq!(printed, "0.000", "without a sign");
        near(sampled.total(), 90.0);
    }
}
