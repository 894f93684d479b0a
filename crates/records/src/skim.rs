//! [`Skim`]: what offsets, timestamps and sizes the records of a batch have, without their bytes.

use klamm_primitives::varint;

use crate::batch::RecordBatch;
use crate::compression::{Codecs, Inflated};
use crate::decode::{At, Body, Layout, RecordFault, fault_of, layout, layout_of};
use crate::reader::{Fault, InflatedRecords};
use crate::record::RecordMeta;
use crate::records::{Records, RecordsError};

/// Goes through the records of a batch, compressed or not, and passes over keys, values and
/// headers: a value of many MiB is not held, however it is compressed.
///
/// Refuses what [`RecordReader`](crate::RecordReader) refuses, since both walk through a record
/// with the same code; a compressed record that both refuse may be told at another byte. Ends
/// after the first error.
pub struct Skim<'a>(Source<'a>);

enum Source<'a> {
    Plain(Records<'a>),
    Inflated(Box<InflatedRecords<'a>>),
}

impl RecordBatch {
    /// Skims the records. `codecs` lends its buffers until the iterator is dropped.
    ///
    /// # Errors
    /// [`RecordsError::UnknownCodec`], [`RecordsError::NegativeCount`].
    pub fn skim<'a>(&'a self, codecs: &'a mut Codecs) -> Result<Skim<'a>, RecordsError> {
        let codec = self.header().attributes.codec()?;
        Ok(Skim(match Inflated::new(codec, self.payload(), codecs) {
            None => Source::Plain(self.records()?),
            Some(inflated) => Source::Inflated(Box::new(InflatedRecords::new(self, inflated)?)),
        }))
    }
}

impl Iterator for Skim<'_> {
    type Item = Result<RecordMeta, RecordsError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Source::Plain(records) => skim_plain(records),
            Source::Inflated(records) => skim_inflated(records).transpose(),
        }
    }
}

impl std::iter::FusedIterator for Skim<'_> {}

#[inline]
fn skim_plain(records: &mut Records<'_>) -> Option<Result<RecordMeta, RecordsError>> {
    let before = records.unread_len();
    match records.advance() {
        Some((_, layout)) => {
            let size = before - records.unread_len();
            Some(Ok(records.bases().meta(&layout, size)))
        }
        None => records.end().map(Err),
    }
}

fn skim_inflated(records: &mut InflatedRecords<'_>) -> Result<Option<RecordMeta>, RecordsError> {
    let Some((len, len_len)) = records.next_len()? else {
        return Ok(None);
    };
    let inflated = &mut records.inflated;
    let walked = if inflated.unread().len() < len {
        layout(&mut StreamBody {
            inflated,
            left: len,
        })
    } else {
        // All of it is there, as with most records: no need to ask before each number.
        let body = &inflated.unread()[..len];
        let (walked, left) = match layout_of(body) {
            Some(layout) => (Ok(layout), 0),
            None => broken(body),
        };
        inflated.consume(len - left);
        walked
    };
    match walked {
        Ok(layout) => {
            records.count_one();
            Ok(Some(records.bases.meta(&layout, len_len + len)))
        }
        Err(at) => Err(records.fail(at)),
    }
}

/// What is wrong with a body that has no layout.
#[cold]
fn broken(body: &[u8]) -> (Result<Layout, At<Fault>>, usize) {
    let (At(field, fault), left) = fault_of(body).expect("one body has a layout or a fault");
    (Err(At(field, Fault::Record(fault))), left)
}

/// A body that is inflated while it is walked through.
struct StreamBody<'s, 'a> {
    inflated: &'s mut Inflated<'a>,
    left: usize,
}

impl StreamBody<'_, '_> {
    /// Reads a number of at most `len_max` bytes from the front.
    #[inline]
    fn number<T>(
        &mut self,
        len_max: usize,
        read: impl FnOnce(&[u8]) -> Result<(T, usize), varint::VarintError>,
    ) -> Result<T, Fault> {
        let there = self.inflated.at_least(len_max.min(self.left))?;
        let of_body = &there[..there.len().min(self.left)];
        let (value, len) = read(of_body).map_err(RecordFault::from)?;
        self.inflated.consume(len);
        self.left -= len;
        Ok(value)
    }
}

impl Body for StreamBody<'_, '_> {
    type Error = Fault;

    #[inline]
    fn left(&self) -> usize {
        self.left
    }

    #[inline]
    fn varint(&mut self) -> Result<i32, Fault> {
        self.number(varint::LEN_MAX_32, varint::read_i32)
    }

    #[inline]
    fn varlong(&mut self) -> Result<i64, Fault> {
        self.number(varint::LEN_MAX_64, varint::read_i64)
    }

    #[inline]
    fn skip(&mut self, count: usize) -> Result<(), Fault> {
        let skipped = self.inflated.skip(count)?;
        self.left -= skipped;
        if skipped < count {
            return Err(RecordFault::Truncated.into());
        }
        Ok(())
    }
}
