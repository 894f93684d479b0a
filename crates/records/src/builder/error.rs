//! Why a record was not appended or a batch not closed.

use klamm_primitives::Offset;
use thiserror::Error;

use crate::compression::DeflateError;

/// The builder is not in the state for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StateError {
    /// It is open and has no finished batch.
    #[error("the batch is still open")]
    Open,
    /// It is closed; its batch is fixed.
    #[error("the batch is closed")]
    Closed,
    /// What it held was given up.
    #[error("the batch was aborted")]
    Aborted,
}

/// Why a record was not appended. The batch is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AppendError {
    /// The builder takes no records any more.
    #[error(transparent)]
    State(#[from] StateError),
    /// Offsets must rise within a batch.
    #[error("offset {offset} behind offset {last}")]
    OffsetNotRising {
        /// The record's.
        offset: Offset,
        /// That of the record before, or one below the base offset.
        last: Offset,
    },
    /// The offset is too far from the base offset for a delta of 32 bits.
    #[error("offset {offset} is more than 2147483647 above the base offset {base_offset}")]
    OffsetTooFar {
        /// The record's.
        offset: Offset,
        /// The batch's.
        base_offset: Offset,
    },
    /// Timestamps are not negative, but for -1, which is none.
    #[error("timestamp {timestamp_ms} is negative")]
    NegativeTimestamp {
        /// The record's.
        timestamp_ms: i64,
    },
    /// The record or the batch with it is longer than a length field can say.
    #[error("a record of {size} bytes makes the batch longer than 2 GiB")]
    TooLarge {
        /// The record's size.
        size: usize,
    },
    /// Applications' records do not go into control batches.
    #[error("a data record for a control batch")]
    DataInControlBatch,
    /// Control records go into control batches only.
    #[error("a control record for a batch of data")]
    ControlInDataBatch,
    /// Markers that end a transaction go into transactional batches only.
    #[error("an end marker for a batch that is not transactional")]
    MarkerNotTransactional,
    /// A change of leaders is nobody's transaction.
    #[error("a leader change for a transactional batch")]
    LeaderChangeTransactional,
    /// A change of leaders needs the new leader's epoch on the batch.
    #[error("a leader change without a leader epoch")]
    LeaderChangeWithoutEpoch,
}

/// Why a batch was not closed. It stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CloseError {
    /// It was aborted.
    #[error(transparent)]
    State(#[from] StateError),
    /// A transactional batch needs a producer id.
    #[error("a transactional batch without a producer id")]
    TransactionalWithoutProducer,
    /// A producer id needs an epoch.
    #[error("a batch with a producer id and without a producer epoch")]
    WithoutProducerEpoch,
    /// A producer id needs a sequence, but for control batches.
    #[error("a batch with a producer id and without a base sequence")]
    WithoutSequence,
    /// The codec failed.
    #[error(transparent)]
    Deflate(#[from] DeflateError),
}

/// Why a batch that is built at one go was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BuildError {
    /// A record was refused.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The batch was refused.
    #[error(transparent)]
    Close(#[from] CloseError),
}
