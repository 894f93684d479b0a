//! `RemoteLogSegmentMetadataRecord` (type 0), `RemoteLogSegmentMetadataUpdateRecord` (type 1) and
//! `RemoteLogSegmentMetadataSnapshotRecord` (type 3): segments that lie in tiered storage
//! (KIP-405).
//!
//! The first two are records of `__remote_log_metadata`, written by the leader of the segment's
//! partition; the third is how a broker's own cache of them was kept in a file.
//! States of a segment: 0 copy started, 1 copy finished, 2 deletion started, 3 deletion finished.

use crate::prelude::*;

/// A segment is about to be copied.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(0), versions = 0..=0, flexible = 0..)]
pub struct RemoteLogSegmentMetadataRecord {
    /// The segment.
    pub remote_log_segment_id: RemoteLogSegmentIdEntry,
    /// The first offset of the segment.
    pub start_offset: Offset,
    /// The last offset of the segment, part of it.
    pub end_offset: Offset,
    /// The broker that writes this.
    pub broker_id: BrokerId,
    /// The largest timestamp of the segment's records, in milliseconds since 1970.
    pub max_timestamp_ms: i64,
    /// When this was written, in milliseconds since 1970.
    pub event_timestamp_ms: i64,
    /// The leader epochs of the segment's records, ascending.
    pub segment_leader_epochs: Vec<SegmentLeaderEpochEntry>,
    /// The size of the segment's log file in bytes.
    pub segment_size_in_bytes: i32,
    /// What the storage plug-in wants to be told when the segment is read; null when nothing.
    #[wire(nullable = .., default = None)]
    pub custom_metadata: Option<Bytes>,
    /// The segment's state; 0 in this record.
    pub remote_log_segment_state: i8,
    /// Whether the segment has no aborted transactions and thus no transaction index.
    #[wire(tag = 0)]
    pub txn_index_empty: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Names a segment in tiered storage.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RemoteLogSegmentIdEntry {
    /// The partition that the segment is of.
    pub topic_id_partition: TopicIdPartitionEntry,
    /// Drawn anew for each attempt to copy a segment.
    pub id: Uuid,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Names a partition by its topic's name and id.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicIdPartitionEntry {
    /// The topic's name.
    pub name: ByteString,
    /// The topic's id.
    pub id: TopicId,
    /// The partition.
    pub partition: PartitionIndex,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Where a leader epoch starts within a segment.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct SegmentLeaderEpochEntry {
    /// The leader epoch.
    pub leader_epoch: LeaderEpoch,
    /// The first offset of this epoch.
    pub offset: Offset,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A segment has come to another state.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(1), versions = 0..=0, flexible = 0..)]
pub struct RemoteLogSegmentMetadataUpdateRecord {
    /// The segment.
    pub remote_log_segment_id: RemoteLogSegmentIdEntry,
    /// The broker that writes this.
    pub broker_id: BrokerId,
    /// When this was written, in milliseconds since 1970.
    pub event_timestamp_ms: i64,
    /// What the storage plug-in wants to be told when the segment is read; null when nothing.
    #[wire(nullable = .., default = None)]
    pub custom_metadata: Option<Bytes>,
    /// The segment's new state.
    pub remote_log_segment_state: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A segment as the cache of one partition knows it; the partition is told by the file.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(3), versions = 0..=0, flexible = 0..)]
pub struct RemoteLogSegmentMetadataSnapshotRecord {
    /// The id of the segment, as in [`RemoteLogSegmentIdEntry::id`].
    pub segment_id: Uuid,
    /// The first offset of the segment.
    pub start_offset: Offset,
    /// The last offset of the segment, part of it.
    pub end_offset: Offset,
    /// The broker that wrote the latest record of the segment.
    pub broker_id: BrokerId,
    /// The largest timestamp of the segment's records, in milliseconds since 1970.
    pub max_timestamp_ms: i64,
    /// When the latest record of the segment was written, in milliseconds since 1970.
    pub event_timestamp_ms: i64,
    /// The leader epochs of the segment's records, ascending.
    pub segment_leader_epochs: Vec<SegmentLeaderEpochEntry>,
    /// The size of the segment's log file in bytes.
    pub segment_size_in_bytes: i32,
    /// What the storage plug-in wants to be told when the segment is read; null when nothing.
    #[wire(nullable = .., default = None)]
    pub custom_metadata: Option<Bytes>,
    /// The segment's state.
    pub remote_log_segment_state: i8,
    /// Whether the segment has no aborted transactions and thus no transaction index.
    #[wire(tag = 0)]
    pub txn_index_empty: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
