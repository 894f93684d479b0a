//! Record type 1 of `__share_group_state`: a change since a share partition's last snapshot.
//!
//! Applied on top of [`share_snapshot`](super::share_snapshot) and of the updates before it. It
//! has no state epoch: that changes by a snapshot only.

use super::share_snapshot::StateBatch;
use crate::prelude::*;

/// Names the share partition.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(1), versions = 0..=0)]
pub struct ShareUpdateKey {
    /// The group's id.
    pub group_id: ByteString,
    /// The topic's id.
    pub topic_id: TopicId,
    /// The partition within that topic.
    pub partition: PartitionIndex,
}

/// The change.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(1), versions = 0..=0, flexible = 0..)]
pub struct ShareUpdateValue {
    /// The snapshot that this change is on top of.
    pub snapshot_epoch: i32,
    /// The leader epoch of the partition's leader; -1 leaves it as it was.
    pub leader_epoch: LeaderEpoch,
    /// The first offset that is not settled yet; -1 leaves it as it was.
    pub start_offset: Offset,
    /// How many records from `start_offset` on are settled; -1 when not counted.
    #[wire(tag = 0, default = -1)]
    pub delivery_complete_count: i32,
    /// The records whose state changed. They take the place of what was known of these offsets.
    pub state_batches: Vec<StateBatch>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
