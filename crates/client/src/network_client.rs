//! [`NetworkClient`]: connections to nodes, requests in flight, and fresh metadata, as a core.

mod addresses;
mod connecting;
mod connection_states;
mod event;
mod features;
mod in_flight;
mod link;
mod node_versions;
mod receiving;
mod refreshing;
mod selecting;
mod sending;
mod stats;
#[cfg(test)]
mod tests;
mod throttle;
mod time_limits;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use klamm_wire::{ApiKey, Versions};

use self::connection_states::{ConnectionStates, Phase};
use self::link::Links;
use self::refreshing::Refreshing;
use crate::answer::{Answer, Failure};
use crate::backoff::FOREVER;
use crate::config::ClientConfig;
use crate::metadata::Metadata;
use crate::node::NodeId;
use crate::trouble::Trouble;

pub use self::event::{Action, ConnectionId, Event};
pub use self::features::FinalizedFeatures;
pub use self::node_versions::NodeVersions;
pub use self::selecting::{LeastLoaded, NoNodes};
pub use self::stats::Stats;

/// Connections to nodes, requests in flight and fresh metadata, without a socket or a clock.
///
/// A guest asks [`ready`](Self::ready), then [`send`](Self::send)s; a shell feeds
/// [`handle`](Self::handle) with what happened and does what it is told. (P6)
#[derive(Debug)]
pub struct NetworkClient {
    config: ClientConfig,
    metadata: Metadata,
    random: fastrand::Rng,
    states: ConnectionStates,
    links: Links,
    refreshing: Refreshing,
    features: FinalizedFeatures,
    counts: Counts,
    /// What is to be done, until the shell fetches it.
    actions: Vec<Action>,
    closed: bool,
}

/// Numbers that only rise.
#[derive(Debug, Default)]
struct Counts {
    connections: u64,
    requests: u64,
    /// Goes from 0 to the greatest number and starts again.
    correlation_id: i32,
    total: Stats,
    /// By node, of those that there ever was a connection to.
    nodes: BTreeMap<NodeId, Stats>,
}

impl Counts {
    /// Counts something in the total and for a node.
    fn count(&mut self, node: NodeId, count: impl Fn(&mut Stats)) {
        count(&mut self.total);
        count(self.nodes.entry(node).or_default());
    }
}

