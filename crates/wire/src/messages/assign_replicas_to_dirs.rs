//! `AssignReplicasToDirs` (key 73): a broker tells the controller which log directory each of
//! its replicas lies in (KIP-858).
//!
//! The controller needs it to know which replicas are lost when a broker reports a directory as
//! failed. Ids of directories that stand for no directory: 0 migrating, 1 unassigned, 2 lost.

use crate::prelude::*;

/// Reports where replicas of the sending broker lie; only what changed is named.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(73), versions = 0..=0, flexible = 0.., listeners(controller))]
pub struct AssignReplicasToDirsRequest {
    /// The broker that sends this.
    pub broker_id: BrokerId,
    /// The epoch of its registration; the controller refuses another with `STALE_BROKER_EPOCH`.
    #[wire(default = -1)]
    pub broker_epoch: BrokerEpoch,
    /// The replicas, by directory.
    pub directories: Vec<DirectoryData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The replicas of one directory, in [`AssignReplicasToDirsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DirectoryData {
    /// The directory's id, from its `meta.properties`.
    pub id: Uuid,
    /// The replicas, by topic.
    pub topics: Vec<TopicData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The replicas of one topic in a directory, in [`DirectoryData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicData {
    /// The topic.
    pub topic_id: TopicId,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One replica, in [`TopicData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`AssignReplicasToDirsRequest`], replica by replica.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(73), versions = 0..=0, flexible = 0..)]
pub struct AssignReplicasToDirsResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0, or why the request was refused as a whole.
    pub error_code: ErrorCode,
    /// The outcomes, by directory.
    pub directories: Vec<DirectoryResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcomes of one directory, in [`AssignReplicasToDirsResponse`]; Kafka's schema calls this
/// `DirectoryData`, too.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DirectoryResult {
    /// The directory's id.
    pub id: Uuid,
    /// The outcomes, by topic.
    pub topics: Vec<TopicResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcomes of one topic in a directory, in [`DirectoryResult`]; Kafka's schema calls this
/// `TopicData`, too.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicResult {
    /// The topic.
    pub topic_id: TopicId,
    /// The outcome for each of its partitions.
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcome for one replica, in [`TopicResult`]; Kafka's schema calls this `PartitionData`,
/// too.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionResult {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// 0, or why the directory of this replica was not recorded.
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
