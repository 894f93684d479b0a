//! [`Seat`]: where a connection is run, by its task or by a handler that has an answer for it.
//!
//! Waking the task for every answer would cost a request one more change of threads. So a handler
//! that has left a letter runs the connection itself, for as much as the letter asks for, unless
//! somebody else is running it. Nobody ever waits for the connection: who finds it taken sees to
//! it that the task is run afterwards.
//!
//! A request of a quiet connection so costs one wake-up, of a handler's thread.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use klamm_io::{Clock, DiskFile};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::connection::Connection;
use crate::end::End;
use crate::mailbox::Mailbox;
use crate::request_channel::RequestChannel;

/// A connection for whoever answers its requests.
pub(crate) trait Deliver<F>: Send + Sync {
    /// Where to leave a letter.
    fn mailbox(&self) -> &Mailbox<F>;

    /// Has the letters taken, on this thread if nobody runs the connection, else by its task.
    /// Does not wait.
    fn take_letters_here(&self);
}

/// Holds a connection until its task has ended.
pub(crate) struct Seat<S, C, F: 'static> {
    mailbox: Arc<Mailbox<F>>,
    channel: RequestChannel<F>,
    /// Held while the connection is run, and only ever tried, except to take an ended connection
    /// out. The lock of the mailbox, the channel and the budgets come after it.
    connection: Mutex<Option<Connection<S, C, F>>>,
    /// The task has found the connection taken, and is to be woken.
    was_turned_away: AtomicBool,
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
        channel: RequestChannel<F>,
        connection: impl FnOnce(Weak<dyn Deliver<F>>) -> Connection<S, C, F>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|seat: &Weak<Self>| Self {
            mailbox: Arc::clone(mailbox),
            channel,
            connection: Mutex::new(Some(connection(seat.clone()))),
            was_turned_away: AtomicBool::new(false),
        })
    }

    /// Runs the connection until it ends, and says why it did. To be called once. Where the
    /// future is dropped before, the connection is closed.
    pub(crate) async fn run(self: Arc<Self>) -> End {
        let taken = Taken(&self);
        poll_fn(|context| taken.0.poll(context)).await
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<End> {
        // The second attempt is for a handler that was done before it could see the note.
        for _ in 0..2 {
            let Some((outcome, unannounced)) = self.try_run(|connection| connection.poll(context))
            else {
                self.was_turned_away.store(true, Ordering::SeqCst);
                continue;
            };
            self.channel.announce(unannounced);
            return match outcome {
                Ok(()) => Poll::Pending,
                Err(end) => Poll::Ready(end),
            };
        }
        Poll::Pending
    }

    /// Runs the connection, if nobody else does and it is there; also returns how many requests
    /// are to be announced.
    fn try_run<T>(&self, run: impl FnOnce(&mut Connection<S, C, F>) -> T) -> Option<(T, usize)> {
        let mut connection = self.connection.try_lock()?;
        let connection = connection.as_mut()?;
        let outcome = run(connection);
        Some((outcome, connection.take_unannounced()))
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

    fn take_letters_here(&self) {
        let Some(waker) = self.mailbox.waker() else {
            return;
        };
        let mut context = Context::from_waker(&waker);
        let ran = self.try_run(|connection| connection.poll_letters(&mut context));
        let (needs_task, unannounced) = ran.unwrap_or((true, 0));
        // The lock is free again: the task that was turned away gets it now.
        if self.was_turned_away.swap(false, Ordering::SeqCst) || needs_task {
            waker.wake();
        }
        self.channel.announce(unannounced);
    }
}

/// Takes the connection out of its seat when it is dropped, however that comes about.
struct Taken<'a, S, C, F>(&'a Seat<S, C, F>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    C: Clock,
    F: DiskFile;

impl<S, C, F> Drop for Taken<'_, S, C, F>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    C: Clock,
    F: DiskFile,
{
    fn drop(&mut self) {
        let connection = self.0.connection.lock().take();
        if let Some(connection) = connection {
            connection.close_accounts();
        }
    }
}
