//! Records of the coordinators' internal topics, a file a record type: its key and its value.
//!
//! A coordinator keeps its state in a compacted topic and reads it back when it takes a partition
//! over. What a record is about is told by a number before its key; before the value stands the
//! version that it was written in:
//!
//! ```text
//! key     record type  int16    key struct, in its highest version
//! value   version      int16    value struct in that version; no value at all is a tombstone
//! ```
//!
//! The record type counts for one topic only, so a reader chooses the enum of the topic that it
//! reads: [`ConsumerOffsetsKey`], [`TransactionStateKey`] or [`ShareGroupStateKey`]. A number that
//! is not known there is no damage: a later release may have written it, and a reader that meets
//! one passes it over. A version that is not known is an error, as the state would be wrong without
//! that record.
//!
//! ```
//! use klamm_wire::coordinator::offset_commit::{OffsetCommitKey, OffsetCommitValue};
//! use klamm_wire::coordinator::{self, ConsumerOffsetsKey, RecordKey};
//!
//! let key = OffsetCommitKey { group: "billing".into(), ..Default::default() };
//! let value = OffsetCommitValue { offset: 42.into(), ..Default::default() };
//! let record = (coordinator::encode_key(&key)?, coordinator::encode_value(&value, 3)?);
//!
//! let ConsumerOffsetsKey::OffsetCommit(read) = ConsumerOffsetsKey::decode(&record.0)? else {
//!     panic!("another record type");
//! };
//! assert_eq!(read.decode_value(Some(&record.1))?, Some(value));
//! assert_eq!(read.decode_value(None)?, None, "a tombstone");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use bytes::{BufMut, Bytes, BytesMut};
use thiserror::Error;

use crate::codec::{
    CoordinatorKey, CoordinatorValue, DecodeError, EncodeError, Encoded, Message, Piece,
};

mod record_key;

// `__consumer_offsets`: offsets and classic groups.
pub mod group_metadata;
pub mod legacy_offset_commit;
pub mod offset_commit;

// `__consumer_offsets`: consumer groups.
pub mod consumer_group_current_member_assignment;
pub mod consumer_group_member_metadata;
pub mod consumer_group_metadata;
pub mod consumer_group_partition_metadata;
pub mod consumer_group_regular_expression;
pub mod consumer_group_target_assignment_member;
pub mod consumer_group_target_assignment_metadata;

// `__consumer_offsets`: share groups.
pub mod share_group_current_member_assignment;
pub mod share_group_member_metadata;
pub mod share_group_metadata;
pub mod share_group_state_partition_metadata;
pub mod share_group_target_assignment_member;
pub mod share_group_target_assignment_metadata;

// `__consumer_offsets`: streams groups.
pub mod streams_group_current_member_assignment;
pub mod streams_group_member_metadata;
pub mod streams_group_metadata;
pub mod streams_group_target_assignment_member;
pub mod streams_group_target_assignment_metadata;
pub mod streams_group_topology;

// `__transaction_state`.
pub mod transaction_log;

// `__share_group_state`.
pub mod share_snapshot;
pub mod share_update;

pub use record_key::{ConsumerOffsetsKey, RecordKey, ShareGroupStateKey, TransactionStateKey};

/// Bytes of the number before a key or a value.
const PREFIX_LEN: usize = size_of::<i16>();

/// Why the key or the value of a record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The bytes end before the record type or the version does.
    #[error("{len} bytes are too few for the number in front of a key or value")]
    NoPrefix {
        /// How many there are.
        len: usize,
    },
    /// The key of one record type was asked for, and there is another.
    #[error("record type {found} stands where {message} has {expected}")]
    OtherType {
        /// The key asked for.
        message: &'static str,
        /// Its record type.
        expected: i16,
        /// The record type that is there.
        found: i16,
    },
    /// The struct is whole, but not all that there is.
    #[error("{left} bytes are left behind {message}")]
    BytesLeft {
        /// What was read.
        message: &'static str,
        /// How many bytes follow it.
        left: usize,
    },
    /// The struct cannot be read: its version is unknown ([`DecodeError::UnsupportedVersion`]) or
    /// it is damaged. Positions in it count from behind the number in front.
    #[error(transparent)]
    Struct(#[from] DecodeError),
}

/// Writes the key of a record: its type, then the struct in its highest version.
///
/// # Errors
/// [`EncodeError::Field`] if a string is too long.
pub fn encode_key<K: CoordinatorKey>(key: &K) -> Result<Bytes, EncodeError> {
    let body = key.encode(K::VERSIONS.max)?;
    Ok(prefixed(K::RECORD_TYPE, body))
}

/// Writes the value of a record: the version, then the struct in that version.
///
/// Which version to choose depends on what the other brokers of the cluster can read.
///
/// # Errors
/// [`EncodeError::UnsupportedVersion`]; [`EncodeError::Field`] if a field has a value that the
/// version cannot say.
pub fn encode_value<V: CoordinatorValue>(value: &V, version: i16) -> Result<Bytes, EncodeError> {
    let body = value.encode(version)?;
    Ok(prefixed(version, body))
}

/// Reads the key of a record whose type is certain. Strings are slices of `key`.
///
/// # Errors
/// [`RecordError::OtherType`] if it is of another type; the other variants if it is damaged.
pub fn decode_key<K: CoordinatorKey>(key: &Bytes) -> Result<K, RecordError> {
    let (found, body) = split_prefix(key)?;
    if found != K::RECORD_TYPE {
        return Err(RecordError::OtherType {
            message: K::NAME,
            expected: K::RECORD_TYPE,
            found,
        });
    }
    decode_whole(body, K::VERSIONS.max)
}

/// Reads the value of a record; `None` is a tombstone and stays one. Strings and bytes are slices
/// of `value`. A key that was read says which type to ask for: see [`RecordKey::decode_value`].
///
/// # Errors
/// [`RecordError::Struct`] with [`DecodeError::UnsupportedVersion`] if a later release wrote it in
/// a version that is not known here; the other variants if it is damaged.
pub fn decode_value<V: CoordinatorValue>(value: Option<&Bytes>) -> Result<Option<V>, RecordError> {
    let Some(value) = value else {
        return Ok(None);
    };
    let (version, body) = split_prefix(value)?;
    decode_whole(body, version).map(Some)
}

/// Puts the number in front.
fn prefixed(prefix: i16, body: Encoded) -> Bytes {
    let mut whole = BytesMut::with_capacity(PREFIX_LEN + body.len());
    whole.put_i16(prefix);
    for piece in body {
        match piece {
            Piece::Bytes(bytes) => whole.put_slice(&bytes),
            Piece::Gap(_) => unreachable!("no coordinator record has a field of records"),
        }
    }
    whole.freeze()
}

/// Takes the number off the front.
fn split_prefix(whole: &Bytes) -> Result<(i16, Bytes), RecordError> {
    let Some(prefix) = whole.first_chunk::<PREFIX_LEN>() else {
        return Err(RecordError::NoPrefix { len: whole.len() });
    };
    Ok((i16::from_be_bytes(*prefix), whole.slice(PREFIX_LEN..)))
}

/// Reads a struct behind which there must be nothing.
fn decode_whole<M: Message>(mut body: Bytes, version: i16) -> Result<M, RecordError> {
    let message = M::decode(&mut body, version)?;
    if body.is_empty() {
        Ok(message)
    } else {
        Err(RecordError::BytesLeft {
            message: M::NAME,
            left: body.len(),
        })
    }
}
