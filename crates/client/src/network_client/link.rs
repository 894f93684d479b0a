//! [`Links`]: the connection that each node has, if any, and what is on it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use super::event::ConnectionId;
use super::in_flight::InFlight;
use super::node_versions::NodeVersions;
use crate::node::NodeId;

/// A connection, or the attempt to make it.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) connection: ConnectionId,
    /// For the check of the certificate.
    pub(crate) host: Arc<str>,
    pub(crate) in_flight: InFlight,
    /// What the node takes, once it has said so.
    pub(crate) versions: Option<NodeVersions>,
    /// Whether the connection was made.
    pub(crate) is_up: bool,
    pub(crate) last_used: Instant,
}

/// The links by node, and the nodes by connection.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// By id, so that what is done for all is done in the same order each time.
    links: BTreeMap<NodeId, Link>,
    owners: HashMap<ConnectionId, NodeId>,
}

impl Links {
    pub(crate) fn insert(&mut self, node: NodeId, link: Link) {
        self.owners.insert(link.connection, node);
        if let Some(former) = self.links.insert(node, link) {
            self.owners.remove(&former.connection);
        }
    }

    pub(crate) fn remove(&mut self, node: NodeId) -> Option<Link> {
        let link = self.links.remove(&node)?;
        self.owners.remove(&link.connection);
        Some(link)
    }

    pub(crate) fn get(&self, node: NodeId) -> Option<&Link> {
        self.links.get(&node)
    }

    pub(crate) fn get_mut(&mut self, node: NodeId) -> Option<&mut Link> {
        self.links.get_mut(&node)
    }

    /// The node of a connection that has not been given up.
    pub(crate) fn owner(&self, connection: ConnectionId) -> Option<NodeId> {
        self.owners.get(&connection).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (NodeId, &Link)> {
        self.links.iter().map(|(node, link)| (*node, link))
    }
}
