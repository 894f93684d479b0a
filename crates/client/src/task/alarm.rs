//! [`Alarm`]: one timer, set anew as seldom as possible.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

use klamm_io::Clock;

type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A timer for the next deadline. Each request moves the deadline, mostly to later; the timer
/// then keeps ringing at the former time, which costs one turn, and less than being set each time.
pub(super) struct Alarm<C> {
    clock: C,
    set: Option<(Instant, Sleep)>,
}

impl<C: Clock> Alarm<C> {
    pub(super) const fn new(clock: C) -> Self {
        Self { clock, set: None }
    }

    /// Ends at `deadline` at the latest; never for `None`. May end early. May be dropped.
    pub(super) fn at(&mut self, deadline: Option<Instant>) -> impl Future<Output = ()> {
        if let Some(deadline) = deadline
            && self.set.as_ref().is_none_or(|(at, _)| *at > deadline)
        {
            let sleep = self.clock.sleep_until(Some(deadline));
            self.set = Some((deadline, Box::pin(sleep)));
        }
        poll_fn(|context| {
            let Some((_, sleep)) = &mut self.set else {
                return Poll::Pending;
            };
            let rung = sleep.as_mut().poll(context);
            if rung.is_ready() {
                self.set = None;
            }
            rung
        })
    }
}
