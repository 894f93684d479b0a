//! [`Call`]: a request on its way through a handler, and its answer on the way back.

use std::error::Error;

use klamm_controller::ControllerError;
use klamm_io::FileRange;
use klamm_network::{Parked, ParkedResponder, Peer, Received, Responder, Response};
use klamm_wire::header::CorrelationId;
use klamm_wire::{ApiKey, Encoded, RequestFrame, encode_response};
use tracing::{debug, error, info};

/// A request that is with a handler. Every way out of a handler consumes it.
#[must_use = "dropping it closes the connection"]
pub(crate) struct Call<F> {
    pub(crate) request: klamm_network::Request,
    responder: Responder<F>,
}

/// A request that is answered from elsewhere, its body let go.
#[must_use = "dropping it closes the connection"]
pub(crate) struct ParkedCall<F> {
    pub(crate) head: Head,
    responder: ParkedResponder<F>,
}

/// What of a request is needed to answer it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) key: ApiKey,
    pub(crate) version: i16,
    correlation_id: CorrelationId,
}

impl Head {
    fn of(frame: &RequestFrame) -> Self {
        Self {
            key: frame.key,
            version: frame.version(),
            correlation_id: frame.header.correlation_id,
        }
    }

    /// Encodes an answer; `None` if that cannot be, which is this broker's own mistake.
    fn encode<M: klamm_wire::Response>(self, answer: &M) -> Option<Encoded> {
        match encode_response(self.correlation_id, answer, self.version) {
            Ok(encoded) => Some(encoded),
            Err(error) => {
                let (key, version, error) = (self.key, self.version, &error as &dyn Error);
                error!(%key, version, error, "answer cannot be written, closing the connection");
                None
            }
        }
    }
}

impl<F> Call<F> {
    pub(crate) fn new(received: Received<F>) -> Self {
        Self {
            request: received.request,
            responder: received.responder,
        }
    }

    pub(crate) fn version(&self) -> i16 {
        self.request.frame.version()
    }

    /// The name of the listener that it came by.
    pub(crate) fn listener(&self) -> &str {
        self.request.context.listener.as_str()
    }

    /// Reads the body. A body that cannot be read ends its connection, as there is no telling what
    /// the client meant; `None` is then all there is.
    pub(crate) fn decode<R: klamm_wire::Request>(self) -> Option<(Self, R)> {
        match self.request.frame.decode() {
            Ok(request) => Some((self, request)),
            Err(error) => {
                info!(
                    key = %self.request.frame.key,
                    version = self.version(),
                    client_id = self.request.client_id(),
                    connection = %self.request.context.id,
                    error = &error as &dyn Error,
                    "request cannot be read, its connection is closed"
                );
                self.responder.close();
                None
            }
        }
    }

    /// Answers.
    pub(crate) fn answer<M: klamm_wire::Response>(self, answer: &M) {
        self.answer_with_files(answer, Vec::new());
    }

    /// Answers with ranges of files in the place of records that are elsewhere.
    pub(crate) fn answer_with_files<M: klamm_wire::Response>(
        self,
        answer: &M,
        files: Vec<FileRange<F>>,
    ) {
        match Head::of(&self.request.frame).encode(answer) {
            Some(encoded) => self.responder.send(Response::with_files(encoded, files)),
            None => self.responder.close(),
        }
    }

    /// Ends the request without an answer, as `acks=0` wants it.
    pub(crate) fn answer_nothing(self) {
        self.responder.nothing();
    }

    /// Closes the connection.
    pub(crate) fn close(self) {
        self.responder.close();
    }

    /// Lets the request wait. Whatever is kept of it must not hold on to its bytes.
    pub(crate) fn park(self, parked: Parked) -> ParkedCall<F> {
        ParkedCall {
            head: Head::of(&self.request.frame),
            responder: self.responder.park(parked),
        }
    }
}

impl<F> ParkedCall<F> {
    /// The number of the connection that it came by.
    pub(crate) fn connection_index(&self) -> Option<u64> {
        self.responder.connection_index()
    }

    /// Whether whoever asked is still there.
    pub(crate) fn peer(&self) -> Peer {
        self.responder.peer()
    }

    /// Answers.
    pub(crate) fn answer<M: klamm_wire::Response>(self, answer: &M) {
        self.answer_with_files(answer, Vec::new());
    }

    /// Answers with ranges of files in the place of records that are elsewhere.
    pub(crate) fn answer_with_files<M: klamm_wire::Response>(
        self,
        answer: &M,
        files: Vec<FileRange<F>>,
    ) {
        match self.head.encode(answer) {
            Some(encoded) => self.responder.send(Response::with_files(encoded, files)),
            None => self.responder.close(),
        }
    }
}

/// Notes why the controller did not do what a client asked for; the client is told by a code.
pub(crate) fn note_refusal(key: ApiKey, error: &ControllerError) {
    debug!(%key, error = error as &dyn Error, "the controller did not take a request");
}
