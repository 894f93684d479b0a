//! Metadata (key 3): brokers, topics, and who leads which partition.
//!
//! v1 tells the controller and racks, v5 the replicas that are down, v7 leader epochs, v8 the
//! authorized operations; v9 is flexible; v10 gives topics their ids, and v12 finds topics by id
//! alone; v13 added an error for the whole request.

use crate::prelude::*;

/// Asks what the cluster looks like.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(3), versions = 0..=13, flexible = 9.., listeners(broker))]
pub struct MetadataRequest {
    /// The topics to describe. In v0 an empty list means all; later null means all, and an empty
    /// list none.
    #[wire(nullable = 1..)]
    pub topics: Option<Vec<MetadataRequestTopic>>,
    /// Whether topics that do not exist may be created, if the broker does that at all.
    #[wire(versions = 4.., default = true)]
    pub allow_auto_topic_creation: bool,
    /// Whether to report what the caller may do with the cluster.
    #[wire(versions = 8..=10)]
    pub include_cluster_authorized_operations: bool,
    /// Whether to report what the caller may do with each topic.
    #[wire(versions = 8..)]
    pub include_topic_authorized_operations: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

impl MetadataRequest {
    /// Whether servers of this version know how to look up all topics that are asked for. Below
    /// version 12 they go by name alone, although versions 10 and 11 have room for ids and for
    /// names that are null. It is for the client to ask before it sends, and for the broker to
    /// refuse.
    pub fn is_valid(&self, version: i16) -> bool {
        let mut topics = self.topics.iter().flatten();
        version >= 12 || topics.all(|topic| topic.name.is_some() && topic.topic_id.is_zero())
    }
}

/// A topic to describe, in [`MetadataRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct MetadataRequestTopic {
    /// The topic's id; all zero to go by name. Looked up from v12 on.
    #[wire(versions = 10.., ignorable)]
    pub topic_id: TopicId,
    /// The topic's name; null to go by id.
    #[wire(nullable = 10..)]
    pub name: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`MetadataRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(3), versions = 0..=13, flexible = 9..)]
pub struct MetadataResponse {
    /// Milliseconds for which the client should hold back.
    #[wire(versions = 3.., ignorable)]
    pub throttle_time_ms: i32,
    /// The brokers that are up.
    pub brokers: Vec<MetadataResponseBroker>,
    /// The cluster's id; null if it has none.
    #[wire(versions = 2.., nullable = 2.., default = None, ignorable)]
    pub cluster_id: Option<ByteString>,
    /// A broker that takes what is meant for the controller; -1 if there is none.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub controller_id: BrokerId,
    /// The topics that were asked for.
    pub topics: Vec<MetadataResponseTopic>,
    /// A bit for each operation that the caller may do with the cluster; the lowest number if
    /// that was not asked for.
    #[wire(versions = 8..=10, default = i32::MIN)]
    pub cluster_authorized_operations: i32,
    /// What is wrong with the request as a whole.
    #[wire(versions = 13.., ignorable)]
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A broker, in [`MetadataResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct MetadataResponseBroker {
    /// The broker.
    pub node_id: BrokerId,
    /// The host name to connect to.
    pub host: ByteString,
    /// The port to connect to.
    pub port: i32,
    /// Its rack; null if it has none.
    #[wire(versions = 1.., nullable = 1.., default = None, ignorable)]
    pub rack: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A topic, in [`MetadataResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct MetadataResponseTopic {
    /// Why the topic is not described, or none.
    pub error_code: ErrorCode,
    /// The topic's name; null if it was asked for by an id that is not known.
    #[wire(nullable = 12..)]
    pub name: Option<ByteString>,
    /// The topic's id; all zero if unknown.
    #[wire(versions = 10.., ignorable)]
    pub topic_id: TopicId,
    /// Whether the cluster keeps its own data in it.
    #[wire(versions = 1.., ignorable)]
    pub is_internal: bool,
    /// Its partitions.
    pub partitions: Vec<MetadataResponsePartition>,
    /// A bit for each operation that the caller may do with the topic; the lowest number if that
    /// was not asked for.
    #[wire(versions = 8.., default = i32::MIN)]
    pub topic_authorized_operations: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A partition, in [`MetadataResponseTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct MetadataResponsePartition {
    /// What is wrong with the partition, such as having no leader.
    pub error_code: ErrorCode,
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The leader; -1 if there is none.
    pub leader_id: BrokerId,
    /// The leader's epoch; -1 if unknown.
    #[wire(versions = 7.., default = -1, ignorable)]
    pub leader_epoch: LeaderEpoch,
    /// All replicas, the preferred leader first.
    pub replica_nodes: BrokerIds,
    /// The in-sync replicas.
    pub isr_nodes: BrokerIds,
    /// The replicas that are down.
    #[wire(versions = 5.., ignorable)]
    pub offline_replicas: BrokerIds,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
