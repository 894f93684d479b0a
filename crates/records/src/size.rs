//! How large records and batches become, told before they are written.

use klamm_primitives::varint;

use crate::compression::Codec;
use crate::header::HEADER_LEN;
use crate::record::Header;

/// The most that a record takes beside its key, value and headers: length, attributes,
/// timestamp delta, offset delta at their longest.
const RECORD_OVERHEAD_MAX: usize = varint::LEN_MAX_32 + 1 + varint::LEN_MAX_64 + varint::LEN_MAX_32;

/// What estimates of compressed sizes are raised by, so that few batches turn out larger than
/// they were meant to be.
const ESTIMATE_FACTOR: f32 = 1.05;

/// The bytes of a record in a batch, uncompressed, with its length in front.
///
/// A size that no record can have is given as it is; builders refuse what is too large.
pub fn record_size(
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: &[Header<'_>],
) -> usize {
    let body = body_len(
        timestamp_delta,
        offset_delta,
        key,
        value,
        headers.iter().copied(),
    );
    length_len(body) + body
}

/// The most bytes that such a record can take in any batch, whatever its deltas are.
pub fn record_size_max(key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header<'_>]) -> usize {
    RECORD_OVERHEAD_MAX + contents_len(key, value, headers.iter().copied())
}

/// The most bytes that a batch of that one record can take, uncompressed.
pub fn batch_size_max(key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header<'_>]) -> usize {
    HEADER_LEN + record_size_max(key, value, headers)
}

/// The bytes of a record behind its length.
#[inline]
pub(crate) fn body_len<'h>(
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: impl ExactSizeIterator<Item = Header<'h>>,
) -> usize {
    1 + zigzag_len(ZigZag::of(timestamp_delta))
        + zigzag_len(ZigZag::of(offset_delta.into()))
        + contents_len(key, value, headers)
}

#[inline]
fn contents_len<'h>(
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: impl ExactSizeIterator<Item = Header<'h>>,
) -> usize {
    let count_len = length_len(headers.len());
    let headers = headers.fold(0, |sum, header| {
        sum + field_len(Some(header.key)) + field_len(header.value)
    });
    field_len(key) + field_len(value) + count_len + headers
}

#[inline]
fn field_len(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |bytes| length_len(bytes.len()) + bytes.len())
}

/// The bytes of a length or count, which is not negative.
#[inline]
pub(crate) fn length_len(length: usize) -> usize {
    zigzag_len(ZigZag::length(length))
}

/// A signed number so that small ones, also negative ones, are small.
#[derive(Clone, Copy)]
pub(crate) struct ZigZag(pub(crate) u64);

impl ZigZag {
    #[inline]
    pub(crate) fn of(value: i64) -> Self {
        Self(((value << 1) ^ (value >> 63)).cast_unsigned())
    }

    /// A length or count, which is not negative.
    #[inline]
    pub(crate) fn length(length: usize) -> Self {
        Self((length as u64) << 1)
    }

    /// The length of what may be null, whose length is -1.
    #[inline]
    pub(crate) fn nullable(bytes: Option<&[u8]>) -> Self {
        bytes.map_or(Self(1), |bytes| Self::length(bytes.len()))
    }
}

/// The bytes that a number is written with. Most take one or two, which is told without
/// counting bits.
#[inline]
pub(crate) fn zigzag_len(ZigZag(value): ZigZag) -> usize {
    if value < 1 << 14 {
        1 + usize::from(value >= 1 << 7)
    } else {
        varint::u64_len(value)
    }
}

/// What part of their size the records of one topic keep when compressed, as seen so far, by
/// codec. Estimates of batch sizes rest on it.
///
/// It trusts gains slowly and losses at once: a batch that is larger than it was meant to be is
/// refused by the broker, one that is smaller costs little.
#[derive(Debug, Clone, PartialEq)]
pub struct CompressionRatios([f32; Codec::ALL.len()]);

impl CompressionRatios {
    /// How much a better batch lowers the estimate at most.
    const STEP_DOWN: f32 = 0.005;

    /// How much a worse batch raises the estimate at least.
    const STEP_UP: f32 = 0.05;

    /// The estimate: compressed size divided by plain size.
    pub fn estimate(&self, codec: Codec) -> f32 {
        self.0[usize::from(codec.id())]
    }

    /// Takes into account what a batch really shrank to.
    pub fn observe(&mut self, codec: Codec, ratio: f32) {
        let estimate = &mut self.0[usize::from(codec.id())];
        if ratio > *estimate {
            *estimate = ratio.max(*estimate + Self::STEP_UP);
        } else if ratio < *estimate {
            *estimate = ratio.max(*estimate - Self::STEP_DOWN);
        }
    }
}

impl Default for CompressionRatios {
    /// Nothing shrinks.
    fn default() -> Self {
        Self([1.0; Codec::ALL.len()])
    }
}

/// What `plain` bytes of records are estimated to shrink to.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, of a size that is not negative"
)]
pub(crate) fn estimate_packed(plain: usize, ratio: f32) -> usize {
    (plain as f32 * ratio * ESTIMATE_FACTOR) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers RB-022.
    #[test]
    fn small_records_have_the_sizes_that_stand_on_the_wire() {
        let size = |key, value, headers: &[_]| record_size(0, 0, key, value, headers);
        assert_eq!(size(Some(b"a"), Some(b"1"), &[]), 9);
        assert_eq!(size(Some(b"a"), None, &[]), 8);
        assert_eq!(size(None, None, &[]), 7);
        let headers = [Header::new("k1", Some(b"v1")), Header::new("k2", None)];
        assert_eq!(size(Some(b"abc"), Some(b"0"), &headers), 21);
    }

    #[test]
    fn rb_065_an_estimate_falls_slowly_and_rises_at_once() {
        let mut ratios = CompressionRatios::default();
        let mut observe = |ratio| {
            ratios.observe(Codec::Lz4, ratio);
            ratios.estimate(Codec::Lz4)
        };
        let near = |a: f32, b: f32| assert!((a - b).abs() < 1e-6, "{a} is not {b}");
        near(observe(0.2), 0.995);
        near(observe(0.2), 0.99);
        near(observe(0.99), 0.99);
        near(observe(0.988), 0.988);
        near(observe(0.99), 1.038);
        near(observe(1.5), 1.5);
        near(observe(1.5), 1.5);
        near(ratios.estimate(Codec::Zstd), 1.0);
    }
}
