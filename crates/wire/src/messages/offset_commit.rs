//! `OffsetCommit` (key 8): stores how far a group has consumed; answered by the group's
//! coordinator.
//!
//! v3 added the throttle time, v5 dropped the retention time (the broker's
//! `offsets.retention.minutes` decides), v6 added the leader epoch, v7 the group instance id,
//! v8 is flexible. v9 looks as v8 and is the first that members of the consumer protocol (KIP-848)
//! may use: there the generation is a member epoch, and `STALE_MEMBER_EPOCH` and
//! `GROUP_ID_NOT_FOUND` may come back. v10 names topics by id and may answer `UNKNOWN_TOPIC_ID`.
//!
//! A writer sets the name or the id of a topic, whichever the version has: the other is dropped, so
//! that a topic with the wrong one goes out without either.

use crate::prelude::*;

/// Commits offsets of any number of partitions for one group.
///
/// Each partition is answered on its own: some may be stored while others are refused.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(8), versions = 2..=10, flexible = 8.., listeners(broker))]
pub struct OffsetCommitRequest {
    /// The group whose offsets these are.
    pub group_id: ByteString,
    /// The generation (classic protocol) or member epoch (consumer protocol) that the sender
    /// believes in; -1 when it commits without being a member, as admin tools and consumers with
    /// assigned partitions do.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub generation_id_or_member_epoch: i32,
    /// The sender's member id; empty when it is not a member.
    #[wire(versions = 1.., ignorable)]
    pub member_id: ByteString,
    /// The sender's `group.instance.id`; null for a dynamic member.
    #[wire(versions = 7.., nullable = 7.., default = None)]
    pub group_instance_id: Option<ByteString>,
    /// Milliseconds for which the offsets should be kept; -1 leaves it to the broker.
    #[wire(versions = 2..=4, default = -1, ignorable)]
    pub retention_time_ms: i64,
    /// The offsets, by topic.
    pub topics: Vec<OffsetCommitRequestTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's offsets, in [`OffsetCommitRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetCommitRequestTopic {
    /// The topic's name, up to v9.
    #[wire(versions = ..=9, ignorable)]
    pub name: ByteString,
    /// The topic's id, from v10 on.
    #[wire(versions = 10.., ignorable)]
    pub topic_id: TopicId,
    /// The offsets, by partition.
    pub partitions: Vec<OffsetCommitRequestPartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's offset, in [`OffsetCommitRequestTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetCommitRequestPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Where the group goes on: one past the last record that it has processed.
    pub committed_offset: Offset,
    /// Leader epoch of the last record processed, so that a truncated log is noticed when the
    /// offset is used again; -1 where it is not known.
    #[wire(versions = 6.., default = -1, ignorable)]
    pub committed_leader_epoch: LeaderEpoch,
    /// Whatever the application wants to keep with the offset. Null is stored as empty; a broker
    /// refuses text longer than `offset.metadata.max.bytes`.
    #[wire(nullable = ..)]
    pub committed_metadata: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`OffsetCommitRequest`].
///
/// An error that concerns the whole group is repeated at every partition.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(8), versions = 2..=10, flexible = 8..)]
pub struct OffsetCommitResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    #[wire(versions = 3.., ignorable)]
    pub throttle_time_ms: i32,
    /// One entry for each topic of the request.
    pub topics: Vec<OffsetCommitResponseTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's outcome, in [`OffsetCommitResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetCommitResponseTopic {
    /// The topic's name, up to v9.
    #[wire(versions = ..=9, ignorable)]
    pub name: ByteString,
    /// The topic's id, from v10 on.
    #[wire(versions = 10.., ignorable)]
    pub topic_id: TopicId,
    /// One entry for each partition of the request.
    pub partitions: Vec<OffsetCommitResponsePartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's outcome, in [`OffsetCommitResponseTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetCommitResponsePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why the offset was not stored; 0 when it was.
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
