//! Connections are started, made, lost and forgotten. (P6.1)

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_wire::ApiKey;
use tracing::{debug, info, warn};

use super::connection_states::Phase;
use super::in_flight::{InFlight, Purpose, Waiting};
use super::link::Link;
use super::{Action, ConnectionId, NetworkClient};
use crate::answer::{Answer, Failure};
use crate::node::{Node, NodeId};
use crate::trouble::{Loss, LossKind, Trouble};

impl NetworkClient {
    /// Whether a request may be sent to a node now; if it has no connection, one is started.
    /// Never while a metadata refresh is due: that goes first.
    pub fn ready(&mut self, node: NodeId, now: Instant) -> bool {
        if self.is_ready(node, now) {
            return true;
        }
        if !self.closed && self.states.can_connect(node, now) {
            self.start_connection(node, now);
        }
        false
    }

    /// As [`Self::ready`], but nothing is started.
    pub fn is_ready(&self, node: NodeId, now: Instant) -> bool {
        self.can_send(node, now) && !self.is_refresh_due(now)
    }

    /// Whether the connection alone would take a request.
    pub(super) fn can_send(&self, node: NodeId, now: Instant) -> bool {
        self.states.is_ready(node, now)
            && self
                .links
                .get(node)
                .is_some_and(|link| link.in_flight.can_send())
    }

    /// How long until it makes sense to ask [`Self::ready`] again, by the connection alone: the
    /// rest of the backoff or of the time for the set-up; `None` if only an event will tell.
    pub fn connection_delay(&self, node: NodeId, now: Instant) -> Option<Duration> {
        self.states.connection_delay(node, now)
    }

    /// As [`Self::connection_delay`]; for a node that is connected but throttled, the rest of
    /// the throttle time.
    pub fn poll_delay(&self, node: NodeId, now: Instant) -> Option<Duration> {
        self.states.poll_delay(node, now)
    }

    /// Whether the last connection to a node was lost or not made, and the next may not be started
    /// yet.
    pub fn is_backing_off(&self, node: NodeId, now: Instant) -> bool {
        self.states.is_backing_off(node, now)
    }

    /// Starts a connection to a node whose address is known.
    pub(super) fn start_connection(&mut self, node: NodeId, now: Instant) {
        let cluster = self.metadata.cluster();
        let Some(known) = cluster.node(node) else {
            return;
        };
        debug!(node = %known, "connecting");
        let place = (&known.host, known.port);
        self.states.connecting(node, place, now, &mut self.random);
        self.counts.connections += 1;
        let connection = ConnectionId(self.counts.connections);
        let link = Link {
            connection,
            host: known.host.clone(),
            in_flight: InFlight::new(self.config.max_in_flight),
            versions: None,
            is_up: false,
            last_used: now,
        };
        self.links.insert(node, link);
        match self.states.address(node) {
            Some(address) => self.dial(connection, &known.host, address),
            None => self.actions.push(Action::Resolve {
                connection,
                host: known.host.clone(),
                port: known.port,
            }),
        }
    }

    fn dial(&mut self, connection: ConnectionId, host: &Arc<str>, address: SocketAddr) {
        self.actions.push(Action::Connect {
            connection,
            host: host.clone(),
            address,
        });
    }

    /// The host's addresses are known.
    pub(super) fn resolved(&mut self, connection: ConnectionId, addresses: Vec<SocketAddr>) {
        let Some(node) = self.links.owner(connection) else {
            return;
        };
        self.states.resolved(node, addresses);
        let host = self.links.get(node).map(|link| link.host.clone());
        if let (Some(address), Some(host)) = (self.states.address(node), host) {
            self.dial(connection, &host, address);
        }
    }

    /// The connection is made.
    pub(super) fn connected(&mut self, connection: ConnectionId, now: Instant) {
        let Some(node) = self.links.owner(connection) else {
            return;
        };
        let Some(link) = self.links.get_mut(node).filter(|link| !link.is_up) else {
            return;
        };
        link.is_up = true;
        link.last_used = now;
        self.counts
            .count(node, |stats| stats.connections_opened += 1);
        self.states.checking_versions(node, &mut self.random);
        if self.config.discover_versions {
            let newest = ApiKey::ApiVersions.served(false);
            self.ask_versions(node, newest.map_or(0, |versions| versions.max), now);
        } else {
            self.states.ready(node, &mut self.random);
        }
    }

    /// The connection is lost, or was not made.
    pub(super) fn disconnected(&mut self, connection: ConnectionId, loss: Loss, now: Instant) {
        if let Some(node) = self.links.owner(connection) {
            // A broker that closes an idle connection is nothing to worry about.
            let idle = self.in_flight(node) == 0 && self.states.phase(node) == Some(&Phase::Ready);
            if idle {
                debug!(%node, reason = %loss.reason, "connection closed by the node");
                self.note_trouble(node, loss);
            } else {
                self.tell_lost(node, loss);
            }
            self.lost(node, &Failure::Disconnected, now);
        }
    }

