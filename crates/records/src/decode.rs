//! How a record is laid out, decoded once for every reader.
//!
//! | field | written as |
//! |---|---|
//! | length of what follows | varint |
//! | attributes | one byte, unused |
//! | timestamp delta from the base timestamp | varlong, may be negative |
//! | offset delta from the base offset | varint |
//! | key length (-1: null), key | varint, bytes |
//! | value length (-1: null), value | varint, bytes |
//! | header count | varint |
//! | per header: key length, key | varint, bytes |
//! | per header: value length (-1: null), value | varint, bytes |
//!
//! [`layout`] walks through a body whatever holds it, a slice or a stream that is inflated on the
//! way, and says where things are. So a reader that keeps the bytes and one that skips them
//! refuse the same records.

use std::fmt;

use klamm_primitives::varint::{self, VarintError};
use thiserror::Error;

/// Bytes of the shortest header of a record: two lengths of 0.
const RECORD_HEADER_LEN_MIN: usize = 2;

/// A part of a record, to say where it is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordField {
    /// The length in front of the record.
    Length,
    /// The unused byte.
    Attributes,
    /// The timestamp's distance from the base timestamp.
    TimestampDelta,
    /// The offset's distance from the base offset.
    OffsetDelta,
    /// The key and its length.
    Key,
    /// The value and its length.
    Value,
    /// How many headers there are.
    HeaderCount,
    /// A header's key and its length.
    HeaderKey,
    /// A header's value and its length.
    HeaderValue,
    /// What lies between the last header and the end that the length gives.
    End,
}

/// What is wrong with a field of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum RecordFault {
    /// The bytes end before the field does.
    #[error("the bytes end there")]
    Truncated,
    /// A variable-length integer does not end with the last byte that it may have.
    #[error("variable-length integer of more than {len_max} bytes")]
    VarintTooLong {
        /// 5 or 10.
        len_max: usize,
    },
    /// A length or a count is negative and does not mean null.
    #[error("{value} is negative")]
    Negative {
        /// What was read.
        value: i32,
    },
    /// A length or a count is more than the bytes left can hold.
    #[error("{value} is more than the {left} bytes left")]
    TooLong {
        /// What was read.
        value: i32,
        /// Bytes left of the record, or of all records where it is the record's length.
        left: usize,
    },
    /// The fields do not use up the record.
    #[error("{count} bytes too many")]
    Leftover {
        /// Bytes that nothing accounts for.
        count: usize,
    },
}

impl fmt::Display for RecordField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "length",
            Self::Attributes => "attributes",
            Self::TimestampDelta => "timestamp delta",
            Self::OffsetDelta => "offset delta",
            Self::Key => "key",
            Self::Value => "value",
            Self::HeaderCount => "header count",
            Self::HeaderKey => "header key",
            Self::HeaderValue => "header value",
            Self::End => "end",
        })
    }
}

impl From<VarintError> for RecordFault {
    fn from(error: VarintError) -> Self {
        match error {
            VarintError::Truncated => Self::Truncated,
            VarintError::TooLong { len_max } => Self::VarintTooLong { len_max },
        }
    }
}

/// What holds the body of one record, read from its front.
pub(crate) trait Body {
    /// Why reading may fail.
    type Error: From<RecordFault>;

    /// Bytes of the body not read yet.
    fn left(&self) -> usize;

    fn varint(&mut self) -> Result<i32, Self::Error>;

    fn varlong(&mut self) -> Result<i64, Self::Error>;

    /// Passes over `count` bytes, at most [`left`](Self::left) of them.
    fn skip(&mut self, count: usize) -> Result<(), Self::Error>;
}

/// A body of which all bytes are there.
struct SliceBody<'a>(&'a [u8]);

