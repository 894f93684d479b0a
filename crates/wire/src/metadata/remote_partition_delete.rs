//! `RemotePartitionDeleteMetadataRecord` (type 2 of `__remote_log_metadata`): how far the deletion
//! of a partition's tiered segments has come (KIP-405).

use super::remote_log_segment::TopicIdPartitionEntry;
use crate::prelude::*;

/// The deletion of a partition has come to another state.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(2), versions = 0..=0, flexible = 0..)]
pub struct RemotePartitionDeleteMetadataRecord {
    /// The partition.
    pub topic_id_partition: TopicIdPartitionEntry,
    /// The node that writes this: the controller for state 0, later the leader of the metadata
    /// topic's partition.
    pub broker_id: BrokerId,
    /// When this was written, in milliseconds since 1970.
    pub event_timestamp_ms: i64,
    /// 0 marked for deletion, 1 deletion started, 2 deletion finished.
    pub remote_partition_delete_state: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
