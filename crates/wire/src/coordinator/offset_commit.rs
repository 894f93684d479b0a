//! Record type 1 of `__consumer_offsets`: a committed offset.
//!
//! One record for each partition of each commit, of every kind of group. In the value, v1 can hold
//! an expiry, v2 no longer does, v3 added the leader epoch, v4 is flexible and added the topic's
//! id. Commits of a transaction stand in batches of that transaction and hold only once its commit
//! marker follows.

use crate::prelude::*;

/// Names the partition whose offset a group has committed.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(1), versions = 0..=0)]
pub struct OffsetCommitKey {
    /// The group's id.
    pub group: ByteString,
    /// The topic's name.
    pub topic: ByteString,
    /// The partition within that topic.
    pub partition: PartitionIndex,
}

/// The committed offset; a tombstone in its place means that it expired or was deleted.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(1), versions = 0..=4, flexible = 4..)]
pub struct OffsetCommitValue {
    /// The offset of the next record that the group wants to read.
    pub offset: Offset,
    /// The leader epoch of the last record that the group has read; -1 when the consumer did not
    /// tell.
    #[wire(versions = 3.., default = -1, ignorable)]
    pub leader_epoch: LeaderEpoch,
    /// The consumer's own note beside the offset; empty when it left none.
    pub metadata: ByteString,
    /// When the offset was committed, in Unix milliseconds.
    pub commit_timestamp: i64,
    /// When the offset expires, in Unix milliseconds, for a commit that asked for a retention time
    /// of its own; -1 leaves it to the broker's. Writers choose v1 for the sake of this field.
    #[wire(versions = 1..=1, default = -1, ignorable)]
    pub expire_timestamp: i64,
    /// The id of the topic that was read; zero when the commit named the topic only.
    #[wire(versions = 4.., tag = 0, ignorable)]
    pub topic_id: TopicId,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
