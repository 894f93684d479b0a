//! Record type 4 of `__consumer_offsets`: the topics that a consumer group is subscribed to.
//!
//! Written by 4.0 and before, so that a change of the topics could be noticed. Later versions keep
//! a hash in [`consumer_group_metadata`](super::consumer_group_metadata) instead, and write a
//! tombstone over this record.

use crate::prelude::*;

/// Names the group.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(4), versions = 0..=0)]
pub struct ConsumerGroupPartitionMetadataKey {
    /// The group's id.
    pub group_id: ByteString,
}

/// The subscribed topics as the group last saw them.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(4), versions = 0..=0, flexible = 0..)]
pub struct ConsumerGroupPartitionMetadataValue {
    /// One entry for each subscribed topic that exists.
    pub topics: Vec<TopicMetadata>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic, in [`ConsumerGroupPartitionMetadataValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicMetadata {
    /// The topic's id.
    pub topic_id: TopicId,
    /// The topic's name.
    pub topic_name: ByteString,
    /// How many partitions the topic has.
    pub num_partitions: i32,
    /// The racks of each partition; empty where no rack is known, and since 4.0 always.
    pub partition_metadata: Vec<PartitionMetadata>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's racks, in [`TopicMetadata`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionMetadata {
    /// The partition within its topic.
    pub partition: PartitionIndex,
    /// The racks in which it has replicas, each once.
    pub racks: Vec<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
