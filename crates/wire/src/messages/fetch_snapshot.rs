//! `FetchSnapshot` (key 59): reads a snapshot of the metadata log, piece by piece.
//!
//! Flexible from the start; v1 added the reader's directory and the leader's address (KIP-853).
//! A follower asks for one when a fetch told it that the log no longer reaches back far enough
//! (KIP-630).

use crate::prelude::*;

/// Asks the quorum's leader for bytes of a snapshot.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(59), versions = 0..=1, flexible = 0.., listeners(controller))]
pub struct FetchSnapshotRequest {
    /// The cluster that the follower belongs to; `None` when it does not know yet. Another
    /// cluster than the leader's is `INCONSISTENT_CLUSTER_ID`.
    #[wire(nullable = .., tag = 0, default = None)]
    pub cluster_id: Option<ByteString>,
    /// The follower; -1 for a reader that is no replica.
    #[wire(default = -1)]
    pub replica_id: BrokerId,
    /// The most bytes of snapshots that the answer shall hold.
    #[wire(default = i32::MAX)]
    pub max_bytes: i32,
    /// The snapshots to read, by topic.
    pub topics: Vec<RequestTopicSnapshot>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Snapshots of one topic's partitions, in [`FetchSnapshotRequest`]. (`TopicSnapshot` in Kafka's
/// schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestTopicSnapshot {
    /// The topic's name.
    pub name: ByteString,
    /// One entry for each partition.
    pub partitions: Vec<RequestPartitionSnapshot>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What to read of one snapshot, in [`RequestTopicSnapshot`]. (`PartitionSnapshot` in Kafka's
/// schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestPartitionSnapshot {
    /// The partition that the snapshot is of.
    pub partition: PartitionIndex,
    /// The leader's epoch that the follower knows, so that a deposed leader is noticed; -1 skips
    /// the check.
    pub current_leader_epoch: LeaderEpoch,
    /// Which snapshot.
    pub snapshot_id: SnapshotId,
    /// Where in the snapshot to read on, in bytes from its start; outside of it the answer is
    /// `POSITION_OUT_OF_RANGE`.
    pub position: i64,
    /// The follower's log directory; zero when unknown.
    #[wire(versions = 1.., tag = 0, ignorable)]
    pub replica_directory_id: Uuid,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Names a snapshot by the part of the log that it stands for, in [`RequestPartitionSnapshot`]
/// and [`ResponsePartitionSnapshot`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct SnapshotId {
    /// One past the last record that the snapshot includes.
    pub end_offset: Offset,
    /// The leader epoch of that last record.
    pub epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`FetchSnapshotRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(59), versions = 0..=1, flexible = 0..)]
pub struct FetchSnapshotResponse {
    /// Milliseconds for which the follower should hold back; 0 when no quota is exceeded.
    #[wire(ignorable)]
    pub throttle_time_ms: i32,
    /// What concerns the request as a whole, such as `INCONSISTENT_CLUSTER_ID`.
    pub error_code: ErrorCode,
    /// The pieces, by topic.
    pub topics: Vec<ResponseTopicSnapshot>,
    /// Where the leaders named in `topics` can be reached.
    #[wire(versions = 1.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Snapshots of one topic's partitions, in [`FetchSnapshotResponse`]. (`TopicSnapshot` in Kafka's
/// schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ResponseTopicSnapshot {
    /// The topic's name.
    pub name: ByteString,
    /// One entry for each partition.
    pub partitions: Vec<ResponsePartitionSnapshot>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A piece of one snapshot, in [`ResponseTopicSnapshot`]. (`PartitionSnapshot` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ResponsePartitionSnapshot {
    /// The partition that the snapshot is of.
    pub index: PartitionIndex,
    /// Why nothing was read: `SNAPSHOT_NOT_FOUND`, `POSITION_OUT_OF_RANGE`,
    /// `FENCED_LEADER_EPOCH`, `NOT_LEADER_OR_FOLLOWER`.
    pub error_code: ErrorCode,
    /// Which snapshot.
    pub snapshot_id: SnapshotId,
    /// The leader as the answering node knows it; sent when that is news to the follower.
    #[wire(tag = 0)]
    pub current_leader: LeaderIdAndEpoch,
    /// Bytes of the whole snapshot.
    pub size: i64,
    /// Where in the snapshot the piece begins, in bytes from its start.
    pub position: i64,
    /// The piece. It may begin and end in the middle of a record batch: only the pieces put
    /// together are batches.
    pub unaligned_records: Records,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A partition's leader, in [`ResponsePartitionSnapshot`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct LeaderIdAndEpoch {
    /// The leader; -1 when unknown. An absent field reads as 0, which is a broker's id like any
    /// other.
    pub leader_id: BrokerId,
    /// The highest epoch that the answering node knows.
    pub leader_epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A leader's address, in [`FetchSnapshotResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct NodeEndpoint {
    /// The leader.
    #[wire(versions = 1..)]
    pub node_id: BrokerId,
    /// Its host name or address, on the listener that the request came through.
    #[wire(versions = 1..)]
    pub host: ByteString,
    /// Its TCP port.
    #[wire(versions = 1..)]
    pub port: u16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
