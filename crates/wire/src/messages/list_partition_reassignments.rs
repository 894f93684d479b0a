//! `ListPartitionReassignments` (key 46): the moves of replicas that are under way.
//!
//! Flexible from the start, one version. A broker passes the request on to the active controller.

use crate::prelude::*;

/// Asks which partitions are being reassigned.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(46), versions = 0..=0, flexible = 0.., listeners(broker, controller))]
pub struct ListPartitionReassignmentsRequest {
    /// Milliseconds that the server may take before it answers `REQUEST_TIMED_OUT`.
    #[wire(default = 60_000)]
    pub timeout_ms: i32,
    /// The partitions to look at, by topic; `None` means all of the cluster.
    #[wire(nullable = .., default = None)]
    pub topics: Option<Vec<ListPartitionReassignmentsTopics>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`ListPartitionReassignmentsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ListPartitionReassignmentsTopics {
    /// The topic's name.
    pub name: ByteString,
    /// The partitions of that topic to look at.
    pub partition_indexes: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ListPartitionReassignmentsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(46), versions = 0..=0, flexible = 0..)]
pub struct ListPartitionReassignmentsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// What concerns the request as a whole, such as `CLUSTER_AUTHORIZATION_FAILED`.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// The partitions that are moving, by topic. Those asked for that are not moving, or that do
    /// not exist, are left out.
    pub topics: Vec<OngoingTopicReassignment>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The moving partitions of one topic, in [`ListPartitionReassignmentsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OngoingTopicReassignment {
    /// The topic's name.
    pub name: ByteString,
    /// One entry for each moving partition.
    pub partitions: Vec<OngoingPartitionReassignment>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One moving partition, in [`OngoingTopicReassignment`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OngoingPartitionReassignment {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// All replicas for now: those that stay, those to come and those to go.
    pub replicas: Vec<BrokerId>,
    /// The replicas that are still catching up before they count.
    pub adding_replicas: Vec<BrokerId>,
    /// The replicas that will go once the added ones are in sync.
    pub removing_replicas: Vec<BrokerId>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
