//! `OffsetForLeaderEpoch` (key 23): where a leader epoch ended, so that a follower or consumer
//! finds the point up to which its history agrees with the leader's; answered by the partition's
//! leader.
//!
//! v2 added the reader's view of the current epoch (KIP-320) and the throttle time, v3 the replica
//! id (KIP-392), v4 is flexible.

use crate::prelude::*;

/// Asks where leader epochs ended.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(23), versions = 2..=4, flexible = 4.., listeners(broker))]
pub struct OffsetForLeaderEpochRequest {
    /// The asking follower; -1 for a consumer, -2 for a consumer that may see what a follower sees,
    /// as tools do.
    #[wire(versions = 3.., default = -2, ignorable)]
    pub replica_id: BrokerId,
    /// The topics asked for.
    pub topics: Vec<OffsetForLeaderTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic asked for, in [`OffsetForLeaderEpochRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetForLeaderTopic {
    /// The topic's name.
    pub topic: ByteString,
    /// The partitions asked for.
    pub partitions: Vec<OffsetForLeaderPartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition asked for, in [`OffsetForLeaderTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetForLeaderPartition {
    /// The partition.
    pub partition: PartitionIndex,
    /// The leader epoch that the asker believes to be current; the leader fences it if it is
    /// older, and asks it to wait if it is newer. -1 skips that check.
    #[wire(versions = 2.., default = -1, ignorable)]
    pub current_leader_epoch: LeaderEpoch,
    /// The leader epoch whose end is asked for.
    pub leader_epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`OffsetForLeaderEpochRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(23), versions = 2..=4, flexible = 4..)]
pub struct OffsetForLeaderEpochResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    #[wire(versions = 2.., ignorable)]
    pub throttle_time_ms: i32,
    /// One entry for each topic asked for.
    pub topics: Vec<OffsetForLeaderTopicResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's epochs, in [`OffsetForLeaderEpochResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetForLeaderTopicResult {
    /// The topic's name.
    pub topic: ByteString,
    /// One entry for each partition asked for.
    pub partitions: Vec<EpochEndOffset>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's epoch, in [`OffsetForLeaderTopicResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct EpochEndOffset {
    /// Why there is no answer; 0 when there is.
    pub error_code: ErrorCode,
    /// The partition.
    pub partition: PartitionIndex,
    /// The epoch asked for, or the largest one before it that the leader has; -1 when it has none.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub leader_epoch: LeaderEpoch,
    /// One past that epoch's last record; the log end offset when it is the current epoch, -1 when
    /// there is none.
    #[wire(default = -1)]
    pub end_offset: Offset,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
