//! Damaged and unusual input, and what the reference implementation makes of it.
//!
//! What it refuses is refused here. Where it takes what no writer makes, this crate is stricter
//! in the cases listed below, and does the same in all others.

use bytes::Bytes;
use klamm_wire::Message;
use klamm_wire::messages::metadata::MetadataRequest;
use klamm_wire::testing::{Entry, catalogue};
use serde::Deserialize;

#[derive(Deserialize)]
struct Vector {
    what: String,
    message: String,
    version: i16,
    hex: String,
    reference: String,
    bytes_left: Option<usize>,
    reencodes_to: Option<String>,
}

/// What is refused here although the reference takes it. For most it then cannot write what it
/// read, or writes something else.
const STRICTER: [&str; 6] = [
    "compact array length with five-byte varint whose top bits do not fit 31 bits",
    "array length -2 in the old form",
    "string that is not UTF-8",
    "same unknown tag twice",
    "tags in descending order",
    "known tag twice",
];

/// As [`STRICTER`]: the value must use up the size that its tag gives.
const STRICTER_ABOUT_SIZE: &str = "known tag whose size is one too large";

fn entry(entries: &[Entry], name: &str) -> Entry {
    *entries
        .iter()
        .find(|entry| entry.name == name)
        .unwrap_or_else(|| panic!("no struct for {name}"))
}

/// Covers WI-004, WI-005, WI-012, WI-014, WI-015, WI-016, WI-029, WI-045.
#[test]
fn malformed_input_is_refused_as_the_reference_does() {
    let entries = catalogue();
    let mut stricter = 0;
    for line in include_str!("golden/malformed.jsonl").lines() {
        let vector: Vector = serde_json::from_str(line).expect("a vector");
        let bytes = Bytes::from(hex::decode(&vector.hex).expect("hex"));
        let mut body = bytes.clone();
        let read = (entry(&entries, &vector.message).decode)(&mut body, vector.version);
        let is_stricter =
            STRICTER.contains(&vector.what.as_str()) || vector.what == STRICTER_ABOUT_SIZE;
        if vector.reference == "rejects" || is_stricter {
            assert!(read.is_err(), "{}: {read:?}", vector.what);
            assert_eq!(body, bytes, "{}: nothing is consumed", vector.what);
            stricter += usize::from(is_stricter);
            continue;
        }
        let message = read.unwrap_or_else(|error| panic!("{}: {error}", vector.what));
        assert_eq!(Some(body.len()), vector.bytes_left, "{}", vector.what);
        let again = message.encode(vector.version).expect("what was read");
        let again = again.into_bytes().map(hex::encode);
        assert_eq!(again, vector.reencodes_to, "{}", vector.what);
    }
    assert_eq!(stricter, STRICTER.len() + 1, "each exception is met");
}

#[test]
fn c025_unknown_tags_count_as_memory() {
    let elements = 20_000u32;
    let mut body = klamm_primitives::varint::encode_u32(elements + 1)
        .as_slice()
        .to_vec();
    for _ in 0..elements {
        // A zero id, the name "a", and a tag of no bytes.
        body.extend([0; 16]);
        body.extend([0x02, b'a', 0x01, 0x65, 0x00]);
    }
    body.extend([0, 0, 0]);
    let refused = MetadataRequest::decode(&mut Bytes::from(body.clone()), 12);
    assert!(
        refused.is_ok(),
        "21 bytes for each tag are enough: {refused:?}"
    );

    let mut tags = vec![0x02, 0x02, b'a'];
    tags.extend(klamm_primitives::varint::encode_u32(elements).as_slice());
    for tag in 0..elements {
        tags.extend(klamm_primitives::varint::encode_u32(tag).as_slice());
        tags.push(0);
    }
    tags.extend([0, 0, 0]);
    let limit = 64 * 1024;
    let refused = MetadataRequest::decode_within(&mut Bytes::from(tags), 9, limit);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("bytes of memory"), "{refused}");
}
