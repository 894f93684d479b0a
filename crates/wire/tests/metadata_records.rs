//! Records of `__cluster_metadata` and `__remote_log_metadata` with their frames, against values
//! laid out by another implementation.

use std::collections::BTreeSet;

use bytes::Bytes;
use klamm_wire::metadata::feature_level::FeatureLevelRecord;
use klamm_wire::metadata::no_op::NoOpRecord;
use klamm_wire::metadata::partition::PartitionRecord;
use klamm_wire::metadata::{self, ClusterMetadataRecord, FrameError, RemoteLogMetadataRecord};
use klamm_wire::{DecodeError, EncodeError, Malformed, Message, MetadataRecord, Versions};
use proptest::prelude::*;
use serde_json::Value;

/// One value of a record in a golden file.
struct Golden {
    message: String,
    record_type: i64,
    version: i16,
    value: Bytes,
}

/// The golden values of one log.
fn golden(log: &str) -> Vec<Golden> {
    include_str!("golden/internal-records.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"))
        .filter(|line| line["log"] == log)
        .map(|line| Golden {
            message: line["value_message"].as_str().expect("a name").to_owned(),
            record_type: line["record_type"].as_i64().expect("a number"),
            version: serde_json::from_value(line["value_version"].clone()).expect("a number"),
            value: hex::decode(line["value_hex"].as_str().expect("hex digits"))
                .expect("hex digits")
                .into(),
        })
        .collect()
}

