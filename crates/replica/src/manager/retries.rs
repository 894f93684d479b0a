//! [`Retries`]: partitions that could not be taken because the disk had no room, or the process no
//! descriptor, and that are tried again.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::task::Waker;
use std::time::{Duration, Instant};

use klamm_primitives::TopicPartition;

/// How long after the first failure the next attempt is.
const BACKOFF: Duration = Duration::from_secs(1);

/// Each attempt doubles the time to the next one, up to this.
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Partitions that are tried again, all at one time, until one fails.
///
/// Each time begins behind the one that failed last. What one wants may be there for others, such as
/// room in another directory, so none may stay in front of them for as long as it fails.
#[derive(Default)]
pub(super) struct Retries {
    waiting: BTreeSet<TopicPartition>,
    failed_last: Option<TopicPartition>,
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

    /// The partition was tried, and could not be taken.
    pub(super) fn add_failed(&mut self, partition: &TopicPartition, now: Instant) -> Added {
        self.failed_last = Some(partition.clone());
        self.add(partition, now)
    }

    /// The partition was not tried.
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

    /// Whether the partition is to be tried again.
    pub(super) fn is_waiting(&self, partition: &TopicPartition) -> bool {
        self.waiting.contains(partition)
    }

    /// Those to be tried now, in this order; none before it is time. They wait on until they are
    /// [removed](Self::remove), or [added](Self::add) again.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<TopicPartition> {
        if self.due.is_none_or(|due| now < due) {
            return Vec::new();
        }
        self.due = None;
        let Some(last) = &self.failed_last else {
            return self.waiting.iter().cloned().collect();
        };
        let behind = (Bound::Excluded(last), Bound::Unbounded);
        let behind = self.waiting.range::<TopicPartition, _>(behind);
        let before = self.waiting.range::<TopicPartition, _>(..=last);
        behind.chain(before).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::Clock as _;
    use klamm_io::sim::SimClock;

    use super::*;

    #[test]
    fn each_attempt_begins_behind_the_one_that_failed_last() {
        let mut retries = Retries::default();
        let now = SimClock::new().now();
        let name = |index: i32| TopicPartition::new("t", index.into());
        for index in 0..4 {
            _ = retries.add(&name(index), now);
        }
        let mut begin = Vec::new();
        for _ in 0..6 {
            let due = retries.next_deadline().unwrap();
            let order = retries.take_due(due);
            assert_eq!(order.len(), 4);
            begin.push(order[0].partition.get());
            // Two are tried, and the others are put off.
            for (place, partition) in order.iter().enumerate() {
                _ = match place {
                    0 | 1 => retries.add_failed(partition, due),
                    _ => retries.add(partition, due),
                };
            }
            // One that is gone is no worse a place to begin behind.
            if begin.len() == 4 {
                retries.remove(&order[1]);
                _ = retries.add(&name(9), due);
            }
        }
        assert_eq!(begin, [0, 2, 0, 2, 9, 1]);
    }

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
