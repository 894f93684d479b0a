//! What is asked of [`ReplicaManager::list_offsets`](crate::ReplicaManager::list_offsets) and of
//! [`ReplicaManager::offset_for_leader_epoch`](crate::ReplicaManager::offset_for_leader_epoch).

use std::sync::Arc;

use klamm_log::Isolation;
use klamm_primitives::{LeaderEpoch, Offset};
use thiserror::Error;

use crate::NotServed;

/// Asks one partition for an offset by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetQuery {
    /// Which offset.
    pub target: OffsetTarget,
    /// How far the client may see: [`Isolation::LogEnd`] for replicas.
    pub isolation: Isolation,
    /// The leader epoch that the client knows.
    pub current_leader_epoch: Option<LeaderEpoch>,
    /// Whether a follower may answer, too: debuggers (replica id -2).
    pub from_any_replica: bool,
}

/// A place in time, or one that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OffsetTarget {
    /// Where the client's sight ends (-1).
    Latest,
    /// The log start offset (-2, and -4 without tiers).
    Earliest,
    /// The first record with the largest timestamp (-3).
    MaxTimestamp,
    /// The first record with this timestamp or a later one, in Unix milliseconds.
    AtOrAfter(i64),
}

/// An offset could not be told.
#[derive(Debug, Clone, Error)]
pub enum OffsetError {
    /// The partition is not served here.
    #[error(transparent)]
    NotServed(#[from] NotServed),
    /// The leader is new and its high watermark has not come to where its epoch began, so that
    /// an answer could be below one that was given before. `OFFSET_NOT_AVAILABLE`.
    #[error("the leader began at {epoch_start} and {visible_end} is the end of what is seen")]
    NotAvailable {
        /// Where the leader epoch began.
        epoch_start: Offset,
        /// What the client may see.
        visible_end: Offset,
    },
    /// The log could not be read. `KAFKA_STORAGE_ERROR`.
    #[error(transparent)]
    Read(#[from] Arc<klamm_log::ReadError>),
}
