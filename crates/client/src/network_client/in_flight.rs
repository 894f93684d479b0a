//! [`InFlight`]: requests of one connection that wait for their answers. (P6.3, P6.5)

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use klamm_wire::ApiKey;
use klamm_wire::header::CorrelationId;
use thiserror::Error;

use super::connection_states::JUST_AFTER;
use crate::answer::RequestId;
use crate::metadata::Asked;

/// Requests of one connection that wait for their answers, oldest first.
#[derive(Debug)]
pub(crate) struct InFlight {
    count_max: usize,
    waiting: VecDeque<Waiting>,
    /// Whether the newest is not written yet.
    writing: bool,
}

/// A request that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) id: RequestId,
    pub(crate) purpose: Purpose,
    pub(crate) correlation_id: CorrelationId,
    pub(crate) key: ApiKey,
    pub(crate) version: i16,
    pub(crate) sent_at: Instant,
    pub(crate) timeout: Duration,
    pub(crate) expects_response: bool,
}

/// For whom a request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// For the guest.
    Guest,
    /// To learn the node's versions.
    Versions,
    /// To refresh the metadata.
    Metadata(Asked),
}

/// An answer that does not belong to the oldest request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Unexpected {
    /// Nothing is in flight.
    #[error("an answer came although no request waits for one")]
    NoneInFlight,
    /// It answers something else.
    #[error("the answer has correlation id {received}, the oldest request {expected}")]
    Correlation {
        expected: CorrelationId,
        received: CorrelationId,
    },
}

impl Waiting {
    /// Whether it has waited for more than its time.
    fn is_late(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.sent_at) > self.timeout
    }
}

impl InFlight {
    pub(crate) const fn new(count_max: usize) -> Self {
        Self {
            count_max,
            waiting: VecDeque::new(),
            writing: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether there is room for another. The bytes of the newest must be written first, so that
    /// a slow connection is not given more than it takes.
    pub(crate) fn can_send(&self) -> bool {
        !self.writing && self.waiting.len() < self.count_max
    }

    /// Another request is being written.
    pub(crate) fn push(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
        self.writing = true;
    }

    /// The newest is written. Yields it if no answer will come.
    pub(crate) fn written(&mut self) -> Result<Option<Waiting>, Unexpected> {
        let newest = self.waiting.back().ok_or(Unexpected::NoneInFlight)?;
        let done = !newest.expects_response;
        self.writing = false;
        Ok(done.then(|| self.waiting.pop_back()).flatten())
    }

    /// The request that an answer belongs to: always the oldest.
    pub(crate) fn received(&self, received: CorrelationId) -> Result<&Waiting, Unexpected> {
        let oldest = self.waiting.front().ok_or(Unexpected::NoneInFlight)?;
        if oldest.correlation_id != received {
            return Err(Unexpected::Correlation {
                expected: oldest.correlation_id,
                received,
            });
        }
        Ok(oldest)
    }

    /// Takes out the oldest.
    pub(crate) fn pop_oldest(&mut self) -> Result<Waiting, Unexpected> {
        if self.waiting.len() == 1 {
            // It was answered, so it was written, whatever was reported of that.
            self.writing = false;
        }
        self.waiting.pop_front().ok_or(Unexpected::NoneInFlight)
    }

    /// Takes out all, oldest first.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Waiting> {
        self.writing = false;
        std::mem::take(&mut self.waiting).into_iter()
    }

    /// Whether any has waited for more than its time.
    pub(crate) fn any_late(&self, now: Instant) -> bool {
        self.waiting.iter().any(|waiting| waiting.is_late(now))
    }

    /// When the first will be late.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let deadline = |waiting: &Waiting| waiting.sent_at + waiting.timeout + JUST_AFTER;
        self.waiting.iter().map(deadline).min()
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::{Clock, sim::SimClock};

    use super::*;

    fn waiting(number: i32, expects_response: bool) -> Waiting {
        Waiting {
            id: RequestId(number.unsigned_abs().into()),
            purpose: Purpose::Guest,
            correlation_id: CorrelationId::new(number),
            key: ApiKey::Produce,
            version: 9,
            sent_at: SimClock::new().now(),
            timeout: Duration::from_secs(1),
            expects_response,
        }
    }

    fn sent(in_flight: &mut InFlight, number: i32, expects_response: bool) -> Option<i32> {
        in_flight.push(waiting(number, expects_response));
        let done = in_flight.written().unwrap();
        done.map(|done| done.correlation_id.get())
    }

    #[test]
    fn cl_028_room_ends_at_the_maximum_and_while_bytes_wait() {
        let mut in_flight = InFlight::new(2);
        assert!(in_flight.can_send());
        in_flight.push(waiting(1, true));
        assert!(!in_flight.can_send(), "not written yet");
        assert_eq!(in_flight.written(), Ok(None));
        assert!(in_flight.can_send());
        sent(&mut in_flight, 2, true);
        assert!(!in_flight.can_send(), "two wait");
        in_flight.pop_oldest().unwrap();
        assert!(in_flight.can_send());
    }

    #[test]
    fn cl_029_without_an_answer_it_leaves_from_the_newest_end_when_written() {
        let mut in_flight = InFlight::new(5);
        assert_eq!(sent(&mut in_flight, 1, true), None);
        assert_eq!(sent(&mut in_flight, 2, false), Some(2));
        assert_eq!(sent(&mut in_flight, 3, true), None);
        let left = in_flight
            .drain()
            .map(|waiting| waiting.correlation_id.get());
        assert_eq!(left.collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn cl_030_nothing_in_flight_cannot_be_completed() {
        let mut in_flight = InFlight::new(5);
        let none = Unexpected::NoneInFlight;
        assert_eq!(in_flight.written(), Err(none));
        assert_eq!(in_flight.pop_oldest(), Err(none));
        assert_eq!(in_flight.received(CorrelationId::new(0)), Err(none));
    }

    #[test]
    fn cl_026_only_the_oldest_can_be_answered() {
        let mut in_flight = InFlight::new(5);
        for number in [7, 8] {
            sent(&mut in_flight, number, true);
        }
        let [expected, received] = [7, 8].map(CorrelationId::new);
        let error = Unexpected::Correlation { expected, received };
        assert_eq!(in_flight.received(received), Err(error));
        assert_eq!(in_flight.received(expected), Ok(&waiting_like(&in_flight)));
        assert_eq!(in_flight.len(), 2, "it is only looked at");
    }

    fn waiting_like(in_flight: &InFlight) -> Waiting {
        in_flight.waiting[0].clone()
    }
}
