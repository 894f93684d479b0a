//! Values of each type: numbers, strings, bytes, records, arrays.

use bytes::Bytes;
use bytestring::ByteString;
use klamm_primitives::Uuid;

use super::{decode, encode, refused, unencodable};
use crate::codec::{Malformed, Message, Records, Unencodable, UnknownTags};
use crate::prelude::{Message, Struct};

/// Version 0 is not flexible, version 1 is.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=1, flexible = 1..)]
struct Numbers {
    truth: bool,
    byte: i8,
    short: i16,
    unsigned_short: u16,
    int: i32,
    unsigned: u32,
    long: i64,
    float: f64,
    id: Uuid,
    unknown_tags: UnknownTags,
}

#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=1, flexible = 1..)]
struct Text {
    plain: ByteString,
    #[wire(nullable = ..)]
    nullable: Option<ByteString>,
    unknown_tags: UnknownTags,
}

#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=1, flexible = 1..)]
struct Blobs {
    plain: Bytes,
    #[wire(nullable = .., default = None)]
    nullable: Option<Bytes>,
    #[wire(nullable = ..)]
    records: Option<Records>,
    unknown_tags: UnknownTags,
}

#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=1, flexible = 1..)]
struct Lists {
    numbers: Vec<i32>,
    #[wire(nullable = ..)]
    pairs: Option<Vec<Pair>>,
    words: Vec<ByteString>,
    unknown_tags: UnknownTags,
}

#[derive(Debug, Clone, PartialEq, Struct)]
struct Pair {
    key: i16,
    value: ByteString,
    unknown_tags: UnknownTags,
}

fn pair(key: i16, value: &'static str) -> Pair {
    Pair {
        key,
        value: ByteString::from_static(value),
        ..Pair::default()
    }
}

#[test]
fn wi_007_integers_round_trip_at_both_extremes() {
    let least = Numbers {
        byte: i8::MIN,
        short: i16::MIN,
        int: i32::MIN,
        long: i64::MIN,
        ..Numbers::default()
    };
    let greatest = Numbers {
        byte: i8::MAX,
        short: i16::MAX,
        unsigned_short: u16::MAX,
        int: i32::MAX,
        unsigned: u32::MAX,
        long: i64::MAX,
        ..Numbers::default()
    };
    let rest = "00".repeat(8 + 16);
    for (message, digits) in [
        (least, "00 80 8000 0000 80000000 00000000 8000000000000000"),
        (
            greatest,
            "00 7f 7fff ffff 7fffffff ffffffff 7fffffffffffffff",
        ),
    ] {
        let digits = format!("{digits}{rest}");
        assert_eq!(encode(&message, 0), super::hex(&digits));
        assert_eq!(decode::<Numbers>(0, &digits), message);
    }
}

#[test]
fn wi_008_floats_are_their_bits_high_byte_first() {
    for (float, digits) in [
        (1.0, "3ff0000000000000"),
        (-0.0, "8000000000000000"),
        (f64::INFINITY, "7ff0000000000000"),
        (f64::NEG_INFINITY, "fff0000000000000"),
        (f64::from_bits(0x7ff8_0000_0000_0000), "7ff8000000000000"),
    ] {
        let message = Numbers {
            float,
            ..Numbers::default()
        };
        let zeros = "00".repeat(22);
        let digits = format!("{zeros}{digits}{}", "00".repeat(16));
        assert_eq!(encode(&message, 0), super::hex(&digits));
        let read: Numbers = decode(0, &digits);
        assert_eq!(read.float.to_bits(), float.to_bits());
    }
}

#[test]
fn wi_009_any_byte_but_zero_is_true_and_true_is_written_as_one() {
    let zeros = "00".repeat(45);
    for (byte, truth) in [("00", false), ("01", true), ("02", true), ("ff", true)] {
        let message: Numbers = decode(0, &format!("{byte}{zeros}"));
        assert_eq!(message.truth, truth);
        assert_eq!(encode(&message, 0)[0], u8::from(truth));
    }
}

#[test]
fn wi_010_a_uuid_is_sixteen_bytes_in_every_version() {
    let id = Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
    let message = Numbers {
        id,
        ..Numbers::default()
    };
    let digits = format!("{}00112233445566778899aabbccddeeff", "00".repeat(30));
    assert_eq!(encode(&message, 0), super::hex(&digits));
    assert_eq!(encode(&message, 1), super::hex(&format!("{digits}00")));
    assert_eq!(decode::<Numbers>(0, &digits).id, id);
    assert!(Numbers::default().id.is_zero());
}

