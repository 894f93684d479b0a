//! `WriteTxnMarkers` (key 27): the transaction coordinator has control records written at the end
//! of a transaction; answered by the leaders of its partitions. Brokers alone send it.
//!
//! v1 is flexible, v2 says which transaction protocol the marker ends.

use crate::prelude::*;

/// Writes commit or abort markers.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(27), versions = 1..=2, flexible = 1.., listeners(broker))]
pub struct WriteTxnMarkersRequest {
    /// The markers to write.
    pub markers: Vec<WritableTxnMarker>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The end of one transaction, in [`WriteTxnMarkersRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct WritableTxnMarker {
    /// The producer whose transaction ends.
    pub producer_id: ProducerId,
    /// The producer epoch that the marker carries.
    pub producer_epoch: ProducerEpoch,
    /// True for a commit marker, false for an abort marker.
    pub transaction_result: bool,
    /// The partitions to mark.
    pub topics: Vec<WritableTxnMarkerTopic>,
    /// Leader epoch of the coordinator's partition of the transaction log; a leader that has seen a
    /// higher one refuses the marker as that of a former coordinator.
    pub coordinator_epoch: i32,
    /// The transaction protocol (level of `transaction.version`) of the transaction: from 2 on the
    /// marker's producer epoch must exceed that of the records. 0 where it is not told.
    #[wire(versions = 2.., ignorable)]
    pub transaction_version: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic to mark, in [`WritableTxnMarker`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct WritableTxnMarkerTopic {
    /// The topic's name.
    pub name: ByteString,
    /// The partitions to mark.
    pub partition_indexes: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`WriteTxnMarkersRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(27), versions = 1..=2, flexible = 1..)]
pub struct WriteTxnMarkersResponse {
    /// One entry for each marker of the request.
    pub markers: Vec<WritableTxnMarkerResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One marker's outcome, in [`WriteTxnMarkersResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct WritableTxnMarkerResult {
    /// The producer whose transaction ends.
    pub producer_id: ProducerId,
    /// One entry for each topic of the marker.
    pub topics: Vec<WritableTxnMarkerTopicResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's outcome, in [`WritableTxnMarkerResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct WritableTxnMarkerTopicResult {
    /// The topic's name.
    pub name: ByteString,
    /// One entry for each partition to mark.
    pub partitions: Vec<WritableTxnMarkerPartitionResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's outcome, in [`WritableTxnMarkerTopicResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct WritableTxnMarkerPartitionResult {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why the marker was not written; 0 when it was.
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
