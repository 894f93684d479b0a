//! Integers of variable length, as Kafka writes them.
//!
//! Groups of seven bits, the lowest first; the high bit of a byte says that another follows.
//! Signed ones are zigzag first (`(n << 1) ^ (n >> 31)`), so that small negative numbers are
//! short too. 32 bits take at most 5 bytes, 64 bits at most 10.
//!
//! | type | who uses it | functions |
//! |---|---|---|
//! | unsigned varint | lengths, counts and tags of flexible message versions | [`read_u32`], [`encode_u32`], [`append_u32`], [`u32_len`] |
//! | varint | records: lengths, offset deltas | [`read_i32`], [`encode_i32`], [`append_i32`], [`i32_len`] |
//! | varlong | records: timestamp deltas | [`read_i64`], [`encode_i64`], [`append_i64`], [`i64_len`] |
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
/// A byte at a time: in messages and records nearly all are of one or two bytes, or of as many
/// as the one before, so that the branches are foreseen; taking eight bytes at once was slower
/// except on lengths at random.
///
/// # Errors
/// [`VarintError::Truncated`] where the input ends first, [`VarintError::TooLong`] where the
/// fifth byte has its high bit set.
#[inline]
pub fn read_u32(input: &[u8]) -> Result<(u32, usize), VarintError> {
    let mut value = 0;
    for (at, byte) in input.iter().take(LEN_MAX_32).enumerate() {
        value |= u32::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            return Ok((value, at + 1));
        }
    }
    Err(unfinished(input, LEN_MAX_32))
}

/// Reads an unsigned varlong; as [`read_u32`], with ten bytes at most.
///
/// # Errors
/// As [`read_u32`].
#[inline]
pub fn read_u64(input: &[u8]) -> Result<(u64, usize), VarintError> {
    let mut value = 0;
    for (at, byte) in input.iter().take(LEN_MAX_64).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            return Ok((value, at + 1));
        }
    }
    Err(unfinished(input, LEN_MAX_64))
}

/// Why no byte was the last of a number.
#[cold]
fn unfinished(input: &[u8], len_max: usize) -> VarintError {
    if input.len() < len_max {
        VarintError::Truncated
    } else {
        VarintError::TooLong { len_max }
    }
}

/// Reads a zigzag varint.
///
/// # Errors
/// As [`read_u32`].
#[inline]
pub fn read_i32(input: &[u8]) -> Result<(i32, usize), VarintError> {
    let (zigzag, len) = read_u32(input)?;
    let sign = -(zigzag & 1).cast_signed();
    Ok(((zigzag >> 1).cast_signed() ^ sign, len))
}

/// Reads a zigzag varlong.
///
/// # Errors
/// As [`read_u64`].
#[inline]
pub fn read_i64(input: &[u8]) -> Result<(i64, usize), VarintError> {
    let (zigzag, len) = read_u64(input)?;
    let sign = -(zigzag & 1).cast_signed();
    Ok(((zigzag >> 1).cast_signed() ^ sign, len))
}

/// Writes an unsigned varint, to be copied from. To write behind a `Vec`, [`append_u32`] is
/// faster, since a copy whose length is not known before is a call.
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

/// Writes an unsigned varint behind what `bytes` holds.
#[inline]
pub fn append_u32(value: u32, bytes: &mut Vec<u8>) {
    append_u64(u64::from(value), bytes);
}

