//! `RemoveRaftVoter` (key 81): takes a voter out of the quorum of the metadata log (KIP-853).
//!
//! Admin clients send it to a broker, which forwards it to the leader of the quorum. The node
//! need not be up, and stays an observer if it is.

use crate::prelude::*;

/// Removes a voter. At most one such change is under way at any time.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(81), versions = 0..=0, flexible = 0.., listeners(controller, broker))]
pub struct RemoveRaftVoterRequest {
    /// The cluster that is meant; null leaves out the check.
    #[wire(nullable = ..)]
    pub cluster_id: Option<ByteString>,
    /// The node id of the voter.
    pub voter_id: BrokerId,
    /// The id of its metadata log directory; both must match.
    pub voter_directory_id: Uuid,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`RemoveRaftVoterRequest`], once the new set of voters is committed.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(81), versions = 0..=0, flexible = 0..)]
pub struct RemoveRaftVoterResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0 or what went wrong: `VOTER_NOT_FOUND` when no voter has this id and directory.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., ignorable)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