impl Body for SliceBody<'_> {
    type Error = RecordFault;

    #[inline]
    fn left(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn varint(&mut self) -> Result<i32, RecordFault> {
        let (value, len) = varint::read_i32(self.0)?;
        self.0 = &self.0[len..];
        Ok(value)
    }

    #[inline]
    fn varlong(&mut self) -> Result<i64, RecordFault> {
        let (value, len) = varint::read_i64(self.0)?;
        self.0 = &self.0[len..];
        Ok(value)
    }

    #[inline]
    fn skip(&mut self, count: usize) -> Result<(), RecordFault> {
        self.0 = self.0.get(count..).ok_or(RecordFault::Truncated)?;
        Ok(())
    }
}

/// Bytes in a body, told from its end since that is what a walk knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// Bytes of the body from the span's start to the body's end.
    pub(crate) left: usize,
    /// Its length.
    pub(crate) len: usize,
}

/// Where the parts of a record's body are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) timestamp_delta: i64,
    pub(crate) offset_delta: i32,
    pub(crate) key: Option<Span>,
    pub(crate) value: Option<Span>,
    pub(crate) header_count: usize,
    /// Bytes of the body from the first header on.
    pub(crate) headers_left: usize,
}

/// A fault and the field that has it.
#[derive(Debug)]
pub(crate) struct At<E>(pub(crate) RecordField, pub(crate) E);

/// Walks through a body of which all bytes are there. A fault comes with how many of them were
/// not read then.
#[inline]
pub(crate) fn layout_of(body: &[u8]) -> Result<Layout, (At<RecordFault>, usize)> {
    let mut unread = SliceBody(body);
    layout(&mut unread).map_err(|at| (at, unread.left()))
}

/// Walks through a body to its end.
#[inline]
pub(crate) fn layout<B: Body>(body: &mut B) -> Result<Layout, At<B::Error>> {
    let at = |field| move |error| At(field, error);
    if body.left() == 0 {
        return Err(At(RecordField::Attributes, RecordFault::Truncated.into()));
    }
    body.skip(1).map_err(at(RecordField::Attributes))?;
    let timestamp_delta = body.varlong().map_err(at(RecordField::TimestampDelta))?;
    let offset_delta = body.varint().map_err(at(RecordField::OffsetDelta))?;
    let key = nullable(body).map_err(at(RecordField::Key))?;
    let value = nullable(body).map_err(at(RecordField::Value))?;
    let header_count = header_count(body).map_err(at(RecordField::HeaderCount))?;
    let headers_left = body.left();
    for _ in 0..header_count {
        let key_len = body.varint().map_err(at(RecordField::HeaderKey))?;
        bytes(body, key_len).map_err(at(RecordField::HeaderKey))?;
        nullable(body).map_err(at(RecordField::HeaderValue))?;
    }
    match body.left() {
        0 => Ok(Layout {
            timestamp_delta,
            offset_delta,
            key,
            value,
            header_count,
            headers_left,
        }),
        count => Err(At(RecordField::End, RecordFault::Leftover { count }.into())),
    }
}

#[inline]
fn nullable<B: Body>(body: &mut B) -> Result<Option<Span>, B::Error> {
    match body.varint()? {
        -1 => Ok(None),
        len => bytes(body, len).map(Some),
    }
}

#[inline]
fn bytes<B: Body>(body: &mut B, value: i32) -> Result<Span, B::Error> {
    let left = body.left();
    let len = usize::try_from(value).map_err(|_| RecordFault::Negative { value })?;
    if len > left {
        return Err(RecordFault::TooLong { value, left }.into());
    }
    body.skip(len)?;
    Ok(Span { left, len })
}

#[inline]
fn header_count<B: Body>(body: &mut B) -> Result<usize, B::Error> {
    let value = body.varint()?;
    let left = body.left();
    let count = usize::try_from(value).map_err(|_| RecordFault::Negative { value })?;
    if count > left / RECORD_HEADER_LEN_MIN {
        return Err(RecordFault::TooLong { value, left }.into());
    }
    Ok(count)
}
