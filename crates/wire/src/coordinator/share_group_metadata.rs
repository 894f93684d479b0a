//! Record type 11 of `__consumer_offsets`: the epoch of a share group (KIP-932).
//!
//! This record makes a group exist.

use crate::prelude::*;

/// Names the group.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(11), versions = 0..=0)]
pub struct ShareGroupMetadataKey {
    /// The group's id.
    pub group_id: ByteString,
}

/// The group's epoch; a tombstone in its place means that the group is gone.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(11), versions = 0..=0, flexible = 0..)]
pub struct ShareGroupMetadataValue {
    /// Counts the changes that ask for a new assignment: of members, subscriptions and topics.
    pub epoch: i32,
    /// A hash over what the assignor reads of the subscribed topics, by which a change of them is
    /// noticed. Unlike in a consumer group's record it always stands in place.
    pub metadata_hash: i64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
