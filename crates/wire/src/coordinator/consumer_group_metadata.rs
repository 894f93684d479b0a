//! Record type 3 of `__consumer_offsets`: the epoch of a consumer group.
//!
//! The groups here are those of the newer consumer protocol (KIP-848). This record makes a group
//! exist.

use crate::prelude::*;

/// Names the group.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(3), versions = 0..=0)]
pub struct ConsumerGroupMetadataKey {
    /// The group's id.
    pub group_id: ByteString,
}

/// The group's epoch; a tombstone in its place means that the group is gone.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(3), versions = 0..=0, flexible = 0..)]
pub struct ConsumerGroupMetadataValue {
    /// Counts the changes that ask for a new assignment: of members, subscriptions and topics.
    pub epoch: i32,
    /// A hash over what the assignor reads of the subscribed topics, by which a change of them is
    /// noticed; 0 when not computed yet.
    #[wire(tag = 0)]
    pub metadata_hash: i64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
