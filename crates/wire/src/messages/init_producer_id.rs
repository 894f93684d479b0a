//! `InitProducerId` (key 22): gives a producer its id and epoch, and ends what it left open.
//!
//! v2 is flexible; v3 lets a producer that has an id raise its epoch; v6, not final yet, knows
//! transactions that are committed in two phases.

use crate::prelude::*;

/// Asks for a producer id.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(22), versions = 0..=6, flexible = 2.., latest_unstable, listeners(broker))]
pub struct InitProducerIdRequest {
    /// The transactional id; null for a producer that is idempotent only.
    #[wire(nullable = ..)]
    pub transactional_id: Option<ByteString>,
    /// After what time without a sign of life an open transaction is aborted.
    pub transaction_timeout_ms: i32,
    /// The id that the producer has; -1 if it has none.
    #[wire(versions = 3.., default = -1)]
    pub producer_id: ProducerId,
    /// The epoch that the producer has; -1 if it has none.
    #[wire(versions = 3.., default = -1)]
    pub producer_epoch: ProducerEpoch,
    /// Whether transactions are committed in two phases: they then have no time-out.
    #[wire(versions = 6..)]
    pub enable2_pc: bool,
    /// Whether a transaction that is prepared stays so, instead of being aborted.
    #[wire(versions = 6..)]
    pub keep_prepared_txn: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`InitProducerIdRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(22), versions = 0..=6, flexible = 2..)]
pub struct InitProducerIdResponse {
    /// Milliseconds for which the client should hold back.
    #[wire(ignorable)]
    pub throttle_time_ms: i32,
    /// Why there is no id, or none.
    pub error_code: ErrorCode,
    /// The producer's id; -1 if there is an error.
    #[wire(default = -1)]
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The producer id of the transaction that was kept; -1 if none.
    #[wire(versions = 6.., default = -1)]
    pub ongoing_txn_producer_id: ProducerId,
    /// The producer epoch of the transaction that was kept; -1 if none.
    #[wire(versions = 6.., default = -1)]
    pub ongoing_txn_producer_epoch: ProducerEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
