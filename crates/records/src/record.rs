//! [`Record`], its [`Header`]s, and the numbers of a batch that they are told from.

use std::str::Utf8Error;

use klamm_primitives::{Offset, Sequence, varint};

use crate::attributes::TimestampType;
use crate::decode::{Layout, Span};
use crate::header::BatchHeader;

/// One record, borrowed from what holds its batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its place in the partition.
    pub offset: Offset,
    /// Unix time in milliseconds or [`NO_TIMESTAMP`](crate::NO_TIMESTAMP); the batch's max
    /// timestamp where the batch has log append time.
    pub timestamp_ms: i64,
    /// Its place in what the producer sent, none if the batch has none.
    pub sequence: Sequence,
    /// The key; null is not empty.
    pub key: Option<&'a [u8]>,
    /// The value; null is a tombstone where the topic is compacted, and not empty.
    pub value: Option<&'a [u8]>,
    /// The headers in the order in which they were given.
    pub headers: Headers<'a>,
}

/// A key and a value beside a record's own. Keys may be empty and may occur several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header<'a> {
    /// The key, which its producer should have written in UTF-8.
    pub key: &'a [u8],
    /// The value; null is not empty.
    pub value: Option<&'a [u8]>,
}

impl<'a> Header<'a> {
    /// A header to be appended.
    pub const fn new(key: &'a str, value: Option<&'a [u8]>) -> Self {
        Self {
            key: key.as_bytes(),
            value,
        }
    }

    /// The key as text.
    ///
    /// # Errors
    /// [`Utf8Error`]: what is not UTF-8 is read and passed on as it is, so that one client's
    /// header does not make a batch unreadable for another.
    pub fn key_text(&self) -> Result<&'a str, Utf8Error> {
        std::str::from_utf8(self.key)
    }
}

/// The headers of a record, decoded as they are gone through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers<'a> {
    count: usize,
    encoded: &'a [u8],
}

impl<'a> Headers<'a> {
    fn take(&mut self) -> Option<&'a [u8]> {
        // The record was walked through before, so that each length is there and fits.
        let (len, len_len) = varint::read_i32(self.encoded).ok()?;
        let rest = &self.encoded[len_len..];
        let Ok(len) = usize::try_from(len) else {
            self.encoded = rest;
            return None;
        };
        let (bytes, rest) = rest.split_at_checked(len)?;
        self.encoded = rest;
        Some(bytes)
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        self.count = self.count.checked_sub(1)?;
        Some(Header {
            key: self.take()?,
            value: self.take(),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for Headers<'_> {}

/// What a record is told without its bytes being kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordMeta {
    /// Its place in the partition.
    pub offset: Offset,
    /// Its distance from the base offset, as it stands in the record.
    pub offset_delta: i32,
    /// As [`Record::timestamp_ms`].
    pub timestamp_ms: i64,
    /// As [`Record::sequence`].
    pub sequence: Sequence,
    /// Bytes of the record, the length in front of it counted.
    pub size: usize,
    /// Bytes of the key, none if it is null.
    pub key_len: Option<usize>,
    /// Bytes of the value, none if it is null.
    pub value_len: Option<usize>,
    /// How many headers it has.
    pub header_count: usize,
}

impl RecordMeta {
    /// Whether the record has a key, be it an empty one.
    pub fn has_key(&self) -> bool {
        self.key_len.is_some()
    }
}

/// What a batch's header adds to each of its records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bases {
    offset: i64,
    timestamp_ms: i64,
    /// With log append time, the time of all records.
    append_time_ms: Option<i64>,
    sequence: Sequence,
}

impl Bases {
    pub(crate) fn of(header: &BatchHeader) -> Self {
        let append_time_ms = match header.attributes.timestamp_type() {
            TimestampType::Create => None,
            TimestampType::LogAppend => Some(header.max_timestamp_ms),
        };
        Self {
            offset: header.base_offset.get(),
            timestamp_ms: header.base_timestamp_ms,
            append_time_ms,
            sequence: header.base_sequence,
        }
    }

    // Sums wrap as the reference's do: a hostile base or delta gives a strange offset, which
    // whoever cares about offsets checks.

    #[inline]
    fn offset(&self, layout: &Layout) -> Offset {
        Offset::new(self.offset.wrapping_add(layout.offset_delta.into()))
    }

    #[inline]
    fn timestamp_ms(&self, layout: &Layout) -> i64 {
        self.append_time_ms
            .unwrap_or_else(|| self.timestamp_ms.wrapping_add(layout.timestamp_delta))
    }

    /// A record out of its body.
    #[inline]
    pub(crate) fn record<'a>(&self, layout: &Layout, body: &'a [u8]) -> Record<'a> {
        let slice = |span: Span| {
            let start = body.len() - span.left;
            &body[start..start + span.len]
        };
        Record {
            offset: self.offset(layout),
            timestamp_ms: self.timestamp_ms(layout),
            sequence: self.sequence.advance(layout.offset_delta),
            key: layout.key.map(slice),
            value: layout.value.map(slice),
            headers: Headers {
                count: layout.header_count,
                encoded: &body[body.len() - layout.headers_left..],
            },
        }
    }

    /// What is told of a record of `size` bytes, its length counted.
    #[inline]
    pub(crate) fn meta(&self, layout: &Layout, size: usize) -> RecordMeta {
        RecordMeta {
            offset: self.offset(layout),
            offset_delta: layout.offset_delta,
            timestamp_ms: self.timestamp_ms(layout),
            sequence: self.sequence.advance(layout.offset_delta),
            size,
            key_len: layout.key.map(|span| span.len),
            value_len: layout.value.map(|span| span.len),
            header_count: layout.header_count,
        }
    }
}
