//! Parsers for the primitives, in nom's form.

use klamm_primitives::varint::{self, VarintError};
use nom::bytes::complete::take;
use nom::error::{ErrorKind, ParseError};
use nom::{Err, IResult};

use super::fault::Malformed;

/// What the parsers return: what is left, and the value.
pub(super) type Parsed<'a, T> = IResult<&'a [u8], T, Malformed>;

impl ParseError<&[u8]> for Malformed {
    /// Numbers of a fixed width can fail in one way only.
    #[inline]
    fn from_error_kind(_input: &[u8], _kind: ErrorKind) -> Self {
        Self::Truncated
    }

    #[inline]
    fn append(_input: &[u8], _kind: ErrorKind, other: Self) -> Self {
        other
    }
}

/// The next `N` bytes, which a number's `from_be_bytes` turns into one load and one swap; nom's own
/// parsers of numbers go byte by byte.
#[inline]
pub(super) fn fixed<const N: usize>(input: &[u8]) -> Parsed<'_, [u8; N]> {
    let (rest, taken) = take(N)(input)?;
    match taken.first_chunk() {
        Some(bytes) => Ok((rest, *bytes)),
        None => Err(Err::Error(Malformed::Truncated)),
    }
}

/// Seven bits a byte, the lowest first; five bytes at most.
#[inline]
pub(super) fn unsigned_varint(input: &[u8]) -> Parsed<'_, u32> {
    match varint::read_u32(input) {
        Ok((value, len)) => Ok((&input[len..], value)),
        Err(VarintError::Truncated) => Err(Err::Error(Malformed::Truncated)),
        Err(VarintError::TooLong { .. }) => Err(Err::Error(Malformed::VarintTooLong)),
    }
}
