//! `VotersRecord`: the value of the control record that sets the voters of the metadata log
//! (KIP-853).
//!
//! No version stands in front: the first field is it, and the log always holds version 0. A set
//! of voters counts from the moment its record is written, before it is committed.

use crate::prelude::*;

/// The whole set of voters, from this place of the metadata log on.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=0, flexible = 0..)]
pub struct VotersRecord {
    /// The version of this record; 0.
    pub version: i16,
    /// The voters.
    pub voters: Vec<Voter>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One voter, in [`VotersRecord`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Voter {
    /// The voter's node id.
    pub voter_id: BrokerId,
    /// The id of its metadata log directory: a node that lost its disk is another voter.
    pub voter_directory_id: Uuid,
    /// Where the voter can be reached, one entry for each listener name.
    pub endpoints: Vec<Endpoint>,
    /// The levels of `kraft.version` that the voter can run.
    pub kraft_version_feature: KRaftVersionFeature,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One endpoint of a voter, in [`Voter`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Endpoint {
    /// The listener's name.
    pub name: ByteString,
    /// Host name or address.
    pub host: ByteString,
    /// TCP port.
    pub port: u16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The levels of `kraft.version` that a voter can run, in [`Voter`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct KRaftVersionFeature {
    /// The lowest level.
    pub min_supported_version: i16,
    /// The highest level.
    pub max_supported_version: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
