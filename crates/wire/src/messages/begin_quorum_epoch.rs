//! `BeginQuorumEpoch` (key 53): a new leader of the metadata quorum makes itself known.
//!
//! v1 is flexible, names the voter by directory as well and gives the leader's addresses
//! (KIP-853). The leader repeats it to each voter until that voter has begun to fetch.

use crate::prelude::*;

/// Tells a voter who leads; sent by the leader.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(53), versions = 0..=1, flexible = 1.., listeners(controller))]
pub struct BeginQuorumEpochRequest {
    /// The cluster that the leader belongs to; `None` when it does not know yet. Another cluster
    /// than the voter's is `INCONSISTENT_CLUSTER_ID`.
    #[wire(nullable = .., default = None)]
    pub cluster_id: Option<ByteString>,
    /// The voter that is told, so that a request gone astray is noticed; -1 skips the check.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub voter_id: BrokerId,
    /// The partitions that are led, by topic.
    pub topics: Vec<RequestTopicData>,
    /// Where the leader can be reached, one entry for each of its controller listeners.
    #[wire(versions = 1.., ignorable)]
    pub leader_endpoints: Vec<LeaderEndpoint>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`BeginQuorumEpochRequest`]. (`TopicData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestTopicData {
    /// The topic's name.
    pub topic_name: ByteString,
    /// One entry for each partition.
    pub partitions: Vec<RequestPartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's new leader, in [`RequestTopicData`]. (`PartitionData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestPartitionData {
    /// The partition that is led.
    pub partition_index: PartitionIndex,
    /// The log directory of the voter that is told; zero when unknown.
    #[wire(versions = 1.., ignorable)]
    pub voter_directory_id: Uuid,
    /// The leader, that is the sender.
    pub leader_id: BrokerId,
    /// The epoch that it was elected for.
    pub leader_epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One address of the leader, in [`BeginQuorumEpochRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct LeaderEndpoint {
    /// The listener's name.
    #[wire(versions = 1..)]
    pub name: ByteString,
    /// Host name or address.
    #[wire(versions = 1..)]
    pub host: ByteString,
    /// TCP port.
    #[wire(versions = 1..)]
    pub port: u16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`BeginQuorumEpochRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(53), versions = 0..=1, flexible = 1..)]
pub struct BeginQuorumEpochResponse {
    /// What concerns the request as a whole, such as `INCONSISTENT_CLUSTER_ID`.
    pub error_code: ErrorCode,
    /// What the voter knows of each partition, by topic.
    pub topics: Vec<ResponseTopicData>,
    /// Where the leaders named in `topics` can be reached.
    #[wire(versions = 1.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`BeginQuorumEpochResponse`]. (`TopicData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ResponseTopicData {
    /// The topic's name.
    pub topic_name: ByteString,
    /// One entry for each partition.
    pub partitions: Vec<ResponsePartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition, in [`ResponseTopicData`]. (`PartitionData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ResponsePartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// `FENCED_LEADER_EPOCH` when the sender's epoch is behind the voter's: it leads no longer.
    pub error_code: ErrorCode,
    /// The leader that the voter knows in `leader_epoch`; -1 when there is none.
    pub leader_id: BrokerId,
    /// The highest epoch that the voter knows.
    pub leader_epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A leader's address, in [`BeginQuorumEpochResponse`].
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
