//! `DescribeProducers` (key 61): the producers that a partition's leader remembers.
//!
//! Flexible from the start, one version (KIP-664). Serves to find transactions that hang: those
//! whose coordinator knows nothing of them.

use crate::prelude::*;

/// Asks for the producers of some partitions; answered by each partition's leader.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(61), versions = 0..=0, flexible = 0.., listeners(broker))]
pub struct DescribeProducersRequest {
    /// The partitions to look at, by topic.
    pub topics: Vec<TopicRequest>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`DescribeProducersRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicRequest {
    /// The topic's name.
    pub name: ByteString,
    /// The partitions of that topic to look at.
    pub partition_indexes: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeProducersRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(61), versions = 0..=0, flexible = 0..)]
pub struct DescribeProducersResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each topic asked for.
    pub topics: Vec<TopicResponse>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Producers of one topic, in [`DescribeProducersResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicResponse {
    /// The topic's name.
    pub name: ByteString,
    /// One entry for each partition asked for.
    pub partitions: Vec<PartitionResponse>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Producers of one partition, in [`TopicResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionResponse {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why nothing is listed, such as `NOT_LEADER_OR_FOLLOWER`.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when there is no more to say than the code.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// The idempotent and transactional producers that wrote here and have not expired.
    pub active_producers: Vec<ProducerState>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What is remembered of one producer, in [`PartitionResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ProducerState {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its last seen producer epoch; wider here than anywhere else, yet within 16 bits.
    pub producer_epoch: i32,
    /// The sequence number of its last record; -1 when no batch of it is remembered.
    #[wire(default = -1)]
    pub last_sequence: i32,
    /// The greatest timestamp of its last batch, in Unix milliseconds; -1 when unknown.
    #[wire(default = -1)]
    pub last_timestamp: i64,
    /// The epoch of the transaction coordinator that wrote its last marker; -1 before any.
    pub coordinator_epoch: i32,
    /// The first offset of its open transaction; -1 when none is open.
    #[wire(default = -1)]
    pub current_txn_start_offset: Offset,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
