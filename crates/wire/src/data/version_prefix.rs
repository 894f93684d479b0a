//! The int16 version in front of structures that travel or lie alone, without a header that would
//! tell their version.

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;

use super::aborted_txn::AbortedTxn;
use super::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
use super::control_record_type_schema::ControlRecordTypeSchema;
use super::default_principal_data::DefaultPrincipalData;
use super::end_txn_marker::EndTxnMarker;
use super::producer_snapshot::ProducerSnapshot;
use crate::codec::{DecodeError, EncodeError, Message};

/// A structure with a version in front.
pub trait VersionPrefixed: Message {
    /// What a reader does with a version above the highest that it knows.
    const NEWER: Newer;
}

/// What a reader does with a version above the highest that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Newer {
    /// Refuses it, as it refuses bytes behind the structure.
    Refuse,
    /// Reads it as the highest version that it knows and passes over what is left: new versions
    /// of these structures may add fields at the end, and change nothing else.
    ReadAsKnown,
}

impl VersionPrefixed for AbortedTxn {
    const NEWER: Newer = Newer::Refuse;
}

impl VersionPrefixed for ConsumerProtocolAssignment {
    const NEWER: Newer = Newer::ReadAsKnown;
}

impl VersionPrefixed for ConsumerProtocolSubscription {
    const NEWER: Newer = Newer::ReadAsKnown;
}

impl VersionPrefixed for ControlRecordTypeSchema {
    const NEWER: Newer = Newer::ReadAsKnown;
}

impl VersionPrefixed for DefaultPrincipalData {
    const NEWER: Newer = Newer::Refuse;
}

impl VersionPrefixed for EndTxnMarker {
    const NEWER: Newer = Newer::ReadAsKnown;
}

impl VersionPrefixed for ProducerSnapshot {
    const NEWER: Newer = Newer::Refuse;
}

/// Why bytes are not a version and a structure.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VersionPrefixError {
    /// There is no room for a version.
    #[error("{len} bytes cannot hold the version of {structure}")]
    NoVersion {
        /// The structure's name.
        structure: &'static str,
        /// How many bytes there are.
        len: usize,
    },
    /// The version is below the lowest, or above the highest and to be refused; or the bytes
    /// break the version's rules.
    #[error("what follows the version cannot be read")]
    Structure(#[from] DecodeError),
    /// Something follows the structure.
    #[error("{left} bytes are left behind {structure}")]
    BytesLeft {
        /// The structure's name.
        structure: &'static str,
        /// How many bytes.
        left: usize,
    },
}

/// Writes the version, then the structure in that version.
///
/// # Errors
/// [`EncodeError`], as [`Message::encode`].
///
/// ```
/// use klamm_wire::data::{end_txn_marker::EndTxnMarker, version_prefix};
///
/// let marker = EndTxnMarker { coordinator_epoch: 7 };
/// let value = version_prefix::encode(&marker, 0)?;
/// assert_eq!(value, [0, 0, 0, 0, 0, 7].as_slice());
/// assert_eq!(version_prefix::decode::<EndTxnMarker>(value)?, (0, marker));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[expect(
    clippy::missing_panics_doc,
    reason = "no such structure has record batches"
)]
pub fn encode<S: VersionPrefixed>(structure: &S, version: i16) -> Result<Bytes, EncodeError> {
    let body = structure
        .encode(version)?
        .into_bytes()
        .expect("only record batches can leave a gap");
    let mut bytes = BytesMut::with_capacity(size_of_val(&version) + body.len());
    bytes.extend_from_slice(&version.to_be_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes.freeze())
}

/// Reads a version and the structure. Returns the version that stands there, which may be above
/// the one it was read in, and the structure; strings and bytes are slices of `bytes`.
///
/// # Errors
/// [`VersionPrefixError::NoVersion`] and [`VersionPrefixError::Structure`];
/// [`VersionPrefixError::BytesLeft`] where [`VersionPrefixed::NEWER`] says so.
pub fn decode<S: VersionPrefixed>(mut bytes: Bytes) -> Result<(i16, S), VersionPrefixError> {
    let version = bytes
        .try_get_i16()
        .map_err(|_| VersionPrefixError::NoVersion {
            structure: S::NAME,
            len: bytes.len(),
        })?;
    match S::NEWER {
        Newer::ReadAsKnown => {
            let known = version.min(S::VERSIONS.max);
            Ok((version, S::decode(&mut bytes, known)?))
        }
        Newer::Refuse => {
            let structure = S::decode(&mut bytes, version)?;
            if bytes.is_empty() {
                return Ok((version, structure));
            }
            Err(VersionPrefixError::BytesLeft {
                structure: S::NAME,
                left: bytes.len(),
            })
        }
    }
}
