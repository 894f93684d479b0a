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
/// ended is thrown away, and its files are closed. Dropped unanswered, it closes the connection,
/// unless a panic of its handler has come upon it (see [`Handler`](crate::Handler)).
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

/// Whether whoever asked is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Peer {
    /// As far as is known.
    Open,
    /// It has closed its side, or all of the connection, which looks the same, or the server is
    /// about to stop: it gets its answers, and no more requests are taken from it.
    SendsNoMore,
    /// The connection has ended, and answers go nowhere.
    Gone,
}

/// What the thread that handles a request is certain to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// It takes the next request from the channel.
    TakesAnother,
    /// It runs the connection, and handles its next request if that may be handled there.
    GoesOnHere,
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
                thread: None,
                turn,
                stages,
                lease: None,
                is_spare: false,
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

    /// Notes what this thread is certain to do when it has handled the request.
    pub(crate) fn taken_by(&mut self, then: Then) {
        self.ticket.thread = Some((thread::current().id(), then));
    }

    /// Another right to settle the request, for the case that a panic comes upon this one. Of two
    /// answers the first counts.
    pub(crate) fn spare(&self) -> Spare<F> {
        let Ticket {
            connection,
            thread,
            turn,
            stages,
            ..
        } = &self.ticket;
        Spare {
            connection: connection.clone(),
            thread: *thread,
            turn: *turn,
            stages: *stages,
        }
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
                connection.take_letters_here(ticket.then());
            }
        }
        ParkedResponder { ticket }
    }
}

impl<F> ParkedResponder<F> {
    /// Whether whoever asked is still there.
    pub fn peer(&self) -> Peer {
        let connection = self.ticket.connection.as_ref();
        connection.map_or(Peer::Gone, |it| it.mailbox().peer())
    }

    /// The number of the connection, see [`ConnectionId`](crate::ConnectionId).
    pub fn connection_index(&self) -> Option<u64> {
        let connection = self.ticket.connection.as_ref();
        connection.map(|it| it.mailbox().context().id.index)
    }
}

/// The ways out, which both kinds of responders have.
macro_rules! ways_out {
    ($responder:ident) => {
        impl<F> $responder<F> {
            /// Sends a response, when the answers to the earlier requests of the connection have
            /// been.
            pub fn send(self, response: Response<F>) {
                self.ticket.settle(Outcome::Answer(response), None);
            }

            /// As [`Self::send`], and takes no further request of the connection for so long from
            /// now.
            pub fn send_throttled(self, response: Response<F>, throttle: Duration) {
                self.ticket
                    .settle(Outcome::Answer(response), Some(throttle));
            }

            /// Sends nothing, as a produce request with `acks=0` wants it; the connection goes on.
            pub fn nothing(self) {
                self.ticket.settle(Outcome::Nothing, None);
            }

            /// As [`Self::nothing`], and takes no further request of the connection for so long
            /// from now.
            pub fn nothing_throttled(self, throttle: Duration) {
                self.ticket.settle(Outcome::Nothing, Some(throttle));
            }

            /// Closes the connection, after the answers to its earlier requests have been sent. No
            /// later request is handed out or answered.
            pub fn close(self) {
                self.ticket.settle(Outcome::Close, None);
            }
        }
    };
}

ways_out!(Responder);
ways_out!(ParkedResponder);

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
    /// The thread that handles the request, if it is known what it does after it.
    thread: Option<(ThreadId, Then)>,
    turn: Turn,
    stages: Stages,
    /// The memory of the request, until the handler is done with it.
    lease: Option<Lease>,
    /// The handler has panicked, and what it had may have settled the request.
    is_spare: bool,
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
        let settlement = Settlement {
            outcome,
            stages,
            is_after_panic: self.is_spare,
        };
        let letter = Letter::Settled(self.turn, settlement);
        if self.is_parked {
            // Whoever answers may have many to answer, or a request of its own.
            mailbox.post(letter);
        } else if mailbox.leave(letter) {
            connection.take_letters_here(self.then());
        }
    }

    /// What this thread does next, if that is known.
    fn then(&self) -> Option<Then> {
        let (thread, then) = self.thread?;
        (thread == thread::current().id()).then_some(then)
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
        // Whoever catches the panic of a handler has a spare one, and says how the request ends.
        if !self.is_parked && thread::panicking() && self.then().is_some() {
            return;
        }
        self.post(Outcome::Close, None);
    }
}

/// What is left of a [`Responder`] whose handler has panicked. Dropped, it does nothing.
pub(crate) struct Spare<F> {
    connection: Option<Arc<dyn Deliver<F>>>,
    thread: Option<(ThreadId, Then)>,
    turn: Turn,
    stages: Stages,
}

impl<F> Spare<F> {
    /// Sends a response.
    pub(crate) fn send(self, response: Response<F>) {
        self.settle(Outcome::Answer(response));
    }

    /// Closes the connection.
    pub(crate) fn close(self) {
        self.settle(Outcome::Close);
    }

    fn settle(self, outcome: Outcome<Response<F>>) {
        let ticket = Ticket {
            connection: self.connection,
            is_parked: false,
            thread: self.thread,
            turn: self.turn,
            stages: self.stages,
            lease: None,
            is_spare: true,
        };
        ticket.settle(outcome, None);
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
