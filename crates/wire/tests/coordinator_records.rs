//! Records of the coordinators' internal topics, against bytes that other implementations wrote.

use bytes::Bytes;
use klamm_wire::coordinator::group_metadata::{
    GroupMetadataKey, GroupMetadataValue, MemberMetadata,
};
use klamm_wire::coordinator::legacy_offset_commit::LegacyOffsetCommitKey;
use klamm_wire::coordinator::offset_commit::{OffsetCommitKey, OffsetCommitValue};
use klamm_wire::coordinator::transaction_log::{TransactionLogKey, TransactionLogValue};
use klamm_wire::coordinator::{
    ConsumerOffsetsKey, RecordError, RecordKey, ShareGroupStateKey, TransactionStateKey,
    decode_key, decode_value, encode_key, encode_value,
};
use klamm_wire::testing::AnyMessage;
use klamm_wire::{DecodeError, EncodeError, Message};
use serde_json::Value as Json;

const VECTORS: &str = include_str!("golden/internal-records.jsonl");

/// A record as others wrote it.
struct Vector {
    key_message: String,
    value_message: String,
    value_version: i16,
    record_type: i16,
    key: Bytes,
    value: Bytes,
    key_fields: Json,
    value_fields: Json,
}

/// The records of one topic; the file holds those of other logs too.
fn vectors(log: &str) -> Vec<Vector> {
    let text = |json: &Json| json.as_str().expect("a string").to_owned();
    let number = |json: &Json| i16::try_from(json.as_i64().expect("a number")).expect("an int16");
    let bytes = |json: &Json| Bytes::from(hex::decode(text(json)).expect("hexadecimal digits"));
    VECTORS
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).expect("a line is an object"))
        .filter(|line| line["log"] == log)
        .map(|line| Vector {
            key_message: text(&line["key_message"]),
            value_message: text(&line["value_message"]),
            value_version: number(&line["value_version"]),
            record_type: number(&line["record_type"]),
            key: bytes(&line["key_hex"]),
            value: bytes(&line["value_hex"]),
            key_fields: line["key_fields"].clone(),
            value_fields: line["value_fields"].clone(),
        })
        .collect()
}

/// The key was read from the vector: it holds the vector's fields, says what the value is, and both
/// are written to the same bytes again.
fn agrees<K>(key: &K, vector: &Vector)
where
    K: RecordKey + AnyMessage,
    K::Value: AnyMessage,
{
    assert_eq!(K::NAME, vector.key_message);
    assert_eq!(K::RECORD_TYPE, vector.record_type, "{}", K::NAME);
    assert_eq!(
        key.to_json(K::VERSIONS.max),
        vector.key_fields,
        "{}",
        K::NAME
    );
    assert_eq!(
        encode_key(key).expect("a key that was read"),
        vector.key,
        "{}",
        K::NAME
    );
    assert_eq!(
        decode_key::<K>(&vector.key).as_ref(),
        Ok(key),
        "{}",
        K::NAME
    );

    let version = vector.value_version;
    let name = <K::Value as Message>::NAME;
    let value = key
        .decode_value(Some(&vector.value))
        .unwrap_or_else(|error| panic!("{name} version {version}: {error}"))
        .expect("not a tombstone");
    assert_eq!(name, vector.value_message);
    assert_eq!(
        value.to_json(version),
        vector.value_fields,
        "{name} version {version}"
    );
    let written = encode_value(&value, version).expect("a value that was read");
    assert_eq!(written, vector.value, "{name} version {version}");

    assert_eq!(key.decode_value(None), Ok(None), "{name}: a tombstone");
    every_cut_is_told::<K>(vector);
}

/// Neither a part of a key or value nor one with a byte behind it is taken for the whole.
fn every_cut_is_told<K: RecordKey>(vector: &Vector) {
    for len in 0..vector.key.len() {
        let cut = vector.key.slice(..len);
        assert!(
            decode_key::<K>(&cut).is_err(),
            "{} cut to {len} bytes",
            K::NAME
        );
    }
    for len in 0..vector.value.len() {
        let cut = vector.value.slice(..len);
        let value = decode_value::<K::Value>(Some(&cut));
        assert!(
            value.is_err(),
            "{} cut to {len} bytes",
            vector.value_message
        );
    }
    let longer = Bytes::from([&vector.value[..], &[0]].concat());
    assert_eq!(
        decode_value::<K::Value>(Some(&longer)),
        Err(RecordError::BytesLeft {
            message: <K::Value as Message>::NAME,
            left: 1,
        })
    );
}

