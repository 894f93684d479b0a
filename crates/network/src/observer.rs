//! [`Observer`]: who is told of what happened, for metrics, quotas and clean-up.

use std::time::Duration;

use klamm_wire::ApiKey;

use crate::context::ConnectionContext;

/// Told of connections that came and went and of requests that are done with.
///
/// Called on the network's tasks, so it must neither block nor take long. Everything has an empty
/// default.
pub trait Observer: Send + Sync + 'static {
    /// A connection is open: its requests will carry this context.
    fn connection_opened(&self, context: &ConnectionContext) {
        let _ = context;
    }

    /// No more requests come over a connection: its peer has closed its side, or all of the
    /// connection, or the server is [about to stop](crate::Server::finish). What was asked for is
    /// still answered, then the connection ends. May be told twice.
    fn input_ended(&self, context: &ConnectionContext) {
        let _ = context;
    }

    /// A connection has ended, for whatever reason. Told once for each that was opened.
    fn connection_closed(&self, context: &ConnectionContext) {
        let _ = context;
    }

    /// A connection was accepted and is not served: its address has too many, or makes them too
    /// fast.
    fn connection_refused(&self, context: &ConnectionContext) {
        let _ = context;
    }

    /// A connection that was refused is kept open for a while without being served, so that its
    /// address does not come back at once. It takes a file descriptor meanwhile.
    fn connection_held(&self, context: &ConnectionContext) {
        let _ = context;
    }

    /// A connection that was held is closed. Told once for each.
    fn held_connection_closed(&self, context: &ConnectionContext) {
        let _ = context;
    }

    /// A request is done with: its answer has left, or none was due, or its connection is gone.
    fn request_completed(&self, context: &ConnectionContext, request: &CompletedRequest) {
        let _ = (context, request);
    }
}

/// An [`Observer`] that looks away.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// Where a request spent its time (B2.7). A stage that it did not reach took none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletedRequest {
    /// Which request it was.
    pub key: ApiKey,
    /// Its version.
    pub version: i16,
    /// Bytes of its frame.
    pub request_bytes: usize,
    /// Bytes of its response, 0 for none.
    pub response_bytes: usize,
    /// From its last byte having been read until a handler took it.
    pub queue: Duration,
    /// With the handler.
    pub local: Duration,
    /// Parked.
    pub remote: Duration,
    /// From the answer having been given until its turn to be sent.
    pub response_queue: Duration,
    /// From then until its last byte had gone to the socket.
    pub send: Duration,
    /// For how long its connection was throttled with it.
    pub throttle: Duration,
}

impl CompletedRequest {
    /// All stages together.
    pub fn total(&self) -> Duration {
        self.queue + self.local + self.remote + self.response_queue + self.send
    }
}
