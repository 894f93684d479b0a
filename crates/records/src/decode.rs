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
use std::marker::PhantomData;

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

/// A body of which all bytes are there. `E` is what is told of a fault.
struct SliceBody<'a, E> {
    unread: &'a [u8],
    error: PhantomData<E>,
}

impl<'a, E> SliceBody<'a, E> {
    #[inline]
    fn new(body: &'a [u8]) -> Self {
        Self {
            unread: body,
            error: PhantomData,
        }
    }
}

/// A fault of which nothing is told, so that telling costs nothing.
struct Quiet;

impl From<RecordFault> for Quiet {
    #[inline]
    fn from(_: RecordFault) -> Self {
        Self
    }
}

impl<E: From<RecordFault>> Body for SliceBody<'_, E> {
    type Error = E;

    #[inline]
    fn left(&self) -> usize {
        self.unread.len()
    }

    #[inline]
    fn varint(&mut self) -> Result<i32, E> {
        let (number, rest) = match short_varint(self.unread) {
            Some(short) => short,
            None => long_varint(self.unread)?,
        };
        self.unread = rest;
        Ok(number)
    }

    #[inline]
    fn varlong(&mut self) -> Result<i64, E> {
        let (number, rest) = match short_varint(self.unread) {
            Some((number, rest)) => (number.into(), rest),
            None => long_varlong(self.unread)?,
        };
        self.unread = rest;
        Ok(number)
    }

    #[inline]
    fn skip(&mut self, count: usize) -> Result<(), E> {
        self.unread = self.unread.get(count..).ok_or(RecordFault::Truncated)?;
        Ok(())
    }
}

/// Reads a varint or varlong of one or two bytes, as nearly all are.
#[inline]
pub(crate) fn short_varint(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (zigzag, rest) = match bytes {
        [first, rest @ ..] if *first < 0x80 => (i32::from(*first), rest),
        [first, second, rest @ ..] if *second < 0x80 => {
            (i32::from(*first & 0x7f) | i32::from(*second) << 7, rest)
        }
        _ => return None,
    };
    Some(((zigzag >> 1) ^ -(zigzag & 1), rest))
}

/// Reads any varint; out of line, to leave the short ones alone where they are read.
#[inline(never)]
pub(crate) fn long_varint(bytes: &[u8]) -> Result<(i32, &[u8]), RecordFault> {
    let (number, len) = varint::read_i32(bytes)?;
    Ok((number, &bytes[len..]))
}

#[inline(never)]
fn long_varlong(bytes: &[u8]) -> Result<(i64, &[u8]), RecordFault> {
    let (number, len) = varint::read_i64(bytes)?;
    Ok((number, &bytes[len..]))
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

/// Walks through a body of which all bytes are there. `None` if it has a fault, which
/// [`fault_of`] tells.
#[inline]
pub(crate) fn layout_of(body: &[u8]) -> Option<Layout> {
    short_layout(body).or_else(|| any_layout(body))
}

#[inline(never)]
fn any_layout(body: &[u8]) -> Option<Layout> {
    layout(&mut SliceBody::<Quiet>::new(body)).ok()
}

/// The layout of a body as nearly all are: without headers and with no number of more than two
/// bytes. `None` for any other, good or not. Small enough to be part of the loop over records,
/// which halves the time that a record takes.
#[inline]
fn short_layout(body: &[u8]) -> Option<Layout> {
    let (_attributes, rest) = body.split_first()?;
    let (timestamp_delta, rest) = short_varint(rest)?;
    let (offset_delta, rest) = short_varint(rest)?;
    let (key, rest) = short_nullable(rest)?;
    let (value, rest) = short_nullable(rest)?;
    // One byte is left, which says that there are no headers.
    (*rest == [0]).then_some(Layout {
        timestamp_delta: timestamp_delta.into(),
        offset_delta,
        key,
        value,
        header_count: 0,
        headers_left: 0,
    })
}

#[inline]
fn short_nullable(bytes: &[u8]) -> Option<(Option<Span>, &[u8])> {
    let (len, rest) = short_varint(bytes)?;
    if len == -1 {
        return Some((None, rest));
    }
    let span = Span {
        left: rest.len(),
        len: usize::try_from(len).ok()?,
    };
    Some((Some(span), rest.get(span.len..)?))
}

/// What is wrong with a body, and how many bytes of it were not read then.
#[cold]
pub(crate) fn fault_of(body: &[u8]) -> Option<(At<RecordFault>, usize)> {
    let mut unread = SliceBody::<RecordFault>::new(body);
    let fault = layout(&mut unread).err()?;
    Some((fault, unread.left()))
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
    if header_count > 0 {
        pass_headers(body, header_count)?;
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

#[inline(never)]
fn pass_headers<B: Body>(body: &mut B, count: usize) -> Result<(), At<B::Error>> {
    for _ in 0..count {
        let key_len = body
            .varint()
            .map_err(|error| At(RecordField::HeaderKey, error))?;
        bytes(body, key_len).map_err(|error| At(RecordField::HeaderKey, error))?;
        nullable(body).map_err(|error| At(RecordField::HeaderValue, error))?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What the short way takes, the long one takes for the same; also of bodies that are
        /// nearly good.
        #[test]
        fn the_short_way_is_part_of_the_long_one(
            numbers in vec(0..=130_u8, 3..9),
            tail in vec(prop_oneof![Just(0_u8), Just(1), any::<u8>()], 0..6),
        ) {
            let body = [&numbers[..], &tail].concat();
            for body in [&body[..], &numbers, &[&[0, 0, 0], &tail[..]].concat()] {
                let any = any_layout(body);
                prop_assert_eq!(any.is_none(), fault_of(body).is_some());
                let short = short_layout(body);
                prop_assert!(short.is_none() || short == any, "{:?} and {:?}", short, any);
            }
        }
    }

    #[test]
    fn plain_records_go_the_short_way() {
        let long = [&[0, 2, 0x84, 1, 1, 0x90, 1][..], &[b'v'; 72], &[0]].concat();
        for body in [&[0, 0, 0, 1, 1, 0][..], &[0, 1, 2, 2, b'k', 0, 0], &long] {
            assert!(short_layout(body).is_some());
            assert_eq!(short_layout(body), any_layout(body));
        }
    }
}
