//! `AddOffsetsToTxn` (key 25): a group's offsets become part of a transaction before
//! `TxnOffsetCommit` sends them; answered by the transaction's coordinator.
//!
//! v1 lets the client wait out the throttle time, v2 may answer `PRODUCER_FENCED`, v3 is flexible,
//! v4 may answer `TRANSACTION_ABORTABLE` (KIP-890). Producers of the second transaction protocol
//! leave this request out.

use crate::prelude::*;

/// Adds the partition of the offsets topic that holds a group's commits.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(25), versions = 0..=4, flexible = 3.., listeners(broker))]
pub struct AddOffsetsToTxnRequest {
    /// The transactional id.
    pub transactional_id: ByteString,
    /// The producer id that the transactional id has.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The group whose offsets the transaction will commit.
    pub group_id: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`AddOffsetsToTxnRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(25), versions = 0..=4, flexible = 3..)]
pub struct AddOffsetsToTxnResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    pub throttle_time_ms: i32,
    /// Why the partition was not added; 0 when it was.
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
