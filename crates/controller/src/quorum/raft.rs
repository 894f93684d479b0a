//! [`RaftQuorum`]: the quorum over Raft, its log on a disk.
//!
//! The consensus is openraft's, whose types stay in this module; the log is a [`klamm_log::Log`]
//! in a directory of its own:
//!
//! | file | holds |
//! |---|---|
//! | `*.log` and its indexes | the entries of the Raft log, one record batch each: the offset is the entry's index, the leader epoch its term |
//! | `quorum-state` | the cluster, the vote of this node, and up to where the log was cut |
//! | `durable-point` | up to where the log was synced, as far as that is known |
//! | `snapshot` | an image as records, and what it was at |
//! | `reserve` | nothing: it keeps room on the disk |
//!
//! An entry counts when it is synced. What is in the directory survives the end of the process
//! at any moment, and of the power. An end that was torn is cut off when it is opened; damage to
//! what was synced refuses the opening. A full disk refuses changes, those that add to what the
//! cluster has before the others; it neither ends the node nor keeps it from opening.

mod change;
mod durable_point;
mod entry;
mod log_store;
mod no_peers;
mod open;
mod quorum_state;
mod reserve;
mod room;
mod snapshot;
mod snapshots;
mod state_machine;
mod tail;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use klamm_io::{Clock, Disk};
use klamm_primitives::{BrokerId, Offset};
use klamm_wire::metadata::ClusterMetadataRecord;
use openraft::Raft;
use openraft::error::{ClientWriteError, RaftError};
use tokio::sync::watch;
use tracing::warn;

use self::change::Change;
use self::log_store::LogStore;
pub use self::open::{OpenQuorumError, cluster_of};
use self::snapshots::Snapshots;
use super::{PROPOSAL_SIZE_MAX, ProposeError, Quorum, adds};
use crate::image::MetadataImage;

openraft::declare_raft_types!(
    /// What openraft's parts are here.
    pub(crate) Types:
        D = Change,
        R = (),
        NodeId = BrokerId,
        Node = openraft::BasicNode,
        Entry = openraft::Entry<Types>,
        SnapshotData = Bytes,
);

type LogId = openraft::LogId<BrokerId>;
type Entry = openraft::Entry<Types>;
type Vote = openraft::Vote<BrokerId>;
type Membership = openraft::Membership<BrokerId, openraft::BasicNode>;
type StoredMembership = openraft::StoredMembership<BrokerId, openraft::BasicNode>;
type SnapshotMeta = openraft::SnapshotMeta<BrokerId, openraft::BasicNode>;
type StorageError = openraft::StorageError<BrokerId>;
type StorageIoError = openraft::StorageIOError<BrokerId>;

/// How a quorum is opened.
#[derive(Debug, Clone)]
pub struct RaftOptions {
    /// This node.
    pub node_id: BrokerId,
    /// The cluster, as the node's `meta.properties` has it.
    pub cluster_id: Arc<str>,
    /// Where its files are; made if it is missing. Nobody else writes there.
    pub directory: PathBuf,
    /// What an empty log begins with, at one offset: `metadata.version` and other features
    /// (CO-007).
    pub bootstrap: Vec<ClusterMetadataRecord>,
    /// `metadata.log.max.record.bytes.between.snapshots` (20 MiB).
    pub snapshot_bytes: u64,
    /// `metadata.log.max.snapshot.interval.ms` (1 hour); `None` for 0: size alone counts.
    pub snapshot_interval: Option<Duration>,
}

impl RaftOptions {
    /// With Kafka's defaults, and no records to begin with.
    pub fn new(
        node_id: BrokerId,
        cluster_id: impl Into<Arc<str>>,
        directory: impl Into<PathBuf>,
    ) -> Self {
        Self {
            node_id,
            cluster_id: cluster_id.into(),
            directory: directory.into(),
            bootstrap: Vec::new(),
            snapshot_bytes: 20 << 20,
            snapshot_interval: Some(Duration::from_hours(1)),
        }
    }
}

