//! `ListTransactions` (key 66): the transactional ids that a broker coordinates.
//!
//! Flexible from the start. v1 can ask for long-running ones only (KIP-994), v2 for ids that match
//! a pattern (KIP-1152). Each coordinator knows its own, so a tool asks every broker.

use crate::prelude::*;

/// Asks a broker for its transactional ids. All filters must let an id pass.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(66), versions = 0..=2, flexible = 0.., listeners(broker))]
pub struct ListTransactionsRequest {
    /// States to list, by name as in [`TransactionState::transaction_state`]; empty lists all.
    pub state_filters: Vec<ByteString>,
    /// Producers to list; empty lists all.
    pub producer_id_filters: Vec<ProducerId>,
    /// Lists only transactions that have been running for more than so many milliseconds; below 0
    /// lists all.
    #[wire(versions = 1.., default = -1)]
    pub duration_filter: i64,
    /// A regular expression in RE2's syntax that the transactional id must match as a whole;
    /// `None` or empty lists all. One that does not compile is `INVALID_REGULAR_EXPRESSION`.
    #[wire(versions = 2.., nullable = 2.., default = None)]
    pub transactional_id_pattern: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ListTransactionsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(66), versions = 0..=2, flexible = 0..)]
pub struct ListTransactionsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// Why nothing is listed, such as `COORDINATOR_LOAD_IN_PROGRESS`.
    pub error_code: ErrorCode,
    /// The wanted states that the coordinator does not know; they match nothing.
    pub unknown_state_filters: Vec<ByteString>,
    /// The transactional ids that match and that the caller may see.
    pub transaction_states: Vec<TransactionState>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One transactional id, in [`ListTransactionsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TransactionState {
    /// The transactional id.
    pub transactional_id: ByteString,
    /// The producer that has it.
    pub producer_id: ProducerId,
    /// `Empty`, `Ongoing`, `PrepareCommit`, `PrepareAbort`, `CompleteCommit`, `CompleteAbort` or
    /// `PrepareEpochFence`. Ids in the state `Dead` are about to go and are not listed.
    pub transaction_state: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
