//! `TxnOffsetCommit` (key 28): stores a group's offsets as part of a transaction: they count when
//! it commits; answered by the group's coordinator.
//!
//! v2 added the leader epoch, v3 is flexible and names the group's member, so that one who lost its
//! partitions is fenced (KIP-447), v4 may answer `TRANSACTION_ABORTABLE`, v5 needs no
//! `AddOffsetsToTxn` before it (KIP-890), v6 names topics by id.
//!
//! A writer sets the name or the id of a topic, whichever the version has: the other is dropped, so
//! that a topic with the wrong one goes out without either.

use crate::prelude::*;

/// Commits offsets of any number of partitions within a transaction.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(28), versions = 0..=6, flexible = 3.., listeners(broker))]
pub struct TxnOffsetCommitRequest {
    /// The transactional id.
    pub transactional_id: ByteString,
    /// The group whose offsets these are.
    pub group_id: ByteString,
    /// The producer id that the transactional id has.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The generation (classic protocol) or member epoch (consumer protocol) of the consumer that
    /// read what the transaction writes; -1 when it is not told.
    #[wire(versions = 3.., default = -1)]
    pub generation_id_or_member_epoch: i32,
    /// That consumer's member id; empty when it is not told.
    #[wire(versions = 3..)]
    pub member_id: ByteString,
    /// That consumer's group instance id; null for a dynamic member.
    #[wire(versions = 3.., nullable = 3.., default = None)]
    pub group_instance_id: Option<ByteString>,
    /// The offsets, by topic.
    pub topics: Vec<TxnOffsetCommitRequestTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's offsets, in [`TxnOffsetCommitRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TxnOffsetCommitRequestTopic {
    /// The topic's name, up to v5.
    #[wire(versions = ..=5, ignorable)]
    pub name: ByteString,
    /// The topic's id, from v6 on.
    #[wire(versions = 6.., ignorable)]
    pub topic_id: TopicId,
    /// The offsets, by partition.
    pub partitions: Vec<TxnOffsetCommitRequestPartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's offset, in [`TxnOffsetCommitRequestTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TxnOffsetCommitRequestPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Where the group goes on: one past the last record that it has processed.
    pub committed_offset: Offset,
    /// Leader epoch of the last record processed; -1 where it is not known.
    #[wire(versions = 2.., default = -1, ignorable)]
    pub committed_leader_epoch: LeaderEpoch,
    /// Whatever the application wants to keep with the offset; null is stored as empty.
    #[wire(nullable = ..)]
    pub committed_metadata: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`TxnOffsetCommitRequest`].
///
/// An error that concerns the whole request is repeated at every partition.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(28), versions = 0..=6, flexible = 3..)]
pub struct TxnOffsetCommitResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each topic of the request.
    pub topics: Vec<TxnOffsetCommitResponseTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's outcome, in [`TxnOffsetCommitResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TxnOffsetCommitResponseTopic {
    /// The topic's name, up to v5.
    #[wire(versions = ..=5, ignorable)]
    pub name: ByteString,
    /// The topic's id, from v6 on.
    #[wire(versions = 6.., ignorable)]
    pub topic_id: TopicId,
    /// One entry for each partition of the request.
    pub partitions: Vec<TxnOffsetCommitResponsePartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's outcome, in [`TxnOffsetCommitResponseTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TxnOffsetCommitResponsePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why the offset was not stored; 0 when it was.
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