/// A node of a quorum over Raft.
///
/// Opened with [`RaftQuorum::open`] on a tokio runtime, whose blocking threads do the syncing. A
/// quorum of one voter has no timers and sends nothing: idle, it takes no processor time.
pub struct RaftQuorum<D: Disk, C: Clock> {
    raft: Raft<Types>,
    images: watch::Receiver<Arc<MetadataImage>>,
    options: RaftOptions,
    log: LogStore<D, C>,
    clock: C,
    snapshots: Snapshots<D>,
}

impl<D: Disk, C: Clock> RaftQuorum<D, C> {
    /// Waits until the quorum has failed, and says why: its disk refused, say. Nothing more is
    /// agreed on then, and the node is to stop. Ends as well when it was stopped. (CO-006)
    pub async fn failed(&self) -> Arc<str> {
        let mut metrics = self.raft.metrics();
        let failed = metrics
            .wait_for(|metrics| metrics.running_state.is_err())
            .await;
        let why = failed.map(|metrics| {
            metrics
                .running_state
                .as_ref()
                .err()
                .map(ToString::to_string)
        });
        match why {
            Ok(Some(why)) => why.into(),
            Ok(None) | Err(_) => "it was stopped".into(),
        }
    }

    /// Stops taking part, after what is under way, and closes the log. Proposals fail from here
    /// on.
    pub async fn stop(&self) {
        self.snapshots.stop().await;
        if let Err(error) = self.raft.shutdown().await {
            warn!(%error, "the quorum's task did not end well");
        }
        let log = self.log.clone();
        let closed = tokio::task::spawn_blocking(move || log.close()).await;
        match closed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                warn!(%error, "the metadata log was not closed, it will be recovered");
            }
            Err(error) => warn!(%error, "the metadata log was not closed, it will be recovered"),
        }
    }
}

impl<D: Disk, C: Clock> Quorum for RaftQuorum<D, C> {
    async fn propose(&self, records: Vec<ClusterMetadataRecord>) -> Result<Offset, ProposeError> {
        let leader = self.leader();
        if leader != Some(self.options.node_id) {
            return Err(ProposeError::NotLeader { leader });
        }
        let change = Change::new(records)?;
        let (size, size_max) = (change.size(), PROPOSAL_SIZE_MAX);
        if size > size_max {
            return Err(ProposeError::TooLarge { size, size_max });
        }
        // A record that does not fit would stop every node that replays it.
        let image = self.images.borrow().clone();
        image.apply(change.records(), image.offset() + 1)?;
        if !self.log.has_room_for(size, !adds(change.records())).await {
            return Err(ProposeError::NoRoom { size });
        }
        let written = self.raft.client_write(change).await.map_err(refused)?;
        self.snapshots.grown_by(size, self.clock.now());
        Ok(offset_of(written.log_id.index))
    }

    fn watch(&self) -> watch::Receiver<Arc<MetadataImage>> {
        self.images.clone()
    }

    fn node_id(&self) -> BrokerId {
        self.options.node_id
    }

    fn leader(&self) -> Option<BrokerId> {
        self.raft.metrics().borrow().current_leader
    }
}

fn refused(
    error: RaftError<BrokerId, ClientWriteError<BrokerId, openraft::BasicNode>>,
) -> ProposeError {
    match error {
        RaftError::APIError(ClientWriteError::ForwardToLeader(forward)) => {
            ProposeError::NotLeader {
                leader: forward.leader_id,
            }
        }
        other => ProposeError::Unsure {
            reason: other.to_string().into(),
        },
    }
}

/// An entry's index as an offset. Indexes count entries, so they fit.
fn offset_of(index: u64) -> Offset {
    Offset::new(i64::try_from(index).expect("a log has fewer entries than an i64 counts"))
}
