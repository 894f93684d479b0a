//! [`Responder`]: the one answer to a request.

use std::fmt;
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use klamm_wire::ApiKey;

use crate::mailbox::{Letter, Settlement};
use crate::observer::CompletedRequest;
use crate::pipeline::{Outcome, Turn};
use crate::request_memory::Lease;
use crate::response::Response;
use crate::seat::Deliver;

/// Answers one request, once: every way out consumes it.
///
/// It belongs to the connection itself, not to an address: an answer for a connection that has
/// ended is thrown away, and its files are closed. Dropped unanswered, as by a panic, it closes
/// the connection.
///
/// The answer, if its turn has come, is written to the socket right here, as far as the socket
/// takes it, and with it a megabyte at most is read from files; so it belongs to the end of what a
/// handler does. No method waits for the socket, or for another thread.
#[must_use = "dropping it closes the connection"]
pub struct Responder<F> {
    ticket: Ticket<F>,
}

/// A [`Responder`] whose handler has returned; the same ways out. What it is given is sent by the
/// connection's task, so that whoever has many to answer is not held up by their sockets.
#[must_use = "dropping it closes the connection"]
pub struct ParkedResponder<F> {
    ticket: Ticket<F>,
}

/// What kind of request waits for its answer elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Parked {
    /// A produce request: its records are appended, so the connection's next request may be handed
    /// out meanwhile.
    Produce,
    /// Any other: it holds the connection until it is answered.
    Other,
}

impl<F> Responder<F> {
    pub(crate) const fn new(connection: Arc<dyn Deliver<F>>, turn: Turn, stages: Stages) -> Self {
        Self {
            ticket: Ticket {
                connection: Some(connection),
                is_parked: false,
                pool_thread: None,
                turn,
                stages,
                lease: None,
            },
        }
    }

    /// Keeps account of the request's memory until the handler is done with it.
    pub(crate) fn hold(&mut self, lease: Option<Lease>) {
        self.ticket.lease = lease;
    }

    /// Notes that a handler has it from now on.
    pub(crate) fn taken(&mut self) {
        if let Some(connection) = &self.ticket.connection {
            self.ticket.stages.taken_at = connection.mailbox().now();
        }
    }

    /// Notes that this thread, one of a pool, takes the next request when it has handled this one.
    pub(crate) fn taken_by_pool_thread(&mut self) {
        self.ticket.pool_thread = Some(thread::current().id());
    }

    /// Sends a response, when the answers to the earlier requests of the connection have been.
    pub fn send(self, response: Response<F>) {
        self.ticket.settle(Outcome::Answer(response), None);
    }

    /// As [`Self::send`], and takes no further request of the connection for so long from now.
    pub fn send_throttled(self, response: Response<F>, throttle: Duration) {
        self.ticket
            .settle(Outcome::Answer(response), Some(throttle));
    }

    /// Sends nothing, as a produce request with `acks=0` wants it; the connection goes on.
    pub fn nothing(self) {
        self.ticket.settle(Outcome::Nothing, None);
    }

    /// As [`Self::nothing`], and takes no further request of the connection for so long from now.
    pub fn nothing_throttled(self, throttle: Duration) {
        self.ticket.settle(Outcome::Nothing, Some(throttle));
    }

    /// Closes the connection, after the answers to its earlier requests have been sent. No later
    /// request is handed out or answered.
    pub fn close(self) {
        self.ticket.settle(Outcome::Close, None);
    }

    /// Lets the connection know that the handler returns without an answer, which will come from
    /// elsewhere. What the request's order stands for (its append) must have happened before.
    pub fn park(self, parked: Parked) -> ParkedResponder<F> {
        let mut ticket = self.ticket;
        ticket.lease = None;
        ticket.is_parked = true;
        if let Some(connection) = &ticket.connection {
            let mailbox = connection.mailbox();
            ticket.stages.parked_at = Some(mailbox.now());
            if mailbox.leave(Letter::Parked(ticket.turn, parked)) {
                connection.take_letters_here(false);
            }
        }
        ParkedResponder { ticket }
    }
}

impl<F> ParkedResponder<F> {
    /// See [`Responder::send`].
    pub fn send(self, response: Response<F>) {
        self.ticket.settle(Outcome::Answer(response), None);
    }

