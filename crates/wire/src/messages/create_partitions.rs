//! `CreatePartitions` (key 37): gives topics more partitions.
//!
//! v2 is flexible; from v3 the answer may be `THROTTLING_QUOTA_EXCEEDED` (KIP-599). A broker
//! passes the request on to the active controller.

use crate::prelude::*;

/// Raises the partition count of some topics; carried out by the active controller.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(37), versions = 0..=3, flexible = 2.., listeners(broker, controller))]
pub struct CreatePartitionsRequest {
    /// The topics to widen; one entry a topic, each succeeds or fails alone.
    pub topics: Vec<CreatePartitionsTopic>,
    /// Milliseconds that the server may take before it answers `REQUEST_TIMED_OUT`.
    pub timeout_ms: i32,
    /// Whether to check only, and to change nothing.
    pub validate_only: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic to widen, in [`CreatePartitionsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CreatePartitionsTopic {
    /// The topic's name.
    pub name: ByteString,
    /// How many partitions the topic shall have in all: more than it has now, for partitions are
    /// never taken away.
    pub count: i32,
    /// Where the replicas of each added partition go, lowest new index first; `None` leaves the
    /// choice to the controller.
    #[wire(nullable = ..)]
    pub assignments: Option<Vec<CreatePartitionsAssignment>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The replicas of one added partition, in [`CreatePartitionsTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CreatePartitionsAssignment {
    /// The brokers that shall hold the partition, preferred leader first.
    pub broker_ids: Vec<BrokerId>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`CreatePartitionsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(37), versions = 0..=3, flexible = 2..)]
pub struct CreatePartitionsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each topic asked for.
    pub results: Vec<CreatePartitionsTopicResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of one topic, in [`CreatePartitionsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CreatePartitionsTopicResult {
    /// The topic's name.
    pub name: ByteString,
    /// Why the topic stayed as it was, such as `INVALID_PARTITIONS` for a count that is not
    /// higher.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
