//! [`Handler`]: what is done with a request.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::request::{Received, Request};
use crate::response::Response;

/// Takes requests and sees to it that they are answered.
///
/// Called on the threads of a [`HandlerPool`](crate::HandlerPool), and for
/// [quick](Self::is_quick) requests on those of the network; from several at a time, but never for
/// two requests of one connection of which the first has been neither answered nor parked. It may
/// block, at the price of a thread that serves nobody else meanwhile.
pub trait Handler<F>: Send + Sync + 'static {
    /// Answers the request, or parks its responder with whoever will.
    ///
    /// A panic is logged, and the thread goes on; unless the request had ended before, it ends as
    /// [`Self::after_panic`] says.
    fn handle(&self, received: Received<F>);

    /// The answer to a request at which [`Self::handle`] has panicked; without one the request's
    /// connection is closed.
    fn after_panic(&self, request: &Request) -> Option<Response<F>> {
        let _ = request;
        None
    }

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

/// Has a request handled on a thread that has [taken](crate::Responder::taken_by) it. What a panic
/// comes to is known, and logged, where it is known whether the request had ended before.
pub(crate) fn handle_guarded<F: 'static>(handler: &dyn Handler<F>, received: Received<F>) {
    let (request, spare) = (received.request.clone(), received.responder.spare());
    if catch_unwind(AssertUnwindSafe(|| handler.handle(received))).is_ok() {
        return;
    }
    let answer = catch_unwind(AssertUnwindSafe(|| handler.after_panic(&request)));
    match answer {
        Ok(Some(response)) => spare.send(response),
        Ok(None) | Err(_) => spare.close(),
    }
}