    /// See [`Responder::send_throttled`].
    pub fn send_throttled(self, response: Response<F>, throttle: Duration) {
        self.ticket
            .settle(Outcome::Answer(response), Some(throttle));
    }

    /// See [`Responder::nothing`].
    pub fn nothing(self) {
        self.ticket.settle(Outcome::Nothing, None);
    }

    /// See [`Responder::nothing_throttled`].
    pub fn nothing_throttled(self, throttle: Duration) {
        self.ticket.settle(Outcome::Nothing, Some(throttle));
    }

    /// See [`Responder::close`].
    pub fn close(self) {
        self.ticket.settle(Outcome::Close, None);
    }
}

impl<F> fmt::Debug for Responder<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ticket.describe("Responder", f)
    }
}

impl<F> fmt::Debug for ParkedResponder<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ticket.describe("ParkedResponder", f)
    }
}

/// The right to settle one request.
struct Ticket<F> {
    /// Taken by whoever settles; what is left when it is dropped closes the connection.
    connection: Option<Arc<dyn Deliver<F>>>,
    is_parked: bool,
    /// The thread that handles the request, if it is certain to take another one after it.
    pool_thread: Option<ThreadId>,
    turn: Turn,
    stages: Stages,
    /// The memory of the request, until the handler is done with it.
    lease: Option<Lease>,
}

impl<F> Ticket<F> {
    fn settle(mut self, outcome: Outcome<Response<F>>, throttle: Option<Duration>) {
        self.post(outcome, throttle);
    }

    fn post(&mut self, outcome: Outcome<Response<F>>, throttle: Option<Duration>) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        let mailbox = connection.mailbox();
        let mut stages = self.stages;
        stages.answered_at = Some(mailbox.now());
        stages.throttle = throttle.unwrap_or_default();
        let letter = Letter::Settled(self.turn, Settlement { outcome, stages });
        if self.is_parked {
            // Whoever answers may have many to answer, or a request of its own.
            mailbox.post(letter);
        } else if mailbox.leave(letter) {
            let thread = self.pool_thread;
            let comes_back = thread.is_some_and(|thread| thread == thread::current().id());
            connection.take_letters_here(comes_back);
        }
    }

    fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct(name);
        if let Some(connection) = &self.connection {
            shown.field("connection", &connection.mailbox().context().id);
        }
        shown.field("key", &self.stages.key).finish_non_exhaustive()
    }
}

impl<F> Drop for Ticket<F> {
    fn drop(&mut self) {
        self.post(Outcome::Close, None);
    }
}

/// When a request came to each of its stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stages {
    pub(crate) key: ApiKey,
    pub(crate) version: i16,
    pub(crate) request_bytes: usize,
    pub(crate) received_at: Instant,
    /// When a handler took it; `received_at` until then.
    pub(crate) taken_at: Instant,
    pub(crate) parked_at: Option<Instant>,
    pub(crate) answered_at: Option<Instant>,
    pub(crate) throttle: Duration,
}

impl Stages {
    pub(crate) const fn new(
        key: ApiKey,
        version: i16,
        request_bytes: usize,
        received_at: Instant,
    ) -> Self {
        Self {
            key,
            version,
            request_bytes,
            received_at,
            taken_at: received_at,
            parked_at: None,
            answered_at: None,
            throttle: Duration::ZERO,
        }
    }

    /// The account of a request whose answer began to be sent and was sent at these times; for
    /// one without an answer, or whose connection has ended, both are the present.
    pub(crate) fn completed(
        &self,
        response_bytes: usize,
        send_began: Instant,
        sent: Instant,
    ) -> CompletedRequest {
        let answered = self.answered_at.unwrap_or(send_began);
        let returned = self.parked_at.unwrap_or(answered);
        CompletedRequest {
            key: self.key,
            version: self.version,
            request_bytes: self.request_bytes,
            response_bytes,
            queue: self.taken_at.saturating_duration_since(self.received_at),
            local: returned.saturating_duration_since(self.taken_at),
            remote: answered.saturating_duration_since(returned),
            response_queue: send_began.saturating_duration_since(answered),
            send: sent.saturating_duration_since(send_began),
            throttle: self.throttle,
        }
    }
}
