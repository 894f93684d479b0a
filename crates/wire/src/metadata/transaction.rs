//! `BeginTransactionRecord` (type 23), `EndTransactionRecord` (type 24) and
//! `AbortTransactionRecord` (type 25): changes of metadata that belong together but do not fit
//! into one batch (KIP-868).
//!
//! A reader holds back what stands between begin and end; an abort makes it drop that. These
//! transactions have nothing to do with those of producers.

use crate::prelude::*;

/// Begins a set of changes that counts as a whole or not at all.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(23), versions = 0..=0, flexible = 0..)]
pub struct BeginTransactionRecord {
    /// What the changes are for, in words; null when that is not told.
    #[wire(nullable = .., tag = 0, default = None)]
    pub name: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Ends the set: from here on its changes count.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(24), versions = 0..=0, flexible = 0..)]
pub struct EndTransactionRecord {
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Ends the set: its changes never count.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(25), versions = 0..=0, flexible = 0..)]
pub struct AbortTransactionRecord {
    /// Why, in words; null when that is not told.
    #[wire(nullable = .., tag = 0, default = None)]
    pub reason: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
