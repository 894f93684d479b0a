//! Fetch (key 1): reads records, for consumers, followers and controllers.
//!
//! v7 brought sessions, in which a request names only what has changed; v9 fences by the leader's
//! epoch; v11 lets a consumer read from a replica of its rack; v12 is flexible and finds out where
//! a follower's log diverges; v13 names topics by id; v15 moved the follower's id into a tagged
//! struct; v16 tells where a new leader lives; v17 names the follower's directory; v18 tells the
//! follower's high watermark.

use crate::prelude::*;

/// Asks for records from given offsets on.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(1), versions = 4..=18, flexible = 12.., listeners(broker, controller))]
pub struct FetchRequest {
    /// The cluster that the fetcher takes the server to belong to; null if it does not say.
    #[wire(versions = 12.., nullable = 12.., tag = 0, default = None, ignorable)]
    pub cluster_id: Option<ByteString>,
    /// The follower that fetches, up to v14; -1 for a consumer.
    #[wire(versions = ..=14, default = -1)]
    pub replica_id: BrokerId,
    /// The follower that fetches, from v15 on.
    #[wire(versions = 15.., tag = 1)]
    pub replica_state: ReplicaState,
    /// How long the server may wait for `min_bytes` to come together.
    pub max_wait_ms: i32,
    /// How many bytes are worth an answer before that.
    pub min_bytes: i32,
    /// The most bytes that the answer should have; the first batch comes even if it is larger.
    #[wire(versions = 3.., default = i32::MAX, ignorable)]
    pub max_bytes: i32,
    /// 0: everything up to the high watermark; 1: committed transactions only.
    #[wire(versions = 4.., ignorable)]
    pub isolation_level: i8,
    /// The fetch session; 0 to have none or ask for one.
    #[wire(versions = 7.., ignorable)]
    pub session_id: i32,
    /// The request's number within its session; 0 starts one, -1 ends it or has none.
    #[wire(versions = 7.., default = -1, ignorable)]
    pub session_epoch: i32,
    /// What to fetch; within a session, what has changed.
    pub topics: Vec<FetchTopic>,
    /// What no longer to fetch in this session.
    #[wire(versions = 7..)]
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    /// The rack of a consumer, which may then be sent to a nearer replica; may be empty.
    #[wire(versions = 11.., ignorable)]
    pub rack_id: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A follower that fetches, in [`FetchRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ReplicaState {
    /// The follower; -1 for a consumer.
    #[wire(versions = 15.., default = -1)]
    pub replica_id: BrokerId,
    /// The follower's broker epoch; -1 if unknown.
    #[wire(versions = 15.., default = -1)]
    pub replica_epoch: BrokerEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A topic to fetch, in [`FetchRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct FetchTopic {
    /// The topic's name, up to v12.
    #[wire(versions = ..=12, ignorable)]
    pub topic: ByteString,
    /// The topic's id, from v13 on.
    #[wire(versions = 13.., ignorable)]
    pub topic_id: TopicId,
    /// What to fetch of it.
    pub partitions: Vec<FetchPartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A partition to fetch, in [`FetchTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct FetchPartition {
    /// The partition.
    pub partition: PartitionIndex,
    /// The leader's epoch as the fetcher knows it; -1 if unknown.
    #[wire(versions = 9.., default = -1, ignorable)]
    pub current_leader_epoch: LeaderEpoch,
    /// The offset to read from.
    pub fetch_offset: Offset,
    /// The leader epoch of the last record that the fetcher has; -1 if it has none or is a
    /// consumer that does not know.
    #[wire(versions = 12.., default = -1)]
    pub last_fetched_epoch: LeaderEpoch,
    /// The first offset that the follower has; -1 for a consumer.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub log_start_offset: Offset,
    /// The most bytes to fetch of this partition.
    pub partition_max_bytes: i32,
    /// The directory in which the follower keeps the partition.
    #[wire(versions = 17.., tag = 0, ignorable)]
    pub replica_directory_id: Uuid,
    /// The follower's high watermark; the greatest number if the server need not answer at once
    /// when only the high watermark has moved.
    #[wire(versions = 18.., tag = 1, default = i64::MAX, ignorable)]
    pub high_watermark: Offset,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions that leave the session, in [`FetchRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ForgottenTopic {
    /// The topic's name, up to v12.
    #[wire(versions = 7..=12, ignorable)]
    pub topic: ByteString,
    /// The topic's id, from v13 on.
    #[wire(versions = 13.., ignorable)]
    pub topic_id: TopicId,
    /// The partitions.
    #[wire(versions = 7..)]
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`FetchRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(1), versions = 4..=18, flexible = 12..)]
pub struct FetchResponse {
    /// Milliseconds for which the client should hold back.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// What is wrong with the request as a whole, such as its session.
    #[wire(versions = 7.., ignorable)]
    pub error_code: ErrorCode,
    /// The fetch session; 0 if there is none.
    #[wire(versions = 7..)]
    pub session_id: i32,
    /// What was read, by topic.
    pub responses: Vec<FetchableTopicResponse>,
    /// Where the leaders live that `current_leader` names.
    #[wire(versions = 16.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What was read of one topic, in [`FetchResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct FetchableTopicResponse {
    /// The topic's name, up to v12.
    #[wire(versions = ..=12, ignorable)]
    pub topic: ByteString,
    /// The topic's id, from v13 on.
    #[wire(versions = 13.., ignorable)]
    pub topic_id: TopicId,
    /// What was read, by partition.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What was read of one partition, in [`FetchableTopicResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why nothing was read, or none.
    pub error_code: ErrorCode,
    /// One past the last record that all in-sync replicas have; -1 if unknown.
    pub high_watermark: Offset,
    /// Before it no transaction is open; -1 if unknown.
    #[wire(versions = 4.., default = -1, ignorable)]
    pub last_stable_offset: Offset,
    /// The first offset that the partition still has; -1 if unknown.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub log_start_offset: Offset,
    /// Where the follower's log leaves the leader's, if it does: it must truncate.
    #[wire(versions = 12.., tag = 0)]
    pub diverging_epoch: EpochEndOffset,
    /// The leader to ask instead.
    #[wire(versions = 12.., tag = 1)]
    pub current_leader: LeaderIdAndEpoch,
    /// The snapshot to fetch instead, where the offset is gone from the metadata log.
    #[wire(versions = 12.., tag = 2)]
    pub snapshot_id: SnapshotId,
    /// Transactions that were aborted within what was read; null unless only committed
    /// transactions were asked for.
    #[wire(versions = 4.., nullable = 4.., ignorable)]
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// The replica that the consumer should read from next; -1: go on here.
    #[wire(versions = 11.., default = -1)]
    pub preferred_read_replica: BrokerId,
    /// Record batches as they are stored; the last one may be cut off.
    #[wire(nullable = ..)]
    pub records: Option<Records>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Where a leader epoch ends in the leader's log, in [`PartitionData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct EpochEndOffset {
    /// The greatest leader epoch that is not above the follower's; -1: none, nothing diverges.
    #[wire(versions = 12.., default = -1)]
    pub epoch: LeaderEpoch,
    /// One past that epoch's last record; -1: none.
    #[wire(versions = 12.., default = -1)]
    pub end_offset: Offset,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The leader of a partition as the broker knows it, in [`PartitionData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct LeaderIdAndEpoch {
    /// The leader; -1 if unknown.
    #[wire(versions = 12.., default = -1)]
    pub leader_id: BrokerId,
    /// The leader's epoch; -1 if unknown.
    #[wire(versions = 12.., default = -1)]
    pub leader_epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Names a snapshot of the metadata log, in [`PartitionData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct SnapshotId {
    /// One past the last record that the snapshot stands for; -1: no snapshot.
    #[wire(default = -1)]
    pub end_offset: Offset,
    /// The leader epoch of that record; -1: no snapshot.
    #[wire(default = -1)]
    pub epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// An aborted transaction, in [`PartitionData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AbortedTransaction {
    /// Whose records to skip.
    #[wire(versions = 4..)]
    pub producer_id: ProducerId,
    /// From where on, up to its next abort marker.
    #[wire(versions = 4..)]
    pub first_offset: Offset,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Where a leader lives, in [`FetchResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct NodeEndpoint {
    /// The broker.
    #[wire(versions = 16..)]
    pub node_id: BrokerId,
    /// Its host name.
    #[wire(versions = 16..)]
    pub host: ByteString,
    /// Its port.
    #[wire(versions = 16..)]
    pub port: i32,
    /// Its rack; null if it has none.
    #[wire(versions = 16.., nullable = 16.., default = None)]
    pub rack: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
