//! Record type 20 of `__consumer_offsets`: which epoch a streams group's target assignment is for.
//!
//! Written after the members' targets of that epoch, so that a reader that has met it has them
//! all.

use crate::prelude::*;

/// Names the group.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(20), versions = 0..=0)]
pub struct StreamsGroupTargetAssignmentMetadataKey {
    /// The group's id, which is the application's.
    pub group_id: ByteString,
}

/// The epoch of the target assignment; a tombstone in its place means that the group is gone.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(20), versions = 0..=0, flexible = 0..)]
pub struct StreamsGroupTargetAssignmentMetadataValue {
    /// The group epoch that the assignment was computed for. While it is behind the group's, a new
    /// one is due.
    pub assignment_epoch: i32,
    /// When the assignment was computed, in Unix milliseconds; 0 when unknown.
    #[wire(tag = 0, ignorable)]
    pub assignment_timestamp: i64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
