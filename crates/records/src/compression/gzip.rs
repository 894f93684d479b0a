//! gzip: one stream of RFC 1952; several members one behind the other are read as one stream.

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};

use crate::compression::GzipLevel;
use crate::compression::inflate::DecodeError;

/// The largest window that the format knows, as a power of two.
const WINDOW_BITS: u8 = 15;

pub(super) struct Decoder<'a> {
    payload: &'a [u8],
    chunk_len: usize,
    inflate: Decompress,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(payload: &'a [u8], chunk_len: usize) -> Self {
        Self {
            payload,
            chunk_len,
            inflate: Decompress::new_gzip(WINDOW_BITS),
        }
    }

    pub(super) fn decode(
        &mut self,
        plain: &mut Vec<u8>,
        len_max: usize,
    ) -> Result<bool, DecodeError> {
        let start = plain.len();
        plain.resize(start + self.chunk_len.min(len_max), 0);
        let (consumed, produced) = (self.inflate.total_in(), self.inflate.total_out());
        let result =
            self.inflate
                .decompress(self.payload, &mut plain[start..], FlushDecompress::None);
        let produced = moved(produced, self.inflate.total_out());
        let consumed = moved(consumed, self.inflate.total_in());
        self.payload = &self.payload[consumed..];
        plain.truncate(start + produced);
        match result {
            Ok(Status::StreamEnd) if self.payload.is_empty() => Ok(false),
            Ok(Status::StreamEnd) => {
                self.inflate = Decompress::new_gzip(WINDOW_BITS);
                Ok(true)
            }
            Ok(Status::Ok | Status::BufError) if produced > 0 || consumed > 0 => Ok(true),
            Ok(Status::Ok | Status::BufError) => Err(DecodeError::Truncated),
            Err(error) => Err(DecodeError::Corrupt(match error.message() {
                Some("incorrect data check") => "wrong checksum",
                Some("incorrect header check") => "wrong header",
                _ => "invalid deflate stream",
            })),
        }
    }
}

/// Keeps its state, of a quarter of a MiB, between batches.
pub(super) struct Encoder {
    level: GzipLevel,
    deflate: Compress,
}

impl Encoder {
    pub(super) fn new(level: GzipLevel) -> Self {
        let compression = flate2::Compression::new(level.get().cast_unsigned());
        Self {
            level,
            deflate: Compress::new_gzip(compression, WINDOW_BITS),
        }
    }

    pub(super) fn level(&self) -> GzipLevel {
        self.level
    }

    pub(super) fn encode(
        &mut self,
        mut plain: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        self.deflate.reset();
        // Enough for what does not shrink: 5 bytes for each stored block, header and trailer.
        out.reserve(plain.len() + plain.len() / 1000 + 64);
        loop {
            let before = self.deflate.total_in();
            let status = self
                .deflate
                .compress_vec(plain, out, FlushCompress::Finish)
                .map_err(|_| "gzip refused its input")?;
            plain = &plain[moved(before, self.deflate.total_in())..];
            if status == Status::StreamEnd {
                return Ok(());
            }
            out.reserve(plain.len() / 2 + 64);
        }
    }
}

/// How far a counter of bytes went.
fn moved(before: u64, after: u64) -> usize {
    usize::try_from(after - before).expect("no more bytes than the slice that was given")
}
