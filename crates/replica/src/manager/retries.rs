//! [`Retries`]: partitions that could not be taken because the disk had no room, or the process no
//! descriptor, and that are tried again.

use std::collections::BTreeSet;
use std::task::Waker;
use std::time::{Duration, Instant};

use klamm_primitives::TopicPartition;

/// How long after the first failure the next attempt is.
const BACKOFF: Duration = Duration::from_secs(1);

/// Each attempt doubles the time to the next one, up to this.
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Partitions that are tried again, all at one time.
#[derive(Default)]
pub(super) struct Retries {
    waiting: BTreeSet<TopicPartition>,
    due: Option<Instant>,
    backoff: Duration,
    /// To be woken when the first partition comes.
    waker: Option<Waker>,
}

/// A partition waits to be tried again.
#[must_use]
pub(super) struct Added {
    /// Whether it did not before.
    pub(super) is_news: bool,
    /// To be woken, once no lock is held: there is something to try now.
    pub(super) wakes: Option<Waker>,
}

impl Retries {
    /// When there is something to try.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.due
    }

    /// As [`Retries::next_deadline`], to be woken when there is one, or an earlier one.
    pub(super) fn watch_next_deadline(&mut self, waker: &Waker) -> Option<Instant> {
        self.waker = Some(waker.clone());
        self.due
    }

    /// The partition could not be taken.
    pub(super) fn add(&mut self, partition: &TopicPartition, now: Instant) -> Added {
        let mut wakes = None;
        if self.due.is_none() {
            self.backoff = (self.backoff * 2).clamp(BACKOFF, BACKOFF_MAX);
            self.due = Some(now + self.backoff);
            wakes = self.waker.take();
        }
        Added {
            is_news: self.waiting.insert(partition.clone()),
            wakes,
        }
    }

    /// The partition was taken, or is not to be here any more.
    pub(super) fn remove(&mut self, partition: &TopicPartition) {
        if self.waiting.remove(partition) && self.waiting.is_empty() {
            self.due = None;
            self.backoff = Duration::ZERO;
        }
    }

    /// Those to be tried now; none before it is time. They wait on until they are
    /// [removed](Self::remove), or [added](Self::add) again.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<TopicPartition> {
        if self.due.is_none_or(|due| now < due) {
            return Vec::new();
        }
        self.due = None;
        self.waiting.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::Clock as _;
    use klamm_io::sim::SimClock;

    use super::*;

    #[test]
    fn attempts_come_less_and_less_often_until_one_succeeds() {
        let mut retries = Retries::default();
        let partition: TopicPartition = "t-0".parse().unwrap();
        let mut now = SimClock::new().now();
        assert!(retries.add(&partition, now).is_news);
        let mut waits = Vec::new();
        for _ in 0..7 {
            let due = retries.next_deadline().unwrap();
            assert!(retries.take_due(now).is_empty(), "it is too early");
            assert_eq!(retries.take_due(due), std::slice::from_ref(&partition));
            waits.push((due - now).as_secs());
            now = due;
            assert!(!retries.add(&partition, now).is_news, "it waits already");
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        retries.remove(&partition);
        assert_eq!(retries.next_deadline(), None);
        assert_eq!(retries.watch_next_deadline(Waker::noop()), None);
        let added = retries.add(&partition, now);
        assert!(added.is_news && added.wakes.is_some());
        assert_eq!(retries.next_deadline(), Some(now + BACKOFF));
        assert!(retries.add(&partition, now).wakes.is_none(), "no earlier");
    }
}
