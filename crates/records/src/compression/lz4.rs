//! lz4: one frame of independent blocks (LZ4 frame format 1.5.1).
//!
//! | bytes | what, numbers little-endian |
//! |---|---|
//! | 4 | `04 22 4d 18` |
//! | 1 | flags: version 01 in bits 7 and 6, independent blocks 5, block checksums 4, content size 3, content checksum 2, dictionary 0 |
//! | 1 | largest block: 4 to 7 in bits 4 to 6 for 64 KiB, 256 KiB, 1 MiB, 4 MiB |
//! | 8 | content size, if flagged |
//! | 1 | second byte of the xxHash32 of the flags up to here |
//! | | blocks: 4 bytes of length (high bit: stored as it is), bytes, 4 bytes of xxHash32 if flagged |
//! | 4 | 0: the end |
//! | 4 | content checksum, if flagged |
//!
//! Blocks that depend on those before are refused as by the reference: a batch that a broker took
//! and other clients cannot read would block them. A content checksum has to be there but is not
//! compared, since the batch has one of its own.

use lz4_flex::block::{CompressTable, DecompressError};
use twox_hash::XxHash32;

use crate::compression::inflate::DecodeError;

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// What is written: version 1, independent blocks of up to 64 KiB, no checksums, no size.
const HEADER_WRITTEN: [u8; 7] = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
const BLOCK_LEN_WRITTEN: usize = 64 * 1024;

const END_MARK: u32 = 0;
const STORED: u32 = 1 << 31;

const VERSION_MASK: u8 = 0b1100_0000;
const VERSION: u8 = 0b0100_0000;
const INDEPENDENT: u8 = 1 << 5;
const BLOCK_CHECKSUMS: u8 = 1 << 4;
const CONTENT_SIZE: u8 = 1 << 3;
const CONTENT_CHECKSUM: u8 = 1 << 2;
const FLAGS_RESERVED: u8 = 1 << 1;
const DICTIONARY: u8 = 1;
const DESCRIPTOR_RESERVED: u8 = 0b1000_1111;

/// No byte of a block stands for more plain ones: the longest run adds 255 for each.
const EXPANSION_MAX: usize = 255;

pub(super) struct Decoder<'a> {
    /// What of the payload is not decoded yet.
    rest: &'a [u8],
    frame: Option<Frame>,
}

#[derive(Clone, Copy)]
struct Frame {
    block_len_max: usize,
    block_checksums: bool,
    content_checksum: bool,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Self {
            rest: payload,
            frame: None,
        }
    }

    pub(super) fn decode(
        &mut self,
        plain: &mut Vec<u8>,
        len_max: usize,
    ) -> Result<bool, DecodeError> {
        let frame = self.frame.map_or_else(|| self.header(), Ok)?;
        self.frame = Some(frame);
        let len_field = self.number()?;
        if len_field == END_MARK {
            if frame.content_checksum {
                self.number()?;
            }
            return Ok(false);
        }
        let len = (len_field & !STORED) as usize;
        if len > frame.block_len_max {
            return Err(DecodeError::Corrupt(
                "block larger than the frame's maximum",
            ));
        }
        let block = self.take(len)?;
        if frame.block_checksums && self.number()? != XxHash32::oneshot(0, block) {
            return Err(DecodeError::Corrupt("wrong block checksum"));
        }
        if len_field & STORED == 0 {
            decode_block(block, plain, frame.block_len_max, len_max)?;
        } else if len > len_max {
            return Err(DecodeError::TooLong);
        } else {
            plain.extend_from_slice(block);
        }
        Ok(true)
    }

    fn header(&mut self) -> Result<Frame, DecodeError> {
        if self.take(MAGIC.len())? != MAGIC {
            return Err(DecodeError::Corrupt("wrong magic"));
        }
        let checked = self.rest;
        let &[flags, descriptor] = self.array()?;
        if flags & VERSION_MASK != VERSION {
            return Err(DecodeError::Corrupt("unknown version of the frame format"));
        }
        if flags & FLAGS_RESERVED != 0 || descriptor & DESCRIPTOR_RESERVED != 0 {
            return Err(DecodeError::Corrupt("reserved bits are set"));
        }
        if flags & INDEPENDENT == 0 {
            return Err(DecodeError::Corrupt("blocks that depend on each other"));
        }
        if flags & DICTIONARY != 0 {
            return Err(DecodeError::Corrupt("a dictionary is needed"));
        }
        let block_len_max = match descriptor >> 4 {
            size_code @ 4..=7 => 1 << (8 + 2 * size_code),
            _ => return Err(DecodeError::Corrupt("unknown block size")),
        };
        if flags & CONTENT_SIZE != 0 {
            self.take(8)?;
        }
        let checked = &checked[..checked.len() - self.rest.len()];
        let [_, expected, ..] = XxHash32::oneshot(0, checked).to_le_bytes();
        if *self.array()? != [expected] {
            return Err(DecodeError::Corrupt("wrong header checksum"));
        }
        Ok(Frame {
            block_len_max,
            block_checksums: flags & BLOCK_CHECKSUMS != 0,
            content_checksum: flags & CONTENT_CHECKSUM != 0,
        })
    }

    fn number(&mut self) -> Result<u32, DecodeError> {
        self.array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], DecodeError> {
        let (bytes, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (bytes, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(bytes)
    }
}

fn decode_block(
    block: &[u8],
    plain: &mut Vec<u8>,
    block_len_max: usize,
    len_max: usize,
) -> Result<(), DecodeError> {
    let room = block_len_max.min(block.len() * EXPANSION_MAX);
    let start = plain.len();
    plain.resize(start + room.min(len_max), 0);
    match lz4_flex::block::decompress_into(block, &mut plain[start..]) {
        Ok(len) => {
            plain.truncate(start + len);
            Ok(())
        }
        Err(DecompressError::OutputTooSmall { .. }) if len_max < room => Err(DecodeError::TooLong),
        Err(error) => Err(DecodeError::Corrupt(match error {
            DecompressError::OutputTooSmall { .. } => "block holds more than the frame's maximum",
            DecompressError::OffsetOutOfBounds => "copy from before the block",
            DecompressError::OffsetZero => "copy from nowhere",
            _ => "block ends early",
        })),
    }
}

/// Keeps its tables, of 8 and 16 KiB, between batches.
pub(super) struct Encoder {
    /// For blocks below 64 KiB, which positions of 16 bits can address.
    short: CompressTable,
    full: CompressTable,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self {
            short: CompressTable::small(),
            full: CompressTable::large(),
        }
    }

    pub(super) fn encode(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
        out.extend_from_slice(&HEADER_WRITTEN);
        for block in plain.chunks(BLOCK_LEN_WRITTEN) {
            let start = out.len();
            let room = lz4_flex::block::get_maximum_output_size(block.len());
            out.resize(start + 4 + room, 0);
            let table = if block.len() < usize::from(u16::MAX) {
                &mut self.short
            } else {
                &mut self.full
            };
            let len =
                lz4_flex::block::compress_into_with_table(block, &mut out[start + 4..], table)
                    .map_err(|_| "lz4 refused its input")?;
            let (len, stored) = if len < block.len() {
                (len, 0)
            } else {
                out[start + 4..start + 4 + block.len()].copy_from_slice(block);
                (block.len(), STORED)
            };
            let len_field = u32::try_from(len).expect("a block of 64 KiB") | stored;
            out[start..start + 4].copy_from_slice(&len_field.to_le_bytes());
            out.truncate(start + 4 + len);
        }
        out.extend_from_slice(&END_MARK.to_le_bytes());
        Ok(())
    }
}
