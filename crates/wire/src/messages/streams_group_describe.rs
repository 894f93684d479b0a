//! `StreamsGroupDescribe` (key 89): topology, members and tasks of groups of Kafka Streams
//! applications (KIP-1071).
//!
//! v1 can report the full processing graph as the application described it (KIP-1331), and tells
//! the assignor (KIP-1357).

use crate::prelude::*;

/// Asks the coordinator of some streams groups how they are.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(89), versions = 0..=1, flexible = 0.., listeners(broker))]
pub struct StreamsGroupDescribeRequest {
    /// The groups to describe, all of them coordinated by the broker that is asked.
    pub group_ids: Vec<ByteString>,
    /// Whether to report the operations that the caller may perform.
    pub include_authorized_operations: bool,
    /// Whether to report the processing graph.
    #[wire(versions = 1..)]
    pub include_topology_description: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`StreamsGroupDescribeRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(89), versions = 0..=1, flexible = 0..)]
pub struct StreamsGroupDescribeResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// One entry for each group asked for.
    pub groups: Vec<DescribedGroup>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One group, in [`StreamsGroupDescribeResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribedGroup {
    /// 0, or why the group is not described: `GROUP_ID_NOT_FOUND` also for a group of another
    /// kind. The fields behind the group id then have no meaning.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// The group.
    pub group_id: ByteString,
    /// `Empty`, `NotReady`, `Assigning`, `Reconciling`, `Stable` or `Dead`; empty where there is
    /// an error.
    pub group_state: ByteString,
    /// Rises whenever members, topology or the topics' partitions change.
    pub group_epoch: i32,
    /// The group epoch for which the target assignment was computed; less than `group_epoch`
    /// while a new one is due.
    pub assignment_epoch: i32,
    /// What the application reads, writes and stores; null until a member has told it.
    #[wire(nullable = .., default = None)]
    pub topology: Option<Topology>,
    /// The members.
    pub members: Vec<Member>,
    /// The operations that the caller may perform, a bit for each operation's code;
    /// `i32::MIN` when that was not asked for.
    #[wire(default = i32::MIN)]
    pub authorized_operations: i32,
    /// The processing graph; null unless `topology_description_status` is 3.
    #[wire(versions = 1.., nullable = 1.., default = None)]
    pub topology_description: Option<TopologyDescription>,
    /// 0: the graph was not asked for. 1: none is stored. 2: reading it failed. 3: it is here.
    #[wire(versions = 1..)]
    pub topology_description_status: i8,
    /// The assignor that the group uses; null when that is not told.
    #[wire(versions = 1.., nullable = 1.., default = None, ignorable)]
    pub assignor_name: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What an application reads, writes and stores, in [`DescribedGroup`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Topology {
    /// The application's own version of its topology.
    pub epoch: i32,
    /// The parts of the topology that share no state; null while the topology is not usable.
    #[wire(nullable = .., default = None)]
    pub subtopologies: Option<Vec<Subtopology>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A part of the topology that shares no state with the others, in [`Topology`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Subtopology {
    /// Names the subtopology.
    pub subtopology_id: ByteString,
    /// The topics that it reads, patterns resolved.
    pub source_topics: Vec<ByteString>,
    /// The repartition topics that it writes.
    pub repartition_sink_topics: Vec<ByteString>,
    /// The changelogs of its state.
    pub state_changelog_topics: Vec<TopicInfo>,
    /// The repartition topics that it reads.
    pub repartition_source_topics: Vec<TopicInfo>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One member of a group, in [`DescribedGroup`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Member {
    /// The member's id.
    pub member_id: ByteString,
    /// The group epoch up to which the member has taken over its assignment.
    pub member_epoch: i32,
    /// The name of a static member; null for a dynamic one.
    #[wire(nullable = .., default = None)]
    pub instance_id: Option<ByteString>,
    /// The member's rack; null when it named none.
    #[wire(nullable = .., default = None)]
    pub rack_id: Option<ByteString>,
    /// The client id of the member's requests.
    pub client_id: ByteString,
    /// The address that the member connects from.
    pub client_host: ByteString,
    /// The version of the topology that the member runs.
    pub topology_epoch: i32,
    /// Names the process, which several members may share.
    pub process_id: ByteString,
    /// Where the instance answers queries of its state; null when it does not.
    #[wire(nullable = .., default = None)]
    pub user_endpoint: Option<Endpoint>,
    /// Tags by which standbys are spread over racks, zones and the like.
    pub client_tags: Vec<KeyValue>,
    /// How far the member's copies of state have come.
    pub task_offsets: Vec<TaskOffset>,
    /// Where the changelogs of these tasks end.
    pub task_end_offsets: Vec<TaskOffset>,
    /// What the member has.
    pub assignment: Assignment,
    /// What the member will have once all members have let go of what they must.
    pub target_assignment: Assignment,
    /// Whether the member still speaks the classic protocol, in a group that is being migrated.
    pub is_classic: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Where an instance of the application answers queries of its state, in [`Member`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Endpoint {
    /// Host name or address.
    pub host: ByteString,
    /// TCP port.
    pub port: u16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A position in the changelogs of one task, in [`Member`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TaskOffset {
    /// The task's subtopology.
    pub subtopology_id: ByteString,
    /// The task's partition.
    pub partition: PartitionIndex,
    /// The sum of the offsets over all changelogs of the task, hence no offset of a record.
    pub offset: i64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The tasks that a member has or will have, in [`Member`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Assignment {
    /// The tasks that it runs.
    pub active_tasks: Vec<TaskIds>,
    /// The tasks that it keeps standbys of.
    pub standby_tasks: Vec<TaskIds>,
    /// The tasks that it warms up.
    pub warmup_tasks: Vec<TaskIds>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Some tasks of one subtopology, in [`Assignment`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TaskIds {
    /// The subtopology.
    pub subtopology_id: ByteString,
    /// The partitions of its input, one for each task.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A name and its value: a topic's setting in [`TopicInfo`], or a tag of a [`Member`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct KeyValue {
    /// The name.
    pub key: ByteString,
    /// The value.
    pub value: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A topic that was created for the application, in [`Subtopology`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicInfo {
    /// The topic's name.
    pub name: ByteString,
    /// How many partitions it must have; 0 when that was left to the coordinator.
    pub partitions: i32,
    /// How many replicas it shall have; 0 is the broker's default.
    pub replication_factor: i16,
    /// Settings of the topic.
    pub topic_configs: Vec<KeyValue>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The processing graph, in [`DescribedGroup`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopologyDescription {
    /// The connected parts of the graph.
    #[wire(versions = 1..)]
    pub subtopologies: Vec<TopologyDescriptionSubtopology>,
    /// The stores that every instance holds in full.
    #[wire(versions = 1..)]
    pub global_stores: Vec<TopologyDescriptionGlobalStore>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One connected part of the graph, in [`TopologyDescription`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopologyDescriptionSubtopology {
    /// Names the subtopology.
    #[wire(versions = 1..)]
    pub subtopology_id: ByteString,
    /// Its nodes.
    #[wire(versions = 1..)]
    pub nodes: Vec<TopologyDescriptionNode>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One step of processing, in [`TopologyDescriptionSubtopology`] or
/// [`TopologyDescriptionGlobalStore`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopologyDescriptionNode {
    /// The node's name.
    #[wire(versions = 1..)]
    pub name: ByteString,
    /// 1 source, 2 processor, 3 sink.
    #[wire(versions = 1..)]
    pub node_type: i8,
    /// The topics that a source reads; empty for other nodes, and where the topics are chosen
    /// while running.
    #[wire(versions = 1..)]
    pub source_topics: Vec<ByteString>,
    /// The topic that a sink writes; null for other nodes, and where the topic is chosen while
    /// running.
    #[wire(versions = 1.., nullable = 1.., default = None)]
    pub sink_topic: Option<ByteString>,
    /// The stores that a processor uses.
    #[wire(versions = 1..)]
    pub stores: Vec<ByteString>,
    /// The names of the nodes that records go to from here.
    #[wire(versions = 1..)]
    pub successors: Vec<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A store that every instance holds in full, in [`TopologyDescription`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopologyDescriptionGlobalStore {
    /// The node that reads the store's topic.
    #[wire(versions = 1..)]
    pub source: TopologyDescriptionNode,
    /// The node that fills the store.
    #[wire(versions = 1..)]
    pub processor: TopologyDescriptionNode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
