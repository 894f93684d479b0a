//! [`Inline`]: requests that are handled where they were read.
//!
//! A small request costs less than the two changes of threads by which a handler of the pool gets
//! it, so the thread that has read it may handle it. But a thread of the network that waits for a
//! disk holds up the connections that it would have served, so this is only for requests that the
//! handler calls [quick](Handler::is_quick), only while no other request waits for the pool, and
//! only as long as they are quick: after one that was not, the pool gets all of them for a hundred
//! times as long as that one took.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::handler::{Handler, handle_guarded};
use crate::request::{Received, Request};
use crate::responder::Then;

/// What takes longer was not quick: more than a thread waits for its turn on a busy machine.
const SLOW: Duration = Duration::from_millis(10);

/// For so many times as long as a slow request took, none is handled here: at most one part in a
/// hundred of the network's time is lost to them.
const PAUSE_FACTOR: u32 = 100;

/// Handles quick requests on the network's threads.
pub(crate) struct Inline<F> {
    handler: Arc<dyn Handler<F>>,
    /// Held for a look or a change only; no request is handled under it.
    gate: Mutex<Gate>,
}

impl<F: 'static> Inline<F> {
    pub(crate) fn new(handler: Arc<dyn Handler<F>>) -> Self {
        Self {
            handler,
            gate: Mutex::default(),
        }
    }

    /// Whether a request may be handled here now.
    pub(crate) fn takes(&self, request: &Request, now: Instant) -> bool {
        self.handler.is_quick(request) && self.gate.lock().is_open(now)
    }

    /// Handles a request on this thread, which goes on with the connection afterwards.
    pub(crate) fn handle(&self, mut received: Received<F>, now: impl Fn() -> Instant) {
        received.responder.taken();
        received.responder.taken_by(Then::GoesOnHere);
        let began = now();
        self.gate.lock().begin(began);
        handle_guarded(&*self.handler, received);
        self.gate.lock().end(began, now());
    }
}

/// Whether requests are quick, going by those that have been handled.
#[derive(Debug, Default)]
struct Gate {
    closed_until: Option<Instant>,
    /// When those that are being handled began: no more than there are threads.
    running: Vec<Instant>,
}

impl Gate {
    /// One that has been running for too long counts before it ends: where one thread waits, the
    /// others would join it.
    fn is_open(&self, now: Instant) -> bool {
        let is_slow = |began: &Instant| now.saturating_duration_since(*began) >= SLOW;
        self.closed_until.is_none_or(|until| until <= now) && !self.running.iter().any(is_slow)
    }

    fn begin(&mut self, now: Instant) {
        self.running.push(now);
    }

    fn end(&mut self, began: Instant, now: Instant) {
        if let Some(index) = self.running.iter().position(|it| *it == began) {
            self.running.swap_remove(index);
        }
        let took = now.saturating_duration_since(began);
        if took >= SLOW {
            let until = now.checked_add(took.saturating_mul(PAUSE_FACTOR));
            self.closed_until = self.closed_until.max(until);
        }
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::Clock as _;
    use klamm_io::sim::SimClock;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn after_a_slow_request_the_pool_gets_them_for_a_hundred_times_as_long() {
        let mut gate = Gate::default();
        let start = SimClock::new().now();
        assert!(gate.is_open(start));
        gate.begin(start);
        gate.end(start, start + 9 * MS);
        assert!(gate.is_open(start + 9 * MS));
        gate.begin(start + 10 * MS);
        gate.end(start + 10 * MS, start + 30 * MS);
        assert!(!gate.is_open(start + 30 * MS));
        assert!(!gate.is_open(start + 2_029 * MS));
        assert!(gate.is_open(start + 2_030 * MS));
    }

    #[test]
    fn one_that_takes_too_long_keeps_others_from_following_it() {
        let mut gate = Gate::default();
        let start = SimClock::new().now();
        gate.begin(start);
        gate.begin(start + 5 * MS);
        assert!(gate.is_open(start + 9 * MS), "two at a time are fine");
        assert!(!gate.is_open(start + 10 * MS));
        gate.end(start + 5 * MS, start + 11 * MS);
        assert!(!gate.is_open(start + 11 * MS), "the first still runs");
    }
}
