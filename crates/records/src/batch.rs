//! [`RecordBatch`]: a view of the bytes of one batch.

use std::fmt;

use bytes::Bytes;

use crate::crc::crc32c;
use crate::header::{BatchError, BatchHeader, CHECKED_FROM, HEADER_LEN};

/// One whole record batch of magic 2: its [header](BatchHeader), read once, and its bytes,
/// shared and never written to.
///
/// Only magic and size have been looked at: [`check_crc`](Self::check_crc) tells whether the
/// bytes are those that were written, and reading the records tells whether they hold records.
/// Batches are equal if their bytes are.
///
/// | to get | call | the batch may be |
/// |---|---|---|
/// | records as slices of the batch | [`records`](Self::records) | uncompressed |
/// | records one at a time | [`read`](Self::read) | any; inflated as far as it is read |
/// | offsets, timestamps and sizes | [`skim`](Self::skim) | any; keys and values are skipped |
#[derive(Clone)]
pub struct RecordBatch {
    header: BatchHeader,
    bytes: Bytes,
}

impl RecordBatch {
    /// Views `bytes` as one batch.
    ///
    /// # Errors
    /// Those of [`BatchHeader::read`], [`BatchError::Truncated`] if bytes of the batch are missing
    /// and [`BatchError::TrailingBytes`] if more follow it. [`RecordBatches`](crate::RecordBatches)
    /// reads a run of batches.
    pub fn parse(bytes: Bytes) -> Result<Self, BatchError> {
        let header = BatchHeader::read(&bytes)?;
        let size = header.size();
        if bytes.len() < size {
            return Err(BatchError::Truncated {
                available: bytes.len(),
                needed: size,
            });
        }
        if bytes.len() > size {
            return Err(BatchError::TrailingBytes {
                size,
                count: bytes.len() - size,
            });
        }
        Ok(Self { header, bytes })
    }

    /// The header.
    #[inline]
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The whole batch.
    #[inline]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The whole batch, without another count on the bytes.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The size of the whole batch in bytes.
    #[inline]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// What follows the header: the records, compressed if the attributes say so.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.bytes[HEADER_LEN..]
    }

    /// Compares the stored checksum with that of the bytes. Reads the batch once through; the
    /// records need not make sense.
    ///
    /// # Errors
    /// [`BatchError::Crc`].
    pub fn check_crc(&self) -> Result<(), BatchError> {
        let computed = crc32c(&self.bytes[CHECKED_FROM..]);
        if computed == self.header.crc {
            return Ok(());
        }
        Err(BatchError::Crc {
            stored: self.header.crc,
            computed,
        })
    }
}

impl PartialEq for RecordBatch {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for RecordBatch {}

impl fmt::Debug for RecordBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordBatch")
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}
