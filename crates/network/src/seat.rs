//! [`Seat`]: where a connection is run, by its task or by a handler that has an answer for it.
//!
//! Waking the task for every answer would cost a request one more change of threads. So a handler
//! that has left a letter runs the connection itself, for as much as the letter asks for, unless
//! somebody else is running it. Nobody ever waits for the connection: who finds it taken sees to
//! it that the task is run afterwards (see [`Chair`]).
//!
//! A request of a quiet connection so costs one wake-up, of a handler's thread; none if it is quick
//! and so handled here, by the task itself after it has let go of the connection.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use klamm_io::{Clock, DiskFile};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::chair::Chair;
use crate::connection::{Common, Connection};
use crate::end::End;
use crate::linger::Linger;
use crate::mailbox::Mailbox;
use crate::request::Received;
use crate::responder::Then;

/// Requests that a connection may have handled here before others get the thread.
const HANDLED_MAX: usize = 16;

/// A connection for whoever answers its requests.
pub(crate) trait Deliver<F>: Send + Sync {
    /// Where to leave a letter.
    fn mailbox(&self) -> &Mailbox<F>;

    /// Has the letters taken, on this thread if nobody runs the connection, else by its task.
    /// Does not wait. If it is known what this thread does next, nobody else needs to be woken for
    /// the request that it will find then.
    fn take_letters_here(&self, then: Option<Then>);
}

/// Holds a connection until its task has ended.
pub(crate) struct Seat<S, C, F: 'static> {
    mailbox: Arc<Mailbox<F>>,
    common: Arc<Common<F>>,
    /// The lock of the mailbox, the channel and the budgets come after its own.
    connection: Chair<Connection<S, C, F>>,
    /// The task is handling requests of the connection, and will look for another one.
    handles_here: AtomicBool,
}

impl<S, C, F> Seat<S, C, F>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    C: Clock,
    F: DiskFile,
{
    /// A seat for the connection that `connection` makes, which must not use it yet.
    pub(crate) fn new(
        mailbox: &Arc<Mailbox<F>>,
        common: &Arc<Common<F>>,
        connection: impl FnOnce(Weak<dyn Deliver<F>>) -> Connection<S, C, F>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|seat: &Weak<Self>| Self {
            mailbox: Arc::clone(mailbox),
            common: Arc::clone(common),
            connection: Chair::new(connection(seat.clone())),
            handles_here: AtomicBool::new(false),
        })
    }

    /// Runs the connection until it ends, and says why it did and, for one that has finished, how
    /// to close it. To be called once. Where the future is dropped before, the connection is closed.
    pub(crate) async fn run(self: Arc<Self>) -> (End, Option<Linger<S>>) {
        let taken = Taken(&self);
        let end = poll_fn(|context| taken.0.poll(context)).await;
        (end, taken.take())
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<End> {
        let run = |it: &mut Connection<_, _, _>| (it.poll(context), it.take_afterwards());
        let Some((outcome, afterwards)) = self.connection.run(run) else {
            return Poll::Pending;
        };
        self.common.channel.announce(afterwards.unannounced);
        if afterwards.is_end_untold {
            let context = self.mailbox.context();
            self.mailbox.observer().input_ended(context);
        }
        if let Err(end) = outcome {
            return Poll::Ready(end);
        }
        if let Some(received) = afterwards.here {
            self.handles_here.store(true, Ordering::Relaxed);
            self.handle_here(received, context);
            self.handles_here.store(false, Ordering::Relaxed);
        }
        Poll::Pending
    }

    /// Handles a request, and those that follow it, as far as they are to be handled here.
    fn handle_here(&self, received: Received<F>, context: &Context<'_>) {
        let Some(inline) = self.common.inline.get() else {
            unreachable!("nothing is to be handled here without it");
        };
        inline.handle(received, || self.mailbox.now());
        for _ in 1..HANDLED_MAX {
            let Some(received) = self.take_here() else {
                return;
            };
            inline.handle(received, || self.mailbox.now());
        }
        context.waker().wake_by_ref();
    }

    /// The next request that is to be handled here. If somebody runs the connection, the task
    /// will be woken after that.
    fn take_here(&self) -> Option<Received<F>> {
        self.connection.run(Connection::take_here).flatten()
    }
}

impl<S, C, F> Deliver<F> for Seat<S, C, F>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    C: Clock,
    F: DiskFile,
{
    fn mailbox(&self) -> &Mailbox<F> {
        &self.mailbox
    }

    fn take_letters_here(&self, then: Option<Then>) {
        let Some(waker) = self.mailbox.waker() else {
            return;
        };
        let mut context = Context::from_waker(&waker);
        // On this thread: so it is within the handling, which then looks for another one.
        let goes_on_here =
            then == Some(Then::GoesOnHere) && self.handles_here.load(Ordering::Relaxed);
        let ran = self.connection.try_run(|connection| {
            let poll = || connection.poll_letters(goes_on_here, &mut context);
            // This thread has a request of its own to see to. The task ends what is broken now.
            let needs_task = catch_unwind(AssertUnwindSafe(poll)).unwrap_or_else(|_| {
                connection.break_off();
                true
            });
            (needs_task, connection.take_unannounced())
        });
        let (needs_task, unannounced) = ran.unwrap_or((true, 0));
        // The lock is free again: the task that was turned away gets it now.
        if self.connection.was_turned_away() || needs_task {
            waker.wake();
        }
        let taken_by_me = usize::from(then == Some(Then::TakesAnother));
        self.common
            .channel
            .announce(unannounced.saturating_sub(taken_by_me));
    }
}

/// Takes the connection out of its seat, when it is dropped at the latest, however that comes about.
struct Taken<'a, S, C, F>(&'a Seat<S, C, F>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    C: Clock,
    F: DiskFile;

impl<S, C, F> Taken<'_, S, C, F>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    C: Clock,
    F: DiskFile,
{
    fn take(&self) -> Option<Linger<S>> {
        let connection = self.0.connection.take();
        connection.and_then(Connection::close_accounts)
    }
}

impl<S, C, F> Drop for Taken<'_, S, C, F>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    C: Clock,
    F: DiskFile,
{
    fn drop(&mut self) {
        drop(self.take());
    }
}
