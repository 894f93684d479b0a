//! [`ConnectionStates`]: how far the connection to each node is, and when the next may be tried.
//! (P6.1)

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::addresses::Addresses;
use crate::backoff::Backoff;
use crate::config::ClientConfig;
use crate::node::NodeId;
use crate::trouble::Trouble;

/// The states of the connections to nodes. One that is not in here was never tried, or is
/// forgotten.
#[derive(Debug)]
pub(crate) struct ConnectionStates {
    reconnect: Backoff,
    setup: Backoff,
    nodes: BTreeMap<NodeId, NodeState>,
}

/// How far a connection is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its host is being resolved, or it is being made and secured.
    Connecting,
    /// It is made, and the node was asked for its versions.
    CheckingVersions,
    /// Requests may be sent.
    Ready,
    /// There is none.
    Disconnected,
    /// There is none, because one side refused the other.
    AuthenticationFailed(Arc<str>),
}

#[derive(Debug)]
struct NodeState {
    phase: Phase,
    host: Arc<str>,
    port: u16,
    addresses: Addresses,
    /// The last attempt to connect, or the loss of the connection, whichever came later.
    last_attempt: Instant,
    /// Connections lost or not made since the last one that was ready.
    failures: u32,
    /// Of these the ones that were not made in time, or refused.
    setup_failures: u32,
    /// Whether the last attempt came to nothing, as opposed to a connection that was lost.
    attempt_failed: bool,
    /// From `last_attempt` on.
    backoff: Duration,
    /// From `last_attempt` on.
    setup_timeout: Duration,
    throttled_until: Option<Instant>,
    /// What last went wrong, until it is ready.
    trouble: Option<Arc<Trouble>>,
}

impl NodeState {
    const fn is_disconnected(&self) -> bool {
        matches!(
            self.phase,
            Phase::Disconnected | Phase::AuthenticationFailed(_)
        )
    }

    fn backoff_left(&self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.last_attempt);
        self.backoff.saturating_sub(passed)
    }

    fn throttle_left(&self, now: Instant) -> Duration {
        let until = self.throttled_until.unwrap_or(now);
        until.saturating_duration_since(now)
    }
}

impl ConnectionStates {
    pub(crate) fn new(config: &ClientConfig) -> Self {
        Self {
            reconnect: Backoff::new(config.reconnect_backoff, config.reconnect_backoff_max),
            setup: Backoff::new(config.setup_timeout, config.setup_timeout_max),
            nodes: BTreeMap::new(),
        }
    }

    /// Whether a connection may be started now.
    pub(crate) fn can_connect(&self, node: NodeId, now: Instant) -> bool {
        self.nodes
            .get(&node)
            .is_none_or(|state| state.is_disconnected() && state.backoff_left(now).is_zero())
    }

    /// Whether the last connection is lost and the next may not be started yet.
    pub(crate) fn is_backing_off(&self, node: NodeId, now: Instant) -> bool {
        self.nodes
            .get(&node)
            .is_some_and(|state| state.is_disconnected() && !state.backoff_left(now).is_zero())
    }

    /// What is left of the backoff or of the time for the set-up; `None` once it is up.
    pub(crate) fn connection_delay(&self, node: NodeId, now: Instant) -> Option<Duration> {
        let Some(state) = self.nodes.get(&node) else {
            return Some(Duration::ZERO);
        };
        match state.phase {
            Phase::Connecting => {
                let passed = now.saturating_duration_since(state.last_attempt);
                Some(state.setup_timeout.saturating_sub(passed))
            }
            Phase::CheckingVersions | Phase::Ready => None,
            Phase::Disconnected | Phase::AuthenticationFailed(_) => Some(state.backoff_left(now)),
        }
    }

    /// As [`Self::connection_delay`], or what is left of the throttle time.
    pub(crate) fn poll_delay(&self, node: NodeId, now: Instant) -> Option<Duration> {
        let throttled = self.throttle_left(node, now);
        if throttled.is_zero() {
            self.connection_delay(node, now)
        } else {
            Some(throttled)
        }
    }

