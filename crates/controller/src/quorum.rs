//! [`Quorum`]: the nodes that agree on the metadata log.

mod proposal;
mod raft;
mod sim;

use std::future::Future;
use std::sync::Arc;

use klamm_primitives::{BrokerId, Offset};
use klamm_wire::EncodeError;
use klamm_wire::metadata::ClusterMetadataRecord;
use thiserror::Error;
use tokio::sync::watch;

pub(crate) use self::proposal::{PROPOSAL_SIZE_MAX, adds, divide, may_be_divided, size_of};
pub use self::raft::{OpenQuorumError, RaftOptions, RaftQuorum, cluster_of};
pub use self::sim::{SimCluster, SimQuorum};
use crate::image::{ApplyError, MetadataImage};

/// One node's part in the quorum: it keeps a copy of the metadata log and follows it into an
/// image; the leader of the quorum alone extends the log.
///
/// Calls may come from any task. (B6.1, B6.3)
pub trait Quorum: Send + Sync + 'static {
    /// Appends records, all or none of them, at one offset of the log (CO-003).
    ///
    /// Returns that offset once the records are durable on a majority and applied here: the image
    /// that [`Quorum::watch`] shows then has them. May be dropped while it waits; the records are
    /// then in the log or not.
    ///
    /// # Errors
    /// By variant. Only after [`ProposeError::Unsure`] the records may be in the log still.
    fn propose(
        &self,
        records: Vec<ClusterMetadataRecord>,
    ) -> impl Future<Output = Result<Offset, ProposeError>> + Send;

    /// The newest image of this node, and each later one. The first is there before this returns.
    fn watch(&self) -> watch::Receiver<Arc<MetadataImage>>;

    /// This node's id.
    fn node_id(&self) -> BrokerId;

    /// The leader of the quorum, as far as this node knows.
    fn leader(&self) -> Option<BrokerId>;
}

/// Records were not appended to the metadata log.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProposeError {
    /// Another node leads the quorum, or none does.
    #[error("this node does not lead the quorum (the leader is {leader:?})")]
    NotLeader {
        /// The leader, if it is known here.
        leader: Option<BrokerId>,
    },
    /// The records are more than fit into one batch of the log.
    #[error("records of {size} bytes, and a batch of the metadata log holds {size_max}")]
    TooLarge {
        /// Bytes of the records.
        size: usize,
        /// What fits.
        size_max: usize,
    },
    /// The disk of the metadata log is full; nothing was written. Once there is room the same may
    /// succeed. What takes away, and what brokers do when they come and go, finds room for longer
    /// than what adds.
    #[error("the disk of the metadata log has no room for {size} bytes more")]
    NoRoom {
        /// Bytes of the records.
        size: usize,
    },
    /// A record cannot be written.
    #[error("a record cannot be written: {0}")]
    Unencodable(#[from] EncodeError),
    /// The records do not fit the image that they were to change; nothing was written.
    #[error("the records do not fit the image: {0}")]
    Rejected(#[from] ApplyError),
    /// The node stops, or its log has failed, while the records were on their way: they are in
    /// the log or not.
    #[error("the quorum on this node has stopped: {reason}")]
    Unsure {
        /// What happened.
        reason: Arc<str>,
    },
}
