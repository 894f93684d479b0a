//! [`Requests`]: a handle by which anybody sends a request and awaits its response.

mod job;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use klamm_wire::Request;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use self::job::{Job, Step, Typed};
use crate::answer::{Answer, AnswerError, RequestId, SendOptions};
use crate::guest::Guest;
use crate::network_client::NetworkClient;
use crate::node::NodeId;
use crate::task::ClientHandle;

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
    /// No node was ready within the request's time. Nothing was sent.
    #[error("no node was ready for the request within its time")]
    NotReady,
    /// The node that was named could not be connected to. Nothing was sent.
    #[error("node {0} cannot be connected to")]
    Unreachable(NodeId),
    /// It was sent, or could not be, and there is no response.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The client's task has ended.
    #[error("the client is closed")]
    Closed,
}

/// Requests that may be handed over before the task has looked at them.
const QUEUE_MAX: usize = 256;

/// Sends requests and awaits their responses; a clone shares the client.
#[derive(Debug, Clone)]
pub struct Requests {
    queue: mpsc::Sender<Box<dyn Job>>,
    handle: Arc<OnceLock<ClientHandle>>,
}

impl Requests {
    /// A handle, and the guest that serves it beside another one (`()` for none): the guest goes
    /// to [`ClientTask::spawn`](crate::ClientTask::spawn).
    pub fn beside<G: Guest>(guest: G) -> (Self, RequestsGuest<G>) {
        let (queue, arriving) = mpsc::channel(QUEUE_MAX);
        let handle = Arc::new(OnceLock::new());
        let served = RequestsGuest {
            guest,
            arriving,
            handle: handle.clone(),
            waiting: VecDeque::new(),
            sent: HashMap::new(),
        };
        (Self { queue, handle }, served)
    }

    /// Sends a request as soon as its node is ready, and awaits the response.
    ///
    /// The request's time (`options.timeout`, else `request.timeout.ms`) bounds the wait for the
    /// node and, once more, that for the answer. A dropped future is a request that nobody waits
    /// for; it may be sent all the same.
    ///
    /// # Errors
    /// [`RequestFailure`]. A named node that cannot be connected to fails it at once, and so does
    /// one that refuses who we are; any other node is tried until the time is over.
    pub async fn send<R: Request>(
        &self,
        target: Target,
        request: R,
        options: SendOptions,
    ) -> Result<R::Response, RequestFailure> {
        let (reply, response) = oneshot::channel();
        let job = Box::new(Typed::new(target, request, options, reply));
        let queued = self.queue.send(job).await;
        queued.map_err(|_| RequestFailure::Closed)?;
        if let Some(handle) = self.handle.get() {
            handle.wake();
        }
        response.await.unwrap_or(Err(RequestFailure::Closed))
    }
}

/// Serves [`Requests`], and lets another guest have its turns.
#[derive(Debug)]
pub struct RequestsGuest<G> {
    guest: G,
    arriving: mpsc::Receiver<Box<dyn Job>>,
    handle: Arc<OnceLock<ClientHandle>>,
    /// Those whose node is not ready yet, in the order in which they came.
    waiting: VecDeque<Box<dyn Job>>,
    sent: HashMap<RequestId, Box<dyn Job>>,
}

impl<G> RequestsGuest<G> {
    /// The other guest.
    pub const fn guest(&self) -> &G {
        &self.guest
    }

    /// The other guest, taken out.
    pub fn into_guest(self) -> G {
        self.guest
    }

    /// Nothing will be sent any more.
    fn end(&mut self) {
        self.arriving.close();
        while let Ok(job) = self.arriving.try_recv() {
            self.waiting.push_back(job);
        }
        for job in self.waiting.drain(..) {
            job.finish(Err(RequestFailure::Closed));
        }
        self.sent.clear();
    }

    /// Goes over those that wait; returns when to do so again.
    fn send_waiting(&mut self, now: Instant, client: &mut NetworkClient) -> Option<Instant> {
        while let Ok(job) = self.arriving.try_recv() {
            self.waiting.push_back(job);
        }
        let mut next: Option<Instant> = None;
        for _ in 0..self.waiting.len() {
            let Some(mut job) = self.waiting.pop_front() else {
                break;
            };
            match job.step(now, client) {
                Step::Sent(id) => {
                    self.sent.insert(id, job);
                }
                Step::Wait(until) => {
                    next = Some(next.map_or(until, |next| next.min(until)));
                    self.waiting.push_back(job);
                }
                Step::Fail(failure) => job.finish(Err(failure)),
            }
        }
        next
    }
}

impl<G: Guest> Guest for RequestsGuest<G> {
    fn started(&mut self, handle: &ClientHandle) {
        self.guest.started(handle);
        // A guest is started once.
        let _ = self.handle.set(handle.clone());
    }

    fn turn(&mut self, now: Instant, client: &mut NetworkClient) -> Option<Instant> {
        if client.is_closed() {
            self.end();
            return self.guest.turn(now, client);
        }
        let ours = self.send_waiting(now, client);
        let theirs = self.guest.turn(now, client);
        [ours, theirs].into_iter().flatten().min()
    }

    fn answered(&mut self, now: Instant, answer: Answer, client: &mut NetworkClient) {
        match self.sent.remove(&answer.id) {
            Some(job) => job.finish(Ok(answer)),
            None => self.guest.answered(now, answer, client),
        }
    }
}
