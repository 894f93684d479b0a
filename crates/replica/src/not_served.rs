//! [`NotServed`]: why a request about a partition is not for this broker to answer.

use klamm_primitives::LeaderEpoch;
use thiserror::Error;

/// A partition cannot be asked here, or not by this request. What every operation on a partition
/// checks before anything else; each operation's own error wraps it. (RE-001, RE-022, RE-023)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotServed {
    /// The cluster knows no such partition. `UNKNOWN_TOPIC_OR_PARTITION`.
    #[error("the cluster has no such partition")]
    UnknownPartition,
    /// It is led by another broker, or by none. `NOT_LEADER_OR_FOLLOWER`.
    #[error("another broker leads the partition")]
    NotLeader,
    /// Its log directory has failed, or its log. `KAFKA_STORAGE_ERROR`.
    #[error("the partition's log cannot be used")]
    Offline,
    /// The request knows an older leader epoch than this broker. `FENCED_LEADER_EPOCH`.
    #[error("leader epoch {requested} is over, the present one is {current}")]
    FencedLeaderEpoch {
        /// What the request says.
        requested: LeaderEpoch,
        /// The partition's.
        current: LeaderEpoch,
    },
    /// The request knows a newer one. `UNKNOWN_LEADER_EPOCH`.
    #[error("leader epoch {requested} is not known yet, the present one is {current}")]
    UnknownLeaderEpoch {
        /// What the request says.
        requested: LeaderEpoch,
        /// The partition's.
        current: LeaderEpoch,
    },
    /// The request names the id of another topic that has, or had, the same name.
    /// `INCONSISTENT_TOPIC_ID`. (RE-081)
    #[error("the topic has another id")]
    InconsistentTopicId,
}
