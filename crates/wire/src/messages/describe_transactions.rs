//! `DescribeTransactions` (key 65): the state of some transactions, by transactional id.
//!
//! Flexible from the start, one version (KIP-664).

use crate::prelude::*;

/// Asks for the state of transactions; answered by the coordinator of each transactional id.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(65), versions = 0..=0, flexible = 0.., listeners(broker))]
pub struct DescribeTransactionsRequest {
    /// The transactional ids to describe; none yields nothing.
    pub transactional_ids: Vec<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeTransactionsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(65), versions = 0..=0, flexible = 0..)]
pub struct DescribeTransactionsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each transactional id asked for.
    pub transaction_states: Vec<TransactionState>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One transactional id's state, in [`DescribeTransactionsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TransactionState {
    /// Why the rest is empty: `TRANSACTIONAL_ID_NOT_FOUND`, `NOT_COORDINATOR`,
    /// `TRANSACTIONAL_ID_AUTHORIZATION_FAILED`.
    pub error_code: ErrorCode,
    /// The transactional id.
    pub transactional_id: ByteString,
    /// `Empty`, `Ongoing`, `PrepareCommit`, `PrepareAbort`, `CompleteCommit`, `CompleteAbort` or
    /// `PrepareEpochFence`.
    pub transaction_state: ByteString,
    /// Milliseconds that a transaction may stay open before the coordinator aborts it.
    pub transaction_timeout_ms: i32,
    /// When the transaction began, in Unix milliseconds; -1 when none has.
    pub transaction_start_time_ms: i64,
    /// The producer that has the transactional id.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: ProducerEpoch,
    /// The partitions in the open transaction that the caller may see; while it ends, those that
    /// still wait for their marker.
    pub topics: Vec<TopicData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Partitions of one topic, in [`TransactionState`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicData {
    /// The topic's name.
    pub topic: ByteString,
    /// The partitions of that topic in the transaction.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
