//! `AddRaftVoter` (key 80): makes an observer of the metadata log a voter (KIP-853).
//!
//! Admin clients send it to a broker, which forwards it to the leader of the quorum; a
//! controller that joins by itself sends it straight to the leader. v1 lets the sender do
//! without the wait for the commit (KIP-1186).

use crate::prelude::*;

/// Adds a voter. At most one such change is under way at any time.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(80), versions = 0..=1, flexible = 0.., listeners(controller, broker))]
pub struct AddRaftVoterRequest {
    /// The cluster that is meant; null leaves out the check.
    #[wire(nullable = ..)]
    pub cluster_id: Option<ByteString>,
    /// How many milliseconds the change may take.
    pub timeout_ms: i32,
    /// The node id of the new voter.
    pub voter_id: BrokerId,
    /// The id of its metadata log directory: a node that lost its disk is another voter.
    pub voter_directory_id: Uuid,
    /// Where the new voter can be reached, one entry for each listener name.
    pub listeners: Vec<Listener>,
    /// Whether to answer only once the new set of voters is committed; false answers as soon
    /// as the leader has written it to its own log.
    #[wire(versions = 1.., default = true)]
    pub ack_when_committed: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One endpoint of the new voter, in [`AddRaftVoterRequest`].
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

/// Answers [`AddRaftVoterRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(80), versions = 0..=1, flexible = 0..)]
pub struct AddRaftVoterResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0 or what went wrong: `DUPLICATE_VOTER` when the node votes already, `REQUEST_TIMED_OUT`
    /// when another change is under way or the new voter did not catch up in time.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., ignorable)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
