//! [`BatchOptions`]: what a batch is built with.

use klamm_primitives::{LeaderEpoch, Offset};

use crate::compression::Compression;
use crate::header::ProducerStamp;

/// What a batch is built with.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchOptions {
    /// The offset of the first record appended without one. A producer leaves 0.
    pub base_offset: Offset,
    /// The epoch of the leader that writes the batch; a producer leaves it unset.
    pub leader_epoch: LeaderEpoch,
    /// How the records are compressed when the batch is closed.
    pub compression: Compression,
    /// Whose time the records carry.
    pub timestamps: Timestamps,
    /// Whether the batch belongs to a transaction; then it needs a producer id.
    pub transactional: bool,
    /// Whether the batch holds control records, and nothing else.
    pub control: bool,
    /// What marks the producer; may be set later, up to closing.
    pub producer: ProducerStamp,
    /// The time from which the batch's tombstones may go (KIP-534). Timestamps count from it.
    pub delete_horizon_ms: Option<i64>,
    /// The size from which the batch is full; one record may be larger.
    pub size_limit: usize,
    /// What part of their size the records are expected to keep when compressed: see
    /// [`CompressionRatios`](crate::CompressionRatios).
    pub expected_ratio: f32,
}

/// Whose time the records of a batch carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Timestamps {
    /// That of whoever appends the record.
    #[default]
    Create,
    /// This one, for all records.
    LogAppend {
        /// Unix time in milliseconds.
        at_ms: i64,
    },
}

impl Default for BatchOptions {
    /// A plain batch without a limit, at offset 0.
    fn default() -> Self {
        Self {
            base_offset: Offset::ZERO,
            leader_epoch: LeaderEpoch::NONE,
            compression: Compression::None,
            timestamps: Timestamps::Create,
            transactional: false,
            control: false,
            producer: ProducerStamp::NONE,
            delete_horizon_ms: None,
            size_limit: usize::MAX,
            expected_ratio: 1.0,
        }
    }
}
