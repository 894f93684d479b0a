//! [`Change`]: records that are written together.

use std::fmt;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use klamm_primitives::varint;
use klamm_wire::EncodeError;
use klamm_wire::metadata::ClusterMetadataRecord;
use thiserror::Error;

/// Records that are written together, and how they are written: each with its length before it.
#[derive(Clone)]
pub(crate) struct Change {
    records: Arc<[ClusterMetadataRecord]>,
    encoded: Bytes,
}

impl fmt::Debug for Change {
    /// Without the records, which may hold secrets and which openraft logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.records.iter().map(ClusterMetadataRecord::name);
        f.debug_list().entries(names).finish()
    }
}

/// Bytes of an entry or a snapshot are no records.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ChangeError {
    /// A length is no number, or reaches behind the end.
    #[error("a record's length is damaged")]
    Length,
    /// A record is none.
    #[error(transparent)]
    Record(#[from] klamm_wire::metadata::FrameError),
}

impl Change {
    /// Writes the records, each in the newest version of its type.
    pub(super) fn new(records: Vec<ClusterMetadataRecord>) -> Result<Self, EncodeError> {
        let mut encoded = BytesMut::new();
        for record in &records {
            let bytes = record.encode(record.versions().max)?;
            // Longer than a length can tell is longer than any limit, too; it is refused by size.
            let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            encoded.extend_from_slice(varint::encode_u32(len).as_slice());
            encoded.extend_from_slice(&bytes);
        }
        Ok(Self {
            records: records.into(),
            encoded: encoded.freeze(),
        })
    }

    /// Reads the records that are all of `encoded`.
    pub(super) fn decode(encoded: Bytes) -> Result<Self, ChangeError> {
        let mut records = Vec::new();
        let mut rest = encoded.clone();
        while !rest.is_empty() {
            let (len, len_len) = varint::read_u32(&rest).map_err(|_| ChangeError::Length)?;
            rest.advance(len_len);
            let len = usize::try_from(len).map_err(|_| ChangeError::Length)?;
            if len > rest.len() {
                return Err(ChangeError::Length);
            }
            let (_, record) = ClusterMetadataRecord::decode(rest.split_to(len))?;
            records.push(record);
        }
        Ok(Self {
            records: records.into(),
            encoded,
        })
    }

    pub(super) fn records(&self) -> &[ClusterMetadataRecord] {
        &self.records
    }

    pub(super) fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    pub(super) fn size(&self) -> usize {
        self.encoded.len()
    }
}
