//! What every [`Clock`] must do.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::Clock;

/// Holds a clock to what [`Clock`] says. `pass` lets some time go by: it moves a clock that is
/// moved by hand, and waits for one that moves by itself. To be run within a tokio runtime of
/// one thread.
///
/// # Panics
/// At the first thing that is not so.
pub async fn check_clock<C: Clock, F: Future<Output = ()>>(
    clock: &C,
    pass: impl Fn(Duration) -> F,
) {
    both_times_go_on(clock, &pass).await;
    past_deadlines_end_at_once(clock).await;
    sleepers_wake_in_order(clock, &pass).await;
}

async fn both_times_go_on<C: Clock, F: Future<Output = ()>>(
    clock: &C,
    pass: &impl Fn(Duration) -> F,
) {
    let (now, unix_ms) = (clock.now(), clock.unix_ms());
    let step = Duration::from_millis(20);
    pass(step).await;
    let clone = clock.clone();
    assert!(clone.now() >= now + step);
    assert!(
        clone.unix_ms() >= unix_ms + 19,
        "a millisecond may have been cut in two"
    );
}

async fn past_deadlines_end_at_once<C: Clock>(clock: &C) {
    let now = clock.now();
    let is_ready = |deadline| is_ready_at_once(clock.sleep_until(deadline));
    assert!(is_ready(Some(now)).await);
    if let Some(before) = now.checked_sub(Duration::from_secs(1)) {
        assert!(is_ready(Some(before)).await);
    }
    assert!(!is_ready(Some(now + Duration::from_hours(1))).await);
    assert!(!is_ready(None).await);
}

async fn is_ready_at_once(future: impl Future<Output = ()>) -> bool {
    let mut future = pin!(future);
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
}

async fn sleepers_wake_in_order<C: Clock, F: Future<Output = ()>>(
    clock: &C,
    pass: &impl Fn(Duration) -> F,
) {
    let start = clock.now();
    let woken: Arc<Mutex<Vec<(u64, Instant)>>> = Arc::default();
    let sleep = |ms: u64| {
        let (clock, woken) = (clock.clone(), Arc::clone(&woken));
        tokio::spawn(async move {
            clock
                .sleep_until(Some(start + Duration::from_millis(ms)))
                .await;
            woken.lock().push((ms, clock.now()));
        })
    };
    let sleepers = [30, 10, 50, 20, 40].map(sleep);
    let interrupted = sleep(25);
    tokio::task::yield_now().await;
    interrupted.abort();
    tokio::task::yield_now().await;

    pass(Duration::from_millis(60)).await;
    for sleeper in sleepers {
        sleeper.await.unwrap();
    }
    let woken = woken.lock();
    let order: Vec<u64> = woken.iter().map(|(ms, _)| *ms).collect();
    assert_eq!(order, [10, 20, 30, 40, 50]);
    for (ms, at) in woken.iter() {
        assert!(*at >= start + Duration::from_millis(*ms), "woken early");
    }
}
