//! Produce (key 0): appends record batches to partitions.
//!
//! v9 is flexible. From v10 an answer of a partition that has moved tells the new leader and its
//! address. v13 names topics by id. Versions 0 to 2 are gone, although brokers still advertise
//! them: see [`ApiKey::advertised`](crate::ApiKey::advertised). A request with `acks` 0 gets no
//! answer.

use crate::prelude::*;

/// Asks the leaders of partitions to append batches.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(0), versions = 3..=13, flexible = 9.., listeners(broker))]
pub struct ProduceRequest {
    /// The transactional id of the producer; null outside transactions.
    #[wire(versions = 3.., nullable = 3.., default = None)]
    pub transactional_id: Option<ByteString>,
    /// When to answer: 1 when the leader has it, -1 when all in-sync replicas have it, 0 never.
    pub acks: i16,
    /// How long to wait for the replicas.
    pub timeout_ms: i32,
    /// What to append, by topic.
    pub topic_data: Vec<TopicProduceData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Batches for one topic, in [`ProduceRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicProduceData {
    /// The topic's name, up to v12.
    #[wire(versions = ..=12, ignorable)]
    pub name: ByteString,
    /// The topic's id, from v13 on.
    #[wire(versions = 13.., ignorable)]
    pub topic_id: TopicId,
    /// What to append, by partition.
    pub partition_data: Vec<PartitionProduceData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Batches for one partition, in [`TopicProduceData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionProduceData {
    /// The partition.
    pub index: PartitionIndex,
    /// One record batch of magic 2. The protocol allows null, a broker does not.
    #[wire(nullable = ..)]
    pub records: Option<Records>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ProduceRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(0), versions = 3..=13, flexible = 9..)]
pub struct ProduceResponse {
    /// What became of it, by topic.
    pub responses: Vec<TopicProduceResponse>,
    /// Milliseconds for which the client should hold back.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// Where the leaders live that `current_leader` names.
    #[wire(versions = 10.., tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of one topic's batches, in [`ProduceResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicProduceResponse {
    /// The topic's name, up to v12.
    #[wire(versions = ..=12, ignorable)]
    pub name: ByteString,
    /// The topic's id, from v13 on.
    #[wire(versions = 13.., ignorable)]
    pub topic_id: TopicId,
    /// What became of it, by partition.
    pub partition_responses: Vec<PartitionProduceResponse>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of one partition's batch, in [`TopicProduceResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionProduceResponse {
    /// The partition.
    pub index: PartitionIndex,
    /// Why nothing was appended, or none.
    pub error_code: ErrorCode,
    /// The offset of the first record; -1 if nothing was appended.
    pub base_offset: Offset,
    /// The time that the broker gave to all records, where the topic asks for that; else -1.
    #[wire(versions = 2.., default = -1, ignorable)]
    pub log_append_time_ms: i64,
    /// The first offset that the partition still has; -1 if unknown.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub log_start_offset: Offset,
    /// The records for which the whole batch was refused.
    #[wire(versions = 8.., ignorable)]
    pub record_errors: Vec<BatchIndexAndErrorMessage>,
    /// What is wrong with the batch, for people; null if nothing is to be said.
    #[wire(versions = 8.., nullable = 8.., default = None, ignorable)]
    pub error_message: Option<ByteString>,
    /// The leader to ask instead.
    #[wire(versions = 10.., tag = 0)]
    pub current_leader: LeaderIdAndEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A record for which a batch was refused, in [`PartitionProduceResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct BatchIndexAndErrorMessage {
    /// The record's place in its batch, from 0.
    #[wire(versions = 8..)]
    pub batch_index: i32,
    /// What is wrong with it, for people; null if nothing is to be said.
    #[wire(versions = 8.., nullable = 8.., default = None)]
    pub batch_index_error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The leader of a partition as the broker knows it, in [`PartitionProduceResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct LeaderIdAndEpoch {
    /// The leader; -1 if unknown.
    #[wire(versions = 10.., default = -1)]
    pub leader_id: BrokerId,
    /// The leader's epoch; -1 if unknown.
    #[wire(versions = 10.., default = -1)]
    pub leader_epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Where a leader lives, in [`ProduceResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct NodeEndpoint {
    /// The broker.
    #[wire(versions = 10..)]
    pub node_id: BrokerId,
    /// Its host name.
    #[wire(versions = 10..)]
    pub host: ByteString,
    /// Its port.
    #[wire(versions = 10..)]
    pub port: i32,
    /// Its rack; null if it has none.
    #[wire(versions = 10.., nullable = 10.., default = None)]
    pub rack: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
