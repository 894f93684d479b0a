//! `AlterPartitionReassignments` (key 45): moves replicas to other brokers, or calls a move off.
//!
//! Flexible from the start; v1 lets the caller insist on the present number of replicas
//! (KIP-860). The answer comes when the move has begun, not when it has ended: see
//! [`list_partition_reassignments`](super::list_partition_reassignments).

use crate::prelude::*;

/// Begins or cancels reassignments; a broker passes it on to the active controller.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(45), versions = 0..=1, flexible = 0.., listeners(broker, controller))]
pub struct AlterPartitionReassignmentsRequest {
    /// Milliseconds that the server may take before it answers `REQUEST_TIMED_OUT`.
    #[wire(default = 60_000)]
    pub timeout_ms: i32,
    /// Whether a new assignment may have more or fewer replicas than the old. Where it may not,
    /// such an assignment is `INVALID_REPLICATION_FACTOR`. v0 always allows it.
    #[wire(versions = 1.., default = true)]
    pub allow_replication_factor_change: bool,
    /// The partitions to move, by topic; each succeeds or fails alone.
    pub topics: Vec<ReassignableTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`AlterPartitionReassignmentsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ReassignableTopic {
    /// The topic's name.
    pub name: ByteString,
    /// The partitions of that topic to move.
    pub partitions: Vec<ReassignablePartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition, in [`ReassignableTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ReassignablePartition {
    /// The partition to move.
    pub partition_index: PartitionIndex,
    /// The brokers that shall hold the partition in the end, preferred leader first; `None` calls
    /// off the reassignment under way.
    #[wire(nullable = .., default = None)]
    pub replicas: Option<Vec<BrokerId>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`AlterPartitionReassignmentsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(45), versions = 0..=1, flexible = 0..)]
pub struct AlterPartitionReassignmentsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// The request's own setting, as the server understood it.
    #[wire(versions = 1.., default = true, ignorable)]
    pub allow_replication_factor_change: bool,
    /// What concerns the request as a whole, such as `CLUSTER_AUTHORIZATION_FAILED`.
    pub error_code: ErrorCode,
    /// Text for people on the top-level error; `None` when there is none.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// One entry for each topic asked for.
    pub responses: Vec<ReassignableTopicResponse>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of one topic, in [`AlterPartitionReassignmentsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ReassignableTopicResponse {
    /// The topic's name.
    pub name: ByteString,
    /// One entry for each partition asked for.
    pub partitions: Vec<ReassignablePartitionResponse>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of one partition, in [`ReassignableTopicResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ReassignablePartitionResponse {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why nothing was begun or cancelled, such as `INVALID_REPLICA_ASSIGNMENT` or, for a
    /// cancellation without need, `NO_REASSIGNMENT_IN_PROGRESS`.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
