//! Writing one record, its sizes known.

use crate::record::Header;

/// The most that a record has before its key: length, attributes, both deltas, key length.
const HEAD_LEN_MAX: usize = 5 + 1 + 10 + 5 + 5;

/// The most that a length has.
const LENGTH_LEN_MAX: usize = 5;

#[derive(Clone, Copy)]
pub(super) struct Sizes {
    /// The record's, its length counted.
    pub(super) size: usize,
    /// What the length says.
    pub(super) body_len: usize,
}

/// Writes a record at the end of `buffer`. No length is above `i32::MAX`, which the caller knows
/// from `sizes`.
#[inline]
pub(super) fn record<'h>(
    buffer: &mut Vec<u8>,
    sizes: Sizes,
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: impl ExactSizeIterator<Item = Header<'h>>,
) {
    buffer.reserve(sizes.size);
    // Numbers go through a few bytes on the stack: one write to the buffer for all of them.
    let mut head = Small::<HEAD_LEN_MAX>::default();
    head.length(Some(sizes.body_len));
    head.byte(0);
    head.signed(timestamp_delta);
    head.signed(offset_delta.into());
    head.length(key.map(<[u8]>::len));
    buffer.extend_from_slice(head.as_slice());
    buffer.extend_from_slice(key.unwrap_or_default());
    length(buffer, value.map(<[u8]>::len));
    buffer.extend_from_slice(value.unwrap_or_default());
    length(buffer, Some(headers.len()));
    for header in headers {
        length(buffer, Some(header.key.len()));
        buffer.extend_from_slice(header.key);
        length(buffer, header.value.map(<[u8]>::len));
        buffer.extend_from_slice(header.value.unwrap_or_default());
    }
}

#[inline]
fn length(buffer: &mut Vec<u8>, length: Option<usize>) {
    let mut written = Small::<LENGTH_LEN_MAX>::default();
    written.length(length);
    buffer.extend_from_slice(written.as_slice());
}

/// Some numbers in their written form.
struct Small<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Default for Small<N> {
    #[inline]
    fn default() -> Self {
        Self {
            bytes: [0; N],
            len: 0,
        }
    }
}

impl<const N: usize> Small<N> {
    #[inline]
    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    #[inline]
    fn signed(&mut self, value: i64) {
        self.unsigned(((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    /// A length, or -1 for null.
    #[inline]
    fn length(&mut self, length: Option<usize>) {
        self.unsigned(length.map_or(1, |length| (length as u64) << 1));
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
    fn unsigned(&mut self, mut zigzag: u64) {
        while zigzag >= 0x80 {
            self.byte(zigzag as u8 | 0x80);
            zigzag >>= 7;
        }
        self.byte(zigzag as u8);
    }
}
