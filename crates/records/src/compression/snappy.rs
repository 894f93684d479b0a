//! snappy: raw blocks in the framing of snappy-java, or one raw block without any.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `82 53 4e 41 50 50 59 00` |
//! | 4 | version, big-endian: 1 |
//! | 4 | lowest version that can read it: 1 |
//! | | blocks: 4 bytes of length, big-endian, then a raw block of that length |
//!
//! A raw block begins with its plain length as a varint, whose first byte may well be `82`, so
//! all eight bytes have to agree.

use crate::compression::inflate::DecodeError;

const MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
const HEADER_LEN: usize = MAGIC.len() + 4 + 4;
const VERSION: i32 = 1;

/// Plain bytes of the blocks that are written.
const BLOCK_LEN: usize = 32 * 1024;

/// The shortest element that a block is made of is two bytes and stands for at most 64 plain
/// ones, so a block that says more than this for each of its bytes cannot be true.
const EXPANSION_MAX: usize = 64;

pub(super) struct Decoder<'a> {
    /// What of the payload is not decoded yet.
    rest: &'a [u8],
    framing: Framing,
    snappy: snap::raw::Decoder,
}

enum Framing {
    /// Not looked at yet.
    Unknown,
    Blocks,
    OneBlock,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Self {
            rest: payload,
            framing: Framing::Unknown,
            snappy: snap::raw::Decoder::new(),
        }
    }

    pub(super) fn decode(
        &mut self,
        plain: &mut Vec<u8>,
        len_max: usize,
    ) -> Result<bool, DecodeError> {
        if matches!(self.framing, Framing::Unknown) {
            self.framing = self.recognise()?;
        }
        if self.rest.is_empty() {
            return Ok(false);
        }
        let block = match self.framing {
            Framing::OneBlock => std::mem::take(&mut self.rest),
            Framing::Blocks | Framing::Unknown => self.next_block()?,
        };
        let plain_len = snap::raw::decompress_len(block).map_err(|error| explain(&error))?;
        if plain_len > len_max {
            return Err(DecodeError::TooLong);
        }
        if plain_len > block.len().saturating_mul(EXPANSION_MAX) {
            return Err(DecodeError::Corrupt(
                "block announces more than it can hold",
            ));
        }
        let start = plain.len();
        plain.resize(start + plain_len, 0);
        self.snappy
            .decompress(block, &mut plain[start..])
            .map_err(|error| explain(&error))?;
        Ok(true)
    }

    /// Passes over the header if there is one.
    fn recognise(&mut self) -> Result<Framing, DecodeError> {
        if !self.rest.starts_with(&MAGIC) {
            return Ok(Framing::OneBlock);
        }
        let (header, blocks) = self
            .rest
            .split_at_checked(HEADER_LEN)
            .ok_or(DecodeError::Truncated)?;
        let version = header[MAGIC.len()..].first_chunk().copied();
        if version
            .map(i32::from_be_bytes)
            .is_none_or(|version| version < VERSION)
        {
            return Err(DecodeError::Corrupt("unknown version of the stream format"));
        }
        self.rest = blocks;
        Ok(Framing::Blocks)
    }

    fn next_block(&mut self) -> Result<&'a [u8], DecodeError> {
        let (len, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(DecodeError::Truncated)?;
        let len = usize::try_from(i32::from_be_bytes(*len))
            .map_err(|_| DecodeError::Corrupt("negative block length"))?;
        let (block, rest) = rest.split_at_checked(len).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(block)
    }
}

fn explain(error: &snap::Error) -> DecodeError {
    DecodeError::Corrupt(match error {
        snap::Error::Empty => "empty block",
        snap::Error::Header => "block without a length",
        snap::Error::TooBig { .. } => "block announces 4 GiB",
        snap::Error::HeaderMismatch { .. } => "block ends before its announced length",
        snap::Error::Literal { .. } | snap::Error::CopyRead { .. } => "block ends early",
        snap::Error::Offset { .. } => "copy from before the block",
        snap::Error::CopyWrite { .. } => "copy beyond the block",
        _ => "invalid block",
    })
}

/// Writes the stream form; `snappy` keeps its tables between batches.
pub(super) fn encode(
    snappy: &mut snap::raw::Encoder,
    plain: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_be_bytes());
    out.extend_from_slice(&VERSION.to_be_bytes());
    for block in plain.chunks(BLOCK_LEN) {
        let start = out.len();
        out.resize(start + 4 + snap::raw::max_compress_len(block.len()), 0);
        let len = snappy
            .compress(block, &mut out[start + 4..])
            .map_err(|_| "snappy refused its input")?;
        let len_field = u32::try_from(len).expect("a block of 32 KiB stays short");
        out[start..start + 4].copy_from_slice(&len_field.to_be_bytes());
        out.truncate(start + 4 + len);
    }
    Ok(())
}
