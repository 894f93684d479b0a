//! `FeatureLevelRecord` (type 12): the level of a feature that the whole cluster runs at.
//!
//! The first record of a metadata log or snapshot sets `metadata.version`, which a reader must
//! know to read the rest. This record therefore stays at version 0 for good.

use crate::prelude::*;

/// Sets the level of a feature.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(12), versions = 0..=0, flexible = 0..)]
pub struct FeatureLevelRecord {
    /// The feature's name, `metadata.version` for instance.
    pub name: ByteString,
    /// The level; 0 turns the feature off.
    pub feature_level: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
