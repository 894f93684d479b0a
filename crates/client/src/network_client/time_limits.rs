//! What took too long. (P6.6, P6.8)

use std::time::Instant;

use tracing::{debug, warn};

use super::{Action, NetworkClient};
use crate::answer::Failure;
use crate::node::NodeId;
use crate::trouble::{Loss, LossKind};

impl NetworkClient {
    /// Gives up connections that take too long to make.
    pub(super) fn close_late_connections(&mut self, now: Instant) {
        for node in self.states.late(now) {
            let reason = "not connected within socket.connection.setup.timeout.ms";
            self.tell_lost(node, Loss::new(LossKind::NotInTime, reason));
            self.hang_up(node, &Failure::Disconnected, now);
        }
    }

    /// Closes each connection on which an answer is late. What else waits there is late as well:
    /// answers come in order.
    pub(super) fn close_late_requests(&mut self, now: Instant) {
        let late = self
            .links
            .iter()
            .filter(|(_, link)| link.in_flight.any_late(now));
        let late: Vec<NodeId> = late.map(|(node, _)| node).collect();
        for node in late {
            warn!(%node, "no answer within the request's time, closing the connection");
            let reason = "no answer within the request's time (request.timeout.ms)";
            self.note_trouble(node, Loss::new(LossKind::NoAnswer, reason));
            self.hang_up(node, &Failure::TimedOut, now);
        }
    }

    pub(super) fn next_request_deadline(&self) -> Option<Instant> {
        let deadlines = self.links.iter();
        deadlines
            .filter_map(|(_, link)| link.in_flight.next_deadline())
            .min()
    }

    /// Closes connections that nobody has used for long. This is no failure: the next use
    /// connects again without a backoff.
    pub(super) fn close_idle_connections(&mut self, now: Instant) {
        let Some(max_idle) = self.config.connections_max_idle else {
            return;
        };
        let idle = self.links.iter().filter(|(_, link)| {
            link.is_up
                && link.in_flight.is_empty()
                && now.saturating_duration_since(link.last_used) >= max_idle
        });
        let idle: Vec<NodeId> = idle.map(|(node, _)| node).collect();
        for node in idle {
            debug!(%node, "connection has been idle for long, closing it");
            if let Some(link) = self.links.remove(node) {
                self.actions.push(Action::Close(link.connection));
                self.counts.count(node, |stats| {
                    stats.connections_closed += 1;
                    stats.connections_expired += 1;
                });
            }
            self.states.remove(node);
        }
    }

    pub(super) fn next_idle_deadline(&self) -> Option<Instant> {
        let max_idle = self.config.connections_max_idle?;
        let idle = self.links.iter();
        idle.filter(|(_, link)| link.is_up && link.in_flight.is_empty())
            .map(|(_, link)| link.last_used + max_idle)
            .min()
    }
}
