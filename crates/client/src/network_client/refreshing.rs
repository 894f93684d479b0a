//! Metadata are asked for when they are due. (P6.7)

use std::time::{Duration, Instant};

use klamm_wire::ErrorCode;
use klamm_wire::messages::metadata::MetadataResponse;
use tracing::{debug, info, warn};

use super::NetworkClient;
use super::in_flight::Purpose;
use crate::answer::SendOptions;
use crate::config::RecoveryStrategy;
use crate::metadata::Asked;
use crate::node::NodeId;

/// Without a pause, a refresh that no node takes would be tried without end.
const RETRY_PAUSE_MIN: Duration = Duration::from_millis(1);

/// How far the refresh is that is due or on its way.
#[derive(Debug, Default)]
pub(crate) struct Refreshing {
    is_on_its_way: bool,
    /// No node took the request the last time; it is not tried again before this.
    retry_at: Option<Instant>,
    /// When the first of the attempts was made that have brought no answer since.
    trying_since: Option<Instant>,
}

impl Refreshing {
    /// The request is not on its way any more.
    pub(crate) fn ended(&mut self) {
        self.is_on_its_way = false;
    }
}

impl NetworkClient {
    /// Whether metadata are to be asked for now, and have not been.
    pub(super) fn is_refresh_due(&self, now: Instant) -> bool {
        !self.refreshing.is_on_its_way && self.metadata.due_at(now) <= now
    }

    /// When [`Self::refresh`] has something to do; `None` if an event will tell.
    pub(super) fn next_refresh(&self, now: Instant) -> Option<Instant> {
        if self.refreshing.is_on_its_way {
            return None;
        }
        let due_at = self.metadata.due_at(now);
        Some(self.refreshing.retry_at.map_or(due_at, |at| due_at.max(at)))
    }

    /// Asks the least loaded node if it is time, or makes one ready for that.
    pub(super) fn refresh(&mut self, now: Instant) {
        if !self.is_refresh_due(now) {
            return;
        }
        let trying_since = *self.refreshing.trying_since.get_or_insert(now);
        let tried_for = now.saturating_duration_since(trying_since);
        if tried_for > self.config.rebootstrap_trigger {
            self.rebootstrap("no metadata for long");
            self.refreshing.trying_since = Some(now);
        }
        if self.all_out_of_reach() {
            self.rebootstrap("no node can be reached");
        }
        let chosen = self.choose(now);
        // Whatever does not send the request is looked at again after this.
        let pause = self.config.reconnect_backoff.max(RETRY_PAUSE_MIN);
        self.refreshing.retry_at = Some(now + pause);
        let Some(node) = chosen.node else {
            return;
        };
        if self.can_send(node, now) {
            self.ask_metadata(node, now);
        } else if !self.states.any_preparing() && self.states.can_connect(node, now) {
            self.start_connection(node, now);
        }
    }

    /// Whether each node was tried, and none could be connected to.
    fn all_out_of_reach(&self) -> bool {
        let cluster = self.metadata.look();
        let mut nodes = cluster.nodes();
        nodes.all(|node| self.states.is_out_of_reach(node.id))
    }

    fn ask_metadata(&mut self, node: NodeId, now: Instant) {
        let (request, asked) = self.metadata.next_request(now);
        debug!(%node, topics = request.topics.as_ref().map_or(0, Vec::len), "asking for metadata");
        self.refreshing.is_on_its_way = true;
        let purpose = Purpose::Metadata(asked);
        let sent = self.send_for(purpose, node, &request, SendOptions::default(), now);
        debug_assert!(sent.is_ok(), "the node was asked just before");
    }

    /// The answer came.
    pub(super) fn refreshed(
        &mut self,
        response: &MetadataResponse,
        version: i16,
        asked: Asked,
        now: Instant,
    ) {
        self.refreshing.ended();
        if response.error_code == ErrorCode::REBOOTSTRAP_REQUIRED {
            self.metadata.failed(now);
            return self.rebootstrap("asked to by a broker");
        }
        // A broker that has just started knows of no other, nor of itself.
        if response.brokers.is_empty() || !response.error_code.is_none() {
            warn!(code = %response.error_code, "metadata without brokers ignored");
            return self.metadata.failed(now);
        }
        if self.metadata.apply(response, version, asked, now).is_ok() {
            self.refreshing.trying_since = None;
            self.refreshing.retry_at = None;
            self.states.all_in_reach();
        }
    }

    /// Goes back to the bootstrap list, where the settings allow it.
    fn rebootstrap(&mut self, reason: &'static str) {
        if self.config.recovery == RecoveryStrategy::None || self.metadata.cluster().is_bootstrap()
        {
            return;
        }
        info!(reason, "starting again from the bootstrap servers");
        self.metadata.rebootstrap(&self.config.bootstrap);
    }
}
