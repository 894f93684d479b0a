//! The integers of variable length, which all flexible versions are made of.

use klamm_primitives::varint::{self, VarintError};
use serde::Deserialize;

#[derive(Deserialize)]
struct Vector {
    value: Option<i64>,
    unsigned_varint: Option<String>,
    zigzag_varint: Option<String>,
    zigzag_varlong: Option<String>,
}

/// Covers WI-001, WI-002, WI-003.
#[test]
fn golden_varints_are_written_and_read() {
    let mut seen = 0;
    for line in include_str!("golden/primitives.jsonl").lines() {
        let vector: Vector = serde_json::from_str(line).expect("a vector");
        let Some(value) = vector.value else {
            continue;
        };
        if let Some(hex) = vector.unsigned_varint {
            let (bytes, value) = (bytes(&hex), u32::try_from(value).expect("32 bits"));
            assert_eq!(varint::encode_u32(value).as_slice(), bytes);
            assert_eq!(varint::read_u32(&bytes), Ok((value, bytes.len())));
            seen += 1;
        }
        if let Some(hex) = vector.zigzag_varint {
            let (bytes, value) = (bytes(&hex), i32::try_from(value).expect("32 bits"));
            assert_eq!(varint::encode_i32(value).as_slice(), bytes);
            assert_eq!(varint::read_i32(&bytes), Ok((value, bytes.len())));
            seen += 1;
        }
        if let Some(hex) = vector.zigzag_varlong {
            let bytes = bytes(&hex);
            assert_eq!(varint::encode_i64(value).as_slice(), bytes);
            assert_eq!(varint::read_i64(&bytes), Ok((value, bytes.len())));
            seen += 1;
        }
    }
    assert!(seen > 60, "only {seen} vectors");
}

fn bytes(hex: &str) -> Vec<u8> {
    hex::decode(hex).expect("hex")
}

#[test]
fn wi_001_unsigned_varints_take_seven_bits_a_byte() {
    for (value, hex) in [
        (0, "00"),
        (127, "7f"),
        (128, "8001"),
        (8192, "8040"),
        (i32::MAX.cast_unsigned(), "ffffffff07"),
        (u32::MAX, "ffffffff0f"),
    ] {
        assert_eq!(varint::encode_u32(value).as_slice(), bytes(hex));
        assert_eq!(varint::read_u32(&bytes(hex)), Ok((value, hex.len() / 2)));
    }
}

#[test]
fn wi_002_varints_are_zigzag() {
    for (value, hex) in [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-8192, "ff7f"),
        (i32::MAX, "feffffff0f"),
        (i32::MIN, "ffffffff0f"),
    ] {
        assert_eq!(varint::encode_i32(value).as_slice(), bytes(hex));
        assert_eq!(varint::read_i32(&bytes(hex)), Ok((value, hex.len() / 2)));
    }
}

#[test]
fn wi_003_varlongs_take_ten_bytes_at_most() {
    for (value, hex) in [
        (i64::MAX, "feffffffffffffffff01"),
        (i64::MIN, "ffffffffffffffffff01"),
    ] {
        assert_eq!(varint::encode_i64(value).as_slice(), bytes(hex));
        assert_eq!(varint::read_i64(&bytes(hex)), Ok((value, 10)));
    }
}

#[test]
fn wi_004_a_number_that_does_not_end_is_refused() {
    let long = [0x80; 12];
    assert_eq!(
        varint::read_u32(&long),
        Err(VarintError::TooLong { len_max: 5 })
    );
    assert_eq!(
        varint::read_u64(&long),
        Err(VarintError::TooLong { len_max: 10 })
    );
    assert_eq!(
        varint::read_i32(&[0xff; 6]),
        Err(VarintError::TooLong { len_max: 5 })
    );
    assert_eq!(
        varint::read_i64(&[0xff; 11]),
        Err(VarintError::TooLong { len_max: 10 })
    );
}

#[test]
fn wi_005_a_number_cut_short_is_refused() {
    for len in 0..5 {
        assert_eq!(
            varint::read_u32(&[0xff; 5][..len]),
            Err(VarintError::Truncated)
        );
    }
    for len in 0..10 {
        assert_eq!(
            varint::read_u64(&[0xff; 10][..len]),
            Err(VarintError::Truncated)
        );
    }
}

#[test]
fn wi_006_lengths_are_what_is_written() {
    let around = |power: u32| [-1, 0, 1].map(|step| (1i64 << power).wrapping_add(step));
    let values = (0..63).flat_map(around).chain([i64::MIN, i64::MAX, 0]);
    for value in values {
        for value in [value, value.wrapping_neg()] {
            assert_eq!(
                varint::encode_i64(value).as_slice().len(),
                varint::i64_len(value)
            );
            let unsigned = value.cast_unsigned();
            assert_eq!(
                varint::encode_u64(unsigned).as_slice().len(),
                varint::u64_len(unsigned)
            );
            if let Ok(value) = i32::try_from(value) {
                assert_eq!(
                    varint::encode_i32(value).as_slice().len(),
                    varint::i32_len(value)
                );
            }
            if let Ok(value) = u32::try_from(value) {
                assert_eq!(
                    varint::encode_u32(value).as_slice().len(),
                    varint::u32_len(value)
                );
            }
        }
    }
}