/// Calls [`agrees`] with the key inside an enum's variant.
macro_rules! check_each {
    ($topic:ident, $vectors:expr, $($variant:ident)*) => {
        for vector in &$vectors {
            let key = $topic::decode(&vector.key)
                .unwrap_or_else(|error| panic!("{}: {error}", vector.key_message));
            assert_eq!(key.record_type(), vector.record_type);
            match &key {
                $($topic::$variant(key) => agrees(key, vector),)*
                $topic::Unknown { record_type } => panic!("record type {record_type} is unknown"),
            }
        }
    };
}

/// How many record types and value versions the vectors have, so that none goes missing.
fn distinct(vectors: &[Vector]) -> (usize, usize) {
    let mut types: Vec<_> = vectors.iter().map(|vector| vector.record_type).collect();
    types.dedup();
    (types.len(), vectors.len())
}

#[test]
fn consumer_offsets_records_are_read_and_written_as_others_do() {
    let vectors = vectors("__consumer_offsets");
    assert_eq!(distinct(&vectors), (22, 30));
    check_each!(ConsumerOffsetsKey, vectors,
        LegacyOffsetCommit OffsetCommit GroupMetadata
        ConsumerGroupMetadata ConsumerGroupPartitionMetadata ConsumerGroupMemberMetadata
        ConsumerGroupTargetAssignmentMetadata ConsumerGroupTargetAssignmentMember
        ConsumerGroupCurrentMemberAssignment ConsumerGroupRegularExpression
        ShareGroupMemberMetadata ShareGroupMetadata ShareGroupTargetAssignmentMetadata
        ShareGroupTargetAssignmentMember ShareGroupCurrentMemberAssignment
        ShareGroupStatePartitionMetadata
        StreamsGroupMetadata StreamsGroupMemberMetadata StreamsGroupTargetAssignmentMetadata
        StreamsGroupTargetAssignmentMember StreamsGroupCurrentMemberAssignment
        StreamsGroupTopology
    );
}

#[test]
fn transaction_state_records_are_read_and_written_as_others_do() {
    let vectors = vectors("__transaction_state");
    assert_eq!(distinct(&vectors), (1, 2));
    check_each!(TransactionStateKey, vectors, TransactionLog);
}

#[test]
fn share_group_state_records_are_read_and_written_as_others_do() {
    let vectors = vectors("__share_group_state");
    assert_eq!(distinct(&vectors), (2, 2));
    check_each!(ShareGroupStateKey, vectors, ShareSnapshot ShareUpdate);
}

#[test]
fn an_unknown_record_type_is_told_by_its_number_whatever_follows() {
    // 9 and 18 were taken once and given up, 24 is the next to come.
    for record_type in [9_i16, 18, 24, i16::MAX, -1, i16::MIN] {
        let key = Bytes::from([&record_type.to_be_bytes()[..], b"\xff\xffrest"].concat());
        let unknown = ConsumerOffsetsKey::Unknown { record_type };
        assert_eq!(ConsumerOffsetsKey::decode(&key), Ok(unknown));
    }
    // Each topic counts for itself.
    let key = Bytes::from_static(&[0, 2, 0, 1, b'g']);
    assert_eq!(
        TransactionStateKey::decode(&key),
        Ok(TransactionStateKey::Unknown { record_type: 2 })
    );
    assert_eq!(
        ShareGroupStateKey::decode(&key),
        Ok(ShareGroupStateKey::Unknown { record_type: 2 })
    );
    assert_eq!(
        ConsumerOffsetsKey::decode(&key),
        Ok(ConsumerOffsetsKey::GroupMetadata(GroupMetadataKey {
            group: "g".into()
        }))
    );
}

#[test]
fn record_types_0_and_1_are_one_kind_of_commit() {
    let vectors = vectors("__consumer_offsets");
    let vector = &vectors[0];
    let ConsumerOffsetsKey::LegacyOffsetCommit(key) =
        ConsumerOffsetsKey::decode(&vector.key).expect("a whole key")
    else {
        panic!("the first vector is of type 0");
    };
    let value = key
        .decode_value(Some(&vector.value))
        .expect("a whole value")
        .expect("a value");

    let later_value = OffsetCommitValue::from(value.clone());
    assert_eq!(later_value.offset, value.offset);
    assert_eq!(later_value.metadata, value.metadata);
    assert_eq!(later_value.commit_timestamp, value.commit_timestamp);
    assert_eq!(later_value.leader_epoch.get(), -1);
    assert_eq!(later_value.expire_timestamp, -1);
    assert!(later_value.topic_id.is_zero());
    // What the first format said, the later one's version 0 says in the same bytes.
    assert_eq!(
        encode_value(&later_value, 0).expect("nothing new is set"),
        vector.value
    );

    let later_key = encode_key(&OffsetCommitKey::from(key)).expect("a key that was read");
    assert_eq!(later_key[..2], [0, 1]);
    assert_eq!(later_key[2..], vector.key[2..]);
}

