//! `NoOpRecord` (type 20): changes nothing.

use crate::prelude::*;

/// Written by an idle controller from time to time, so that the log's end moves on and brokers
/// can tell that they follow (KIP-835).
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(20), versions = 0..=0, flexible = 0..)]
pub struct NoOpRecord {
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
