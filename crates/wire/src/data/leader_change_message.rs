//! `LeaderChangeMessage`: the value of the control record with which a new leader of the
//! metadata log begins its epoch (KIP-595).
//!
//! No version stands in front: the first field is it. The log always holds version 0, although
//! there is a version 1, which added the voters' directory ids (KIP-853).

use crate::prelude::*;

/// Who leads from this place of the metadata log on, and who elected it.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=1, flexible = 0..)]
pub struct LeaderChangeMessage {
    /// The version of this record; 0 in the log.
    pub version: i16,
    /// The new leader.
    pub leader_id: BrokerId,
    /// All voters of this epoch.
    pub voters: Vec<Voter>,
    /// The voters who voted for the leader.
    pub granting_voters: Vec<Voter>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A voter of the metadata log's quorum, in [`LeaderChangeMessage`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Voter {
    /// The voter's node id.
    pub voter_id: BrokerId,
    /// The id of its metadata log directory; zero when it is not known.
    #[wire(versions = 1..)]
    pub voter_directory_id: Uuid,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
