//! Parsers for the primitives, in nom's form.

use klamm_primitives::varint::{self, VarintError};
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

pub(super) use nom::number::complete::{
    be_f64, be_i8, be_i16, be_i32, be_i64, be_u16, be_u32, be_u128, u8,
};

/// Seven bits a byte, the lowest first; five bytes at most.
#[inline]
pub(super) fn unsigned_varint(input: &[u8]) -> Parsed<'_, u32> {
    match varint::read_u32(input) {
        Ok((value, len)) => Ok((&input[len..], value)),
        Err(VarintError::Truncated) => Err(Err::Error(Malformed::Truncated)),
        Err(VarintError::TooLong { .. }) => Err(Err::Error(Malformed::VarintTooLong)),
    }
}
