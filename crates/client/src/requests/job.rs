//! [`Job`]: a request of any kind that waits for its node, then for its answer.

use std::fmt;
use std::time::Instant;

use klamm_wire::Request;
use tokio::sync::oneshot;

use super::{RequestFailure, Target};
use crate::answer::{Answer, AnswerError, Failure, RequestId, SendOptions};
use crate::backoff::FOREVER;
use crate::network_client::NetworkClient;
use crate::node::NodeId;

/// A request without its type.
pub(super) trait Job: Send + fmt::Debug {
    /// Sends it if its node is ready.
    fn step(&mut self, now: Instant, client: &mut NetworkClient) -> Step;

    /// Tells whoever waits.
    fn finish(self: Box<Self>, outcome: Result<Answer, RequestFailure>);
}

/// What became of trying to send a request.
#[derive(Debug)]
pub(super) enum Step {
    Sent(RequestId),
    /// To be tried again after events, or then.
    Wait(Instant),
    Fail(RequestFailure),
}

type Reply<R> = oneshot::Sender<Result<<R as Request>::Response, RequestFailure>>;

/// A request with its type.
pub(super) struct Typed<R: Request> {
    target: Target,
    request: R,
    options: SendOptions,
    reply: Reply<R>,
    /// Set by the first try.
    deadline: Option<Instant>,
    /// The named node that is being connected to for this.
    connecting: Option<NodeId>,
}

impl<R: Request> Typed<R> {
    pub(super) const fn new(
        target: Target,
        request: R,
        options: SendOptions,
        reply: Reply<R>,
    ) -> Self {
        Self {
            target,
            request,
            options,
            reply,
            deadline: None,
            connecting: None,
        }
    }

    fn node(&self, now: Instant, client: &mut NetworkClient) -> Option<NodeId> {
        match self.target {
            Target::Node(node) => Some(node),
            Target::LeastLoaded => client.least_loaded(now).ok()?.node,
            Target::Controller => {
                let cluster = client.metadata().cluster();
                cluster.controller().map(|node| node.id)
            }
        }
    }

    /// Why it makes no sense to wait for the node that was named.
    fn hopeless(&self, node: NodeId, client: &NetworkClient) -> Option<RequestFailure> {
        if self.target == Target::LeastLoaded {
            return None;
        }
        if let Some(reason) = client.authentication_error(node) {
            let failure = Failure::Authentication(reason.clone());
            return Some(AnswerError::from(failure).into());
        }
        let lost = self.connecting == Some(node) && client.connection_failed(node);
        lost.then_some(RequestFailure::Unreachable(node))
    }
}

impl<R: Request> Job for Typed<R> {
    fn step(&mut self, now: Instant, client: &mut NetworkClient) -> Step {
        let timeout = self.options.timeout;
        let timeout = timeout.unwrap_or(client.config().request_timeout);
        let deadline = *self.deadline.get_or_insert(now + timeout.min(FOREVER));
        if now >= deadline {
            return Step::Fail(RequestFailure::NotReady);
        }
        if self.reply.is_closed() {
            return Step::Fail(RequestFailure::Closed);
        }
        let Some(node) = self.node(now, client) else {
            return Step::Wait(deadline);
        };
        if let Some(failure) = self.hopeless(node, client) {
            return Step::Fail(failure);
        }
        if !client.ready(node, now) {
            if !client.connection_failed(node) {
                self.connecting = Some(node);
            }
            let delay = client.poll_delay(node, now);
            let again = delay.filter(|delay| !delay.is_zero());
            return Step::Wait(again.map_or(deadline, |delay| deadline.min(now + delay)));
        }
        match client.send(node, &self.request, self.options, now) {
            Ok(id) => Step::Sent(id),
            Err(_) => Step::Wait(deadline),
        }
    }

    fn finish(self: Box<Self>, outcome: Result<Answer, RequestFailure>) {
        let response = outcome.and_then(|answer| {
            if self.options.no_response && answer.outcome.is_ok() {
                // Nothing will come; what there is to say is that it was written.
                return Ok(R::Response::default());
            }
            Ok(answer.decode::<R>()?)
        });
        // Nobody may wait any more.
        let _ = self.reply.send(response);
    }
}

impl<R: Request> fmt::Debug for Typed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Typed")
            .field("target", &self.target)
            .field("key", &R::KEY)
            .finish_non_exhaustive()
    }
}
