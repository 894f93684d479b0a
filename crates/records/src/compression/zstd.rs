//! zstd: frames of RFC 8878; several one behind the other are read as one stream.

use ::zstd::bulk::Compressor;
use ::zstd::zstd_safe::{
    CCtx, DCtx, DParameter, ErrorCode, InBuffer, OutBuffer, ResetDirective, compress_bound,
    get_error_name,
};

use crate::compression::ZstdLevel;
use crate::compression::inflate::DecodeError;

/// Frames say how far back they refer, and a decoder takes memory for that. 8 MiB is what RFC
/// 8878 asks every decoder to support; levels above 19 want more where the writer does not know
/// the size beforehand, up to 128 MiB, and get it if the limit on plain bytes allows as much.
/// The memory is touched only as far as plain bytes fill it.
const WINDOW_LOG_LEAST: u32 = 23;
const WINDOW_LOG_MOST: u32 = 27;

/// A context that grew beyond this is not kept for the next batch.
const DECODER_KEPT_MAX: usize = 4 * 1024 * 1024;
const ENCODER_KEPT_MAX: usize = 8 * 1024 * 1024;

pub(super) struct Decoder<'a> {
    payload: &'a [u8],
    chunk_len: usize,
    in_frame: bool,
    /// Always there while this decoder is.
    context: &'a mut Option<DCtx<'static>>,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(
        payload: &'a [u8],
        chunk_len: usize,
        plain_max: usize,
        context: &'a mut Option<DCtx<'static>>,
    ) -> Self {
        let window_log = (usize::BITS - plain_max.saturating_sub(1).leading_zeros())
            .clamp(WINDOW_LOG_LEAST, WINDOW_LOG_MOST);
        let reused = context.get_or_insert_with(DCtx::create);
        reused
            .reset(ResetDirective::SessionAndParameters)
            .and_then(|_| reused.set_parameter(DParameter::WindowLogMax(window_log)))
            .expect("a context can be reset, and the window is within zstd's own bounds");
        Self {
            payload,
            chunk_len,
            in_frame: false,
            context,
        }
    }

    pub(super) fn decode(
        &mut self,
        plain: &mut Vec<u8>,
        len_max: usize,
    ) -> Result<bool, DecodeError> {
        if self.payload.is_empty() && !self.in_frame {
            return Ok(false);
        }
        let start = plain.len();
        plain.resize(start + self.chunk_len.min(len_max), 0);
        let mut input = InBuffer::around(self.payload);
        let mut output = OutBuffer::around(&mut plain[start..]);
        let context = self.context.get_or_insert_with(DCtx::create);
        let result = context.decompress_stream(&mut output, &mut input);
        let (consumed, produced) = (input.pos(), output.pos());
        self.payload = &self.payload[consumed..];
        plain.truncate(start + produced);
        match result {
            Ok(0) => {
                self.in_frame = false;
                Ok(true)
            }
            Ok(_) if consumed > 0 || produced > 0 => {
                self.in_frame = true;
                Ok(true)
            }
            Ok(_) => Err(DecodeError::Truncated),
            Err(code) => Err(DecodeError::Corrupt(get_error_name(code))),
        }
    }
}

impl Drop for Decoder<'_> {
    fn drop(&mut self) {
        if self.context.as_ref().map_or(0, DCtx::sizeof) > DECODER_KEPT_MAX {
            *self.context = None;
        }
    }
}

/// Keeps its context between batches.
pub(super) struct Encoder {
    level: ZstdLevel,
    compressor: Compressor<'static>,
}

impl Encoder {
    pub(super) fn new(level: ZstdLevel) -> Result<Self, &'static str> {
        let compressor = Compressor::new(level.get()).map_err(|_| "zstd refused its level")?;
        Ok(Self { level, compressor })
    }

    pub(super) fn level(&self) -> ZstdLevel {
        self.level
    }

    /// Whether the context may be kept for the next batch.
    pub(super) fn is_small(&mut self) -> bool {
        CCtx::sizeof(self.compressor.context_mut()) <= ENCODER_KEPT_MAX
    }

    pub(super) fn encode(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
        let start = out.len();
        out.resize(start + compress_bound(plain.len()), 0);
        let len = self
            .compressor
            .context_mut()
            .compress2(&mut out[start..], plain)
            .map_err(|code: ErrorCode| get_error_name(code))?;
        out.truncate(start + len);
        Ok(())
    }
}
