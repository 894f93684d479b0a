//! [`SimCluster`]: a quorum in memory, which does nothing by itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use klamm_primitives::{BrokerId, Offset};
use klamm_wire::metadata::ClusterMetadataRecord;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{PROPOSAL_SIZE_MAX, ProposeError, Quorum, size_of};
use crate::image::{ApplyError, MetadataImage};

/// Some nodes with one metadata log, in memory: who leads, and who can be reached, is said from
/// outside, so that the same calls in the same order have the same outcome.
///
/// What a leader with a majority proposes is committed at once and shows on every node that can be
/// reached; the others catch up when they can be reached again. Without a majority a proposal
/// fails. A clone is the same cluster.
///
/// ```
/// use klamm_controller::{Quorum, SimCluster};
/// use klamm_primitives::BrokerId;
/// use klamm_wire::metadata::no_op::NoOpRecord;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let node_id = BrokerId::new(1);
/// let cluster = SimCluster::new("a-cluster", [node_id]);
/// cluster.elect(Some(node_id));
/// let node = cluster.node(node_id);
/// let offset = node.propose(vec![NoOpRecord::default().into()]).await.unwrap();
/// assert_eq!(node.watch().borrow().offset(), offset);
/// # });
/// ```
#[derive(Clone)]
pub struct SimCluster {
    /// Held for the length of a call; nothing is awaited under it.
    state: Arc<Mutex<State>>,
}

struct State {
    nodes: BTreeMap<BrokerId, Node>,
    leader: Option<BrokerId>,
    /// The newest committed image.
    image: Arc<MetadataImage>,
}

struct Node {
    can_be_reached: bool,
    images: watch::Sender<Arc<MetadataImage>>,
}

/// One node of a [`SimCluster`]. A clone is the same node.
#[derive(Clone)]
pub struct SimQuorum {
    id: BrokerId,
    state: Arc<Mutex<State>>,
}

impl SimCluster {
    /// A cluster of these nodes, all within reach and none of them leading, with an empty log.
    pub fn new(cluster_id: impl Into<Arc<str>>, nodes: impl IntoIterator<Item = BrokerId>) -> Self {
        let image = Arc::new(MetadataImage::new(cluster_id));
        let nodes = nodes.into_iter().map(|id| {
            let node = Node {
                can_be_reached: true,
                images: watch::Sender::new(image.clone()),
            };
            (id, node)
        });
        let state = State {
            nodes: nodes.collect(),
            leader: None,
            image: image.clone(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// One of the nodes.
    ///
    /// # Panics
    /// If the cluster has no node of this id.
    pub fn node(&self, id: BrokerId) -> SimQuorum {
        assert!(
            self.state.lock().nodes.contains_key(&id),
            "the cluster has no node {id}"
        );
        SimQuorum {
            id,
            state: self.state.clone(),
        }
    }

    /// Makes a node the leader, or none. As in Raft, a new leader begins with an entry of its own.
    pub fn elect(&self, leader: Option<BrokerId>) {
        let mut state = self.state.lock();
        state.leader = leader;
        if leader.is_some() {
            // Without records nothing can be refused.
            _ = state.commit(&[]);
        }
    }

    /// Cuts a node off, or lets it be reached again; then it catches up.
    pub fn set_reachable(&self, id: BrokerId, can_be_reached: bool) {
        let mut state = self.state.lock();
        if let Some(node) = state.nodes.get_mut(&id) {
            node.can_be_reached = can_be_reached;
        }
        state.publish();
    }
}

impl State {
    fn commit(&mut self, records: &[ClusterMetadataRecord]) -> Result<Offset, ApplyError> {
        let offset = self.image.offset() + 1;
        self.image = Arc::new(self.image.apply(records, offset)?);
        self.publish();
        Ok(offset)
    }

    fn publish(&self) {
        for node in self.nodes.values().filter(|node| node.can_be_reached) {
            node.images.send_if_modified(|image| {
                let is_new = image.offset() < self.image.offset();
                image.clone_from(&self.image);
                is_new
            });
        }
    }

    fn has_majority(&self) -> bool {
        let reached = self.nodes.values().filter(|node| node.can_be_reached);
        reached.count() * 2 > self.nodes.len()
    }
}

impl Quorum for SimQuorum {
    async fn propose(&self, records: Vec<ClusterMetadataRecord>) -> Result<Offset, ProposeError> {
        let mut state = self.state.lock();
        let leader = state.leader;
        let is_reached = state.nodes[&self.id].can_be_reached;
        if leader != Some(self.id) || !is_reached || !state.has_majority() {
            return Err(ProposeError::NotLeader { leader });
        }
        let (size, size_max) = (size_of(&records)?, PROPOSAL_SIZE_MAX);
        if size > size_max {
            return Err(ProposeError::TooLarge { size, size_max });
        }
        Ok(state.commit(&records)?)
    }

    fn watch(&self) -> watch::Receiver<Arc<MetadataImage>> {
        self.state.lock().nodes[&self.id].images.subscribe()
    }

    fn node_id(&self) -> BrokerId {
        self.id
    }

    fn leader(&self) -> Option<BrokerId> {
        self.state.lock().leader
    }
}

#[cfg(test)]
mod tests {
    use klamm_wire::metadata::no_op::NoOpRecord;

    use super::*;
    use crate::testing::check_quorum;

    const ONE: BrokerId = BrokerId::new(1);
    const TWO: BrokerId = BrokerId::new(2);
    const THREE: BrokerId = BrokerId::new(3);

    fn no_op() -> Vec<ClusterMetadataRecord> {
        vec![NoOpRecord::default().into()]
    }

    #[tokio::test]
    async fn conforms() {
        let cluster = SimCluster::new("a-cluster", [ONE]);
        cluster.elect(Some(ONE));
        check_quorum(&cluster.node(ONE)).await;
    }

    /// Covers CO-001.
    #[tokio::test]
    async fn co_001_only_the_leader_extends_the_log_and_all_follow_it() {
        let cluster = SimCluster::new("a-cluster", [ONE, TWO, THREE]);
        cluster.elect(Some(TWO));
        let refused = cluster.node(ONE).propose(no_op()).await;
        assert_eq!(refused, Err(ProposeError::NotLeader { leader: Some(TWO) }));

        cluster.set_reachable(THREE, false);
        let offset = cluster.node(TWO).propose(no_op()).await.unwrap();
        assert_eq!(cluster.node(ONE).watch().borrow().offset(), offset);
        assert!(cluster.node(THREE).watch().borrow().offset() < offset);
        cluster.set_reachable(THREE, true);
        assert_eq!(cluster.node(THREE).watch().borrow().offset(), offset);

        cluster.set_reachable(ONE, false);
        cluster.set_reachable(THREE, false);
        let alone = cluster.node(TWO).propose(no_op()).await;
        assert_eq!(alone, Err(ProposeError::NotLeader { leader: Some(TWO) }));
    }
}
