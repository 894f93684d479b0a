//! `StreamsGroupTopologyDescriptionUpdate` (key 93): a Kafka Streams application hands its full
//! processing graph to the broker, for operators to look at (KIP-1331).
//!
//! Sent when the answer to a `StreamsGroupHeartbeat` asks for it; the group runs without it just
//! as well. Brokers keep the graph only where something is configured to store it.

use crate::prelude::*;

/// Describes a topology to the group's coordinator.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(93), versions = 0..=0, flexible = 0.., listeners(broker))]
pub struct StreamsGroupTopologyDescriptionUpdateRequest {
    /// The group.
    pub group_id: ByteString,
    /// The member that sends this.
    pub member_id: ByteString,
    /// The application's own version of the topology described.
    pub topology_epoch: i32,
    /// The processing graph.
    pub topology_description: TopologyDescription,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The processing graph, in [`StreamsGroupTopologyDescriptionUpdateRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopologyDescription {
    /// The connected parts of the graph.
    pub subtopologies: Vec<TopologyDescriptionSubtopology>,
    /// The stores that every instance holds in full.
    pub global_stores: Vec<TopologyDescriptionGlobalStore>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One connected part of the graph, in [`TopologyDescription`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopologyDescriptionSubtopology {
    /// Names the subtopology.
    pub subtopology_id: ByteString,
    /// Its nodes.
    pub nodes: Vec<TopologyDescriptionNode>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One step of processing, in [`TopologyDescriptionSubtopology`] or
/// [`TopologyDescriptionGlobalStore`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopologyDescriptionNode {
    /// The node's name.
    pub name: ByteString,
    /// 1 source, 2 processor, 3 sink.
    pub node_type: i8,
    /// The topics that a source reads; empty for other nodes, and where the topics are chosen
    /// while running.
    pub source_topics: Vec<ByteString>,
    /// The topic that a sink writes; null for other nodes, and where the topic is chosen while
    /// running.
    #[wire(nullable = .., default = None)]
    pub sink_topic: Option<ByteString>,
    /// The stores that a processor uses.
    pub stores: Vec<ByteString>,
    /// The names of the nodes that records go to from here; the graph has no other edges.
    pub successors: Vec<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A store that every instance holds in full, in [`TopologyDescription`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopologyDescriptionGlobalStore {
    /// The node that reads the store's topic.
    pub source: TopologyDescriptionNode,
    /// The node that fills the store.
    pub processor: TopologyDescriptionNode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`StreamsGroupTopologyDescriptionUpdateRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(93), versions = 0..=0, flexible = 0..)]
pub struct StreamsGroupTopologyDescriptionUpdateResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0 or what went wrong. `UNKNOWN_MEMBER_ID`: the group has no such member, join anew.
    /// `STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED`: it was not stored; nothing else is amiss.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