    /// A connection is started. Another host than before means another machine: nothing that was
    /// noted of the former one counts.
    pub(crate) fn connecting(
        &mut self,
        node: NodeId,
        (host, port): (&Arc<str>, u16),
        now: Instant,
        random: &mut fastrand::Rng,
    ) {
        let same = |state: &&mut NodeState| state.host == *host && state.port == port;
        if let Some(state) = self.nodes.get_mut(&node).filter(same) {
            state.phase = Phase::Connecting;
            state.last_attempt = now;
            state.addresses.move_on();
            return;
        }
        let state = NodeState {
            phase: Phase::Connecting,
            host: host.clone(),
            port,
            addresses: Addresses::default(),
            last_attempt: now,
            failures: 0,
            setup_failures: 0,
            attempt_failed: false,
            backoff: self.reconnect.after(0, random),
            setup_timeout: self.setup.after(0, random),
            throttled_until: None,
            trouble: None,
        };
        self.nodes.insert(node, state);
    }

    /// Where to connect to; `None` if the host has to be resolved first.
    pub(crate) fn address(&self, node: NodeId) -> Option<SocketAddr> {
        self.nodes.get(&node)?.addresses.current()
    }

    /// The host was resolved.
    pub(crate) fn resolved(&mut self, node: NodeId, addresses: Vec<SocketAddr>) {
        if let Some(state) = self.nodes.get_mut(&node) {
            state.addresses.resolved(addresses);
        }
    }

    /// The connection is made; the node is being asked for its versions.
    pub(crate) fn checking_versions(&mut self, node: NodeId, random: &mut fastrand::Rng) {
        if let Some(state) = self.nodes.get_mut(&node) {
            state.phase = Phase::CheckingVersions;
            state.setup_failures = 0;
            state.setup_timeout = self.setup.after(0, random);
        }
    }

    /// Requests may be sent.
    pub(crate) fn ready(&mut self, node: NodeId, random: &mut fastrand::Rng) {
        if let Some(state) = self.nodes.get_mut(&node) {
            state.phase = Phase::Ready;
            (state.failures, state.setup_failures) = (0, 0);
            state.trouble = None;
            state.backoff = self.reconnect.after(0, random);
            state.setup_timeout = self.setup.after(0, random);
        }
    }

    /// The connection is lost, or was not made.
    pub(crate) fn disconnected(&mut self, node: NodeId, now: Instant, random: &mut fastrand::Rng) {
        let Some(state) = self.nodes.get_mut(&node) else {
            return;
        };
        state.last_attempt = now;
        state.backoff = self.reconnect.after(state.failures, random);
        state.failures = state.failures.saturating_add(1);
        state.attempt_failed = state.phase != Phase::Ready;
        state.throttled_until = None;
        if state.phase == Phase::Connecting {
            state.setup_failures = state.setup_failures.saturating_add(1);
            state.setup_timeout = self.setup.after(state.setup_failures, random);
        } else {
            // The machine may have moved: its name is looked up again.
            state.addresses.forget();
        }
        state.phase = Phase::Disconnected;
    }

    /// The connection is lost because one side refused the other.
    pub(crate) fn authentication_failed(
        &mut self,
        node: NodeId,
        reason: Arc<str>,
        now: Instant,
        random: &mut fastrand::Rng,
    ) {
        self.disconnected(node, now, random);
        if let Some(state) = self.nodes.get_mut(&node) {
            state.phase = Phase::AuthenticationFailed(reason);
        }
    }

    /// Something went wrong.
    pub(crate) fn note_trouble(&mut self, node: NodeId, trouble: Arc<Trouble>) {
        if let Some(state) = self.nodes.get_mut(&node) {
            state.trouble = Some(trouble);
        }
    }