/// Writes an unsigned varlong behind what `bytes` holds.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "seven bits at a time; the loop leaves less than 0x80"
)]
pub fn append_u64(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Writes a zigzag varint behind what `bytes` holds.
#[inline]
pub fn append_i32(value: i32, bytes: &mut Vec<u8>) {
    append_u32(zigzag_32(value), bytes);
}

/// Writes a zigzag varlong behind what `bytes` holds.
#[inline]
pub fn append_i64(value: i64, bytes: &mut Vec<u8>) {
    append_u64(zigzag_64(value), bytes);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FF: u8 = 0xff;

    #[track_caller]
    fn unsigned_is(value: u32, written: &[u8]) {
        assert_eq!(encode_u32(value).as_slice(), written);
        assert_eq!(read_u32(written), Ok((value, written.len())));
        assert_eq!(encode_u64(value.into()).as_slice(), written);
        assert_eq!(read_u64(written), Ok((value.into(), written.len())));
        let mut appended = Vec::new();
        append_u32(value, &mut appended);
        assert_eq!(appended, written);
    }

    #[track_caller]
    fn signed_is(value: i32, written: &[u8]) {
        assert_eq!(encode_i32(value).as_slice(), written);
        assert_eq!(read_i32(written), Ok((value, written.len())));
        let mut appended = Vec::new();
        append_i32(value, &mut appended);
        assert_eq!(appended, written);
        // The wider form of the same number has the same bytes.
        signed_64_is(value.into(), written);
    }

    #[track_caller]
    fn signed_64_is(value: i64, written: &[u8]) {
        assert_eq!(encode_i64(value).as_slice(), written);
        assert_eq!(read_i64(written), Ok((value, written.len())));
        let mut appended = Vec::new();
        append_i64(value, &mut appended);
        assert_eq!(appended, written);
    }

    #[test]
    fn wi_001_unsigned_varint_has_the_low_group_first() {
        unsigned_is(0, &[0x00]);
        unsigned_is(127, &[0x7f]);
        unsigned_is(128, &[0x80, 0x01]);
        unsigned_is(8192, &[0x80, 0x40]);
        unsigned_is(i32::MAX.cast_unsigned(), &[FF, FF, FF, FF, 0x07]);
        unsigned_is((-1i32).cast_unsigned(), &[FF, FF, FF, FF, 0x0f]);
    }

    #[test]
    fn wi_002_varint_is_zigzag() {
        signed_is(0, &[0x00]);
        signed_is(-1, &[0x01]);
        signed_is(1, &[0x02]);
        signed_is(63, &[0x7e]);
        signed_is(-64, &[0x7f]);
        signed_is(64, &[0x80, 0x01]);
        signed_is(-8192, &[FF, 0x7f]);
        signed_is(i32::MAX, &[0xfe, FF, FF, FF, 0x0f]);
        signed_is(i32::MIN, &[FF, FF, FF, FF, 0x0f]);
    }

    #[test]
    fn wi_003_varlong_has_ten_bytes_at_most() {
        let mut longest = [FF; 10];
        longest[9] = 0x01;
        signed_64_is(i64::MIN, &longest);
        longest[0] = 0xfe;
        signed_64_is(i64::MAX, &longest);
    }

    /// Covers WI-004, RB-030.
    #[test]
    fn wi_004_a_number_that_goes_on_past_its_last_byte_is_refused() {
        for last in [0x80, FF] {
            let mut bytes = [0x80; 12];
            bytes[4] = last;
            let too_long = VarintError::TooLong { len_max: 5 };
            // Whatever follows, and if nothing does.
            for input in [&bytes[..5], &bytes] {
                assert_eq!(read_u32(input), Err(too_long));
                assert_eq!(read_i32(input), Err(too_long));
            }
            bytes[9] = last;
            let too_long = VarintError::TooLong { len_max: 10 };
            for input in [&bytes[..10], &bytes] {
                assert_eq!(read_u64(input), Err(too_long));
                assert_eq!(read_i64(input), Err(too_long));
            }
        }
    }

    #[test]
    fn wi_005_a_number_cut_short_is_an_error() {
        let whole = encode_i64(i64::MIN);
        for cut in 0..10 {
            let input = &whole.as_slice()[..cut];
            assert_eq!(read_i64(input), Err(VarintError::Truncated));
            assert_eq!(read_u64(input), Err(VarintError::Truncated));
            if cut < 5 {
                assert_eq!(read_i32(input), Err(VarintError::Truncated));
                assert_eq!(read_u32(input), Err(VarintError::Truncated));
            }
        }
    }

    #[test]
    fn wi_006_the_length_is_known_before() {
        let around = |power: u64| [power.wrapping_sub(1), power, power.wrapping_add(1)];
        let powers = (0..64).flat_map(|bit| around(1 << bit));
        for value in powers.chain([0, u64::MAX]) {
            assert_eq!(u64_len(value), encode_u64(value).as_slice().len());
            let signed = value.cast_signed();
            for value in [signed, signed.wrapping_neg()] {
                assert_eq!(i64_len(value), encode_i64(value).as_slice().len());
                if let Ok(value) = i32::try_from(value) {
                    assert_eq!(i32_len(value), encode_i32(value).as_slice().len());
                }
            }
            if let Ok(value) = u32::try_from(value) {
                assert_eq!(u32_len(value), encode_u32(value).as_slice().len());
            }
        }
        for value in [i32::MIN, i32::MAX] {
            assert_eq!(i32_len(value), encode_i32(value).as_slice().len());
        }
        for value in [i64::MIN, i64::MAX] {
            assert_eq!(i64_len(value), encode_i64(value).as_slice().len());
        }
    }

    #[test]
    fn padded_forms_are_read_and_bits_without_a_place_dropped() {
        assert_eq!(read_u32(&[0x82, 0x00]), Ok((2, 2)));
        assert_eq!(read_u32(&[0x82, 0x80, 0x80, 0x80, 0x00]), Ok((2, 5)));
        assert_eq!(read_u32(&[FF, FF, FF, FF, 0x7f]), Ok((u32::MAX, 5)));
        let mut longest = [FF; 10];
        longest[9] = 0x7f;
        assert_eq!(read_u64(&longest), Ok((u64::MAX, 10)));
    }

    /// The definition, group by group, without a thought for speed.
    fn by_definition(mut value: u64) -> Vec<u8> {
        let mut groups = Vec::new();
        loop {
            groups.push(u8::try_from(value % 128).unwrap());
            value /= 128;
            if value == 0 {
                break;
            }
        }
        let last = groups.len() - 1;
        groups[..last].iter_mut().for_each(|group| *group += 128);
        groups
    }

    proptest! {
        #[test]
        fn numbers_come_back(value: u64, shift in 0u32..64, behind: Vec<u8>) {
            // Every length as often as another.
            let value = value >> shift;
            let mut input = by_definition(value);
            let written = encode_u64(value);
            prop_assert_eq!(written.as_slice(), &input[..]);
            let len = input.len();
            input.extend(behind);
            prop_assert_eq!(read_u64(&input), Ok((value, len)));

            let signed = value.cast_signed();
            let written = encode_i64(signed);
            prop_assert_eq!(read_i64(written.as_slice()), Ok((signed, i64_len(signed))));
            if let Ok(value) = u32::try_from(value) {
                prop_assert_eq!(read_u32(&input), Ok((value, len)));
                let signed = value.cast_signed();
                let written = encode_i32(signed);
                prop_assert_eq!(read_i32(written.as_slice()), Ok((signed, i32_len(signed))));
            }
        }

        #[test]
        fn whatever_is_read_took_bytes_that_are_there(input: Vec<u8>) {
            for outcome in [
                read_u32(&input).map(|(_, len)| (len, LEN_MAX_32)),
                read_u64(&input).map(|(_, len)| (len, LEN_MAX_64)),
            ] {
                match outcome {
                    Ok((len, len_max)) => {
                        prop_assert!(1 <= len && len <= len_max && len <= input.len());
                        prop_assert!(input[len - 1] < 0x80);
                        prop_assert!(input[..len - 1].iter().all(|byte| *byte >= 0x80));
                    }
                    Err(VarintError::Truncated) => {
                        prop_assert!(input.iter().all(|byte| *byte >= 0x80));
                    }
                    Err(VarintError::TooLong { len_max }) => {
                        prop_assert!(input[..len_max].iter().all(|byte| *byte >= 0x80));
                    }
                }
            }
        }
    }
}
