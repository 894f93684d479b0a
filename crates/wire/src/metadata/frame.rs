//! The frame around a metadata record: what kind of record it is, and in which version.

use bytes::{Buf, Bytes, BytesMut};
use klamm_primitives::varint::{self, VarintError};
use thiserror::Error;

use crate::codec::{DecodeError, EncodeError, MetadataRecord, Versions};

/// The only frame there is.
const FRAME_VERSION: u32 = 1;

/// Bytes of a frame's head at most: three varints.
const HEAD_LEN_MAX: usize = 3 * varint::LEN_MAX_32;

/// Why a record's value is not a framed record.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The value ends inside the head of the frame, or a number there does not end.
    #[error("the head of the frame cannot be read")]
    Head(#[from] VarintError),
    /// The frame is laid out in some other way.
    #[error("frame version {version} is unknown, only {FRAME_VERSION} is known")]
    FrameVersion {
        /// The version that stands there.
        version: u32,
    },
    /// The log that was asked for has no record of this type, as far as this crate knows.
    #[error("record type {record_type} is unknown")]
    UnknownType {
        /// The type that stands there.
        record_type: u32,
    },
    /// The record is of another type than the one asked for.
    #[error("record type {record_type} is not {expected}")]
    OtherType {
        /// The type that stands there.
        record_type: u32,
        /// The name of the record asked for.
        expected: &'static str,
    },
    /// The record's type has no such version.
    #[error("{record} has no version {version}, only {versions}")]
    UnsupportedVersion {
        /// The record's name.
        record: &'static str,
        /// The version that stands there.
        version: u32,
        /// The versions that there are.
        versions: Versions,
    },
    /// The struct breaks the rules of its version.
    #[error("the record cannot be read")]
    Record(#[from] DecodeError),
    /// Something follows the struct.
    #[error("{left} bytes are left behind {record}")]
    BytesLeft {
        /// The record's name.
        record: &'static str,
        /// How many bytes.
        left: usize,
    },
}

/// Writes a record with its frame: the value of a record of the log.
///
/// # Errors
/// [`EncodeError`], as [`Message::encode`](crate::Message::encode).
///
/// ```
/// use klamm_wire::metadata::{self, no_op::NoOpRecord};
///
/// let value = metadata::encode(&NoOpRecord::default(), 0)?;
/// assert_eq!(value, [1, 20, 0, 0].as_slice());
/// assert_eq!(metadata::decode::<NoOpRecord>(value)?, (0, NoOpRecord::default()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[expect(
    clippy::missing_panics_doc,
    reason = "no metadata record has record batches"
)]
pub fn encode<R: MetadataRecord>(record: &R, version: i16) -> Result<Bytes, EncodeError> {
    let body = record
        .encode(version)?
        .into_bytes()
        .expect("only record batches can leave a gap");
    let mut value = BytesMut::with_capacity(HEAD_LEN_MAX + body.len());
    for number in [
        FRAME_VERSION,
        u32::from(R::RECORD_TYPE.unsigned_abs()),
        u32::from(version.unsigned_abs()),
    ] {
        value.extend_from_slice(varint::encode_u32(number).as_slice());
    }
    value.extend_from_slice(&body);
    Ok(value.freeze())
}

/// Reads a record of a type that the caller knows, from the whole value of a record of the log.
/// Returns the version that it was written in, and the record; strings and bytes are slices of
/// `value`.
///
/// # Errors
/// All of [`FrameError`] but [`FrameError::UnknownType`].
pub fn decode<R: MetadataRecord>(mut value: Bytes) -> Result<(i16, R), FrameError> {
    let head = Head::take(&mut value)?;
    if head.record_type != u32::from(R::RECORD_TYPE.unsigned_abs()) {
        return Err(FrameError::OtherType {
            record_type: head.record_type,
            expected: R::NAME,
        });
    }
    head.body(value)
}

/// What stands before the struct.
pub(super) struct Head {
    pub(super) record_type: u32,
    version: u32,
}

impl Head {
    /// Takes the head off the front of `value`.
    pub(super) fn take(value: &mut Bytes) -> Result<Self, FrameError> {
        let frame_version = take_number(value)?;
        if frame_version != FRAME_VERSION {
            return Err(FrameError::FrameVersion {
                version: frame_version,
            });
        }
        Ok(Self {
            record_type: take_number(value)?,
            version: take_number(value)?,
        })
    }

    /// Reads the struct, which is all of `value`.
    pub(super) fn body<R: MetadataRecord>(&self, mut value: Bytes) -> Result<(i16, R), FrameError> {
        let version = i16::try_from(self.version)
            .ok()
            .filter(|version| R::VERSIONS.contains(*version))
            .ok_or(FrameError::UnsupportedVersion {
                record: R::NAME,
                version: self.version,
                versions: R::VERSIONS,
            })?;
        let record = R::decode(&mut value, version)?;
        if !value.is_empty() {
            return Err(FrameError::BytesLeft {
                record: R::NAME,
                left: value.len(),
            });
        }
        Ok((version, record))
    }
}

fn take_number(value: &mut Bytes) -> Result<u32, VarintError> {
    let (number, len) = varint::read_u32(value)?;
    value.advance(len);
    Ok(number)
}
