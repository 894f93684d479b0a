//! `EndQuorumEpoch` (key 54): the leader of the metadata quorum steps down.
//!
//! v1 is flexible, names the candidates by directory as well and gives the leader's addresses
//! (KIP-853). It spares the voters the wait for an election timeout.

use crate::prelude::*;

/// Tells a voter that the sender leads no longer.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(54), versions = 0..=1, flexible = 1.., listeners(controller))]
pub struct EndQuorumEpochRequest {
    /// The cluster that the leader belongs to; `None` when it does not know yet. Another cluster
    /// than the voter's is `INCONSISTENT_CLUSTER_ID`.
    #[wire(nullable = .., default = None)]
    pub cluster_id: Option<ByteString>,
    /// The partitions that are given up, by topic.
    pub topics: Vec<RequestTopicData>,
    /// Where the leader can be reached, one entry for each of its controller listeners.
    #[wire(versions = 1.., ignorable)]
    pub leader_endpoints: Vec<LeaderEndpoint>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`EndQuorumEpochRequest`]. (`TopicData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestTopicData {
    /// The topic's name.
    pub topic_name: ByteString,
    /// One entry for each partition.
    pub partitions: Vec<RequestPartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition that is given up, in [`RequestTopicData`]. (`PartitionData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestPartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The leader that resigns, that is the sender.
    pub leader_id: BrokerId,
    /// The epoch in which it led.
    pub leader_epoch: LeaderEpoch,
    /// The voters in the order in which they should stand for election, the one whose log is
    /// longest first; the first stands at once, the others later.
    #[wire(versions = ..=0, ignorable)]
    pub preferred_successors: Vec<BrokerId>,
    /// The same as `preferred_successors`, since v1.
    #[wire(versions = 1.., ignorable)]
    pub preferred_candidates: Vec<ReplicaInfo>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A voter that may stand for election, in [`RequestPartitionData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ReplicaInfo {
    /// The voter.
    #[wire(versions = 1..)]
    pub candidate_id: BrokerId,
    /// Its log directory; zero when unknown.
    #[wire(versions = 1..)]
    pub candidate_directory_id: Uuid,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One address of the leader, in [`EndQuorumEpochRequest`].
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

/// Answers [`EndQuorumEpochRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(54), versions = 0..=1, flexible = 1..)]
pub struct EndQuorumEpochResponse {
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

/// Partitions of one topic, in [`EndQuorumEpochResponse`]. (`TopicData` in Kafka's schema.)
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
    /// `FENCED_LEADER_EPOCH` when the sender's epoch is behind the voter's.
    pub error_code: ErrorCode,
    /// The leader that the voter knows in `leader_epoch`; -1 when there is none.
    pub leader_id: BrokerId,
    /// The highest epoch that the voter knows.
    pub leader_epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A leader's address, in [`EndQuorumEpochResponse`].
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
