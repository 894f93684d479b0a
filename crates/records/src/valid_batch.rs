//! [`ValidBatch`]: a batch that may be written to a log.

use bytes::Bytes;
use klamm_primitives::{LeaderEpoch, Offset};

use crate::attributes::TimestampType;
use crate::batch::RecordBatch;
use crate::header::{BatchError, BatchHeader, HEADER_LEN};

/// A batch that was checked, as a header and the records behind it.
///
/// Comes out of [`validate`](crate::validate) for what clients produce, out of
/// [`validate_own`](crate::validate_own) for what the broker itself appends, and out of
/// [`replicated`](Self::replicated) for what a leader appended before. The records are the bytes
/// that came in, shared and untouched, unless the batch had to be written anew.
///
/// The log writes a header that it gets from here and then the records: a leader the one of
/// [`stamped`](Self::stamped), a follower [`header`](Self::header) as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidBatch {
    header: BatchHeader,
    records: Bytes,
    timestamp_type: TimestampType,
}

impl ValidBatch {
    /// Takes a batch that a leader appended, for a log that follows it. Its offsets and leader
    /// epoch stay; that it continues the log is for the log to check. Its records are not read.
    ///
    /// # Errors
    /// [`BatchError::Crc`].
    pub fn replicated(batch: RecordBatch) -> Result<Self, BatchError> {
        batch.check_crc()?;
        let timestamp_type = batch.header().attributes.timestamp_type();
        Ok(Self::new(*batch.header(), batch, timestamp_type))
    }

    /// A batch that was found good, with what was amended in its header, for a log that keeps
    /// such timestamps.
    pub(crate) fn new(
        header: BatchHeader,
        batch: RecordBatch,
        timestamp_type: TimestampType,
    ) -> Self {
        debug_assert_eq!(header.size(), batch.size());
        let mut records = batch.into_bytes();
        let _ = records.split_to(HEADER_LEN);
        Self {
            header,
            records,
            timestamp_type,
        }
    }

    /// The header as it is before a leader stamps it.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// What is written behind the header.
    pub fn records(&self) -> &Bytes {
        &self.records
    }

    /// The size of the batch in bytes, which no stamping changes.
    pub fn size(&self) -> usize {
        self.header.size()
    }

    /// The header that a leader writes: with the batch's place in the log, the leader's epoch and,
    /// in a topic with log append time, `now_ms` (Unix time) as the batch's timestamp.
    ///
    /// Offset and epoch lie outside the checksum; for a timestamp it is computed anew from the
    /// header alone, so the records are not read again.
    #[must_use]
    pub fn stamped(
        &self,
        base_offset: Offset,
        leader_epoch: LeaderEpoch,
        now_ms: i64,
    ) -> BatchHeader {
        let mut header = BatchHeader {
            base_offset,
            leader_epoch,
            ..self.header
        };
        if self.timestamp_type == TimestampType::LogAppend {
            header.set_timestamps(TimestampType::LogAppend, now_ms);
        }
        header
    }
}
