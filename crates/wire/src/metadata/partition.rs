//! `PartitionRecord` (type 3) and `PartitionChangeRecord` (type 5): a partition's replicas, ISR
//! and leader.
//!
//! Of both, v1 added the log directories (KIP-858) and v2 the replicas that may lead outside of
//! the ISR (KIP-966). A reader applies a change so: what is at its default stays as it was, the
//! partition epoch rises by one, and the leader epoch too unless `leader` is -2.

use crate::prelude::*;

/// Makes a partition, or replaces all that was known of one.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(3), versions = 0..=2, flexible = 0..)]
pub struct PartitionRecord {
    /// The partition.
    #[wire(default = -1)]
    pub partition_id: PartitionIndex,
    /// The topic.
    pub topic_id: TopicId,
    /// The replicas, the preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// The in-sync replicas.
    pub isr: Vec<BrokerId>,
    /// Replicas that a running reassignment takes away.
    pub removing_replicas: Vec<BrokerId>,
    /// Replicas that a running reassignment adds.
    pub adding_replicas: Vec<BrokerId>,
    /// The leader; -1 when there is none.
    #[wire(default = -1)]
    pub leader: BrokerId,
    /// 0 recovered; 1 recovering: the leader came from outside of the ISR and has yet to settle
    /// what the log holds.
    #[wire(tag = 0)]
    pub leader_recovery_state: i8,
    /// Rises with each change of the leader.
    #[wire(default = -1)]
    pub leader_epoch: LeaderEpoch,
    /// Rises with each change of anything here.
    #[wire(default = -1)]
    pub partition_epoch: i32,
    /// The log directory of each replica, in the order of `replicas`.
    #[wire(versions = 1..)]
    pub directories: Vec<Uuid>,
    /// Replicas outside of the ISR that hold all committed records; null is none.
    #[wire(versions = 2.., nullable = 2.., tag = 1, default = None)]
    pub eligible_leader_replicas: Option<Vec<BrokerId>>,
    /// Replicas that were eligible until an unclean shutdown; null is none.
    #[wire(versions = 2.., nullable = 2.., tag = 2, default = None)]
    pub last_known_elr: Option<Vec<BrokerId>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Changes parts of a partition.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(5), versions = 0..=2, flexible = 0..)]
pub struct PartitionChangeRecord {
    /// The partition.
    #[wire(default = -1)]
    pub partition_id: PartitionIndex,
    /// The topic.
    pub topic_id: TopicId,
    /// The new in-sync replicas; null is no change.
    #[wire(nullable = .., tag = 0, default = None)]
    pub isr: Option<Vec<BrokerId>>,
    /// The new leader; -1 leaves the partition without one, -2 is no change.
    #[wire(tag = 1, default = -2)]
    pub leader: BrokerId,
    /// The new replicas; null is no change.
    #[wire(nullable = .., tag = 2, default = None)]
    pub replicas: Option<Vec<BrokerId>>,
    /// Replicas that a reassignment takes away from now on; null is no change.
    #[wire(nullable = .., tag = 3, default = None)]
    pub removing_replicas: Option<Vec<BrokerId>>,
    /// Replicas that a reassignment adds from now on; null is no change.
    #[wire(nullable = .., tag = 4, default = None)]
    pub adding_replicas: Option<Vec<BrokerId>>,
    /// 0 recovered, 1 recovering, -1 is no change.
    #[wire(tag = 5, default = -1)]
    pub leader_recovery_state: i8,
    /// The log directory of each replica, in the order of the replicas; null is no change.
    #[wire(versions = 1.., nullable = 1.., tag = 8, default = None)]
    pub directories: Option<Vec<Uuid>>,
    /// Replicas outside of the ISR that hold all committed records; null is no change.
    #[wire(versions = 2.., nullable = 2.., tag = 6, default = None)]
    pub eligible_leader_replicas: Option<Vec<BrokerId>>,
    /// Replicas that were eligible until an unclean shutdown; null is no change.
    #[wire(versions = 2.., nullable = 2.., tag = 7, default = None)]
    pub last_known_elr: Option<Vec<BrokerId>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
