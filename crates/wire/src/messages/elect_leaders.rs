//! `ElectLeaders` (key 43): starts leader elections for some or all partitions.
//!
//! v0 knows preferred elections only; v1 added the kind of election and the top-level error
//! (KIP-460); v2 is flexible.

use crate::prelude::*;

/// Asks for elections; a broker passes it on to the active controller.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(43), versions = 0..=2, flexible = 2.., listeners(broker, controller))]
pub struct ElectLeadersRequest {
    /// 0 elects the preferred replica, the first of the assignment, if it is in sync. 1 lets a
    /// partition without leader fall back to a live replica that is not in sync, at the price of
    /// what it lacks.
    #[wire(versions = 1..)]
    pub election_type: i8,
    /// The partitions to elect a leader for; `None` means every partition of the cluster that
    /// such an election could change.
    #[wire(nullable = ..)]
    pub topic_partitions: Option<Vec<TopicPartitions>>,
    /// Milliseconds that the server may take before it answers `REQUEST_TIMED_OUT`.
    #[wire(default = 60_000)]
    pub timeout_ms: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`ElectLeadersRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicPartitions {
    /// The topic's name.
    pub topic: ByteString,
    /// The partitions of that topic to elect a leader for.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ElectLeadersRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(43), versions = 0..=2, flexible = 2..)]
pub struct ElectLeadersResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// What concerns the request as a whole, such as `CLUSTER_AUTHORIZATION_FAILED`. v0 has no
    /// place for it, so an error there is told for each partition.
    #[wire(versions = 1..)]
    pub error_code: ErrorCode,
    /// One entry for each topic. Where all partitions were asked for, those that needed no
    /// election are left out.
    pub replica_election_results: Vec<ReplicaElectionResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The elections of one topic, in [`ElectLeadersResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ReplicaElectionResult {
    /// The topic's name.
    pub topic: ByteString,
    /// One entry for each partition.
    pub partition_result: Vec<PartitionResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The election of one partition, in [`ReplicaElectionResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionResult {
    /// The partition.
    pub partition_id: PartitionIndex,
    /// Why the leader is the same as before: `ELECTION_NOT_NEEDED` when the wanted one leads
    /// already, `PREFERRED_LEADER_NOT_AVAILABLE` or `ELIGIBLE_LEADERS_NOT_AVAILABLE` when there
    /// is nobody to elect.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