impl NetworkClient {
    /// A client without a connection. `seed` is for the jitter of backoffs and for the choice
    /// among equal nodes: the same seed, the same events at the same times give the same actions.
    pub fn new(config: ClientConfig, seed: u64, now: Instant) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        Self {
            metadata: Metadata::new(&config, random.u64(..), now),
            random,
            states: ConnectionStates::new(&config),
            links: Links::default(),
            refreshing: Refreshing::default(),
            features: FinalizedFeatures::default(),
            counts: Counts::default(),
            actions: Vec::new(),
            closed: false,
            config: ClientConfig {
                request_timeout: config.request_timeout.min(FOREVER),
                reconnect_backoff: config.reconnect_backoff.min(FOREVER),
                connections_max_idle: config.connections_max_idle.map(|idle| idle.min(FOREVER)),
                rebootstrap_trigger: config.rebootstrap_trigger.min(FOREVER),
                ..config
            },
        }
    }

    /// Takes in what happened, and yields what is to be done, including what calls of other
    /// methods have led to since. After a batch of events, and after the guest has had its turn,
    /// [`Event::Tick`] goes in: it looks after time-outs and metadata.
    pub fn handle(&mut self, now: Instant, event: Event, actions: &mut Vec<Action>) {
        if !self.closed {
            match event {
                Event::Written(connection) => self.written(connection, now),
                Event::Received(connection, frame) => self.received(connection, frame, now),
                Event::Disconnected(connection, loss) => self.disconnected(connection, loss, now),
                Event::AuthenticationFailed(connection, reason) => {
                    self.authentication_failed(connection, reason, now);
                }
                Event::Resolved(connection, addresses) => self.resolved(connection, addresses),
                Event::Connected(connection) => self.connected(connection, now),
                Event::Tick => self.tick(now),
            }
        }
        actions.append(&mut self.actions);
    }

    /// What time brings: connections that took too long, answers that did not come, connections
    /// that nobody uses, metadata that is too old.
    fn tick(&mut self, now: Instant) {
        self.close_late_connections(now);
        self.close_late_requests(now);
        self.close_idle_connections(now);
        self.refresh(now);
    }

    /// When [`Event::Tick`] is to be handled at the latest.
    pub fn next_deadline(&self, now: Instant) -> Option<Instant> {
        if !self.actions.is_empty() {
            return Some(now);
        }
        if self.closed {
            return None;
        }
        let deadlines = [
            self.states.next_setup_deadline(),
            self.next_request_deadline(),
            self.next_idle_deadline(),
            self.next_refresh(now),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// What is known of the cluster.
    pub const fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The settings.
    pub const fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// Requests in flight to a node, the client's own included.
    pub fn in_flight(&self, node: NodeId) -> usize {
        self.links.get(node).map_or(0, |link| link.in_flight.len())
    }

    /// Requests in flight to all nodes, the client's own included.
    pub fn in_flight_total(&self) -> usize {
        self.links
            .iter()
            .map(|(_, link)| link.in_flight.len())
            .sum()
    }

    /// What a connected node takes; `None` before it has said so.
    pub fn versions(&self, node: NodeId) -> Option<&NodeVersions> {
        self.links.get(node)?.versions.as_ref()
    }

    /// The versions of a request that a connected node takes and that are released and known
    /// here.
    pub fn usable_versions(&self, node: NodeId, key: ApiKey) -> Option<Versions> {
        self.versions(node)?.usable(key, key.served(false)?)
    }

    /// The features that the cluster has agreed on, as far as any node has told.
    pub const fn features(&self) -> &FinalizedFeatures {
        &self.features
    }

    /// Why a node could not be logged in to the last time, until it could.
    pub fn authentication_error(&self, node: NodeId) -> Option<&Arc<str>> {
        match self.states.phase(node)? {
            Phase::AuthenticationFailed(reason) => Some(reason),
            _ => None,
        }
    }

    /// What last went wrong with the connection to a node, until it is ready for requests again.
    pub fn trouble(&self, node: NodeId) -> Option<&Arc<Trouble>> {
        self.states.trouble(node)
    }

    /// Whether the last connection to a node was lost or not made, and no other was started.
    pub fn connection_failed(&self, node: NodeId) -> bool {
        matches!(
            self.states.phase(node),
            Some(Phase::Disconnected | Phase::AuthenticationFailed(_))
        )
    }

    /// What was counted, of all nodes.
    pub const fn stats(&self) -> &Stats {
        &self.counts.total
    }

    /// What was counted, by node.
    pub fn node_stats(&self) -> impl Iterator<Item = (NodeId, &Stats)> {
        self.counts.nodes.iter().map(|(node, stats)| (*node, stats))
    }

    /// The shell has moved bytes, whole frames or not.
    pub fn transferred(&mut self, connection: ConnectionId, sent: usize, received: usize) {
        if let Some(node) = self.links.owner(connection) {
            self.counts.count(node, |stats| {
                stats.bytes_sent += sent as u64;
                stats.bytes_received += received as u64;
            });
        }
    }

    /// Ends it: connections are closed, what waits is answered with [`Failure::Closed`], metadata
    /// end. Doing it again does nothing.
    pub fn close(&mut self, now: Instant) {
        if self.closed {
            return;
        }
        let nodes: Vec<NodeId> = self.links.iter().map(|(node, _)| node).collect();
        for node in nodes {
            self.hang_up(node, &Failure::Closed, now);
        }
        self.metadata.close();
        self.closed = true;
    }

    /// Whether it was closed.
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// An answer for the guest.
    fn answer(&mut self, answer: Answer) {
        self.actions.push(Action::Answer(answer));
    }
}
