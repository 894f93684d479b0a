//! `QuorumStateData`: what a voter of the metadata log must not forget over a restart.
//!
//! Kept in the file `quorum-state` as one line of JSON, whose field `data_version` is the
//! version; the binary form here is not used on disk. v1 (KIP-853) dropped the cluster id, the
//! applied offset and the voters, which are found elsewhere, and added the directory id.

use crate::prelude::*;

/// The latest leader epoch a node knows, its leader, and the vote that the node cast in it.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=1, flexible = 0..)]
pub struct QuorumStateData {
    /// The cluster's id.
    #[wire(versions = ..=0)]
    pub cluster_id: ByteString,
    /// The leader; -1 when it is not known.
    #[wire(default = -1)]
    pub leader_id: BrokerId,
    /// The latest leader epoch known; -1 when none is.
    #[wire(default = -1)]
    pub leader_epoch: LeaderEpoch,
    /// The candidate that the node voted for in this epoch; -1 for none.
    #[wire(default = -1)]
    pub voted_id: BrokerId,
    /// The id of that candidate's metadata log directory; zero when it is not known.
    #[wire(versions = 1..)]
    pub voted_directory_id: Uuid,
    /// Never had a use; 0.
    #[wire(versions = ..=0)]
    pub applied_offset: Offset,
    /// The voters of this epoch; null when they were not recorded.
    #[wire(versions = ..=0, nullable = ..=0)]
    pub current_voters: Option<Vec<Voter>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A voter of the metadata log's quorum, in [`QuorumStateData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Voter {
    /// The voter's node id.
    #[wire(versions = ..=0)]
    pub voter_id: BrokerId,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
