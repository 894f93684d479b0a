//! `ProducerIdsRecord` (type 15): a block of producer ids was handed to a broker.

use crate::prelude::*;

/// Moves the start of the producer ids that are still free.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(15), versions = 0..=0, flexible = 0..)]
pub struct ProducerIdsRecord {
    /// The broker that got the block.
    pub broker_id: BrokerId,
    /// The epoch of its registration.
    #[wire(default = -1)]
    pub broker_epoch: BrokerEpoch,
    /// The first id behind the block, which the next block starts with.
    pub next_producer_id: ProducerId,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
