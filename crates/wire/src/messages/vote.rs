//! `Vote` (key 52): a candidate of the metadata quorum asks for a voter's vote.
//!
//! Flexible from the start. v1 names voters by directory as well, so that a replaced disk is not
//! taken for its predecessor, and gives the leader's address (KIP-853); v2 can ask without raising
//! the epoch (KIP-996). The quorum votes on one partition; the lists by topic are a provision.

use crate::prelude::*;

/// Asks for a vote; sent by a candidate to each other voter.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(52), versions = 0..=2, flexible = 0.., listeners(controller))]
pub struct VoteRequest {
    /// The cluster that the candidate belongs to; `None` when it does not know yet. Another
    /// cluster than the voter's is `INCONSISTENT_CLUSTER_ID`.
    #[wire(nullable = .., default = None)]
    pub cluster_id: Option<ByteString>,
    /// The voter that is asked, so that a request gone astray is noticed; -1 skips the check.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub voter_id: BrokerId,
    /// The elections, by topic.
    pub topics: Vec<RequestTopicData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Elections of one topic's partitions, in [`VoteRequest`]. (`TopicData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestTopicData {
    /// The topic's name.
    pub topic_name: ByteString,
    /// One entry for each partition.
    pub partitions: Vec<RequestPartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One election, in [`RequestTopicData`]. (`PartitionData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestPartitionData {
    /// The partition whose leader is elected.
    pub partition_index: PartitionIndex,
    /// The epoch that the candidate wants to lead in; in a pre-vote the one that it is in.
    pub replica_epoch: LeaderEpoch,
    /// The candidate.
    pub replica_id: BrokerId,
    /// The log directory of the candidate; zero when unknown.
    #[wire(versions = 1.., ignorable)]
    pub replica_directory_id: Uuid,
    /// The log directory of the voter that is asked; zero when unknown.
    #[wire(versions = 1.., ignorable)]
    pub voter_directory_id: Uuid,
    /// Epoch of the last record in the candidate's log.
    pub last_offset_epoch: LeaderEpoch,
    /// Log end offset of the candidate. A voter refuses a log that is behind its own: first by
    /// epoch, then by this.
    pub last_offset: Offset,
    /// Whether this only asks how a vote would go. Granting it binds the voter to nothing.
    #[wire(versions = 2..)]
    pub pre_vote: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`VoteRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(52), versions = 0..=2, flexible = 0..)]
pub struct VoteResponse {
    /// What concerns the request as a whole, such as `INCONSISTENT_CLUSTER_ID`.
    pub error_code: ErrorCode,
    /// The votes, by topic.
    pub topics: Vec<ResponseTopicData>,
    /// Where the leaders named in `topics` can be reached.
    #[wire(versions = 1.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Votes for one topic's partitions, in [`VoteResponse`]. (`TopicData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ResponseTopicData {
    /// The topic's name.
    pub topic_name: ByteString,
    /// One entry for each partition.
    pub partitions: Vec<ResponsePartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One vote, in [`ResponseTopicData`]. (`PartitionData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ResponsePartitionData {
    /// The partition whose leader is elected.
    pub partition_index: PartitionIndex,
    /// `FENCED_LEADER_EPOCH` when the candidate's epoch is behind the voter's; refusing a vote is
    /// no error.
    pub error_code: ErrorCode,
    /// The leader that the voter knows in `leader_epoch`; -1 when there is none.
    pub leader_id: BrokerId,
    /// The highest epoch that the voter knows.
    pub leader_epoch: LeaderEpoch,
    /// Whether the candidate has the vote.
    pub vote_granted: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A leader's address, in [`VoteResponse`].
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
