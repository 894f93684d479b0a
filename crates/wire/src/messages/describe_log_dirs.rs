//! `DescribeLogDirs` (key 35): what lies in the log directories of one broker.
//!
//! v2 is flexible, v3 added the top-level error, v4 the size of the volumes (KIP-827), v5 tells
//! which directories take no new partitions (KIP-1066). Each broker knows its own directories
//! only, so a tool asks every broker.

use crate::prelude::*;

/// Asks a broker for its log directories and for the partitions in them.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(35), versions = 1..=5, flexible = 2.., listeners(broker))]
pub struct DescribeLogDirsRequest {
    /// The partitions to report, by topic; `None` means all of them. The directories themselves
    /// are listed in any case.
    #[wire(nullable = ..)]
    pub topics: Option<Vec<DescribableLogDirTopic>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`DescribeLogDirsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribableLogDirTopic {
    /// The topic's name.
    pub topic: ByteString,
    /// The partitions of that topic to report.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeLogDirsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(35), versions = 1..=5, flexible = 2..)]
pub struct DescribeLogDirsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// Why nothing is reported at all, such as `CLUSTER_AUTHORIZATION_FAILED`; below v3 the list
    /// is then merely empty.
    #[wire(versions = 3.., ignorable)]
    pub error_code: ErrorCode,
    /// One entry for each configured directory, those that failed included.
    pub results: Vec<DescribeLogDirsResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One log directory, in [`DescribeLogDirsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeLogDirsResult {
    /// `KAFKA_STORAGE_ERROR` when the directory is offline; its topics are then unknown.
    pub error_code: ErrorCode,
    /// Absolute path of the directory on the broker's machine.
    pub log_dir: ByteString,
    /// The asked-for partitions that have a log here. A topic without one is left out.
    pub topics: Vec<DescribeLogDirsTopic>,
    /// Size in bytes of the volume that holds the directory; -1 when unknown.
    #[wire(versions = 4.., default = -1, ignorable)]
    pub total_bytes: i64,
    /// Bytes of that volume that the broker may still use; -1 when unknown.
    #[wire(versions = 4.., default = -1, ignorable)]
    pub usable_bytes: i64,
    /// Whether the operator has closed the directory to new partitions.
    #[wire(versions = 5.., ignorable)]
    pub is_cordoned: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The logs of one topic in one directory, in [`DescribeLogDirsResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeLogDirsTopic {
    /// The topic's name.
    pub name: ByteString,
    /// One entry for each log; a partition that is moving between directories of this broker has
    /// one in both.
    pub partitions: Vec<DescribeLogDirsPartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's log, in [`DescribeLogDirsTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeLogDirsPartition {
    /// The partition whose log this is.
    pub partition_index: PartitionIndex,
    /// Bytes in all segments of the log.
    pub partition_size: i64,
    /// How many offsets the log end is behind: for a current log behind the partition's high
    /// watermark, for a future log behind the current one. -1 when unknown.
    pub offset_lag: i64,
    /// Whether this is the copy that will replace the current log once it has caught up, as
    /// asked for by `AlterReplicaLogDirs`.
    pub is_future_key: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
