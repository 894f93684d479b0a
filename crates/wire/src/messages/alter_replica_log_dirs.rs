//! `AlterReplicaLogDirs` (key 34): moves replicas between the log directories of one broker, who
//! answers (KIP-113).
//!
//! v1 lets the client wait out the throttle time, v2 is flexible.

use crate::prelude::*;

/// Says in which directory replicas should lie. The answer means that the move has begun, not that
/// it is done.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(34), versions = 1..=2, flexible = 2.., listeners(broker))]
pub struct AlterReplicaLogDirsRequest {
    /// The directories and what should lie in them.
    pub dirs: Vec<AlterReplicaLogDir>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One directory, in [`AlterReplicaLogDirsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterReplicaLogDir {
    /// The directory's absolute path, one of the broker's `log.dirs`.
    pub path: ByteString,
    /// The replicas that should lie there, by topic.
    pub topics: Vec<AlterReplicaLogDirTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's replicas, in [`AlterReplicaLogDir`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterReplicaLogDirTopic {
    /// The topic's name.
    pub name: ByteString,
    /// The partitions whose replicas should lie there. For one that the broker does not have yet
    /// the answer is an error, yet the directory is remembered for the day it has.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`AlterReplicaLogDirsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(34), versions = 1..=2, flexible = 2..)]
pub struct AlterReplicaLogDirsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each topic of the request.
    pub results: Vec<AlterReplicaLogDirTopicResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's outcome, in [`AlterReplicaLogDirsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterReplicaLogDirTopicResult {
    /// The topic's name.
    pub topic_name: ByteString,
    /// One entry for each partition of the request.
    pub partitions: Vec<AlterReplicaLogDirPartitionResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's outcome, in [`AlterReplicaLogDirTopicResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterReplicaLogDirPartitionResult {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why the replica is not moved; 0 when it will be.
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
