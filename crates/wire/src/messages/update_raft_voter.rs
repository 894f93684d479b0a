//! `UpdateRaftVoter` (key 82): a voter tells the leader of the quorum where it can be reached now
//! and which quorum protocol it can speak (KIP-853).

use crate::prelude::*;

/// Sent by a voter about itself, after a start.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(82), versions = 0..=0, flexible = 0.., listeners(controller))]
pub struct UpdateRaftVoterRequest {
    /// The cluster that is meant; null leaves out the check.
    #[wire(nullable = ..)]
    pub cluster_id: Option<ByteString>,
    /// The epoch of the leader that the voter knows; -1 when it knows none.
    pub current_leader_epoch: LeaderEpoch,
    /// The voter's node id.
    pub voter_id: BrokerId,
    /// The id of its metadata log directory.
    pub voter_directory_id: Uuid,
    /// Where the voter can be reached, one entry for each listener name.
    pub listeners: Vec<Listener>,
    /// The levels of `kraft.version` that the voter can run.
    pub kraft_version_feature: KRaftVersionFeature,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One endpoint of the voter, in [`UpdateRaftVoterRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Listener {
    /// The listener's name.
    pub name: ByteString,
    /// Host name or address.
    pub host: ByteString,
    /// TCP port.
    pub port: u16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The levels of `kraft.version` that a voter can run, in [`UpdateRaftVoterRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct KRaftVersionFeature {
    /// The lowest level.
    pub min_supported_version: i16,
    /// The highest level.
    pub max_supported_version: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`UpdateRaftVoterRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(82), versions = 0..=0, flexible = 0..)]
pub struct UpdateRaftVoterResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0 or what went wrong.
    pub error_code: ErrorCode,
    /// The leader, as far as the answering node knows it.
    #[wire(tag = 0)]
    pub current_leader: CurrentLeader,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The leader of the quorum, in [`UpdateRaftVoterResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CurrentLeader {
    /// The leader's node id; -1 when it is not known.
    #[wire(default = -1)]
    pub leader_id: BrokerId,
    /// The latest leader epoch known; -1 when none is.
    #[wire(default = -1)]
    pub leader_epoch: LeaderEpoch,
    /// The leader's host name or address.
    pub host: ByteString,
    /// The leader's TCP port.
    pub port: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