#[test]
fn wi_012_a_plain_string_has_a_length_of_two_bytes_and_null_is_minus_one() {
    let message: Text = decode(0, "0002 6869 ffff");
    assert_eq!(message.plain, "hi");
    assert_eq!(message.nullable, None);
    assert_eq!(encode(&message, 0), super::hex("0002 6869 ffff"));

    assert_eq!(
        refused::<Text>(0, "ffff ffff"),
        ("plain".into(), 0, Malformed::Null)
    );
    let negative = Malformed::NegativeLength { length: -2 };
    assert_eq!(
        refused::<Text>(0, "fffe ffff"),
        ("plain".into(), 0, negative)
    );
    assert_eq!(
        refused::<Text>(0, "0000 8000"),
        (
            "nullable".into(),
            2,
            Malformed::NegativeLength { length: -32768 }
        )
    );
}

#[test]
fn wi_013_a_compact_string_has_its_length_plus_one_and_null_is_zero() {
    let message: Text = decode(1, "03 6869 00 00");
    assert_eq!(message.plain, "hi");
    assert_eq!(message.nullable, None);
    let message: Text = decode(1, "01 01 00");
    assert_eq!(message.nullable, Some(ByteString::new()));
    assert_eq!(encode(&message, 1), super::hex("01 01 00"));
    assert_eq!(
        refused::<Text>(1, "00 01 00"),
        ("plain".into(), 0, Malformed::Null)
    );
}

#[test]
fn wi_014_bytes_have_a_length_of_four_bytes_or_compact_and_null() {
    let message: Blobs = decode(0, "00000002 0102 ffffffff ffffffff");
    assert_eq!(message.plain, Bytes::from_static(&[1, 2]));
    assert_eq!(message.nullable, None);
    let compact: Blobs = decode(1, "03 0102 00 00 00");
    assert_eq!(compact, message);
    assert_eq!(
        encode(&message, 0),
        super::hex("00000002 0102 ffffffff ffffffff")
    );
    assert_eq!(encode(&message, 1), super::hex("03 0102 00 00 00"));
    assert_eq!(
        refused::<Blobs>(0, "ffffffff 00000000 00000000").2,
        Malformed::Null
    );
    assert_eq!(refused::<Blobs>(1, "00 01 01 00").2, Malformed::Null);
}

#[test]
fn wi_015_arrays_have_a_count_of_four_bytes_or_compact_and_null() {
    let message: Lists = decode(0, "00000002 00000001 fffffffe ffffffff 00000001 0001 61");
    assert_eq!(message.numbers, [1, -2]);
    assert_eq!(message.pairs, None);
    assert_eq!(message.words, ["a"]);
    let compact: Lists = decode(1, "03 00000001 fffffffe 00 02 02 61 00");
    assert_eq!(compact, message);
    assert_eq!(
        encode(&message, 1),
        super::hex("03 00000001 fffffffe 00 02 02 61 00")
    );
    assert_eq!(refused::<Lists>(0, "ffffffff").2, Malformed::Null);
    assert_eq!(
        refused::<Lists>(0, "fffffffe").2,
        Malformed::NegativeLength { length: -2 }
    );
}

#[test]
fn wi_016_lengths_beyond_the_input_are_refused() {
    assert_eq!(
        refused::<Text>(0, "7fff 0102030405"),
        (
            "plain".into(),
            0,
            Malformed::LengthBeyondInput {
                length: 32767,
                left: 5
            }
        )
    );
    assert_eq!(
        refused::<Blobs>(0, &format!("7fffffff {}", "00".repeat(20))),
        (
            "plain".into(),
            0,
            Malformed::LengthBeyondInput {
                length: i32::MAX.cast_unsigned(),
                left: 20
            }
        )
    );
    assert_eq!(
        refused::<Text>(1, "01 01 01 05 ffff01 000000"),
        (
            String::new(),
            4,
            Malformed::LengthBeyondInput {
                length: 32767,
                left: 3
            }
        )
    );
    let too_many = |count, len_min, left| Malformed::CountBeyondInput {
        count,
        len_min,
        left,
    };
    assert_eq!(
        refused::<Lists>(0, "7fffffff 00000000"),
        (
            "numbers".into(),
            0,
            too_many(i32::MAX.cast_unsigned(), 4, 4)
        )
    );
    assert_eq!(
        refused::<Lists>(1, "01 ffffffff0f 00 00"),
        ("pairs".into(), 1, too_many(u32::MAX - 1, 3, 2))
    );
}

/// Covers WI-004, WI-005.
#[test]
fn bad_varints_are_refused_where_they_stand() {
    assert_eq!(
        refused::<Text>(1, "8080808080 01"),
        ("plain".into(), 0, Malformed::VarintTooLong)
    );
    assert_eq!(
        refused::<Text>(1, "01 80"),
        ("nullable".into(), 1, Malformed::Truncated)
    );
}

