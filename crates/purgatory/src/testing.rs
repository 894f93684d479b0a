//! What the unit tests share.

use std::time::Instant;

/// Some instant to count from; which one it is makes no difference to any test.
#[expect(
    clippy::disallowed_methods,
    reason = "an `Instant` can be had in no other way; tests only add to it"
)]
pub(crate) fn an_instant() -> Instant {
    Instant::now()
}
