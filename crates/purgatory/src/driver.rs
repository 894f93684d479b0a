//! [`Driver`]: the tokio task that tells a purgatory the time.
//!
//! The shell around the core: it sleeps until the purgatory's next deadline, is woken if an
//! earlier one enters, advances the time and starts the handler on what expired. The handler runs
//! on the runtime's threads for blocking work, one batch at a time, so that it may take as long
//! as it likes: operations go on expiring meanwhile, and their outcomes wait for it in order.
//! There are never more of them than operations have entered.

use std::future::{Future, pending, poll_fn};
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::operation::DelayedOperation;
use crate::purgatory::Purgatory;

/// What a [`Driver`] waits by: a monotonic clock.
pub trait Clock: Send + Sync + 'static {
    /// The time: never less than what an earlier call returned.
    fn now(&self) -> Instant;

    /// Ends once [`now`](Self::now) has reached `deadline`; never for `None`.
    fn sleep_until(&self, deadline: Option<Instant>) -> impl Future<Output = ()> + Send + 'static;
}

/// Tokio's clock. Needs a runtime with time enabled.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioClock;

impl Clock for TokioClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the driver is the shell that asks"
    )]
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the driver is the shell that waits"
    )]
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` would borrow the clock"
    )]
    fn sleep_until(&self, deadline: Option<Instant>) -> impl Future<Output = ()> + Send + 'static {
        async move {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => pending().await,
            }
        }
    }
}

/// Makes the operations of one purgatory expire, for as long as it lives.
///
/// Dropping it stops the task at once and drops what the handler has not begun with; to do better,
/// [`shutdown`](Self::shutdown).
#[derive(Debug)]
pub struct Driver<Done> {
    stop: oneshot::Sender<Duration>,
    task: JoinHandle<Shutdown<Done>>,
    panics: Arc<AtomicU64>,
}

/// How a [`Driver`] ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Shutdown<Done> {
    /// Outcomes of expired operations which the handler was not given.
    pub unhandled: Vec<Done>,
    /// The handler was still at work on something when the grace was over. It goes on, unobserved.
    pub still_running: bool,
}

impl<Done: Send + 'static> Driver<Done> {
    /// Starts the task on `runtime`. From then on `handler` is called with the outcome of each
    /// operation that expires, on a thread where it may block, one call after the other.
    ///
    /// One driver a purgatory: of two, only one would be woken.
    pub fn start<K, Op>(
        runtime: &Handle,
        purgatory: Arc<Purgatory<K, Op>>,
        clock: impl Clock,
        handler: impl Fn(Done) + Send + Sync + 'static,
    ) -> Self
    where
        K: Hash + Eq + Clone + Send + 'static,
        Op: DelayedOperation<Done = Done> + Send + 'static,
    {
        let panics = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = oneshot::channel();
        let handling = Handling {
            runtime: runtime.clone(),
            handler: Arc::new(handler),
            expired: Vec::new(),
            running: None,
            panics: Arc::clone(&panics),
        };
        let task = runtime.spawn(drive(purgatory, clock, handling, stopped));
        Self { stop, task, panics }
    }

    /// How often the handler, or an operation while it expired, has panicked. Each time that one
    /// outcome was lost; everything else went on.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Stops the time at once, then lets the handler finish with what had expired by then, for up
    /// to `grace`. What waits in the purgatory stays there.
    pub async fn shutdown(self, grace: Duration) -> Shutdown<Done> {
        // Fails only if the task has ended, which the next line shows.
        let _ = self.stop.send(grace);
        self.task.await.unwrap_or(Shutdown {
            unhandled: Vec::new(),
            still_running: false,
        })
    }
}

/// What ends a wait.
enum Event {
    /// The next deadline has come.
    Due,
    /// The handler has finished with its batch.
    Handled,
    /// The owner wants no more; the handler has this long to finish.
    Stop(Duration),
}

async fn drive<K, Op>(
    purgatory: Arc<Purgatory<K, Op>>,
    clock: impl Clock,
    mut handling: Handling<Op::Done, impl Fn(Op::Done) + Send + Sync + 'static>,
    mut stopped: oneshot::Receiver<Duration>,
) -> Shutdown<Op::Done>
where
    K: Hash + Eq + Clone,
    Op: DelayedOperation,
    Op::Done: Send + 'static,
{
    let mut alarm = AlarmClock::new(&purgatory, &clock);
    let grace = loop {
        let event = poll_fn(|cx| {
            if let Poll::Ready(grace) = Pin::new(&mut stopped).poll(cx) {
                // An owner that was dropped waits for nothing.
                return Poll::Ready(Event::Stop(grace.unwrap_or(Duration::ZERO)));
            }
            if handling.poll_finished(cx).is_ready() {
                return Poll::Ready(Event::Handled);
            }
            alarm.poll_due(cx).map(|()| Event::Due)
        })
        .await;
        match event {
            Event::Stop(grace) => break grace,
            Event::Handled => {}
            Event::Due => {
                let expired = &mut handling.expired;
                // A panic leaves the purgatory in order, without the operation it came from.
                let advanced =
                    catch_unwind(AssertUnwindSafe(|| purgatory.advance(clock.now(), expired)));
                if advanced.is_err() {
                    handling.panics.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        handling.start();
    };

    let mut grace_over = Box::pin(clock.sleep_until(clock.now().checked_add(grace)));
    while handling.running.is_some() || !handling.expired.is_empty() {
        // The grace first: once it is over, nothing more is begun.
        let in_time = poll_fn(|cx| {
            if grace_over.as_mut().poll(cx).is_ready() {
                return Poll::Ready(false);
            }
            handling.start();
            handling.poll_finished(cx).map(|()| true)
        });
        if !in_time.await {
            break;
        }
    }
    Shutdown {
        still_running: handling.running.is_some(),
        unhandled: handling.expired,
    }
}

/// A sleep until the purgatory's next deadline, which follows it when it moves.
struct AlarmClock<'a, K, Op, C> {
    purgatory: &'a Purgatory<K, Op>,
    clock: &'a C,
    sleep: Option<Sleep>,
}

/// The deadline, and the future that ends then.
type Sleep = (
    Option<Instant>,
    Pin<Box<dyn Future<Output = ()> + Send + 'static>>,
);

impl<'a, K, Op, C: Clock> AlarmClock<'a, K, Op, C> {
    fn new(purgatory: &'a Purgatory<K, Op>, clock: &'a C) -> Self {
        Self {
            purgatory,
            clock,
            sleep: None,
        }
    }

    /// Ready when the next deadline has come. Each poll looks anew when that is, and is repeated
    /// when it becomes earlier.
    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let next = self.purgatory.watch_next_deadline(cx.waker());
        if self.sleep.as_ref().is_none_or(|(until, _)| *until != next) {
            self.sleep = Some((next, Box::pin(self.clock.sleep_until(next))));
        }
        let (_, sleep) = self.sleep.as_mut().expect("set above");
        let due = sleep.as_mut().poll(cx);
        if due.is_ready() {
            self.sleep = None;
        }
        due
    }
}

/// What has expired, and the one batch of it that the handler is at work on.
struct Handling<Done, H> {
    runtime: Handle,
    handler: Arc<H>,
    expired: Vec<Done>,
    running: Option<JoinHandle<()>>,
    panics: Arc<AtomicU64>,
}

impl<Done, H> Handling<Done, H>
where
    Done: Send + 'static,
    H: Fn(Done) + Send + Sync + 'static,
{
    /// Gives the handler what there is, unless it is at work or there is nothing.
    fn start(&mut self) {
        if self.running.is_some() || self.expired.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.expired);
        let handler = Arc::clone(&self.handler);
        let panics = Arc::clone(&self.panics);
        self.running = Some(self.runtime.spawn_blocking(move || {
            for done in batch {
                if catch_unwind(AssertUnwindSafe(|| handler(done))).is_err() {
                    panics.fetch_add(1, Ordering::Relaxed);
                }
            }
        }));
    }

    /// Ready, once, when the handler has finished with a batch.
    fn poll_finished(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(running) = &mut self.running else {
            return Poll::Pending;
        };
        Pin::new(running).poll(cx).map(|_| self.running = None)
    }
}
