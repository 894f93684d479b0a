//! [`NetworkClient`]: connections to nodes, requests in flight, and fresh metadata, as a core.

mod event;

use std::time::{Duration, Instant};

use klamm_wire::{ApiKey, Request, Versions};
use thiserror::Error;

use crate::answer::{NotReady, RequestId, SendOptions};
use crate::config::ClientConfig;
use crate::metadata::Metadata;
use crate::node::NodeId;

pub use self::event::{Action, ConnectionId, Event};

/// Connections to nodes, requests in flight and fresh metadata, without a socket or a clock.
///
/// A guest asks [`ready`](Self::ready), then [`send`](Self::send)s; a shell feeds
/// [`handle`](Self::handle) with what happened and does what it is told. (P6)
#[derive(Debug)]
pub struct NetworkClient {
    metadata: Metadata,
}

/// What [`NetworkClient::least_loaded`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeastLoaded {
    /// The node to send to, or to make ready; `None` if every node backs off or is busy.
    pub node: Option<NodeId>,
    /// Whether any connection is up at all, even if it takes no more requests now.
    pub any_connected: bool,
}

/// The list of nodes is empty, so none can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no node is known")]
pub struct NoNodes;

impl NetworkClient {
    /// A client without a connection. `seed` is for the jitter of backoffs and for the choice
    /// among equal nodes: the same seed, the same events at the same times give the same actions.
    pub fn new(config: ClientConfig, seed: u64, now: Instant) -> Self {
        Self {
            metadata: Metadata::new(&config, seed, now),
        }
    }

    /// Whether a request may be sent to a node now; if it has no connection, one is started.
    /// Never while a metadata refresh is due: that goes first.
    pub fn ready(&mut self, node: NodeId, now: Instant) -> bool {
        unimplemented!("{node}, {now:?}")
    }

    /// As [`Self::ready`], but nothing is started.
    pub fn is_ready(&self, node: NodeId, now: Instant) -> bool {
        unimplemented!("{node}, {now:?}")
    }

    /// How long until it makes sense to ask [`Self::ready`] again, by the connection alone: the
    /// rest of the backoff or of the time for the set-up; `None` if only an event will tell.
    pub fn connection_delay(&self, node: NodeId, now: Instant) -> Option<Duration> {
        unimplemented!("{node}, {now:?}")
    }

    /// As [`Self::connection_delay`]; for a node that is connected but throttled, the rest of
    /// the throttle time.
    pub fn poll_delay(&self, node: NodeId, now: Instant) -> Option<Duration> {
        unimplemented!("{node}, {now:?}")
    }

    /// Sends a request, encoded at once in the highest version that both sides take; records are
    /// shared, not copied. Its [`Answer`](crate::Answer) comes later, in every case.
    ///
    /// # Errors
    /// [`NotReady`] if the node does not take a request now; nothing is kept then.
    pub fn send<R: Request>(
        &mut self,
        node: NodeId,
        request: &R,
        options: SendOptions,
        now: Instant,
    ) -> Result<RequestId, NotReady> {
        unimplemented!("{node}, {now:?}, {request:?}, {options:?}")
    }

    /// The versions of a request that a connected node takes and that are known here.
    pub fn usable_versions(&self, node: NodeId, key: ApiKey) -> Option<Versions> {
        unimplemented!("{node}, {key}")
    }

    /// The node with the fewest requests in flight among those that are ready; else one that is
    /// being connected to; else one that may be.
    ///
    /// # Errors
    /// [`NoNodes`] if the list is empty.
    pub fn least_loaded(&mut self, now: Instant) -> Result<LeastLoaded, NoNodes> {
        unimplemented!("{now:?}")
    }

    /// Requests in flight to a node, the client's own included.
    pub fn in_flight(&self, node: NodeId) -> usize {
        unimplemented!("{node}")
    }

    /// Closes the connection to a node; what waits on it is answered as disconnected.
    pub fn disconnect(&mut self, node: NodeId, now: Instant) {
        unimplemented!("{node}, {now:?}")
    }

    /// Closes the connection to a node and forgets all about it; what waits on it is dropped
    /// without an answer.
    pub fn close_node(&mut self, node: NodeId) {
        unimplemented!("{node}")
    }

    /// What is known of the cluster.
    pub const fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Takes in what happened, and yields what is to be done, including what calls of other
    /// methods have led to since.
    pub fn handle(&mut self, now: Instant, event: Event, actions: &mut Vec<Action>) {
        unimplemented!("{now:?}, {event:?}, {actions:?}")
    }

    /// When [`Event::Tick`] is to be handled at the latest.
    pub fn next_deadline(&self, now: Instant) -> Option<Instant> {
        unimplemented!("{now:?}")
    }

    /// Ends it: connections are closed, what waits is answered with
    /// [`Failure::Closed`](crate::Failure::Closed), metadata end.
    pub fn close(&mut self, now: Instant) {
        unimplemented!("{now:?}")
    }

    /// Whether it was closed.
    pub const fn is_closed(&self) -> bool {
        false
    }
}
