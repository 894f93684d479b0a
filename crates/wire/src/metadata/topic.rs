//! `TopicRecord` (type 2) and `RemoveTopicRecord` (type 9): which topics there are; and
//! `ClearElrRecord` (type 28).
//!
//! A topic's partitions and settings have records of their own, written after it.

use crate::prelude::*;

/// Makes a topic, still without partitions.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(2), versions = 0..=0, flexible = 0..)]
pub struct TopicRecord {
    /// The topic's name.
    pub name: ByteString,
    /// The topic's id, never given to another one.
    pub topic_id: TopicId,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Deletes a topic, its partitions and its settings.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(9), versions = 0..=0, flexible = 0..)]
pub struct RemoveTopicRecord {
    /// The topic.
    pub topic_id: TopicId,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Forgets the eligible and the last known eligible leader replicas of all partitions of a
/// topic (KIP-966), as when `min.insync.replicas` changes.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(28), versions = 0..=0, flexible = 0..)]
pub struct ClearElrRecord {
    /// The topic's name; empty is every topic.
    pub topic_name: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
