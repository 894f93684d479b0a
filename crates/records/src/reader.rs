//! [`RecordReader`]: the records of a batch one at a time, inflated as far as they are read.

use klamm_primitives::varint;

use crate::batch::RecordBatch;
use crate::compression::{Codecs, InflateError, Inflated};
use crate::decode::{At, RecordFault, RecordField, fault_of, layout_of};
use crate::record::{Bases, Record};
use crate::records::{Records, RecordsError, record_count};

/// Reads the records of a batch, compressed or not, one at a time.
///
/// A record is borrowed until the next one is read, since it may lie in a buffer that is reused;
/// hence this is no `Iterator`. Reads after an error or after the end give the end.
///
/// ```
/// # use klamm_records::*;
/// # let mut codecs = Codecs::default();
/// # let options = BatchOptions { compression: Compression::Snappy, ..BatchOptions::default() };
/// # let mut builder = RecordBatchBuilder::new(options, Vec::new());
/// # builder.append(7, None, Some(b"value"), &[]).unwrap();
/// # builder.close(&mut codecs).unwrap();
/// # let batch = RecordBatch::parse(builder.into_bytes().unwrap()).unwrap();
/// let mut reader = batch.read(&mut codecs)?;
/// while let Some(record) = reader.next()? {
///     assert_eq!(record.value, Some(b"value".as_slice()));
/// }
/// # Ok::<(), RecordsError>(())
/// ```
pub struct RecordReader<'a>(Source<'a>);

enum Source<'a> {
    Plain(Records<'a>),
    Inflated(Box<InflatedRecords<'a>>),
}

impl RecordBatch {
    /// Reads the records one at a time. `codecs` lends its buffers until the reader is dropped.
    ///
    /// # Errors
    /// [`RecordsError::UnknownCodec`], [`RecordsError::NegativeCount`].
    pub fn read<'a>(&'a self, codecs: &'a mut Codecs) -> Result<RecordReader<'a>, RecordsError> {
        let codec = self.header().attributes.codec()?;
        Ok(RecordReader(
            match Inflated::new(codec, self.payload(), codecs) {
                None => Source::Plain(self.records()?),
                Some(inflated) => Source::Inflated(Box::new(InflatedRecords::new(self, inflated)?)),
            },
        ))
    }
}

impl RecordReader<'_> {
    /// The next record, or `None` when all have been read and nothing lies behind them.
    ///
    /// # Errors
    /// Any of [`RecordsError`] that concerns a record, after the good ones before it.
    #[expect(
        clippy::should_implement_trait,
        reason = "what it gives is borrowed from it, which `Iterator` cannot say"
    )]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, RecordsError> {
        match &mut self.0 {
            Source::Plain(records) => records.next().transpose(),
            Source::Inflated(records) => records.next(),
        }
    }
}

/// The records of a compressed batch.
pub(crate) struct InflatedRecords<'a> {
    pub(crate) bases: Bases,
    pub(crate) inflated: Inflated<'a>,
    index: usize,
    count: usize,
    ended: bool,
}

impl<'a> InflatedRecords<'a> {
    pub(crate) fn new(batch: &RecordBatch, inflated: Inflated<'a>) -> Result<Self, RecordsError> {
        Ok(Self {
            bases: Bases::of(batch.header()),
            inflated,
            index: 0,
            count: record_count(batch.header())?,
            ended: false,
        })
    }

    /// Reads the length of the next record: of its body, and of the length itself. `None` at the
    /// end.
    pub(crate) fn next_len(&mut self) -> Result<Option<(usize, usize)>, RecordsError> {
        if self.ended {
            return Ok(None);
        }
        if self.index == self.count {
            self.ended = true;
            let behind = self.inflated.at_least(1).map(|behind| !behind.is_empty());
            return match behind {
                Ok(false) => Ok(None),
                Ok(true) => Err(RecordsError::TrailingBytes {
                    count: self.count,
                    position: self.inflated.position(),
                }),
                Err(source) => Err(self.inflate_error(source)),
            };
        }
        match self.read_len() {
            Ok((len, len_len)) => {
                self.inflated.consume(len_len);
                Ok(Some((len, len_len)))
            }
            Err(fault) => Err(self.fail(At(RecordField::Length, fault))),
        }
    }

    fn read_len(&mut self) -> Result<(usize, usize), Fault> {
        let front = self.inflated.at_least(varint::LEN_MAX_32)?;
        let (value, len_len) = varint::read_i32(front).map_err(RecordFault::from)?;
        let len = usize::try_from(value).map_err(|_| RecordFault::Negative { value })?;
        let unread = front.len() - len_len;
        if len > unread + self.inflated.allowance() {
            return Err(self.inflated.too_large().into());
        }
        Ok((len, len_len))
    }

    /// Counts a record of which all is well.
    pub(crate) fn count_one(&mut self) {
        self.index += 1;
    }

    /// Says where the record that is being read is broken, and ends.
    #[cold]
    pub(crate) fn fail(&mut self, At(field, fault): At<Fault>) -> RecordsError {
        self.ended = true;
        match fault {
            Fault::Inflate(source) => self.inflate_error(source),
            Fault::Record(fault) => RecordsError::Record {
                index: self.index,
                position: self.inflated.position(),
                field,
                fault,
            },
        }
    }

    fn inflate_error(&self, source: InflateError) -> RecordsError {
        RecordsError::Inflate {
            index: self.index,
            position: self.inflated.position(),
            source,
        }
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, RecordsError> {
        let Some((len, _)) = self.next_len()? else {
            return Ok(None);
        };
        match self.inflated.at_least(len) {
            Ok(there) if there.len() < len => {
                let cut = At(RecordField::End, Fault::Record(RecordFault::Truncated));
                return Err(self.fail(cut));
            }
            Ok(_) => {}
            Err(source) => return Err(self.fail(At(RecordField::End, Fault::Inflate(source)))),
        }
        let body = &self.inflated.unread()[..len];
        let Some(layout) = layout_of(body) else {
            let (At(field, fault), left) = fault_of(body).expect("no layout, so a fault");
            self.inflated.consume(len - left);
            return Err(self.fail(At(field, Fault::Record(fault))));
        };
        self.count_one();
        self.inflated.consume(len);
        let body = self.inflated.last_read(len);
        Ok(Some(self.bases.record(&layout, body)))
    }
}

/// Why the body of a record in a stream cannot be read.
#[derive(Debug)]
pub(crate) enum Fault {
    Record(RecordFault),
    Inflate(InflateError),
}

impl From<RecordFault> for Fault {
    fn from(fault: RecordFault) -> Self {
        Self::Record(fault)
    }
}

impl From<InflateError> for Fault {
    fn from(error: InflateError) -> Self {
        Self::Inflate(error)
    }
}
