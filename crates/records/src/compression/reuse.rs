//! [`Codecs`]: what compressing and inflating reuse from one batch to the next.

use std::fmt;

use ::zstd::zstd_safe::DCtx;
use thiserror::Error;

use crate::compression::{Codec, Compression, gzip, lz4, snappy, zstd};

/// How many plain bytes one batch may inflate to unless the user of [`Codecs`] says otherwise.
const INFLATED_MAX: usize = 128 * 1024 * 1024;

/// A buffer that grew beyond this is not kept for the next batch.
const PACKED_KEPT_MAX: usize = 4 * 1024 * 1024;

/// The contexts and buffers of the codecs, made when first needed and reused, and the limit on
/// what a batch may inflate to.
///
/// One for each thread or task that compresses or reads: nothing is shared. Idle it holds a few
/// hundred KiB for each codec that was used; what one large batch needed beyond some MiB is given
/// back.
///
/// While records are read, no more memory is taken than the longest record and two chunks of at
/// most 64 KiB (of lz4 and snappy: two blocks), however many plain bytes the batch holds, and
/// for zstd the window that the frame asks for.
pub struct Codecs {
    pub(super) inflated_max: usize,
    pub(super) window: Vec<u8>,
    pub(super) zstd_decoder: Option<DCtx<'static>>,
    packed: Vec<u8>,
    encoders: Encoders,
}

#[derive(Default)]
struct Encoders {
    gzip: Option<gzip::Encoder>,
    snappy: Option<snap::raw::Encoder>,
    lz4: Option<lz4::Encoder>,
    zstd: Option<zstd::Encoder>,
}

/// A codec did not compress what it was given; a fault of the codec or want of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{codec}: {reason}")]
pub struct DeflateError {
    /// The codec.
    pub codec: Codec,
    /// What it says.
    pub reason: &'static str,
}

impl Codecs {
    /// With a limit on the plain bytes of one batch. A batch that holds more is an error where
    /// reading passes the limit; in a message of a few KiB there can be gigabytes.
    pub fn with_inflated_max(inflated_max: usize) -> Self {
        Self {
            // One more must be countable, to tell that the limit is passed.
            inflated_max: inflated_max.min(usize::MAX - 1),
            window: Vec::new(),
            zstd_decoder: None,
            packed: Vec::new(),
            encoders: Encoders::default(),
        }
    }

    /// How many plain bytes one batch may inflate to.
    pub fn inflated_max(&self) -> usize {
        self.inflated_max
    }

    /// Replaces everything in `buffer` from `start` on by its compressed form, which may be larger
    /// but not than `len_max`. After an error the buffer is as it was.
    pub(crate) fn deflate_in_place(
        &mut self,
        compression: Compression,
        buffer: &mut Vec<u8>,
        start: usize,
        len_max: usize,
    ) -> Result<(), DeflateError> {
        if compression == Compression::None {
            return Ok(());
        }
        self.packed.clear();
        let result = self
            .encoders
            .encode(compression, &buffer[start..], &mut self.packed);
        let result = match result {
            Ok(()) if self.packed.len() > len_max => Err("the records grew beyond 2 GiB"),
            encoded => encoded,
        };
        if result.is_ok() {
            buffer.truncate(start);
            buffer.extend_from_slice(&self.packed);
        }
        if self.packed.capacity() > PACKED_KEPT_MAX {
            self.packed = Vec::new();
        }
        result.map_err(|reason| DeflateError {
            codec: compression.codec(),
            reason,
        })
    }
}

impl Encoders {
    fn encode(
        &mut self,
        compression: Compression,
        plain: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        match compression {
            Compression::None => {
                out.extend_from_slice(plain);
                Ok(())
            }
            Compression::Gzip(level) => {
                self.gzip = self.gzip.take().filter(|kept| kept.level() == level);
                self.gzip
                    .get_or_insert_with(|| gzip::Encoder::new(level))
                    .encode(plain, out)
            }
            Compression::Snappy => snappy::encode(
                self.snappy.get_or_insert_with(snap::raw::Encoder::new),
                plain,
                out,
            ),
            Compression::Lz4(_) => self
                .lz4
                .get_or_insert_with(lz4::Encoder::new)
                .encode(plain, out),
            Compression::Zstd(level) => {
                let mut encoder = match self.zstd.take().filter(|kept| kept.level() == level) {
                    Some(encoder) => encoder,
                    None => zstd::Encoder::new(level)?,
                };
                encoder.encode(plain, out)?;
                self.zstd = encoder.is_small().then_some(encoder);
                Ok(())
            }
        }
    }
}

impl Default for Codecs {
    /// With a limit of 128 MiB.
    fn default() -> Self {
        Self::with_inflated_max(INFLATED_MAX)
    }
}

impl fmt::Debug for Codecs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codecs")
            .field("inflated_max", &self.inflated_max)
            .finish_non_exhaustive()
    }
}
