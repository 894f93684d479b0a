//! Integers of variable length, as Kafka writes them.
//!
//! Groups of seven bits, the lowest first; the high bit of a byte says that another follows.
//! Signed ones are zigzag first (`(n << 1) ^ (n >> 31)`), so that small negative numbers are
//! short too. 32 bits take at most 5 bytes, 64 bits at most 10.
//!
//! | type | who uses it | functions |
//! |---|---|---|
//! | unsigned varint | lengths, counts and tags of flexible message versions | [`read_u32`], [`encode_u32`], [`u32_len`] |
//! | varint | records: lengths, offset deltas | [`read_i32`], [`encode_i32`], [`i32_len`] |
//! | varlong | records: timestamp deltas | [`read_i64`], [`encode_i64`], [`i64_len`] |
//!
//! Reading takes padded forms (`82 00` for 2); writing never makes them. Bits beyond the width
//! of the type, which only the last allowed byte can carry, are dropped as the reference does.
//!
//! ```
//! use klamm_primitives::varint;
//!
//! assert_eq!(varint::encode_u32(128).as_slice(), [0x80, 0x01]);
//! assert_eq!(varint::read_u32(&[0x80, 0x01, 0xff]), Ok((128, 2)));
//! ```

use thiserror::Error;

/// Bytes that a 32-bit number takes at most.
pub const LEN_MAX_32: usize = 5;

/// Bytes that a 64-bit number takes at most.
pub const LEN_MAX_64: usize = 10;

/// Why no number could be read. Nothing counts as consumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum VarintError {
    /// The input ends before the number does.
    #[error("input ends inside a variable-length integer")]
    Truncated,
    /// The last byte that the width allows says that another follows.
    #[error("variable-length integer is longer than {len_max} bytes")]
    TooLong {
        /// [`LEN_MAX_32`] or [`LEN_MAX_64`].
        len_max: usize,
    },
}

/// A number in its written form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoded {
    bytes: [u8; LEN_MAX_64],
    len: u8,
}

impl Encoded {
    /// The bytes to write.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Reads an unsigned varint from the front of `input`: its value and how many bytes it took.
///
/// # Errors
/// [`VarintError::Truncated`] where the input ends first, [`VarintError::TooLong`] where the
/// fifth byte has its high bit set.
#[inline]
pub const fn read_u32(input: &[u8]) -> Result<(u32, usize), VarintError> {
    // Most lengths, counts and tags are one byte.
    if let Some(&first) = input.first()
        && first < 0x80
    {
        return Ok((first as u32, 1));
    }
    let mut value = 0u32;
    let mut at = 0;
    while at < LEN_MAX_32 {
        if at == input.len() {
            return Err(VarintError::Truncated);
        }
        let byte = input[at];
        value |= ((byte & 0x7f) as u32) << (7 * at);
        at += 1;
        if byte < 0x80 {
            return Ok((value, at));
        }
    }
    Err(VarintError::TooLong {
        len_max: LEN_MAX_32,
    })
}

/// Reads an unsigned varlong; as [`read_u32`], with ten bytes at most.
///
/// # Errors
/// As [`read_u32`].
#[inline]
pub const fn read_u64(input: &[u8]) -> Result<(u64, usize), VarintError> {
    if let Some(&first) = input.first()
        && first < 0x80
    {
        return Ok((first as u64, 1));
    }
    let mut value = 0u64;
    let mut at = 0;
    while at < LEN_MAX_64 {
        if at == input.len() {
            return Err(VarintError::Truncated);
        }
        let byte = input[at];
        value |= ((byte & 0x7f) as u64) << (7 * at);
        at += 1;
        if byte < 0x80 {
            return Ok((value, at));
        }
    }
    Err(VarintError::TooLong {
        len_max: LEN_MAX_64,
    })
}

/// Reads a zigzag varint.
///
/// # Errors
/// As [`read_u32`].
#[inline]
pub const fn read_i32(input: &[u8]) -> Result<(i32, usize), VarintError> {
    match read_u32(input) {
        Ok((zigzag, len)) => Ok((
            (zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed()),
            len,
        )),
        Err(error) => Err(error),
    }
}

/// Reads a zigzag varlong.
///
/// # Errors
/// As [`read_u64`].
#[inline]
pub const fn read_i64(input: &[u8]) -> Result<(i64, usize), VarintError> {
    match read_u64(input) {
        Ok((zigzag, len)) => Ok((
            (zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed()),
            len,
        )),
        Err(error) => Err(error),
    }
}

/// Writes an unsigned varint.
#[inline]
pub const fn encode_u32(value: u32) -> Encoded {
    encode_u64(value as u64)
}

/// Writes an unsigned varlong.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the loop leaves less than 0x80"
)]
pub const fn encode_u64(mut value: u64) -> Encoded {
    let mut bytes = [0; LEN_MAX_64];
    let mut len = 0;
    while value >= 0x80 {
        bytes[len as usize] = (value & 0x7f) as u8 | 0x80;
        value >>= 7;
        len += 1;
    }
    bytes[len as usize] = value as u8;
    Encoded {
        bytes,
        len: len + 1,
    }
}

/// Writes a zigzag varint.
#[inline]
pub const fn encode_i32(value: i32) -> Encoded {
    encode_u32(zigzag_32(value))
}

/// Writes a zigzag varlong.
#[inline]
pub const fn encode_i64(value: i64) -> Encoded {
    encode_u64(zigzag_64(value))
}

/// Bytes that [`encode_u32`] writes.
#[inline]
pub const fn u32_len(value: u32) -> usize {
    u64_len(value as u64)
}

/// Bytes that [`encode_u64`] writes.
#[inline]
pub const fn u64_len(value: u64) -> usize {
    // One byte for each started group of seven significant bits, and one for zero.
    let significant = 64 - (value | 1).leading_zeros();
    significant.div_ceil(7) as usize
}

/// Bytes that [`encode_i32`] writes.
#[inline]
pub const fn i32_len(value: i32) -> usize {
    u32_len(zigzag_32(value))
}

/// Bytes that [`encode_i64`] writes.
#[inline]
pub const fn i64_len(value: i64) -> usize {
    u64_len(zigzag_64(value))
}

#[inline]
const fn zigzag_32(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)).cast_unsigned()
}

#[inline]
const fn zigzag_64(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}
