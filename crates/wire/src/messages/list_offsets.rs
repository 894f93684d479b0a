//! ListOffsets (key 2): finds offsets by time.
//!
//! v2 added the isolation level, v4 fences by the leader's epoch, v6 is flexible, v10 added a
//! time-out. Some negative timestamps have meanings, more of them with each of v7 to v11.

use crate::prelude::*;

/// Asks for the first offset at or after a point in time.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(2), versions = 1..=11, flexible = 6.., listeners(broker))]
pub struct ListOffsetsRequest {
    /// The follower that asks; -1 for a client, -2 for a debugging one.
    pub replica_id: BrokerId,
    /// 0: up to the high watermark; 1: up to the last stable offset.
    #[wire(versions = 2..)]
    pub isolation_level: i8,
    /// What to look up, by topic.
    pub topics: Vec<ListOffsetsTopic>,
    /// How long the server may wait for remote storage.
    #[wire(versions = 10.., ignorable)]
    pub timeout_ms: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A topic to look up, in [`ListOffsetsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ListOffsetsTopic {
    /// The topic's name.
    pub name: ByteString,
    /// What to look up, by partition.
    pub partitions: Vec<ListOffsetsPartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A partition to look up, in [`ListOffsetsTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ListOffsetsPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The leader's epoch as the client knows it; -1 if unknown.
    #[wire(versions = 4.., default = -1, ignorable)]
    pub current_leader_epoch: LeaderEpoch,
    /// Unix time in milliseconds; below 0 one of the constants of this type.
    pub timestamp: i64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

impl ListOffsetsPartition {
    /// Asks for the end: the high watermark, or the last stable offset.
    pub const LATEST: i64 = -1;
    /// Asks for the first offset.
    pub const EARLIEST: i64 = -2;
    /// Asks for the record with the greatest timestamp (v7).
    pub const MAX_TIMESTAMP: i64 = -3;
    /// Asks for the first offset that is not in remote storage alone (v8).
    pub const EARLIEST_LOCAL: i64 = -4;
    /// Asks for the last offset in remote storage (v9).
    pub const LATEST_TIERED: i64 = -5;
    /// Asks for the first offset that is still to go to remote storage (v11).
    pub const EARLIEST_PENDING_UPLOAD: i64 = -6;

    /// The lowest version in which a server understands the timestamp; `None` if it does so in
    /// none. The codec does not care: it is for the client to ask before it sends.
    pub const fn version_min(&self) -> Option<i16> {
        Some(match self.timestamp {
            0.. | Self::LATEST | Self::EARLIEST => 1,
            Self::MAX_TIMESTAMP => 7,
            Self::EARLIEST_LOCAL => 8,
            Self::LATEST_TIERED => 9,
            Self::EARLIEST_PENDING_UPLOAD => 11,
            _ => return None,
        })
    }
}

/// Answers [`ListOffsetsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(2), versions = 1..=11, flexible = 6..)]
pub struct ListOffsetsResponse {
    /// Milliseconds for which the client should hold back.
    #[wire(versions = 2.., ignorable)]
    pub throttle_time_ms: i32,
    /// What was found, by topic.
    pub topics: Vec<ListOffsetsTopicResponse>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What was found in one topic, in [`ListOffsetsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ListOffsetsTopicResponse {
    /// The topic's name.
    pub name: ByteString,
    /// What was found, by partition.
    pub partitions: Vec<ListOffsetsPartitionResponse>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What was found in one partition, in [`ListOffsetsTopicResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ListOffsetsPartitionResponse {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why nothing was looked up, or none.
    pub error_code: ErrorCode,
    /// The timestamp of the record at `offset`; -1 if nothing was found, or the end was asked for.
    #[wire(versions = 1.., default = -1)]
    pub timestamp: i64,
    /// The offset; -1 if nothing was found.
    #[wire(versions = 1.., default = -1)]
    pub offset: Offset,
    /// The leader epoch of the record at `offset`; -1 if unknown.
    #[wire(versions = 4.., default = -1)]
    pub leader_epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
