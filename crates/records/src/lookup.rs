//! Finding an offset or a timestamp in a batch, and in a run of batches in memory.

use klamm_primitives::{LeaderEpoch, Offset};

use crate::batch::RecordBatch;
use crate::batches::RecordBatches;
use crate::compression::Codecs;
use crate::header::{BatchError, NO_TIMESTAMP};
use crate::records::RecordsError;
use thiserror::Error;

/// A record found by its timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundTimestamp {
    /// Where it is.
    pub offset: Offset,
    /// Its timestamp in Unix milliseconds.
    pub timestamp_ms: i64,
    /// The leader epoch of its batch, if that is set.
    pub leader_epoch: Option<LeaderEpoch>,
}

/// A batch and where it begins in its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundBatch {
    /// Bytes of the run before it.
    pub position: usize,
    /// The batch.
    pub batch: RecordBatch,
}

/// Why a run of batches could not be searched.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LookupError {
    /// It holds something that is no batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The records of a batch cannot be read.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

impl RecordBatch {
    /// The first record that has that timestamp or a later one and is not below `from`. Records
    /// after it are not read.
    ///
    /// # Errors
    /// [`RecordsError`], where a record before the wanted one cannot be read.
    pub fn find_timestamp(
        &self,
        timestamp_ms: i64,
        from: Offset,
        codecs: &mut Codecs,
    ) -> Result<Option<FoundTimestamp>, RecordsError> {
        if self.header().max_timestamp_ms < timestamp_ms || self.header().last_offset() < from {
            return Ok(None);
        }
        for meta in self.skim(codecs)? {
            let meta = meta?;
            if meta.timestamp_ms >= timestamp_ms && meta.offset >= from {
                return Ok(Some(FoundTimestamp {
                    offset: meta.offset,
                    timestamp_ms: meta.timestamp_ms,
                    leader_epoch: self.header().leader_epoch_if_set(),
                }));
            }
        }
        Ok(None)
    }

    /// The first record that has the batch's max timestamp; with log append time, where all have
    /// it, the first record. None if there is no record or no timestamp.
    ///
    /// # Errors
    /// As [`find_timestamp`](Self::find_timestamp).
    pub fn find_max_timestamp(
        &self,
        codecs: &mut Codecs,
    ) -> Result<Option<FoundTimestamp>, RecordsError> {
        match self.header().max_timestamp_ms {
            NO_TIMESTAMP => Ok(None),
            max => self.find_timestamp(max, self.header().base_offset, codecs),
        }
    }
}

impl RecordBatches {
    /// The first batch that reaches to `target`: whose **last** offset is not below it.
    ///
    /// # Errors
    /// [`BatchError`], where something before that batch is none.
    pub fn find_offset(mut self, target: Offset) -> Result<Option<FoundBatch>, BatchError> {
        loop {
            let position = self.position();
            let Some(batch) = self.next().transpose()? else {
                return Ok(None);
            };
            if batch.header().last_offset() >= target {
                return Ok(Some(FoundBatch { position, batch }));
            }
        }
    }

    /// The first record of the run that has that timestamp or a later one and is not below
    /// `from`. Batches whose max timestamp is earlier are passed over by their headers.
    ///
    /// # Errors
    /// Any of [`LookupError`], where something before that record cannot be read.
    pub fn find_timestamp(
        self,
        timestamp_ms: i64,
        from: Offset,
        codecs: &mut Codecs,
    ) -> Result<Option<FoundTimestamp>, LookupError> {
        for batch in self {
            let found = batch?.find_timestamp(timestamp_ms, from, codecs)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}
