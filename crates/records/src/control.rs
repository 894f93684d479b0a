//! Control records: what brokers tell each other between the records of a partition.
//!
//! They stand in batches with the control bit, which no client writes and no application sees;
//! their offsets count all the same.
//!
//! | type | name | value |
//! |---|---|---|
//! | 0 | abort | version (2 bytes), coordinator epoch (4 bytes) |
//! | 1 | commit | the same |
//! | 2 | leader change | `LeaderChangeMessage`, version 0 |
//! | 3 | snapshot header | `SnapshotHeaderRecord`, version 0 |
//! | 4 | snapshot footer | `SnapshotFooterRecord`, version 0 |
//! | 5 | KRaft version | `KRaftVersionRecord`, version 0 |
//! | 6 | KRaft voters | `VotersRecord`, version 0 |

use klamm_primitives::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use thiserror::Error;

use crate::batch::RecordBatch;
use crate::builder::{BatchOptions, BuildError, RecordBatchBuilder};
use crate::compression::Codecs;
use crate::header::ProducerStamp;

/// Bytes of a control record's key: version and type.
const KEY_LEN: usize = 4;

/// Bytes of an end marker's value: version and coordinator epoch.
const MARKER_LEN: usize = 6;

/// The version that is written; a reader takes higher ones for this one.
const VERSION: i16 = 0;

/// What a control record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum ControlType {
    /// The producer's transaction is aborted.
    Abort = 0,
    /// The producer's transaction is committed.
    Commit = 1,
    /// The partition has a new leader.
    LeaderChange = 2,
    /// A snapshot begins.
    SnapshotHeader = 3,
    /// A snapshot ends.
    SnapshotFooter = 4,
    /// The version of the quorum's protocol.
    KRaftVersion = 5,
    /// Who votes in the quorum.
    KRaftVoters = 6,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Its records are not to be read.
    Abort,
    /// Its records count.
    Commit,
}

/// The record that ends a producer's transaction in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EndMarker {
    /// How it ended.
    pub outcome: Outcome,
    /// The epoch of the transaction coordinator that decided.
    pub coordinator_epoch: i32,
}

/// Why a control record makes no sense. A broker answers `INVALID_RECORD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ControlError {
    /// The record has no key.
    #[error("a control record without a key")]
    NoKey,
    /// The record has no value.
    #[error("an end marker without a value")]
    NoValue,
    /// The key is too short.
    #[error("the key of a control record has {len} bytes, 4 are needed")]
    ShortKey {
        /// Bytes that are there.
        len: usize,
    },
    /// The value is too short.
    #[error("the value of an end marker has {len} bytes, 6 are needed")]
    ShortValue {
        /// Bytes that are there.
        len: usize,
    },
    /// A version below 0.
    #[error("version {version} of a control record")]
    NegativeVersion {
        /// What was read.
        version: i16,
    },
    /// The record has a type that ends no transaction.
    #[error("a control record of type {type_id} is no end marker")]
    NoEndMarker {
        /// What the key says.
        type_id: i16,
    },
}

impl ControlType {
    const ALL: [Self; 7] = [
        Self::Abort,
        Self::Commit,
        Self::LeaderChange,
        Self::SnapshotHeader,
        Self::SnapshotFooter,
        Self::KRaftVersion,
        Self::KRaftVoters,
    ];

    /// The number that stands in the key.
    pub const fn id(self) -> i16 {
        self as i16
    }

    /// The key of such a record.
    pub fn key(self) -> [u8; KEY_LEN] {
        let [version_high, version_low] = VERSION.to_be_bytes();
        let [type_high, type_low] = self.id().to_be_bytes();
        [version_high, version_low, type_high, type_low]
    }

    /// Reads the key of a control record; `None` for a type of the future, which readers skip.
    ///
    /// # Errors
    /// [`ControlError::NoKey`], [`ControlError::ShortKey`], [`ControlError::NegativeVersion`].
    pub fn parse(key: Option<&[u8]>) -> Result<Option<Self>, ControlError> {
        let type_id = type_id(key)?;
        Ok(Self::ALL.into_iter().find(|known| known.id() == type_id))
    }
}

impl From<Outcome> for ControlType {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Abort => Self::Abort,
            Outcome::Commit => Self::Commit,
        }
    }
}

impl EndMarker {
    /// Reads the record that ends a transaction.
    ///
    /// # Errors
    /// Any of [`ControlError`].
    pub fn parse(key: Option<&[u8]>, value: Option<&[u8]>) -> Result<Self, ControlError> {
        let outcome = match type_id(key)? {
            0 => Outcome::Abort,
            1 => Outcome::Commit,
            type_id => return Err(ControlError::NoEndMarker { type_id }),
        };
        let value = value.ok_or(ControlError::NoValue)?;
        let Some([version @ .., e3, e2, e1, e0]) = value.first_chunk::<MARKER_LEN>() else {
            return Err(ControlError::ShortValue { len: value.len() });
        };
        check_version(*version)?;
        Ok(Self {
            outcome,
            coordinator_epoch: i32::from_be_bytes([*e3, *e2, *e1, *e0]),
        })
    }

    /// The value of the record.
    pub fn value(&self) -> [u8; MARKER_LEN] {
        let mut value = [0; MARKER_LEN];
        value[..2].copy_from_slice(&VERSION.to_be_bytes());
        value[2..].copy_from_slice(&self.coordinator_epoch.to_be_bytes());
        value
    }

    /// The batch that holds this marker alone, 78 bytes.
    ///
    /// # Errors
    /// [`BuildError::Append`] with a negative timestamp, [`BuildError::Close`] with a negative
    /// producer id or epoch.
    pub fn batch(
        &self,
        base_offset: Offset,
        leader_epoch: LeaderEpoch,
        (producer_id, producer_epoch): (ProducerId, ProducerEpoch),
        timestamp_ms: i64,
    ) -> Result<RecordBatch, BuildError> {
        let options = BatchOptions {
            base_offset,
            leader_epoch,
            transactional: true,
            control: true,
            producer: ProducerStamp {
                producer_id,
                producer_epoch,
                base_sequence: Sequence::NONE,
            },
            ..BatchOptions::default()
        };
        let mut builder = RecordBatchBuilder::new(options, Vec::with_capacity(MARKER_BATCH_LEN));
        builder.append_end_marker(timestamp_ms, *self)?;
        builder.finish(&mut Codecs::default())
    }
}

const MARKER_BATCH_LEN: usize = 78;

fn type_id(key: Option<&[u8]>) -> Result<i16, ControlError> {
    let key = key.ok_or(ControlError::NoKey)?;
    let Some(&[v1, v0, t1, t0]) = key.first_chunk::<KEY_LEN>() else {
        return Err(ControlError::ShortKey { len: key.len() });
    };
    check_version([v1, v0])?;
    Ok(i16::from_be_bytes([t1, t0]))
}

fn check_version(version: [u8; 2]) -> Result<(), ControlError> {
    match i16::from_be_bytes(version) {
        version @ ..0 => Err(ControlError::NegativeVersion { version }),
        _ => Ok(()),
    }
}
