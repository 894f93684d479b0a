//! [`Handler`]: what is done with a request.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tracing::error;

use crate::request::{Received, Request};

/// Takes requests and sees to it that they are answered.
///
/// Called on the threads of a [`HandlerPool`](crate::HandlerPool), and for
/// [quick](Self::is_quick) requests on those of the network; from several at a time, but never for
/// two requests of one connection of which the first has been neither answered nor parked. It may
/// block, at the price of a thread that serves nobody else meanwhile.
pub trait Handler<F>: Send + Sync + 'static {
    /// Answers the request, or parks its responder with whoever will.
    ///
    /// A panic closes the request's connection and is logged; the thread goes on.
    fn handle(&self, received: Received<F>);

    /// Whether a request is handled in so short a time that changing threads for it would take
    /// longer, and without a wait for a disk. Where the server was told of this handler (see
    /// [`Server::handle_quick_requests`](crate::Server::handle_quick_requests)), such a request
    /// may be handled on the thread of the network that has read it. Asked for each request, so
    /// it must not take long itself.
    fn is_quick(&self, request: &Request) -> bool {
        let _ = request;
        false
    }
}

impl<F, H> Handler<F> for H
where
    H: Fn(Received<F>) + Send + Sync + 'static,
{
    fn handle(&self, received: Received<F>) {
        self(received);
    }
}

/// Has a request handled. The panic hook has told where a panic came from; the responder, dropped
/// on the way, closes the connection.
pub(crate) fn handle_guarded<F: 'static>(handler: &dyn Handler<F>, received: Received<F>) {
    let (connection, key) = (received.request.context.id, received.request.frame.key);
    if catch_unwind(AssertUnwindSafe(|| handler.handle(received))).is_err() {
        error!(%connection, %key, "a handler panicked, the request's connection is closed");
    }
}