/// What both enums can do.
trait AnyRecord: Sized + PartialEq + std::fmt::Debug {
    fn decode(value: Bytes) -> Result<(i16, Self), FrameError>;
    fn encode(&self, version: i16) -> Result<Bytes, EncodeError>;
    fn facts(&self) -> (i16, &'static str, Versions);
}

macro_rules! any_record {
    ($log:ident) => {
        impl AnyRecord for $log {
            fn decode(value: Bytes) -> Result<(i16, Self), FrameError> {
                $log::decode(value)
            }

            fn encode(&self, version: i16) -> Result<Bytes, EncodeError> {
                $log::encode(self, version)
            }

            fn facts(&self) -> (i16, &'static str, Versions) {
                (self.record_type(), self.name(), self.versions())
            }
        }
    };
}

any_record!(ClusterMetadataRecord);
any_record!(RemoteLogMetadataRecord);

/// Reads and writes back all golden values of a log; returns the types that occurred.
fn all_are_read_and_written_back<R: AnyRecord>(log: &str) -> BTreeSet<i16> {
    let mut types = BTreeSet::new();
    for golden in golden(log) {
        let (version, record) = R::decode(golden.value.clone()).unwrap_or_else(|error| {
            panic!("{} version {}: {error:?}", golden.message, golden.version)
        });
        let (record_type, name, versions) = record.facts();
        assert_eq!(version, golden.version);
        assert_eq!(i64::from(record_type), golden.record_type);
        assert_eq!(name, golden.message);
        assert!(versions.contains(version));
        assert_eq!(
            record.encode(version).as_ref(),
            Ok(&golden.value),
            "{record:?}"
        );
        types.insert(record_type);
    }
    types
}

#[test]
fn all_types_of_the_metadata_log_are_read_and_written_back() {
    let types = all_are_read_and_written_back::<ClusterMetadataRecord>("__cluster_metadata");
    // 6, 13 and 16 were given up before they were released.
    let known = (0..=29)
        .filter(|number| ![6, 13, 16].contains(number))
        .collect();
    assert_eq!(types, known);
}

#[test]
fn all_types_of_the_remote_log_metadata_are_read_and_written_back() {
    let types = all_are_read_and_written_back::<RemoteLogMetadataRecord>("__remote_log_metadata");
    assert_eq!(types, (0..=3).collect());
}

fn every_beginning_is_refused<R: AnyRecord>(log: &str) {
    for golden in golden(log) {
        for len in 0..golden.value.len() {
            let result = R::decode(golden.value.slice(..len));
            assert!(
                matches!(result, Err(FrameError::Head(_) | FrameError::Record(_))),
                "{len} of {} bytes of {} gave {result:?}",
                golden.value.len(),
                golden.message
            );
        }
    }
}

#[test]
fn every_beginning_of_a_record_is_refused() {
    every_beginning_is_refused::<ClusterMetadataRecord>("__cluster_metadata");
    every_beginning_is_refused::<RemoteLogMetadataRecord>("__remote_log_metadata");
}

/// A changed byte must not make the reader panic; what it still reads it can write, and reads
/// again the same.
fn every_change_is_read_or_refused<R: AnyRecord>(log: &str) {
    for golden in golden(log) {
        for at in 0..golden.value.len() {
            for byte in [0x00, 0x01, 0x7f, 0x80, 0xff] {
                let mut changed = golden.value.to_vec();
                changed[at] = byte;
                if let Ok((version, record)) = R::decode(changed.into()) {
                    let written = record
                        .encode(version)
                        .expect("what was read can be written");
                    // Compared as text, in which not-a-number equals itself.
                    let again = R::decode(written).expect("what was written can be read");
                    assert_eq!(format!("{again:?}"), format!("{:?}", (version, record)));
                }
            }
        }
    }
}

#[test]
fn every_changed_byte_is_read_or_refused() {
    every_change_is_read_or_refused::<ClusterMetadataRecord>("__cluster_metadata");
    every_change_is_read_or_refused::<RemoteLogMetadataRecord>("__remote_log_metadata");
}

#[test]
fn a_caller_who_knows_the_type_needs_no_enum() {
    let record = FeatureLevelRecord {
        name: "metadata.version".into(),
        feature_level: 29,
        ..Default::default()
    };
    let value = metadata::encode(&record, 0).unwrap();
    assert_eq!(
        value,
        b"\x01\x0c\x00\x11metadata.version\x00\x1d\x00".as_slice()
    );
    assert_eq!(metadata::decode(value.clone()), Ok((0, record.clone())));
    assert_eq!(
        ClusterMetadataRecord::decode(value.clone()),
        Ok((0, ClusterMetadataRecord::from(record)))
    );
    assert_eq!(
        metadata::decode::<NoOpRecord>(value),
        Err(FrameError::OtherType {
            record_type: 12,
            expected: "NoOpRecord"
        })
    );
}

#[test]
fn an_unknown_type_is_told_with_its_number() {
    for (head, record_type) in [
        (&[1, 6, 0][..], 6),
        (&[1, 30, 0], 30),
        (&[1, 0x80, 0x80, 0x04, 0], 65536),
        (&[1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0], u32::MAX),
    ] {
        assert_eq!(
            ClusterMetadataRecord::decode(Bytes::copy_from_slice(head)),
            Err(FrameError::UnknownType { record_type })
        );
    }
    assert_eq!(
        RemoteLogMetadataRecord::decode(Bytes::from_static(&[1, 20, 0, 0])),
        Err(FrameError::UnknownType { record_type: 20 })
    );
}

#[test]
fn another_frame_version_is_refused() {
    for version in [0, 2, 127] {
        let value = Bytes::copy_from_slice(&[u8::try_from(version).unwrap(), 20, 0, 0]);
        let expected = FrameError::FrameVersion { version };
        assert_eq!(
            ClusterMetadataRecord::decode(value.clone()),
            Err(expected.clone())
        );
        assert_eq!(metadata::decode::<NoOpRecord>(value), Err(expected));
    }
}

#[test]
fn a_version_of_a_newer_release_is_refused() {
    for (head, version) in [
        (&[1, 20, 1, 0][..], 1),
        (&[1, 20, 0x80, 0x80, 0x04, 0], 65536),
    ] {
        assert_eq!(
            ClusterMetadataRecord::decode(Bytes::copy_from_slice(head)),
            Err(FrameError::UnsupportedVersion {
                record: "NoOpRecord",
                version,
                versions: NoOpRecord::VERSIONS
            })
        );
    }
}

#[test]
fn bytes_behind_a_record_are_refused() {
    assert_eq!(
        ClusterMetadataRecord::decode(Bytes::from_static(&[1, 20, 0, 0, 0, 7])),
        Err(FrameError::BytesLeft {
            record: "NoOpRecord",
            left: 2
        })
    );
}

#[test]
fn a_count_beyond_the_input_is_refused() {
    let mut value = vec![1, 3, 0];
    value.extend([0; 4 + 16]);
    value.extend([0xff, 0xff, 0xff, 0xff, 0x0f, 1]);
    let error = metadata::decode::<PartitionRecord>(value.into()).unwrap_err();
    let FrameError::Record(DecodeError::Malformed { field, reason, .. }) = error else {
        panic!("unexpected {error:?}");
    };
    assert_eq!(field.to_string(), "replicas");
    assert!(
        matches!(reason, Malformed::CountBeyondInput { left: 1, .. }),
        "{reason:?}"
    );
}

#[test]
fn a_version_that_there_is_not_cannot_be_written() {
    for version in [-1, 1] {
        assert_eq!(
            metadata::encode(&NoOpRecord::default(), version),
            Err(EncodeError::UnsupportedVersion {
                message: "NoOpRecord",
                version,
                versions: NoOpRecord::VERSIONS
            })
        );
    }
    assert_eq!(NoOpRecord::RECORD_TYPE, 20);
}

proptest! {
    /// Whatever follows the head of a frame, nothing panics.
    #[test]
    fn any_bytes_behind_a_head_are_read_or_refused(
        record_type in 0..=30u8,
        version in 0..=4u8,
        body in prop::collection::vec(any::<u8>(), 0..128),
    ) {
        let value = Bytes::from([&[1, record_type, version], &body[..]].concat());
        if let Ok((read, record)) = ClusterMetadataRecord::decode(value.clone()) {
            prop_assert_eq!(record.record_type(), i16::from(record_type));
            prop_assert!(record.versions().contains(read));
        }
        let _ = RemoteLogMetadataRecord::decode(value);
    }
}
