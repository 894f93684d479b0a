//! [`Requests`]: a handle by which anybody sends a request and awaits its response.

use std::time::Instant;

use klamm_wire::Request;
use thiserror::Error;

use crate::answer::{Answer, AnswerError, SendOptions};
use crate::guest::Guest;
use crate::network_client::NetworkClient;
use crate::node::NodeId;

/// To whom a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// This node.
    Node(NodeId),
    /// Whichever node has the least to do.
    LeastLoaded,
    /// The node that takes what is meant for the controller, as soon as it is known.
    Controller,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestFailure {
    /// The node did not become ready within the request's time. Nothing was sent.
    #[error("no node was ready for the request within its time")]
    NotReady,
    /// It was sent, or could not be, and there is no response.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The client's task has ended.
    #[error("the client is closed")]
    Closed,
}

/// Sends requests and awaits their responses; a clone shares the client.
#[derive(Debug, Clone)]
pub struct Requests {}

impl Requests {
    /// A handle, and the guest that serves it beside another one (`()` for none): the guest goes
    /// to [`ClientTask::spawn`](crate::ClientTask::spawn).
    pub fn beside<G: Guest>(guest: G) -> (Self, RequestsGuest<G>) {
        (Self {}, RequestsGuest { guest })
    }

    /// Sends a request as soon as its node is ready, and awaits the response.
    ///
    /// The request's time (`options.timeout`, else `request.timeout.ms`) bounds the wait for the
    /// node and, once more, that for the answer. A dropped future is a request that nobody waits
    /// for; it may be sent all the same.
    ///
    /// # Errors
    /// [`RequestFailure`].
    pub async fn send<R: Request>(
        &self,
        target: Target,
        request: R,
        options: SendOptions,
    ) -> Result<R::Response, RequestFailure> {
        unimplemented!("{target:?} {request:?} {options:?}")
    }
}

/// Serves [`Requests`], and lets another guest have its turns.
#[derive(Debug)]
pub struct RequestsGuest<G> {
    guest: G,
}

impl<G: Guest> Guest for RequestsGuest<G> {
    fn turn(&mut self, now: Instant, client: &mut NetworkClient) -> Option<Instant> {
        self.guest.turn(now, client)
    }

    fn answered(&mut self, now: Instant, answer: Answer, client: &mut NetworkClient) {
        self.guest.answered(now, answer, client);
    }
}
