//! [`NodeId`] and [`Node`]: whom requests are sent to.

use std::fmt;
use std::sync::Arc;

use klamm_primitives::BrokerId;

/// Names a node: a broker by its id, or an address of the bootstrap list by a negative number,
/// -1 for the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(i32);

impl NodeId {
    /// The node with this number.
    pub const fn new(id: i32) -> Self {
        Self(id)
    }

    /// The number.
    pub const fn get(self) -> i32 {
        self.0
    }

    /// The node of the entry at `index` of the bootstrap list.
    pub fn bootstrap(index: usize) -> Self {
        Self(-1 - i32::try_from(index).unwrap_or(i32::MAX - 1))
    }

    /// Whether it stands for an address of the bootstrap list, of which the broker id is not
    /// known.
    pub const fn is_bootstrap(self) -> bool {
        self.0 < 0
    }

    /// The broker, unless the node is one of the bootstrap list.
    pub fn broker(self) -> Option<BrokerId> {
        (self.0 >= 0).then(|| BrokerId::new(self.0))
    }
}

impl From<BrokerId> for NodeId {
    fn from(broker: BrokerId) -> Self {
        Self(broker.get())
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A node and where it is to be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// The host name or address that it gave for itself.
    pub host: Arc<str>,
    /// The port.
    pub port: u16,
    /// Its rack, if it has one.
    pub rack: Option<Arc<str>>,
}

impl Node {
    /// Where it is, as `host:port`, a host with colons in brackets.
    pub fn address(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    }
}

impl fmt::Display for Node {
    /// As `id at host:port`, a host with colons in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.id, self.address())
    }
}
