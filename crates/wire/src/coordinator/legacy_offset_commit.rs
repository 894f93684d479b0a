//! Record type 0 of `__consumer_offsets`: a committed offset as the first versions wrote it.
//!
//! The key has the same bytes as that of [`offset_commit`](super::offset_commit) (type 1) and means
//! the same: of two records with either key the later one holds. No broker writes it any more, so
//! a reader turns both into the later form.

use super::offset_commit::{OffsetCommitKey, OffsetCommitValue};
use crate::prelude::*;

/// Names the partition whose offset a group has committed.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(0), versions = 0..=0)]
pub struct LegacyOffsetCommitKey {
    /// The group's id.
    pub group: ByteString,
    /// The topic's name.
    pub topic: ByteString,
    /// The partition within that topic.
    pub partition: PartitionIndex,
}

/// The committed offset.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(0), versions = 0..=0)]
pub struct LegacyOffsetCommitValue {
    /// The offset of the next record that the group wants to read.
    pub offset: Offset,
    /// The consumer's own note beside the offset; empty when it left none.
    pub metadata: ByteString,
    /// When the offset was committed, in Unix milliseconds.
    pub commit_timestamp: i64,
}

impl From<LegacyOffsetCommitKey> for OffsetCommitKey {
    fn from(key: LegacyOffsetCommitKey) -> Self {
        Self {
            group: key.group,
            topic: key.topic,
            partition: key.partition,
        }
    }
}

impl From<LegacyOffsetCommitValue> for OffsetCommitValue {
    /// What the first format lacked is at its default: no leader epoch, no expiry, no topic id.
    fn from(value: LegacyOffsetCommitValue) -> Self {
        Self {
            offset: value.offset,
            metadata: value.metadata,
            commit_timestamp: value.commit_timestamp,
            ..Self::default()
        }
    }
}
