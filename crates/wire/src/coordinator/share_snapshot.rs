//! Record type 0 of `__share_group_state`: the whole delivery state of a share partition.
//!
//! A share partition is a partition as one share group reads it. Updates
//! ([`share_update`](super::share_update)) follow until the next snapshot, which counts one
//! higher and makes all before it obsolete.

use crate::prelude::*;

/// Names the share partition.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(0), versions = 0..=0)]
pub struct ShareSnapshotKey {
    /// The group's id.
    pub group_id: ByteString,
    /// The topic's id.
    pub topic_id: TopicId,
    /// The partition within that topic.
    pub partition: PartitionIndex,
}

/// The delivery state; a tombstone in its place means that there is none any more.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(0), versions = 0..=0, flexible = 0..)]
pub struct ShareSnapshotValue {
    /// Counts the snapshots of this share partition.
    pub snapshot_epoch: i32,
    /// Counts how often the group's state for the partition was set up anew; a request with
    /// another one is `FENCED_STATE_EPOCH`.
    pub state_epoch: i32,
    /// The leader epoch of the partition's leader, who has the state written.
    pub leader_epoch: LeaderEpoch,
    /// The first offset that is not settled yet; all before it is.
    pub start_offset: Offset,
    /// How many records from `start_offset` on are settled, which a reader takes off the group's
    /// lag; -1 when not counted.
    #[wire(tag = 0, default = -1)]
    pub delivery_complete_count: i32,
    /// When this snapshot came to be, in Unix milliseconds.
    pub create_timestamp: i64,
    /// When this record was written, in Unix milliseconds: later than `create_timestamp` for a
    /// snapshot that was written again so that the log before it could be dropped.
    pub write_timestamp: i64,
    /// The state of the records that have been touched, in rising order of offsets and without
    /// overlap.
    pub state_batches: Vec<StateBatch>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The state of a run of records, in [`ShareSnapshotValue`] and
/// [`ShareUpdateValue`](super::share_update::ShareUpdateValue).
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct StateBatch {
    /// The first offset of the run.
    pub first_offset: Offset,
    /// The last offset of the run, which belongs to it.
    pub last_offset: Offset,
    /// 0: to be delivered. 2: acknowledged. 4: given up. Records with a consumer count as 0 here,
    /// for that is what they come back to.
    pub delivery_state: i8,
    /// How often the records have been delivered.
    pub delivery_count: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
