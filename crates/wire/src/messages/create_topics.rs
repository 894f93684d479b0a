//! `CreateTopics` (key 19): makes topics.
//!
//! From v4 on the number of partitions and of replicas may be left to the broker (-1). v5 is
//! flexible and tells what a new topic looks like, v7 its id.

use crate::prelude::*;

/// Asks the controller to make topics.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(19), versions = 2..=7, flexible = 5.., listeners(broker, controller))]
pub struct CreateTopicsRequest {
    /// The topics to make.
    pub topics: Vec<CreatableTopic>,
    /// How long to wait until they are there.
    #[wire(default = 60000)]
    pub timeout_ms: i32,
    /// Only check whether it could be done.
    #[wire(versions = 1..)]
    pub validate_only: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

impl CreateTopicsRequest {
    /// The topics that leave the number of partitions or replicas to the broker, in a version
    /// (below 4) whose servers do not take that. The codec does not care: it is for the client to
    /// ask before it sends.
    pub fn topics_needing_defaults(&self, version: i16) -> impl Iterator<Item = &CreatableTopic> {
        self.topics
            .iter()
            .filter(move |topic| version < 4 && topic.leaves_counts_to_broker())
    }
}

/// A topic to make, in [`CreateTopicsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CreatableTopic {
    /// The topic's name.
    pub name: ByteString,
    /// How many partitions it gets; -1 where `assignments` says it, or (v4) for the default.
    pub num_partitions: i32,
    /// How many replicas each partition gets; -1 where `assignments` says it, or (v4) for the
    /// default.
    pub replication_factor: i16,
    /// Which brokers get which partitions; empty to leave that to the controller.
    pub assignments: Vec<CreatableReplicaAssignment>,
    /// Settings that differ from the defaults.
    pub configs: Vec<CreatableTopicConfig>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

impl CreatableTopic {
    /// Whether the broker is to choose the number of partitions or of replicas.
    pub fn leaves_counts_to_broker(&self) -> bool {
        self.assignments.is_empty() && (self.num_partitions == -1 || self.replication_factor == -1)
    }
}

/// Where one partition's replicas go, in [`CreatableTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CreatableReplicaAssignment {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The brokers, the preferred leader first.
    pub broker_ids: Vec<BrokerId>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A setting of a topic to make, in [`CreatableTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CreatableTopicConfig {
    /// The setting's name.
    pub name: ByteString,
    /// Its value; a broker refuses null.
    #[wire(nullable = ..)]
    pub value: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`CreateTopicsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(19), versions = 2..=7, flexible = 5..)]
pub struct CreateTopicsResponse {
    /// Milliseconds for which the client should hold back.
    #[wire(versions = 2.., ignorable)]
    pub throttle_time_ms: i32,
    /// What became of each topic.
    pub topics: Vec<CreatableTopicResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of one topic, in [`CreateTopicsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CreatableTopicResult {
    /// The topic's name.
    pub name: ByteString,
    /// The topic's id; all zero if it was not made.
    #[wire(versions = 7.., ignorable)]
    pub topic_id: TopicId,
    /// Why it was not made, or none.
    pub error_code: ErrorCode,
    /// The same for people; null if nothing is to be said.
    #[wire(versions = 1.., nullable = .., ignorable)]
    pub error_message: Option<ByteString>,
    /// Why `configs` is null: the caller may not see the topic's settings.
    #[wire(versions = 5.., tag = 0, ignorable)]
    pub topic_config_error_code: ErrorCode,
    /// How many partitions the topic has; -1 if it was not made or may not be told.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub num_partitions: i32,
    /// How many replicas each partition has; -1 if it was not made or may not be told.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub replication_factor: i16,
    /// The topic's settings; null if they may not be told.
    #[wire(versions = 5.., nullable = 5.., ignorable)]
    pub configs: Option<Vec<CreatableTopicConfigs>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A setting of a new topic, in [`CreatableTopicResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CreatableTopicConfigs {
    /// The setting's name.
    #[wire(versions = 5..)]
    pub name: ByteString,
    /// Its value; null if it is secret.
    #[wire(versions = 5.., nullable = 5..)]
    pub value: Option<ByteString>,
    /// Whether it cannot be changed.
    #[wire(versions = 5..)]
    pub read_only: bool,
    /// Where the value comes from, as `DescribeConfigs` says it; -1 if unknown.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub config_source: i8,
    /// Whether the value is secret.
    #[wire(versions = 5..)]
    pub is_sensitive: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
