//! `SnapshotHeaderRecord` and `SnapshotFooterRecord`: the values of the first and the last control
//! record of a snapshot of the metadata log (KIP-630).
//!
//! No version stands in front of them: the first field is it, and files always hold version 0. A
//! snapshot without its footer was not written to the end.

use crate::prelude::*;

/// Begins a snapshot.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=0, flexible = 0..)]
pub struct SnapshotHeaderRecord {
    /// The version of this record; 0.
    pub version: i16,
    /// The append time of the last record that the snapshot covers, in milliseconds since 1970.
    pub last_contained_log_timestamp: i64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Ends a snapshot.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=0, flexible = 0..)]
pub struct SnapshotFooterRecord {
    /// The version of this record; 0.
    pub version: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
