//! One node is chosen for what any node can answer.

use std::time::Instant;

use thiserror::Error;

use super::NetworkClient;
use super::connection_states::Phase;
use crate::node::NodeId;

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
    /// The node with the fewest requests in flight among those that are ready; else one that is
    /// being connected to; else the one that may be connected to and was tried the longest ago.
    /// The search starts at a random place.
    ///
    /// # Errors
    /// [`NoNodes`] if the list is empty.
    pub fn least_loaded(&mut self, now: Instant) -> Result<LeastLoaded, NoNodes> {
        if self.metadata.look().nodes().len() == 0 {
            return Err(NoNodes);
        }
        Ok(self.choose(now))
    }

    /// Whether any known node is ready and not throttled.
    pub fn any_ready(&self, now: Instant) -> bool {
        self.states.any_ready(now)
    }

    /// As [`Self::least_loaded`], which finds nothing in an empty list.
    pub(super) fn choose(&mut self, now: Instant) -> LeastLoaded {
        let cluster = self.metadata.cluster();
        let mut nodes: Vec<NodeId> = cluster.nodes().map(|node| node.id).collect();
        if !nodes.is_empty() {
            let start = self.random.usize(..nodes.len());
            nodes.rotate_left(start);
        }
        let ready = nodes.iter().filter(|node| self.can_send(**node, now));
        let ready = ready.min_by_key(|node| self.in_flight(**node));
        let preparing = || nodes.iter().find(|node| self.states.is_preparing(**node));
        let possible = || {
            let possible = nodes
                .iter()
                .filter(|node| self.states.can_connect(**node, now));
            possible.min_by_key(|node| self.states.last_attempt(**node))
        };
        let node = ready.or_else(preparing).or_else(possible);
        let is_up = |node: &NodeId| self.states.phase(*node) == Some(&Phase::Ready);
        LeastLoaded {
            node: node.copied(),
            any_connected: nodes.iter().any(is_up),
        }
    }
}
