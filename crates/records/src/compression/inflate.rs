//! [`Inflated`]: a compressed payload as a stream of plain bytes, inflated as far as it is read.

use thiserror::Error;

use crate::compression::{Codec, Codecs, gzip, lz4, snappy, zstd};

/// Plain bytes that are inflated at a time by the codecs that leave it to the reader; the others
/// have blocks. Small payloads take less.
const CHUNK_LEN_MAX: usize = 64 * 1024;
const CHUNK_LEN_MIN: usize = 1024;

/// A buffer that grew beyond this (records of that size are rare) is not kept for the next batch.
const BUFFER_KEPT_MAX: usize = 1024 * 1024;

/// Why a payload cannot be inflated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InflateError {
    /// More plain bytes than the limit allows.
    #[error("more than {limit} bytes when uncompressed")]
    TooLarge {
        /// The limit, see [`Codecs::with_inflated_max`].
        limit: usize,
    },
    /// The payload ends before the codec's own end does.
    #[error("{codec}: the compressed bytes end early")]
    Truncated {
        /// The payload's codec.
        codec: Codec,
    },
    /// The payload is not what the codec writes.
    #[error("{codec}: {reason}")]
    Corrupt {
        /// The payload's codec.
        codec: Codec,
        /// What is wrong, in words of the codec's implementation.
        reason: &'static str,
    },
}

/// A payload being inflated into a window of plain bytes: what is unread stays in the buffer,
/// what has been read makes room.
///
/// The window is as long as the longest record needs it to be and grows with the bytes that
/// arrive, never with what a length announces.
pub(crate) struct Inflated<'a> {
    decoder: Decoder<'a>,
    /// Plain bytes: read ones up to `start`, then unread ones.
    buffer: &'a mut Vec<u8>,
    start: usize,
    /// Plain bytes that were there before the buffer's first.
    before_buffer: u64,
    limit: usize,
    /// Plain bytes that came so far.
    arrived: usize,
    ended: bool,
}

enum Decoder<'a> {
    Gzip(gzip::Decoder<'a>),
    Snappy(snappy::Decoder<'a>),
    Lz4(lz4::Decoder<'a>),
    Zstd(zstd::Decoder<'a>),
}

impl<'a> Inflated<'a> {
    /// Begins to inflate `payload`, or `None` if the codec compresses nothing.
    pub(crate) fn new(codec: Codec, payload: &'a [u8], codecs: &'a mut Codecs) -> Option<Self> {
        let chunk_len = (payload.len() * 4).clamp(CHUNK_LEN_MIN, CHUNK_LEN_MAX);
        let Codecs {
            inflated_max,
            window,
            zstd_decoder,
            ..
        } = codecs;
        let decoder = match codec {
            Codec::None => return None,
            Codec::Gzip => Decoder::Gzip(gzip::Decoder::new(payload, chunk_len)),
            Codec::Snappy => Decoder::Snappy(snappy::Decoder::new(payload)),
            Codec::Lz4 => Decoder::Lz4(lz4::Decoder::new(payload)),
            Codec::Zstd => Decoder::Zstd(zstd::Decoder::new(
                payload,
                chunk_len,
                *inflated_max,
                zstd_decoder,
            )),
        };
        window.clear();
        Some(Self {
            decoder,
            buffer: window,
            start: 0,
            before_buffer: 0,
            limit: *inflated_max,
            arrived: 0,
            ended: false,
        })
    }

    /// The plain bytes that are there and unread.
    #[inline]
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// How many plain bytes have been read.
    pub(crate) fn position(&self) -> u64 {
        self.before_buffer + self.start as u64
    }

    /// Counts `count` unread bytes as read.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        debug_assert!(
            count <= self.unread().len(),
            "only what is there can be read"
        );
        self.start += count;
    }

    /// The first `count` unread bytes, fewer at the end of the stream.
    #[inline]
    pub(crate) fn at_least(&mut self, count: usize) -> Result<&[u8], InflateError> {
        while self.unread().len() < count && self.inflate_more()? {}
        Ok(self.unread())
    }

    /// Passes over `count` bytes without holding more of them than one chunk. Returns how many
    /// there were, fewer than `count` at the end of the stream.
    pub(crate) fn skip(&mut self, count: usize) -> Result<usize, InflateError> {
        let mut left = count;
        loop {
            let step = left.min(self.unread().len());
            self.consume(step);
            left -= step;
            if left == 0 || !self.inflate_more()? {
                return Ok(count - left);
            }
        }
    }

    /// The last `len` bytes that were read, which were there at once.
    #[inline]
    pub(crate) fn last_read(&self, len: usize) -> &[u8] {
        &self.buffer[self.start - len..self.start]
    }

    /// Bytes that may still come before the limit is passed.
    pub(crate) fn allowance(&self) -> usize {
        self.limit - self.arrived
    }

    /// That the limit would be passed.
    pub(crate) fn too_large(&self) -> InflateError {
        InflateError::TooLarge { limit: self.limit }
    }

    /// Inflates one more chunk behind what is unread. False if there was nothing more.
    fn inflate_more(&mut self) -> Result<bool, InflateError> {
        if self.ended {
            return Ok(false);
        }
        // What is unread is less than a record, what was read is up to a chunk.
        let read = std::mem::take(&mut self.start);
        self.buffer.drain(..read);
        self.before_buffer += read as u64;

        let filled = self.buffer.len();
        // One byte over the limit tells that the limit is passed.
        let len_max = self.allowance() + 1;
        let decoded = match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.decode(self.buffer, len_max),
            Decoder::Snappy(decoder) => decoder.decode(self.buffer, len_max),
            Decoder::Lz4(decoder) => decoder.decode(self.buffer, len_max),
            Decoder::Zstd(decoder) => decoder.decode(self.buffer, len_max),
        };
        let decoded = decoded.map_err(|error| self.explain(error));
        self.ended = !matches!(decoded, Ok(true));
        self.arrived += self.buffer.len() - filled;
        if self.arrived > self.limit {
            self.ended = true;
            self.arrived = self.limit;
            return Err(self.too_large());
        }
        decoded.map(|more| more || self.buffer.len() > filled)
    }

    #[cold]
    fn explain(&self, error: DecodeError) -> InflateError {
        let codec = match self.decoder {
            Decoder::Gzip(_) => Codec::Gzip,
            Decoder::Snappy(_) => Codec::Snappy,
            Decoder::Lz4(_) => Codec::Lz4,
            Decoder::Zstd(_) => Codec::Zstd,
        };
        match error {
            DecodeError::TooLong => self.too_large(),
            DecodeError::Truncated => InflateError::Truncated { codec },
            DecodeError::Corrupt(reason) => InflateError::Corrupt { codec, reason },
        }
    }
}

impl Drop for Inflated<'_> {
    fn drop(&mut self) {
        if self.buffer.capacity() > BUFFER_KEPT_MAX {
            *self.buffer = Vec::new();
        }
    }
}

/// Why a codec cannot go on. Each has `decode(&mut self, plain: &mut Vec<u8>, len_max: usize) ->
/// Result<bool, DecodeError>`, which adds some bytes, at most `len_max` and seldom none, behind
/// those in `plain`, and says false when the payload has come to its end.
#[derive(Debug, Clone, Copy)]
pub(super) enum DecodeError {
    /// The next piece is longer than `len_max` and cannot be had in part.
    TooLong,
    Truncated,
    Corrupt(&'static str),
}
