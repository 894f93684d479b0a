//! [`Handler`]: what is done with a request.

use crate::request::Received;

/// Takes requests and sees to it that they are answered.
///
/// Called on the threads of a [`HandlerPool`](crate::HandlerPool), from several at a time, but never
/// for two requests of one connection of which the first has been neither answered nor parked.
/// It may block, at the price of a thread that serves nobody else meanwhile.
pub trait Handler<F>: Send + Sync + 'static {
    /// Answers the request, or parks its responder with whoever will.
    ///
    /// A panic closes the request's connection and is logged; the thread goes on.
    fn handle(&self, received: Received<F>);
}

impl<F, H> Handler<F> for H
where
    H: Fn(Received<F>) + Send + Sync + 'static,
{
    fn handle(&self, received: Received<F>) {
        self(received);
    }
}
