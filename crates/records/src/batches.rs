//! [`RecordBatches`]: a run of batches in memory, one behind the other.

use bytes::Bytes;

use crate::batch::RecordBatch;
use crate::header::{BatchError, BatchPrefix, MAGIC, NOT_COUNTED_LEN};

/// Goes through a run of batches: the records of a request, of a fetch answer, or of a part of a
/// segment.
///
/// A batch of which some bytes are missing ends the run without an error, since fetches cut where
/// their limit falls. After an error there is nothing more: without a size that can be trusted
/// nobody knows where the next batch begins.
///
/// ```
/// # use bytes::Bytes;
/// # use klamm_records::*;
/// # let mut codecs = Codecs::default();
/// # let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
/// # builder.append(7, None, Some(b"value"), &[]).unwrap();
/// # builder.close(&mut codecs).unwrap();
/// # let fetched = Bytes::from([builder.bytes().unwrap(), &[0; 11]].concat());
/// let mut batches = RecordBatches::new(fetched);
/// for batch in &mut batches {
///     let batch = batch?;
///     batch.check_crc()?;
///     assert_eq!(batch.header().record_count, 1);
/// }
/// assert_eq!(batches.remainder().len(), 11, "a batch that was cut");
/// # Ok::<(), BatchError>(())
/// ```
#[derive(Debug, Clone)]
pub struct RecordBatches {
    rest: Bytes,
    position: usize,
    size_max: usize,
    ended: bool,
}

impl RecordBatches {
    /// Goes through `bytes`, with batches of any size.
    pub fn new(bytes: Bytes) -> Self {
        Self {
            rest: bytes,
            position: 0,
            size_max: i32::MAX.cast_unsigned() as usize + NOT_COUNTED_LEN,
            ended: false,
        }
    }

    /// Takes batches of more than `size_max` bytes for an error, also such whose bytes are not
    /// there.
    #[must_use]
    pub fn with_size_max(mut self, size_max: usize) -> Self {
        self.size_max = size_max;
        self
    }

    /// Where the next batch begins: the sizes of all given so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// What has not been given: behind the last batch a cut one, if anything.
    pub fn remainder(&self) -> &Bytes {
        &self.rest
    }

    /// How many bytes whole batches take up from the start; a cut one does not count.
    ///
    /// # Errors
    /// What the first batch that is none shows: see [`BatchHeader::read`](crate::BatchHeader::read).
    pub fn whole_bytes(mut self) -> Result<usize, BatchError> {
        while self.next_batch()?.is_some() {}
        Ok(self.position)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, BatchError> {
        let Some(BatchPrefix { size, magic }) = BatchPrefix::peek(&self.rest)? else {
            return Ok(None);
        };
        if size > self.size_max {
            return Err(BatchError::TooLarge {
                size,
                limit: self.size_max,
            });
        }
        if self.rest.len() < size {
            return Ok(None);
        }
        if magic != MAGIC {
            return Err(BatchError::LegacyMagic { magic });
        }
        // A run of one batch, as a producer sends it, keeps its one count on the bytes.
        let bytes = if self.rest.len() == size {
            std::mem::take(&mut self.rest)
        } else {
            self.rest.split_to(size)
        };
        let batch = RecordBatch::parse(bytes)?;
        self.position += size;
        Ok(Some(batch))
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_batch().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl std::iter::FusedIterator for RecordBatches {}