    /// Tells people why a connection was lost or not made. That a node cannot be reached is
    /// something to see to; it is told loudly once, not at each attempt.
    pub(super) fn tell_lost(&mut self, node: NodeId, loss: Loss) {
        let (place, reason) = (self.place(node), &*loss.reason);
        if self.states.is_first_failure(node) {
            warn!(node = %place, reason, "node cannot be reached, trying again");
        } else if self.states.is_preparing(node) {
            info!(node = %place, reason, "node cannot be reached still");
        } else {
            info!(node = %place, reason, "connection lost");
        }
        self.note_trouble(node, loss);
    }

    /// Keeps why a connection was lost or not made: for whoever waits for this node, and for
    /// whoever waits for metadata of any.
    pub(super) fn note_trouble(&mut self, node: NodeId, loss: Loss) {
        let address = self.metadata.look().node(node).map(Node::address);
        let trouble = Arc::new(Trouble {
            node,
            address: address.map(Arc::from),
            loss,
        });
        self.states.note_trouble(node, Arc::clone(&trouble));
        self.metadata.note_trouble(trouble);
    }

    /// A node and its address, as people are told of it.
    fn place(&self, node: NodeId) -> String {
        let cluster = self.metadata.look();
        let known = cluster.node(node).map(ToString::to_string);
        known.unwrap_or_else(|| node.to_string())
    }

    /// One side refused the other.
    pub(super) fn authentication_failed(
        &mut self,
        connection: ConnectionId,
        reason: Arc<str>,
        now: Instant,
    ) {
        let Some(node) = self.links.owner(connection) else {
            return;
        };
        warn!(%node, %reason, "authentication failed");
        let loss = Loss::new(LossKind::Authentication, Arc::clone(&reason));
        self.note_trouble(node, loss);
        let failure = Failure::Authentication(reason.clone());
        if self.is_refresh_due(now) {
            self.metadata.failed(now);
        }
        self.take_link(node, &failure, now);
        (self.states).authentication_failed(node, reason, now, &mut self.random);
        self.metadata.failed_fatally(failure);
    }

    /// The connection to a node is gone: it backs off, what waits is answered, and the metadata
    /// may be out of date.
    pub(super) fn lost(&mut self, node: NodeId, failure: &Failure, now: Instant) {
        let refresh_was_due = self.is_refresh_due(now);
        self.take_link(node, failure, now);
        self.states.disconnected(node, now, &mut self.random);
        if refresh_was_due {
            self.metadata.failed(now);
        }
        self.metadata.request_update();
    }

    /// As [`Self::lost`], by our own decision.
    pub(super) fn hang_up(&mut self, node: NodeId, failure: &Failure, now: Instant) {
        if let Some(link) = self.links.get(node) {
            self.actions.push(Action::Close(link.connection));
            self.lost(node, failure, now);
        }
    }

    /// Takes a node's link away and answers what waits on it, oldest first.
    fn take_link(&mut self, node: NodeId, failure: &Failure, now: Instant) {
        let Some(mut link) = self.links.remove(node) else {
            return;
        };
        self.count_end(node, link.is_up);
        for waiting in link.in_flight.drain() {
            match waiting.purpose {
                Purpose::Guest => self.answer(failed(node, &waiting, failure.clone(), now)),
                Purpose::Versions => {}
                Purpose::Metadata(_) => {
                    self.refreshing.ended();
                    self.metadata.failed(now);
                }
            }
        }
    }

    fn count_end(&mut self, node: NodeId, was_up: bool) {
        self.counts.count(node, |stats| {
            if was_up {
                stats.connections_closed += 1;
            } else {
                stats.connections_failed += 1;
            }
        });
    }

    /// Closes the connection to a node; what waits on it is answered as disconnected.
    pub fn disconnect(&mut self, node: NodeId, now: Instant) {
        self.hang_up(node, &Failure::Disconnected, now);
    }

    /// Closes the connection to a node and forgets all about it; what waits on it is dropped
    /// without an answer.
    pub fn close_node(&mut self, node: NodeId, now: Instant) {
        if let Some(link) = self.links.remove(node) {
            self.actions.push(Action::Close(link.connection));
            self.count_end(node, link.is_up);
            let mut in_flight = link.in_flight;
            let refreshes = |waiting: Waiting| matches!(waiting.purpose, Purpose::Metadata(_));
            if in_flight.drain().any(refreshes) {
                self.refreshing.ended();
                self.metadata.failed(now);
            }
        }
        self.states.remove(node);
    }
}

/// The answer to a request that has none.
fn failed(node: NodeId, waiting: &Waiting, failure: Failure, now: Instant) -> Answer {
    Answer {
        id: waiting.id,
        node,
        key: waiting.key,
        version: waiting.version,
        sent_at: waiting.sent_at,
        received_at: now,
        outcome: Err(failure),
    }
}
