//! [`Time`]: a [`Clock`] whose type is forgotten.
//!
//! So that a producer is a type of its records alone. The virtual call costs a nanosecond beside a
//! look at the clock that takes some twenty; the box is made only by who has to wait.

use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use klamm_io::Clock;

/// What a producer asks of a clock.
pub(crate) trait Time: Send + Sync {
    /// The monotonic time.
    fn now(&self) -> Instant;

    /// The wall clock, in Unix milliseconds.
    fn unix_ms(&self) -> i64;

    /// Waits until an instant.
    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

impl<C: Clock> Time for C {
    fn now(&self) -> Instant {
        Clock::now(self)
    }

    fn unix_ms(&self) -> i64 {
        Clock::unix_ms(self)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(Clock::sleep_until(self, Some(deadline)))
    }
}
