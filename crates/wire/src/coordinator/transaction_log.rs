//! Record type 0 of `__transaction_state`: the state of one transactional id.
//!
//! The one record type of that log. In the value, v1 is flexible and added what transactions of
//! version 2 need (KIP-890); it is written once the cluster's `transaction.version` allows it.

use crate::prelude::*;

/// Names the transactional id.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(0), versions = 0..=0)]
pub struct TransactionLogKey {
    /// The transactional id.
    pub transactional_id: ByteString,
}

/// The state of the transaction; a tombstone in its place means that the id has expired.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(0), versions = 0..=1, flexible = 1..)]
pub struct TransactionLogValue {
    /// The producer that has the transactional id.
    pub producer_id: ProducerId,
    /// The producer id of the transaction that was completed last; -1 when unknown. After a change
    /// of producer id it still answers a repeated request of the former one.
    #[wire(versions = 1.., tag = 0, default = -1)]
    pub previous_producer_id: ProducerId,
    /// The producer id that follows when the transaction has ended, because the epochs of the
    /// present one are used up; -1 for none.
    #[wire(versions = 1.., tag = 1, default = -1)]
    pub next_producer_id: ProducerId,
    /// The epoch of `producer_id`.
    pub producer_epoch: ProducerEpoch,
    /// The epoch that follows when the transaction has ended; -1 when not known.
    #[wire(versions = 1.., tag = 3, default = -1)]
    pub next_producer_epoch: ProducerEpoch,
    /// Milliseconds that the transaction may stay open before the coordinator aborts it.
    pub transaction_timeout_ms: i32,
    /// 0 `Empty`, 1 `Ongoing`, 2 `PrepareCommit`, 3 `PrepareAbort`, 4 `CompleteCommit`,
    /// 5 `CompleteAbort`, 6 `Dead`, 7 `PrepareEpochFence`.
    pub transaction_status: i8,
    /// The partitions in the transaction, by topic; while it ends, those that still wait for their
    /// marker. `None` in the state `Empty`.
    #[wire(nullable = ..)]
    pub transaction_partitions: Option<Vec<PartitionsSchema>>,
    /// When this state was written, in Unix milliseconds.
    pub transaction_last_update_timestamp_ms: i64,
    /// When the transaction began, in Unix milliseconds; -1 when none has.
    pub transaction_start_timestamp_ms: i64,
    /// The level of `transaction.version` by which the producer behaved in this transaction: from
    /// 2 on each transaction has an epoch of its own.
    #[wire(versions = 1.., tag = 2)]
    pub client_transaction_version: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`TransactionLogValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionsSchema {
    /// The topic's name.
    pub topic: ByteString,
    /// The partitions of that topic.
    pub partition_ids: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