    /// What last went wrong, until the node was ready.
    pub(crate) fn trouble(&self, node: NodeId) -> Option<&Arc<Trouble>> {
        self.nodes.get(&node)?.trouble.as_ref()
    }

    /// Forgets a node.
    pub(crate) fn remove(&mut self, node: NodeId) {
        self.nodes.remove(&node);
    }

    /// Whether the last attempt to connect came to nothing and no other is under way. A node
    /// whose connection was lost has not shown to be out of reach.
    pub(crate) fn is_out_of_reach(&self, node: NodeId) -> bool {
        let failed = |state: &NodeState| state.attempt_failed && state.is_disconnected();
        self.nodes.get(&node).is_some_and(failed)
    }

    /// Whether the connection that is being made would, if it fails, be the first that comes to
    /// nothing: since the node was last reached, or since there was news of it.
    pub(crate) fn is_first_failure(&self, node: NodeId) -> bool {
        self.is_preparing(node) && !self.nodes.get(&node).is_some_and(|it| it.attempt_failed)
    }

    /// There is news of where the nodes are, so what was tried before says nothing.
    pub(crate) fn all_in_reach(&mut self) {
        for state in self.nodes.values_mut() {
            state.attempt_failed = false;
        }
    }

    /// The phase; `None` for a node that is not known.
    pub(crate) fn phase(&self, node: NodeId) -> Option<&Phase> {
        self.nodes.get(&node).map(|state| &state.phase)
    }

    /// Whether requests may be sent now, by the connection's state alone.
    pub(crate) fn is_ready(&self, node: NodeId, now: Instant) -> bool {
        self.nodes
            .get(&node)
            .is_some_and(|state| state.phase == Phase::Ready && state.throttle_left(now).is_zero())
    }

    /// Whether any node is ready and not throttled.
    pub(crate) fn any_ready(&self, now: Instant) -> bool {
        self.nodes.keys().any(|node| self.is_ready(*node, now))
    }

    /// Whether a connection is being made or set up.
    pub(crate) fn is_preparing(&self, node: NodeId) -> bool {
        matches!(
            self.phase(node),
            Some(Phase::Connecting | Phase::CheckingVersions)
        )
    }

    /// Whether any connection is being made or set up.
    pub(crate) fn any_preparing(&self) -> bool {
        self.nodes.keys().any(|node| self.is_preparing(*node))
    }

    /// When a connection was last tried or lost.
    pub(crate) fn last_attempt(&self, node: NodeId) -> Option<Instant> {
        self.nodes.get(&node).map(|state| state.last_attempt)
    }

    /// The nodes whose connections have taken too long to make.
    pub(crate) fn late(&self, now: Instant) -> Vec<NodeId> {
        let late = self.nodes.iter().filter(|(_, state)| {
            state.phase == Phase::Connecting
                && now.saturating_duration_since(state.last_attempt) > state.setup_timeout
        });
        late.map(|(node, _)| *node).collect()
    }

    /// When the first connection that is being made will have taken too long.
    pub(crate) fn next_setup_deadline(&self) -> Option<Instant> {
        let connecting = self
            .nodes
            .values()
            .filter(|state| state.phase == Phase::Connecting);
        connecting
            .map(|state| state.last_attempt + state.setup_timeout + JUST_AFTER)
            .min()
    }

    /// The node wants to be left alone until then.
    pub(crate) fn throttle(&mut self, node: NodeId, until: Instant) {
        if let Some(state) = self.nodes.get_mut(&node) {
            state.throttled_until = Some(state.throttled_until.map_or(until, |old| old.max(until)));
        }
    }

    /// What is left of the throttle time.
    pub(crate) fn throttle_left(&self, node: NodeId, now: Instant) -> Duration {
        let state = self.nodes.get(&node);
        state.map_or(Duration::ZERO, |state| state.throttle_left(now))
    }
}

/// What is late only when it took more than its time is looked at this much after it.
pub(crate) const JUST_AFTER: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
