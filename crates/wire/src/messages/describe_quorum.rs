//! `DescribeQuorum` (key 55): who leads the metadata quorum and how far its members are.
//!
//! Flexible from the start. v1 added the two times of each replica (KIP-836); v2 error texts,
//! directories and the voters' addresses (KIP-853). Only the leader knows; a broker passes the
//! request on to it.

use crate::prelude::*;

/// Asks for the state of the quorum.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(55), versions = 0..=2, flexible = 0.., listeners(broker, controller))]
pub struct DescribeQuorumRequest {
    /// The partitions to describe, by topic. There is one to ask for: partition 0 of
    /// `__cluster_metadata`.
    pub topics: Vec<RequestTopicData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`DescribeQuorumRequest`]. (`TopicData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestTopicData {
    /// The topic's name.
    pub topic_name: ByteString,
    /// The partitions of that topic to describe.
    pub partitions: Vec<RequestPartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition, in [`RequestTopicData`]. (`PartitionData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestPartitionData {
    /// The partition to describe.
    pub partition_index: PartitionIndex,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeQuorumRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(55), versions = 0..=2, flexible = 0..)]
pub struct DescribeQuorumResponse {
    /// What concerns the request as a whole, such as `CLUSTER_AUTHORIZATION_FAILED`.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(versions = 2.., nullable = 2.., ignorable)]
    pub error_message: Option<ByteString>,
    /// One entry for each topic asked for.
    pub topics: Vec<ResponseTopicData>,
    /// Where the voters can be reached.
    #[wire(versions = 2..)]
    pub nodes: Vec<Node>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`DescribeQuorumResponse`]. (`TopicData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ResponseTopicData {
    /// The topic's name.
    pub topic_name: ByteString,
    /// One entry for each partition asked for.
    pub partitions: Vec<ResponsePartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's quorum, in [`ResponseTopicData`]. (`PartitionData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ResponsePartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why the rest is empty, such as `NOT_LEADER_OR_FOLLOWER` from a node that does not lead.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(versions = 2.., nullable = 2.., ignorable)]
    pub error_message: Option<ByteString>,
    /// The leader; -1 when unknown.
    pub leader_id: BrokerId,
    /// The highest epoch that the answering node knows.
    pub leader_epoch: LeaderEpoch,
    /// One past the last record that a majority of the voters has.
    pub high_watermark: Offset,
    /// The members that elect the leader and count for the high watermark, the leader included.
    pub current_voters: Vec<ReplicaState>,
    /// The nodes that only follow the log: brokers, and controllers that are no voters.
    pub observers: Vec<ReplicaState>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// How far one replica is, in [`ResponsePartitionData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ReplicaState {
    /// The replica's node.
    pub replica_id: BrokerId,
    /// Its log directory; zero when unknown.
    #[wire(versions = 2..)]
    pub replica_directory_id: Uuid,
    /// Its log end offset as of its last fetch; -1 when it has not fetched from this leader.
    pub log_end_offset: Offset,
    /// When it last fetched, in Unix milliseconds of the leader's clock; -1 when it has not. The
    /// leader itself has the moment of the answer here.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub last_fetch_timestamp: i64,
    /// The last moment at which it had all that the leader had, in Unix milliseconds of the
    /// leader's clock; -1 when unknown. The leader itself has the moment of the answer here.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub last_caught_up_timestamp: i64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A voter's addresses, in [`DescribeQuorumResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Node {
    /// The voter's node.
    #[wire(versions = 2..)]
    pub node_id: BrokerId,
    /// Its controller listeners.
    #[wire(versions = 2..)]
    pub listeners: Vec<Listener>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One address, in [`Node`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Listener {
    /// The listener's name.
    #[wire(versions = 2..)]
    pub name: ByteString,
    /// Host name or address.
    #[wire(versions = 2..)]
    pub host: ByteString,
    /// TCP port.
    #[wire(versions = 2..)]
    pub port: u16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
