//! `StreamsGroupHeartbeat` (key 88): how an instance of a Kafka Streams application joins, stays
//! in and leaves a group whose tasks the broker assigns (KIP-1071).
//!
//! Instead of partitions the members own tasks: a task is one partition of one subtopology, run
//! actively, kept as a standby, or warmed up to be moved. Both sides name only what changed
//! since the last exchange and leave the rest null. v1 of the request has the bytes of v0; v1 of
//! the answer widens the recovery lag to 64 bits, may ask for the topology's description
//! (KIP-1331) and knows one more status.

use crate::prelude::*;

/// Tells the group's coordinator that a member is alive, what it runs and what it has.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(88), versions = 0..=1, flexible = 0.., listeners(broker))]
pub struct StreamsGroupHeartbeatRequest {
    /// The group, named after the application (`application.id`).
    pub group_id: ByteString,
    /// The member's id, made up by the member before it joins and kept for its lifetime.
    pub member_id: ByteString,
    /// The epoch that the last answer gave. 0 joins the group, -1 leaves it, -2 leaves it as a
    /// static member who means to come back.
    pub member_epoch: i32,
    /// The epoch of the endpoint information that the member has; the answer brings newer.
    pub endpoint_information_epoch: i32,
    /// The name of a static member (`group.instance.id`); null for a dynamic member or unchanged.
    #[wire(nullable = .., default = None)]
    pub instance_id: Option<ByteString>,
    /// The member's rack; null for none or unchanged.
    #[wire(nullable = .., default = None)]
    pub rack_id: Option<ByteString>,
    /// How many milliseconds the coordinator gives the member to let go of tasks; -1 is
    /// unchanged.
    #[wire(default = -1)]
    pub rebalance_timeout_ms: i32,
    /// What the application reads, writes and stores; sent when the member joins, else null.
    #[wire(nullable = .., default = None)]
    pub topology: Option<Topology>,
    /// The tasks that the member runs; null is unchanged.
    #[wire(nullable = .., default = None)]
    pub active_tasks: Option<Vec<TaskIds>>,
    /// The tasks that the member keeps standbys of; null is unchanged.
    #[wire(nullable = .., default = None)]
    pub standby_tasks: Option<Vec<TaskIds>>,
    /// The tasks that the member warms up; null is unchanged.
    #[wire(nullable = .., default = None)]
    pub warmup_tasks: Option<Vec<TaskIds>>,
    /// Names the process, which several members may share; null is unchanged.
    #[wire(nullable = .., default = None)]
    pub process_id: Option<ByteString>,
    /// Where the application answers queries of its state (`application.server`); null for
    /// none or unchanged.
    #[wire(nullable = .., default = None)]
    pub user_endpoint: Option<Endpoint>,
    /// Tags by which standbys are spread over racks, zones and the like; null is unchanged.
    #[wire(nullable = .., default = None)]
    pub client_tags: Option<Vec<KeyValue>>,
    /// How far the member's copies of state have come; null is unchanged. Brokers before 4.4
    /// refuse anything but null.
    #[wire(nullable = .., default = None)]
    pub task_offsets: Option<Vec<TaskOffset>>,
    /// Where the changelogs of these tasks end; null is unchanged. Brokers before 4.4 refuse
    /// anything but null.
    #[wire(nullable = .., default = None)]
    pub task_end_offsets: Option<Vec<TaskOffset>>,
    /// Whether the whole application, all members of the group, is asked to stop.
    pub shutdown_application: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What an application reads, writes and stores, in [`StreamsGroupHeartbeatRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Topology {
    /// The application's own version of its topology; raised by whoever deploys a new one.
    pub epoch: i32,
    /// The parts of the topology that share no state.
    pub subtopologies: Vec<Subtopology>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A part of the topology that shares no state with the others, in [`Topology`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Subtopology {
    /// Names the subtopology; the same topology always yields the same names.
    pub subtopology_id: ByteString,
    /// The topics that it reads, named by the application.
    pub source_topics: Vec<ByteString>,
    /// Patterns of the names of topics that it reads.
    pub source_topic_regex: Vec<ByteString>,
    /// The changelogs of its state, which the coordinator creates.
    pub state_changelog_topics: Vec<TopicInfo>,
    /// The repartition topics that it writes.
    pub repartition_sink_topics: Vec<ByteString>,
    /// The repartition topics that it reads, which the coordinator creates.
    pub repartition_source_topics: Vec<TopicInfo>,
    /// Sets of source topics that must have the same number of partitions.
    pub copartition_groups: Vec<CopartitionGroup>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Topics that must have the same number of partitions, in [`Subtopology`]. The numbers are
/// places, counted from 0, in the lists of the same name there.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CopartitionGroup {
    /// Places in [`Subtopology::source_topics`].
    pub source_topics: Vec<i16>,
    /// Places in [`Subtopology::source_topic_regex`].
    pub source_topic_regex: Vec<i16>,
    /// Places in [`Subtopology::repartition_source_topics`].
    pub repartition_source_topics: Vec<i16>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A name and its value: a topic's setting in [`TopicInfo`], or a tag of a member.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct KeyValue {
    /// The name.
    pub key: ByteString,
    /// The value.
    pub value: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A topic that the coordinator creates for the application, in [`Subtopology`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicInfo {
    /// The topic's name.
    pub name: ByteString,
    /// How many partitions it must have; 0 leaves it to the coordinator, as for all changelogs.
    pub partitions: i32,
    /// How many replicas it shall have; 0 is the broker's default.
    pub replication_factor: i16,
    /// Settings of the topic.
    pub topic_configs: Vec<KeyValue>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Where an instance of the application answers queries of its state, in both directions.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Endpoint {
    /// Host name or address.
    pub host: ByteString,
    /// TCP port.
    pub port: u16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A position in the changelogs of one task, in [`StreamsGroupHeartbeatRequest`].
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

/// Some tasks of one subtopology, in both directions.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TaskIds {
    /// The subtopology.
    pub subtopology_id: ByteString,
    /// The partitions of its input, one for each task.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`StreamsGroupHeartbeatRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(88), versions = 0..=1, flexible = 0..)]
pub struct StreamsGroupHeartbeatResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0 or what went wrong. `FENCED_MEMBER_EPOCH` and `UNKNOWN_MEMBER_ID` mean: drop all tasks
    /// and join anew with epoch 0.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// The member's id, given back.
    pub member_id: ByteString,
    /// The epoch that the member's next heartbeat has to carry.
    pub member_epoch: i32,
    /// Milliseconds until the next heartbeat is expected.
    pub heartbeat_interval_ms: i32,
    /// In v0, the most records that a warm-up may lag behind and still count as caught up.
    #[wire(versions = ..=0)]
    pub acceptable_recovery_lag_legacy: i32,
    /// Milliseconds between two reports of task offsets.
    pub task_offset_interval_ms: i32,
    /// From v1, the most records that a warm-up may lag behind and still count as caught up;
    /// -1 when it is not told.
    #[wire(versions = 1.., default = -1, ignorable)]
    pub acceptable_recovery_lag: i64,
    /// What keeps the group from running as it should; null is unchanged, empty is nothing.
    #[wire(nullable = ..)]
    pub status: Option<Vec<Status>>,
    /// The tasks to run from now on: all of them, not a difference. Null is unchanged.
    #[wire(nullable = .., default = None)]
    pub active_tasks: Option<Vec<TaskIds>>,
    /// The tasks to keep standbys of. Null is unchanged.
    #[wire(nullable = .., default = None)]
    pub standby_tasks: Option<Vec<TaskIds>>,
    /// The tasks to warm up. Null is unchanged.
    #[wire(nullable = .., default = None)]
    pub warmup_tasks: Option<Vec<TaskIds>>,
    /// Whether the member is asked to send `StreamsGroupTopologyDescriptionUpdate`.
    #[wire(versions = 1..)]
    pub topology_description_required: bool,
    /// The epoch of the endpoint information as the coordinator has it.
    pub endpoint_information_epoch: i32,
    /// Which instance of the application has which partitions; null is unchanged.
    #[wire(nullable = .., default = None)]
    pub partitions_by_user_endpoint: Option<Vec<EndpointToPartitions>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What one instance of the application has, in [`StreamsGroupHeartbeatResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct EndpointToPartitions {
    /// Where the instance answers queries.
    pub user_endpoint: Endpoint,
    /// The partitions behind the state of its active tasks.
    pub active_partitions: Vec<TopicPartition>,
    /// The partitions behind the state of its standbys.
    pub standby_partitions: Vec<TopicPartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One obstacle, in [`StreamsGroupHeartbeatResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Status {
    /// 0: the member's topology is older than the group's. 1: source topics are missing. 2:
    /// topics have numbers of partitions that do not fit. 3: internal topics are missing. 4: a
    /// member asked for the application to stop. 5: the assignment is put off. 6, from v1:
    /// members lack client tags. Show codes beyond these by their detail.
    pub status_code: i8,
    /// The obstacle in words, topics named.
    pub status_detail: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Some partitions of one topic, in [`EndpointToPartitions`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: ByteString,
    /// Which of its partitions.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
