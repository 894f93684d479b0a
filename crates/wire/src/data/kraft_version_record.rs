//! `KRaftVersionRecord`: the value of the control record that sets the level of `kraft.version`
//! (KIP-853).
//!
//! No version stands in front: the first field is it, and the log always holds version 0.

use crate::prelude::*;

/// Sets the level of the quorum's own protocol, from this place of the metadata log on.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=0, flexible = 0..)]
pub struct KRaftVersionRecord {
    /// The version of this record; 0.
    pub version: i16,
    /// 0: the voters are fixed by configuration. 1: they are in the log and can change.
    pub kraft_version: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
