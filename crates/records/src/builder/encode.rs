//! Writing one record into a buffer whose bytes are set.
//!
//! Nearly all records have no number that takes more than two bytes, and no headers. For those
//! there is [`short`]: their numbers are put together in registers and written as two and as eight
//! bytes at once, of which the next write covers those that do not belong to them. The branches
//! between numbers of one and of two bytes go the same way from record to record, so the processor
//! does not wait for lengths to know where to write; encoding without any branch was measured to
//! take half as long again. What is written beyond a record's end is less than [`SLACK`].

use crate::record::Header;
use crate::size::{ZigZag, body_len, length_len, zigzag_len};

/// Bytes behind a record that may be written to, and have to be there.
pub(super) const SLACK: usize = 32;

/// A record to be written.
#[derive(Clone, Copy)]
pub(super) struct Draft<'r> {
    pub(super) timestamp_delta: i64,
    /// Not negative.
    pub(super) offset_delta: i32,
    pub(super) key: Option<&'r [u8]>,
    pub(super) value: Option<&'r [u8]>,
}

/// The first number that takes two bytes.
const TWO_BYTES: u64 = 1 << 7;

/// The first number that takes three bytes.
const THREE_BYTES: u64 = 1 << 14;

/// Up to eight bytes of numbers in their written form, the first byte lowest.
#[derive(Clone, Copy)]
struct Packed {
    bytes: u64,
    len: usize,
}

impl Packed {
    /// The attributes byte, which is 0.
    const ATTRIBUTES: Self = Self { bytes: 0, len: 1 };

    /// A number below [`THREE_BYTES`].
    #[inline]
    fn new(ZigZag(number): ZigZag) -> Self {
        if number < TWO_BYTES {
            Self {
                bytes: number,
                len: 1,
            }
        } else {
            Self {
                bytes: number & 0x7f | 0x80 | (number >> 7) << 8,
                len: 2,
            }
        }
    }

    /// These bytes and then those, eight at most.
    #[inline]
    fn then(self, next: Self) -> Self {
        Self {
            bytes: self.bytes | next.bytes << (8 * self.len),
            len: self.len + next.len,
        }
    }
}

/// Writes a record without headers to the front of `out`, if all its numbers are short and there
/// is room for it and [`SLACK`]. Returns its size; if `None`, nothing was written.
#[inline]
pub(super) fn short(out: &mut [u8], draft: Draft<'_>) -> Option<usize> {
    let Draft { key, value, .. } = draft;
    let timestamp_delta = ZigZag::of(draft.timestamp_delta);
    let offset_delta = ZigZag::length(draft.offset_delta.cast_unsigned() as usize);
    let key_length = ZigZag::nullable(key);
    let value_length = ZigZag::nullable(value);
    let largest_bits = timestamp_delta.0 | offset_delta.0 | key_length.0;
    if largest_bits | value_length.0 >= THREE_BYTES {
        return None;
    }
    let head = if largest_bits < TWO_BYTES {
        Packed {
            bytes: timestamp_delta.0 << 8 | offset_delta.0 << 16 | key_length.0 << 24,
            len: 4,
        }
    } else {
        Packed::ATTRIBUTES
            .then(Packed::new(timestamp_delta))
            .then(Packed::new(offset_delta))
            .then(Packed::new(key_length))
    };
    let value_length = Packed::new(value_length);
    let key_len = key.map_or(0, <[u8]>::len);
    let value_len = value.map_or(0, <[u8]>::len);
    // The last byte says that there are no headers.
    let body_len = head.len + key_len + value_length.len + value_len + 1;
    let length = ZigZag::length(body_len);
    if length.0 >= THREE_BYTES {
        return None;
    }
    let length = Packed::new(length);
    let size = length.len + body_len;
    if out.len() < size + SLACK {
        return None;
    }

    let front: &mut [u8; SLACK] = out.first_chunk_mut()?;
    front[..2].copy_from_slice(&length.bytes.to_le_bytes()[..2]);
    front[length.len..length.len + 8].copy_from_slice(&head.bytes.to_le_bytes());
    let mut to = Cursor {
        out,
        at: length.len + head.len,
    };
    to.bytes(key);
    to.out[to.at..to.at + 2].copy_from_slice(&value_length.bytes.to_le_bytes()[..2]);
    to.at += value_length.len;
    to.bytes(value);
    to.out[to.at] = 0;
    Some(size)
}

/// What a record's length says, and the bytes of the whole record.
#[inline]
pub(super) fn sizes<'h>(
    draft: Draft<'_>,
    headers: impl ExactSizeIterator<Item = Header<'h>>,
) -> (usize, usize) {
    let Draft {
        timestamp_delta,
        offset_delta,
        key,
        value,
    } = draft;
    let body_len = body_len(timestamp_delta, offset_delta, key, value, headers);
    (body_len, length_len(body_len) + body_len)
}

/// Writes any record to the front of `out`, which is longer by [`SLACK`] at least. No length is
/// above `i32::MAX`, which the caller knows from `body_len`.
pub(super) fn write<'h>(
    out: &mut [u8],
    body_len: usize,
    draft: Draft<'_>,
    headers: impl ExactSizeIterator<Item = Header<'h>>,
) {
    let mut to = Cursor { out, at: 0 };
    to.number(ZigZag::length(body_len));
    to.number(ZigZag(0));
    to.number(ZigZag::of(draft.timestamp_delta));
    to.number(ZigZag::of(draft.offset_delta.into()));
    to.nullable(draft.key);
    to.nullable(draft.value);
    to.number(ZigZag::length(headers.len()));
    for header in headers {
        to.nullable(Some(header.key));
        to.nullable(header.value);
    }
}

struct Cursor<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Cursor<'_> {
    #[inline]
    fn bytes(&mut self, bytes: Option<&[u8]>) {
        if let Some(bytes) = bytes {
            self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
            self.at += bytes.len();
        }
    }

    fn nullable(&mut self, bytes: Option<&[u8]>) {
        self.number(ZigZag::nullable(bytes));
        self.bytes(bytes);
    }

    #[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
    fn number(&mut self, number: ZigZag) {
        let end = self.at + zigzag_len(number);
        let ZigZag(mut rest) = number;
        for byte in &mut self.out[self.at..end] {
            *byte = rest as u8 | 0x80;
            rest >>= 7;
        }
        self.out[end - 1] &= 0x7f;
        self.at = end;
    }
}
