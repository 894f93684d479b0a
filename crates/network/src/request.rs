//! [`Received`]: a request with the means to answer it.

use std::sync::Arc;
use std::time::Instant;

use klamm_wire::RequestFrame;

use crate::context::ConnectionContext;
use crate::responder::Responder;

/// A request as a handler gets it.
///
/// Dropping it unanswered closes its connection.
#[derive(Debug)]
pub struct Received<F> {
    /// What is asked.
    pub request: Request,
    /// How to answer.
    pub responder: Responder<F>,
}

/// What is asked, by whom, since when.
#[derive(Debug, Clone)]
pub struct Request {
    /// Header and body. The header has been read and is of a version that the listener serves; the
    /// body has not been looked at, and one that cannot be read is for the handler to answer with
    /// [`Responder::close`].
    pub frame: RequestFrame,
    /// The connection it came by.
    pub context: Arc<ConnectionContext>,
    /// When its last byte had been read.
    pub received_at: Instant,
    /// Bytes of the frame, without the four of its size.
    pub size: usize,
}

impl Request {
    /// How the client calls itself; empty if it does not (NE-007).
    pub fn client_id(&self) -> &str {
        self.frame.header.client_id.as_deref().unwrap_or("")
    }
}
