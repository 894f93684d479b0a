//! Record type 16 of `__consumer_offsets`: the topics that a subscription pattern matches.
//!
//! Matching is costly, so it is done once for all members of a group that use the same pattern,
//! aside from the heartbeats, and its outcome is kept.

use crate::prelude::*;

/// Names the group and the pattern.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(16), versions = 0..=0)]
pub struct ConsumerGroupRegularExpressionKey {
    /// The group's id.
    pub group_id: ByteString,
    /// The pattern, as the members wrote it.
    pub regular_expression: ByteString,
}

/// What the pattern matches; a tombstone in its place means that no member uses it any more.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(16), versions = 0..=0, flexible = 0..)]
pub struct ConsumerGroupRegularExpressionValue {
    /// The names of the matching topics.
    pub topics: Vec<ByteString>,
    /// The version of the cluster's metadata that was searched: the offset of its last record.
    pub version: i64,
    /// When it was searched, in Unix milliseconds.
    pub timestamp: i64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
