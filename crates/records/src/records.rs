//! [`Records`]: the records of an uncompressed batch, as slices of it.

use thiserror::Error;

use crate::batch::RecordBatch;
use crate::compression::{Codec, InflateError, UnknownCodec};
use crate::decode::{
    At, Layout, RecordFault, RecordField, fault_of, layout_of, long_varint, short_varint,
};
use crate::header::BatchHeader;
use crate::record::{Bases, Record};

/// Why the records of a batch cannot be read, or not to the end.
///
/// A broker answers [`Inflate`](Self::Inflate) with `CORRUPT_MESSAGE`, or with `MESSAGE_TOO_LARGE`
/// for [`InflateError::TooLarge`], [`UnknownCodec`](Self::UnknownCodec) with `UNSUPPORTED_COMPRESSION_TYPE` and the rest with
/// `INVALID_RECORD`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordsError {
    /// The attributes name no codec that there is.
    #[error(transparent)]
    UnknownCodec(#[from] UnknownCodec),
    /// The records are compressed and were asked for as slices of the batch.
    #[error("the records are compressed with {codec} and cannot be borrowed")]
    Compressed {
        /// How they are compressed.
        codec: Codec,
    },
    /// The header says that there are fewer than no records.
    #[error("a record batch with a record count of {count}")]
    NegativeCount {
        /// What it says.
        count: i32,
    },
    /// A record is broken.
    #[error("record {index}, byte {position} of the records: {field}: {fault}")]
    Record {
        /// Its place in the batch, from 0.
        index: usize,
        /// Where reading stopped, in bytes of the records when uncompressed.
        position: u64,
        /// Which part of it is broken.
        field: RecordField,
        /// In what way.
        fault: RecordFault,
    },
    /// There are bytes behind the last record.
    #[error("bytes behind the last of {count} records, at byte {position}")]
    TrailingBytes {
        /// How many records there were.
        count: usize,
        /// Where the bytes begin, in bytes of the records when uncompressed.
        position: u64,
    },
    /// What is compressed cannot be inflated.
    #[error("record {index}, byte {position} of the records: {source}")]
    Inflate {
        /// The record that was being read, from 0.
        index: usize,
        /// How many bytes of the records were read before.
        position: u64,
        /// What is wrong.
        source: InflateError,
    },
}

/// Goes through the records of an uncompressed batch. Nothing is copied or allocated.
///
/// Ends after the first error. That all records were good is known when the end is reached
/// without one: bytes behind the last record are an error too.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    bases: Bases,
    /// All records; `rest` is its tail.
    len: usize,
    rest: &'a [u8],
    index: usize,
    count: usize,
}

impl RecordBatch {
    /// The records as slices of the batch.
    ///
    /// # Errors
    /// [`RecordsError::Compressed`], [`RecordsError::UnknownCodec`],
    /// [`RecordsError::NegativeCount`].
    pub fn records(&self) -> Result<Records<'_>, RecordsError> {
        match self.header().attributes.codec()? {
            Codec::None => Records::new(self.header(), self.payload()),
            codec => Err(RecordsError::Compressed { codec }),
        }
    }
}

impl<'a> Records<'a> {
    /// Reads uncompressed `records` under the numbers of `header`.
    pub(crate) fn new(header: &BatchHeader, records: &'a [u8]) -> Result<Self, RecordsError> {
        Ok(Self {
            bases: Bases::of(header),
            len: records.len(),
            rest: records,
            index: 0,
            count: record_count(header)?,
        })
    }

    /// Goes on by one record, if there is one and all is well with it; else
    /// [`end`](Self::end) tells what there is.
    #[inline]
    pub(crate) fn advance(&mut self) -> Option<(&'a [u8], Layout)> {
        if self.index == self.count {
            return None;
        }
        let (body, rest) = split_body(self.rest).ok()?;
        let layout = layout_of(body)?;
        self.rest = rest;
        self.index += 1;
        Some((body, layout))
    }

    /// What is wrong where no good record follows; nothing if all are read. Nothing follows then.
    #[cold]
    pub(crate) fn end(&mut self) -> Option<RecordsError> {
        let index = self.index;
        let position = |unread: usize| (self.len - unread) as u64;
        let error = if index < self.count {
            let (field, fault, unread) = match split_body(self.rest) {
                Err(fault) => (RecordField::Length, fault, self.rest.len()),
                Ok((body, rest)) => {
                    let (At(field, fault), left) = fault_of(body)?;
                    (field, fault, rest.len() + left)
                }
            };
            RecordsError::Record {
                index,
                position: position(unread),
                field,
                fault,
            }
        } else if self.rest.is_empty() {
            return None;
        } else {
            RecordsError::TrailingBytes {
                count: self.count,
                position: position(self.rest.len()),
            }
        };
        self.count = index;
        self.rest = &[];
        Some(error)
    }

    /// Bytes of the records that are still to be read.
    #[inline]
    pub(crate) fn unread_len(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(crate) fn bases(&self) -> Bases {
        self.bases
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordsError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Some((body, layout)) => Some(Ok(self.bases.record(&layout, body))),
            None => self.end().map(Err),
        }
    }
}

impl std::iter::FusedIterator for Records<'_> {}

/// How many records the header says there are.
pub(crate) fn record_count(header: &BatchHeader) -> Result<usize, RecordsError> {
    usize::try_from(header.record_count).map_err(|_| RecordsError::NegativeCount {
        count: header.record_count,
    })
}

/// Cuts the body of the first record off.
#[inline]
fn split_body(records: &[u8]) -> Result<(&[u8], &[u8]), RecordFault> {
    let (value, rest) = match short_varint(records) {
        Some(short) => short,
        None => long_varint(records)?,
    };
    let len = usize::try_from(value).map_err(|_| RecordFault::Negative { value })?;
    rest.split_at_checked(len).ok_or(RecordFault::TooLong {
        value,
        left: rest.len(),
    })
}
