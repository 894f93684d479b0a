//! What both programs share: how many wait, the time, and a runtime for the peer.

use std::time::{Duration, Instant};

use criterion::Criterion;
use tokio::runtime::{Builder, Runtime};
use tokio_util::time::DelayQueue;

/// How many wait meanwhile; one small size if this is only to see that it still runs.
pub(crate) fn sizes() -> &'static [u64] {
    // The two arguments by which cargo and criterion tell measuring from trying.
    let given = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    if given("--bench") && !given("--test") {
        &[1_000, 10_000, 100_000, 1_000_000]
    } else {
        &[1_000]
    }
}

pub(crate) fn criterion() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args()
}

#[expect(clippy::disallowed_methods, reason = "a bench has to begin somewhere")]
pub(crate) fn an_instant() -> Instant {
    Instant::now()
}

/// A deadline 30 to 60 s away, another millisecond each time.
pub(crate) fn a_deadline(start: Instant, number: u64) -> Instant {
    start + Duration::from_millis(30_000 + number % 30_000)
}

/// The peer's timers need a runtime to be made in.
pub(crate) fn a_runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without sockets needs nothing from the system")
}

/// The peer with `pending` values in it; only within a runtime.
pub(crate) fn a_delay_queue<T>(
    start: Instant,
    pending: u64,
    value: impl Fn(u64) -> T,
) -> (DelayQueue<T>, Vec<tokio_util::time::delay_queue::Key>) {
    let mut queue = DelayQueue::new();
    let keys = (0..pending)
        .map(|number| queue.insert_at(value(number), a_deadline(start, number).into()))
        .collect();
    (queue, keys)
}
