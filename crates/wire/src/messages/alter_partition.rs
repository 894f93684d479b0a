//! `AlterPartition` (key 56): a partition's leader asks for another set of in-sync replicas.
//!
//! Flexible from the start. v2 names topics by id (KIP-841), v3 names each replica with its broker
//! epoch, so that one which restarted meanwhile is not let in by mistake (KIP-903). The new set
//! counts only once the controller has agreed, but the leader must wait for the larger of both.

use crate::prelude::*;

/// Proposes in-sync sets; sent by a broker to the active controller.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(56), versions = 2..=3, flexible = 0.., listeners(controller))]
pub struct AlterPartitionRequest {
    /// The broker that asks, and that leads the partitions.
    pub broker_id: BrokerId,
    /// Its present registration; another one than the controller's is `STALE_BROKER_EPOCH`.
    #[wire(default = -1)]
    pub broker_epoch: BrokerEpoch,
    /// The partitions to change, by topic; each succeeds or fails alone.
    pub topics: Vec<RequestTopicData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`AlterPartitionRequest`]. (`TopicData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestTopicData {
    /// The topic's id.
    #[wire(versions = 2.., ignorable)]
    pub topic_id: TopicId,
    /// One entry for each partition.
    pub partitions: Vec<RequestPartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's proposal, in [`RequestTopicData`]. (`PartitionData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestPartitionData {
    /// The partition to change.
    pub partition_index: PartitionIndex,
    /// The epoch in which the sender leads.
    pub leader_epoch: LeaderEpoch,
    /// The wanted in-sync set, leader included; up to v2.
    #[wire(versions = ..=2)]
    pub new_isr: Vec<BrokerId>,
    /// The wanted in-sync set, leader included; since v3.
    #[wire(versions = 3..)]
    pub new_isr_with_epochs: Vec<BrokerState>,
    /// 1 while the leader, elected without being in sync, recovers; 0 otherwise.
    #[wire(versions = 1..)]
    pub leader_recovery_state: i8,
    /// The partition's state that the proposal starts from: it rises with each change, and another
    /// one than the controller's is `INVALID_UPDATE_VERSION`.
    pub partition_epoch: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One in-sync replica, in [`RequestPartitionData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct BrokerState {
    /// The replica's broker.
    #[wire(versions = 3..)]
    pub broker_id: BrokerId,
    /// The registration in which it fetched; another one than the controller's is
    /// `INELIGIBLE_REPLICA`. -1 skips the check.
    #[wire(versions = 3.., default = -1)]
    pub broker_epoch: BrokerEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`AlterPartitionRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(56), versions = 2..=3, flexible = 0..)]
pub struct AlterPartitionResponse {
    /// Milliseconds for which the broker should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// What concerns the request as a whole: `NOT_CONTROLLER`, `STALE_BROKER_EPOCH`.
    pub error_code: ErrorCode,
    /// One entry for each topic asked for.
    pub topics: Vec<ResponseTopicData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`AlterPartitionResponse`]. (`TopicData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ResponseTopicData {
    /// The topic's id.
    #[wire(versions = 2.., ignorable)]
    pub topic_id: TopicId,
    /// One entry for each partition asked for.
    pub partitions: Vec<ResponsePartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's state after the proposal, in [`ResponseTopicData`]. (`PartitionData` in
/// Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ResponsePartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why the proposal was refused: `FENCED_LEADER_EPOCH`, `INVALID_UPDATE_VERSION`,
    /// `INELIGIBLE_REPLICA`. `NEW_LEADER_ELECTED` tells that it was taken, and that it made
    /// another broker the leader. The other fields hold only where this is 0.
    pub error_code: ErrorCode,
    /// The leader; -1 when there is none.
    pub leader_id: BrokerId,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// The in-sync set that now counts.
    pub isr: Vec<BrokerId>,
    /// 1 while the leader, elected without being in sync, recovers; 0 otherwise.
    #[wire(versions = 1.., ignorable)]
    pub leader_recovery_state: i8,
    /// The state that the next proposal has to start from.
    pub partition_epoch: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
