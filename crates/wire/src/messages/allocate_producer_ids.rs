//! `AllocateProducerIds` (key 67): a broker fetches a block of producer ids to give out.
//!
//! Flexible from the start, one version (KIP-730). A block is never given twice; a broker that
//! restarts leaves the rest of its block unused.

use crate::prelude::*;

/// Asks for a block of producer ids; sent by a broker to the active controller.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(67), versions = 0..=0, flexible = 0.., listeners(controller))]
pub struct AllocateProducerIdsRequest {
    /// The broker that will give the ids out.
    pub broker_id: BrokerId,
    /// Its present registration; another one than the controller's is `STALE_BROKER_EPOCH`.
    #[wire(default = -1)]
    pub broker_epoch: BrokerEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`AllocateProducerIdsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(67), versions = 0..=0, flexible = 0..)]
pub struct AllocateProducerIdsResponse {
    /// Milliseconds for which the broker should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// Why no block was given: `NOT_CONTROLLER`, `STALE_BROKER_EPOCH`,
    /// `BROKER_ID_NOT_REGISTERED`.
    pub error_code: ErrorCode,
    /// The first id of the block.
    pub producer_id_start: ProducerId,
    /// How many ids the block has.
    pub producer_id_len: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
