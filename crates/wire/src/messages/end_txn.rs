//! `EndTxn` (key 26): commits or aborts a transaction; answered by its coordinator once the
//! decision is durable. The markers reach the partitions afterwards.
//!
//! v1 lets the client wait out the throttle time, v2 may answer `PRODUCER_FENCED`, v3 is flexible,
//! v4 may answer `TRANSACTION_ABORTABLE`, v5 raises the producer's epoch with each transaction and
//! answers what to go on with (KIP-890).

use crate::prelude::*;

/// Ends the ongoing transaction.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(26), versions = 0..=5, flexible = 3.., listeners(broker))]
pub struct EndTxnRequest {
    /// The transactional id.
    pub transactional_id: ByteString,
    /// The producer id that the transactional id has.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// True to commit, false to abort.
    pub committed: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`EndTxnRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(26), versions = 0..=5, flexible = 3..)]
pub struct EndTxnResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    pub throttle_time_ms: i32,
    /// Why the transaction did not end this way; 0 when it did.
    pub error_code: ErrorCode,
    /// The producer id to use from now on, a new one when the epochs of the old one are used up; -1
    /// on error.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub producer_id: ProducerId,
    /// The producer epoch to use from now on; -1 on error.
    #[wire(versions = 5.., default = -1, ignorable)]
    pub producer_epoch: ProducerEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
