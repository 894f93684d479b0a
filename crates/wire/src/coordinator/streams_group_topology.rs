//! Record type 23 of `__consumer_offsets`: what a streams application reads, computes and keeps.
//!
//! The members send it; the coordinator makes the internal topics and the tasks out of it.

use crate::prelude::*;

/// Names the group.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(23), versions = 0..=0)]
pub struct StreamsGroupTopologyKey {
    /// The group's id, which is the application's.
    pub group_id: ByteString,
}

/// The group's topology; a tombstone in its place means that the group is gone.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(23), versions = 0..=0, flexible = 0..)]
pub struct StreamsGroupTopologyValue {
    /// The version of the topology. Members that run another one get no tasks of it.
    pub epoch: i32,
    /// The parts of the topology that exchange data through topics alone.
    pub subtopologies: Vec<Subtopology>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One part, in [`StreamsGroupTopologyValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Subtopology {
    /// Names the part within the topology.
    pub subtopology_id: ByteString,
    /// The application's own topics that it reads.
    pub source_topics: Vec<ByteString>,
    /// Patterns of further topics that it reads.
    pub source_topic_regex: Vec<ByteString>,
    /// The internal topics that back its state stores up.
    pub state_changelog_topics: Vec<TopicInfo>,
    /// The internal topics that it writes for other parts to read.
    pub repartition_sink_topics: Vec<ByteString>,
    /// The internal topics that it reads, written by other parts.
    pub repartition_source_topics: Vec<TopicInfo>,
    /// The topics that must have the same number of partitions as each other, group by group.
    pub copartition_groups: Vec<CopartitionGroup>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Topics that are read together, in [`Subtopology`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CopartitionGroup {
    /// Which of the subtopology's `source_topics`: indexes from 0.
    pub source_topics: Vec<i16>,
    /// Which of the subtopology's `source_topic_regex`: indexes from 0.
    pub source_topic_regex: Vec<i16>,
    /// Which of the subtopology's `repartition_source_topics`: indexes from 0.
    pub repartition_source_topics: Vec<i16>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// An internal topic, in [`Subtopology`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicInfo {
    /// The topic's name.
    pub name: ByteString,
    /// How many partitions it needs; 0 leaves it to the coordinator, which derives the number from
    /// the topics read.
    pub partitions: i32,
    /// How many replicas it needs; 0 leaves it to the broker's default.
    pub replication_factor: i16,
    /// Settings that the topic gets when it is made.
    pub topic_configs: Vec<TopicConfig>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One setting, in [`TopicInfo`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicConfig {
    /// The setting's name.
    pub key: ByteString,
    /// Its value.
    pub value: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
