//! Bytes and hashes that other implementations agree on, one JSON object a line.

use std::num::NonZeroU32;

use klamm_primitives::{murmur2, partition_for_key, varint};
use serde_json::Value;

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

/// Covers WI-001, WI-002, WI-003.
#[test]
fn varints() {
    let mut forms = [0; 3];
    for line in lines(include_str!("golden/varints.jsonl")) {
        let value = line["value"].as_i64().unwrap();
        let written = bytes(&line["zigzag_varlong"]);
        assert_eq!(varint::encode_i64(value).as_slice(), written);
        assert_eq!(varint::read_i64(&written), Ok((value, written.len())));
        forms[0] += 1;
        if let Some(form) = line.get("zigzag_varint") {
            let value = i32::try_from(value).unwrap();
            let written = bytes(form);
            assert_eq!(varint::encode_i32(value).as_slice(), written);
            assert_eq!(varint::read_i32(&written), Ok((value, written.len())));
            forms[1] += 1;
        }
        if let Some(form) = line.get("unsigned_varint") {
            let value = u32::try_from(value).unwrap();
            let written = bytes(form);
            assert_eq!(varint::encode_u32(value).as_slice(), written);
            assert_eq!(varint::read_u32(&written), Ok((value, written.len())));
            forms[2] += 1;
        }
    }
    assert_eq!(forms, [32, 27, 19], "each line was looked at");
}

/// Covers WI-099, WI-100.
#[test]
fn hashes_and_partitions_of_keys() {
    let mut partitions = 0;
    for line in lines(include_str!("golden/murmur2.jsonl")) {
        let key = bytes(&line["key"]);
        let hash = murmur2(&key);
        assert_eq!(i64::from(hash), line["murmur2"].as_i64().unwrap());
        assert_eq!(
            i64::from(hash & i32::MAX),
            line["positive"].as_i64().unwrap()
        );
        for (count, partition) in line["partition"].as_object().unwrap() {
            let count: NonZeroU32 = count.parse().unwrap();
            let found = partition_for_key(&key, count).get();
            assert_eq!(i64::from(found), partition.as_i64().unwrap());
            partitions += 1;
        }
    }
    assert_eq!(partitions, 24 * 8, "each line was looked at");
}