#[test]
fn wi_017_strings_are_limited_to_32767_bytes_not_characters() {
    let longest = Text {
        plain: "ä".repeat(16383).into(),
        ..Text::default()
    };
    for version in 0..=1 {
        let bytes = encode(&longest, version);
        assert_eq!(
            Text::decode(&mut bytes.clone(), version),
            Ok(longest.clone())
        );
    }
    let too_long = Text {
        nullable: Some("ä".repeat(16384).into()),
        ..Text::default()
    };
    for version in 0..=1 {
        let reason = Unencodable::StringTooLong { len: 32768 };
        assert_eq!(unencodable(&too_long, version), ("nullable".into(), reason));
    }
    // Read, it is refused as well: 32768 + 1 as a compact length.
    let digits = format!("818002 {}", "61".repeat(32768));
    assert_eq!(
        refused::<Text>(1, &digits),
        (
            "plain".into(),
            0,
            Malformed::StringTooLong { length: 32768 }
        )
    );
}

#[test]
fn wi_018_utf_8_of_every_width_round_trips() {
    for text in ["a", "ä", "日", "🦀", "aä日🦀", ""] {
        let message = Text {
            plain: ByteString::from(text),
            nullable: Some(ByteString::from(text)),
            ..Text::default()
        };
        for version in 0..=1 {
            let bytes = encode(&message, version);
            assert_eq!(
                Text::decode(&mut bytes.clone(), version),
                Ok(message.clone())
            );
        }
    }
    assert_eq!(
        refused::<Text>(0, "0003 61c328 ffff"),
        ("plain".into(), 3, Malformed::NotUtf8 { valid_up_to: 1 })
    );
}

#[test]
fn wi_019_null_and_empty_records_differ_in_both_forms() {
    let with = |records| Blobs {
        records,
        ..Blobs::default()
    };
    let (null, empty) = (with(None), with(Some(Records::default())));
    assert_eq!(encode(&null, 0), super::hex("00000000 ffffffff ffffffff"));
    assert_eq!(encode(&null, 1), super::hex("01 00 00 00"));
    assert_eq!(encode(&empty, 0), super::hex("00000000 ffffffff 00000000"));
    assert_eq!(encode(&empty, 1), super::hex("01 00 01 00"));
    assert_eq!(decode::<Blobs>(0, "00000000 ffffffff 00000000"), empty);
    assert_eq!(decode::<Blobs>(1, "01 00 00 00"), null);
    assert_eq!(
        Blobs::default(),
        null,
        "records are null unless they are set"
    );
}

#[test]
fn wi_020_slices_stay_in_their_bounds_and_keep_the_frame_alive() {
    let mut frame = super::hex("00000002 0102 00000001 03 00000002 0405 ff");
    let start = frame.as_ptr();
    let message = Blobs::decode(&mut frame, 0).expect("a good message");
    assert_eq!(frame.len(), 1, "what is behind the message is left");
    drop(frame);
    assert_eq!(message.plain, Bytes::from_static(&[1, 2]));
    assert_eq!(message.plain.as_ptr(), start.wrapping_add(4), "not a copy");
    assert_eq!(message.nullable.as_deref(), Some(&[3][..]));
    let records = message.records.expect("not null");
    assert_eq!(records.bytes().map(AsRef::as_ref), Some(&[4, 5][..]));
    assert_eq!(message.plain.get(2), None, "nothing is behind its end");
}

#[test]
fn wi_021_arrays_keep_their_order_and_equal_elements() {
    let message = Lists {
        pairs: Some(vec![pair(2, "b"), pair(1, "a"), pair(2, "b")]),
        words: vec!["z".into(), "a".into(), "z".into()],
        ..Lists::default()
    };
    for version in 0..=1 {
        let bytes = encode(&message, version);
        assert_eq!(
            Lists::decode(&mut bytes.clone(), version),
            Ok(message.clone())
        );
    }
}

#[test]
fn faults_name_the_way_to_the_field() {
    let digits = "00000000 00000002 0001 0001 61 0002 ffff";
    assert_eq!(
        refused::<Lists>(0, digits),
        ("pairs[1].value".into(), 15, Malformed::Null)
    );
    let message = Lists {
        pairs: Some(vec![pair(1, "a"), Pair::default()]),
        words: vec!["".into(), "x".repeat(40000).into()],
        ..Lists::default()
    };
    assert_eq!(
        unencodable(&message, 1),
        ("words[1]".into(), Unencodable::StringTooLong { len: 40000 })
    );
}