#[test]
fn a_key_of_another_type_is_no_damage() {
    let key = encode_key(&OffsetCommitKey::default()).expect("empty strings");
    assert_eq!(
        decode_key::<LegacyOffsetCommitKey>(&key),
        Err(RecordError::OtherType {
            message: "LegacyOffsetCommitKey",
            expected: 0,
            found: 1,
        })
    );
}

#[test]
fn a_value_of_a_later_version_is_refused_by_version_and_name() {
    let value = Bytes::from_static(&[0, 5, 1, 2, 3]);
    let read = OffsetCommitKey::default().decode_value(Some(&value));
    assert_eq!(
        read,
        Err(RecordError::Struct(DecodeError::UnsupportedVersion {
            message: "OffsetCommitValue",
            version: 5,
            versions: OffsetCommitValue::VERSIONS,
        }))
    );
}

#[test]
fn an_empty_value_is_damage_and_not_a_tombstone() {
    let nothing = Bytes::new();
    let read = decode_value::<TransactionLogValue>(Some(&nothing));
    assert_eq!(read, Err(RecordError::NoPrefix { len: 0 }));
    assert_eq!(decode_value::<TransactionLogValue>(None), Ok(None));
    assert_eq!(
        TransactionStateKey::decode(&Bytes::from_static(&[0])),
        Err(RecordError::NoPrefix { len: 1 })
    );
}

#[test]
fn bytes_behind_a_key_are_damage() {
    let key = encode_key(&TransactionLogKey::default()).expect("an empty string");
    let longer = Bytes::from([&key[..], b"xyz"].concat());
    assert_eq!(
        TransactionStateKey::decode(&longer),
        Err(RecordError::BytesLeft {
            message: "TransactionLogKey",
            left: 3,
        })
    );
}

#[test]
fn a_version_that_cannot_say_the_value_is_refused() {
    let value = TransactionLogValue {
        next_producer_id: 7.into(),
        ..Default::default()
    };
    assert!(matches!(
        encode_value(&value, 0),
        Err(EncodeError::Field { .. })
    ));
    assert!(matches!(
        encode_value(&value, 2),
        Err(EncodeError::UnsupportedVersion { version: 2, .. })
    ));
    assert!(encode_value(&value, 1).is_ok());
}

#[test]
fn a_large_assignment_stands_in_its_place() {
    // Large bytes are handed on by reference when a message is encoded; a record is one stretch.
    let large = Bytes::from(vec![7; 100_000]);
    let value = GroupMetadataValue {
        members: vec![
            MemberMetadata {
                assignment: large.clone(),
                ..Default::default()
            };
            2
        ],
        ..Default::default()
    };
    for version in 0..=GroupMetadataValue::VERSIONS.max {
        let written = encode_value(&value, version).expect("nothing out of the version");
        let body_len = Message::encoded_len(&value, version).expect("nothing out of the version");
        assert_eq!(written.len(), 2 + body_len);
        assert_eq!(decode_value(Some(&written)), Ok(Some(value.clone())));
    }
}

#[test]
fn absent_tags_read_as_the_schema_says() {
    use klamm_wire::coordinator::consumer_group_member_metadata::{
        ClassicMemberMetadata, ConsumerGroupMemberMetadataValue,
    };

    // Not null but empty: so a member of the newer protocol has its null written out.
    let value = ConsumerGroupMemberMetadataValue::default();
    assert_eq!(
        value.classic_member_metadata,
        Some(ClassicMemberMetadata::default())
    );
    let newer = ConsumerGroupMemberMetadataValue {
        classic_member_metadata: None,
        ..value.clone()
    };
    let written = encode_value(&newer, 0).expect("version 0 has all fields");
    assert!(
        written.ends_with(&[1, 0, 1, 0]),
        "one tag, number 0, one byte, null"
    );
    assert_eq!(decode_value(Some(&written)), Ok(Some(newer)));

    let written = encode_value(&value, 0).expect("version 0 has all fields");
    assert!(written.ends_with(&[0]), "no tags");
    assert_eq!(decode_value(Some(&written)), Ok(Some(value)));
}