#[test]
fn large_bytes_are_passed_on_and_lengths_leave_gaps() {
    use crate::codec::Piece;

    let large = Bytes::from(vec![7; 100_000]);
    let message = Blobs {
        plain: large.clone(),
        nullable: Some(large.slice(..10)),
        records: Some(Records::Elsewhere(12_345)),
        ..Blobs::default()
    };
    for version in 0..=1 {
        let len = message.encoded_len(version).expect("legal");
        let encoded = message.encode(version).expect("legal");
        assert_eq!(encoded.len(), len);
        assert_eq!(encoded.clone().into_bytes(), None, "there is a gap");
        let pieces: Vec<_> = encoded.into_iter().collect();
        assert_eq!(pieces.iter().map(Piece::len).sum::<usize>(), len);
        let passed_on = pieces.iter().find_map(|piece| match piece {
            Piece::Bytes(bytes) if bytes.len() == large.len() => Some(bytes.as_ptr()),
            _ => None,
        });
        assert_eq!(passed_on, Some(large.as_ptr()), "not a copy");
        let gap_at = pieces.iter().position(|piece| *piece == Piece::Gap(12_345));
        assert_eq!(gap_at, Some(3));

        // With the gap filled it is what the same bytes in memory would have given.
        let filled: Vec<u8> = pieces
            .iter()
            .flat_map(|piece| match piece {
                Piece::Bytes(bytes) => bytes.to_vec(),
                Piece::Gap(len) => vec![9; *len],
            })
            .collect();
        let in_memory = Blobs {
            records: Some(Records::Here(vec![9; 12_345].into())),
            ..message.clone()
        };
        assert_eq!(filled, encode(&in_memory, version));
    }
}

#[test]
fn what_no_length_can_say_is_refused() {
    let message = Blobs {
        records: Some(Records::Elsewhere(i32::MAX as usize + 1)),
        ..Blobs::default()
    };
    let len = i32::MAX as usize + 1;
    assert_eq!(
        unencodable(&message, 0),
        ("records".into(), Unencodable::TooLong { len })
    );
    let just_too_long = Blobs {
        records: Some(Records::Elsewhere(i32::MAX as usize)),
        ..Blobs::default()
    };
    assert_eq!(
        just_too_long.encode(0),
        Err(crate::EncodeError::TooLong {
            message: "Blobs",
            version: 0,
            len: 12 + i32::MAX as usize
        })
    );
}

#[test]
fn memory_for_arrays_has_a_limit() {
    // Pairs take 6 bytes on the wire at least, and many times that in memory.
    let pairs = |count: usize| {
        let count_digits = u32::try_from(count).expect("small").to_be_bytes();
        let head = format!("00000000 {}", hex::encode(count_digits));
        super::hex(&(head + &"0000 0000".repeat(count) + "00000000"))
    };
    let memory = |count| count * size_of::<Pair>();
    let mut body = pairs(1000);
    assert_eq!(
        Lists::decode_within(&mut body, 0, memory(1000) - 1),
        Err(crate::DecodeError::Malformed {
            message: "Lists",
            version: 0,
            field: refused_field("pairs"),
            position: 4,
            reason: Malformed::TooMuchMemory {
                count: 1000,
                memory: memory(1000),
                left: memory(1000) - 1
            }
        })
    );
    assert_eq!(body, pairs(1000));
    let read = Lists::decode_within(&mut body, 0, memory(1000)).expect("within the limit");
    assert_eq!(read.pairs.map(|pairs| pairs.len()), Some(1000));

    // Without a limit given, one holds that messages do not come near.
    let mut body = pairs(1_000_000);
    assert!(Lists::decode(&mut body, 0).is_ok());
}

/// The path to a field of the message itself.
fn refused_field(name: &'static str) -> crate::FieldPath {
    let error = crate::codec::ReadFault::malformed(0, Malformed::Null).within(name);
    match error.into_error("", 0) {
        crate::DecodeError::Malformed { field, .. } => field,
        other @ crate::DecodeError::UnsupportedVersion { .. } => panic!("{other}"),
    }
}

#[test]
fn elements_cannot_be_read_without_bytes_for_them() {
    /// Takes no bytes in version 0, as no real struct does.
    #[derive(Debug, Clone, PartialEq, Struct)]
    struct Nothing {
        #[wire(versions = 1..)]
        later: i32,
    }

    #[derive(Debug, Clone, PartialEq, Message)]
    #[wire(data, versions = 0..=1)]
    struct Many {
        nothings: Vec<Nothing>,
    }

    assert_eq!(
        refused::<Many>(0, "7fffffff"),
        (
            "nothings".into(),
            0,
            Malformed::CountBeyondInput {
                count: i32::MAX.cast_unsigned(),
                len_min: 1,
                left: 0
            }
        )
    );
}
