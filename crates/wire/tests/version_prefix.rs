//! Structures with a version in front: what consumers of a classic group tell one another, control
//! records, a forwarded principal, and files of a log directory.

use bytes::Bytes;
use klamm_primitives::{BrokerId, Offset, PartitionIndex, ProducerEpoch, ProducerId};
use klamm_wire::data::aborted_txn::AbortedTxn;
use klamm_wire::data::consumer_protocol::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicPartition,
};
use klamm_wire::data::control_record_type_schema::ControlRecordTypeSchema;
use klamm_wire::data::default_principal_data::DefaultPrincipalData;
use klamm_wire::data::end_txn_marker::EndTxnMarker;
use klamm_wire::data::leader_change_message::LeaderChangeMessage;
use klamm_wire::data::producer_snapshot::{ProducerEntry, ProducerSnapshot};
use klamm_wire::data::version_prefix::{self, VersionPrefixError, VersionPrefixed};
use klamm_wire::{DecodeError, Malformed, Message};
use proptest::prelude::*;

fn bytes(hex_digits: &str) -> Bytes {
    hex::decode(hex_digits.replace(' ', ""))
        .expect("hex digits")
        .into()
}

fn partitions(topic: &str, indexes: &[i32]) -> TopicPartition {
    TopicPartition {
        topic: topic.into(),
        partitions: indexes.iter().copied().map(PartitionIndex::new).collect(),
    }
}

fn subscription() -> ConsumerProtocolSubscription {
    ConsumerProtocolSubscription {
        topics: vec!["a".into(), "bc".into()],
        user_data: Some(Bytes::from_static(&[0xfe])),
        owned_partitions: vec![partitions("bc", &[0, 7])],
        generation_id: 5,
        rack_id: Some("r1".into()),
    }
}

fn assignment() -> ConsumerProtocolAssignment {
    ConsumerProtocolAssignment {
        assigned_partitions: vec![partitions("a", &[1]), partitions("bc", &[0, 7])],
        user_data: None,
    }
}

/// The bytes of [`subscription`] up to and with the fields of version 0, without the version.
const SUBSCRIPTION_V0: &str = "00000002 0001 61 0002 6263 00000001 fe";
/// What version 1 adds.
const SUBSCRIPTION_V1: &str = "00000001 0002 6263 00000002 00000000 00000007";
/// What version 2 adds.
const SUBSCRIPTION_V2: &str = "00000005";
/// What version 3 adds.
const SUBSCRIPTION_V3: &str = "0002 7231";

#[test]
fn a_subscription_is_its_version_and_the_fields_of_that_version() {
    let parts = [
        SUBSCRIPTION_V0,
        SUBSCRIPTION_V1,
        SUBSCRIPTION_V2,
        SUBSCRIPTION_V3,
    ];
    for version in 0..=3 {
        let fields = parts[..=usize::try_from(version).unwrap()].concat();
        let expected = bytes(&format!("{version:04x} {fields}"));
        let encoded = version_prefix::encode(&subscription(), version).unwrap();
        assert_eq!(encoded, expected, "version {version}");
    }
}

/// Covers WI-026.
#[test]
fn what_an_older_subscription_lacks_is_unknown() {
    let v1 = version_prefix::encode(&subscription(), 1).unwrap();
    let expected = ConsumerProtocolSubscription {
        generation_id: -1,
        rack_id: None,
        ..subscription()
    };
    assert_eq!(version_prefix::decode(v1), Ok((1, expected)));

    let v0 = version_prefix::encode(&subscription(), 0).unwrap();
    let expected = ConsumerProtocolSubscription {
        owned_partitions: vec![],
        generation_id: -1,
        rack_id: None,
        ..subscription()
    };
    assert_eq!(version_prefix::decode(v0), Ok((0, expected)));
}

#[test]
fn an_assignment_has_the_same_fields_in_every_version() {
    let fields = "00000002 0001 61 00000001 00000001 0002 6263 00000002 00000000 00000007 ffffffff";
    for version in 0..=3 {
        let expected = bytes(&format!("{version:04x} {fields}"));
        let encoded = version_prefix::encode(&assignment(), version).unwrap();
        assert_eq!(encoded, expected, "version {version}");
        assert_eq!(version_prefix::decode(encoded), Ok((version, assignment())));
    }
}

#[test]
fn a_newer_version_is_read_as_the_highest_known_and_the_rest_passed_over() {
    let known = [
        SUBSCRIPTION_V0,
        SUBSCRIPTION_V1,
        SUBSCRIPTION_V2,
        SUBSCRIPTION_V3,
    ]
    .concat();
    for (version, rest) in [(4, ""), (4, "00000000"), (i16::MAX, "ff")] {
        let newer = bytes(&format!("{version:04x} {known} {rest}"));
        assert_eq!(
            version_prefix::decode(newer),
            Ok((version, subscription())),
            "version {version}, {rest:?} behind"
        );
    }
    let newer = bytes("0009 00000000 ffffffff 0102");
    let empty = ConsumerProtocolAssignment::default();
    assert_eq!(version_prefix::decode(newer), Ok((9, empty)));
}

#[test]
fn a_newer_version_must_still_hold_all_that_is_known() {
    let v2 = [SUBSCRIPTION_V0, SUBSCRIPTION_V1, SUBSCRIPTION_V2].concat();
    let newer = bytes(&format!("0004 {v2}"));
    assert!(matches!(
        version_prefix::decode::<ConsumerProtocolSubscription>(newer),
        Err(VersionPrefixError::Structure(DecodeError::Malformed {
            version: 3,
            ..
        }))
    ));
}

#[test]
fn a_negative_version_is_refused() {
    fn refused<S: VersionPrefixed>() {
        for version in [-1, i16::MIN] {
            let mut input = version.to_be_bytes().to_vec();
            input.extend([0; 64]);
            let result = version_prefix::decode::<S>(input.into());
            assert_eq!(
                result,
                Err(VersionPrefixError::Structure(
                    DecodeError::UnsupportedVersion {
                        message: S::NAME,
                        version,
                        versions: S::VERSIONS,
                    }
                ))
            );
        }
    }
    refused::<AbortedTxn>();
    refused::<ConsumerProtocolAssignment>();
    refused::<ConsumerProtocolSubscription>();
    refused::<ControlRecordTypeSchema>();
    refused::<DefaultPrincipalData>();
    refused::<EndTxnMarker>();
    refused::<ProducerSnapshot>();
}

#[test]
fn every_beginning_is_refused() {
    fn refused<S: VersionPrefixed>(structure: &S, version: i16) {
        let whole = version_prefix::encode(structure, version).unwrap();
        for len in 0..whole.len() {
            let result = version_prefix::decode::<S>(whole.slice(..len));
            match len {
                0 | 1 => assert_eq!(
                    result,
                    Err(VersionPrefixError::NoVersion {
                        structure: S::NAME,
                        len
                    })
                ),
                _ => assert!(
                    matches!(result, Err(VersionPrefixError::Structure(_))),
                    "{} of {} bytes gave {result:?}",
                    len,
                    whole.len()
                ),
            }
        }
    }
    for version in 0..=3 {
        refused(&subscription(), version);
        refused(&assignment(), version);
    }
    refused(&DefaultPrincipalData::default(), 0);
    refused(&EndTxnMarker::default(), 0);
    refused(&snapshot(), 1);
}

#[test]
fn counts_and_lengths_beyond_the_input_are_refused() {
    let topics = bytes("0000 7fffffff 0001 61");
    let field = |error: VersionPrefixError| match error {
        VersionPrefixError::Structure(DecodeError::Malformed { field, reason, .. }) => {
            (field.to_string(), reason)
        }
        other => panic!("unexpected {other:?}"),
    };
    let error = version_prefix::decode::<ConsumerProtocolSubscription>(topics).unwrap_err();
    let (path, reason) = field(error);
    assert_eq!(path, "topics");
    assert!(
        matches!(
            reason,
            Malformed::CountBeyondInput {
                count: 0x7fff_ffff,
                left: 3,
                ..
            }
        ),
        "{reason:?}"
    );

    let user_data = bytes("0003 00000000 00000005 01020304");
    let error = version_prefix::decode::<ConsumerProtocolAssignment>(user_data).unwrap_err();
    assert_eq!(
        field(error),
        (
            "user_data".to_owned(),
            Malformed::LengthBeyondInput { length: 5, left: 4 }
        )
    );
}

#[test]
fn a_newer_control_record_is_read_as_version_0() {
    let key = bytes("0003 0001 ffff");
    let commit = ControlRecordTypeSchema { r#type: 1 };
    assert_eq!(version_prefix::decode(key), Ok((3, commit)));

    let marker = bytes("0001 00000009 aabb");
    let expected = EndTxnMarker {
        coordinator_epoch: 9,
    };
    assert_eq!(version_prefix::decode(marker), Ok((1, expected)));
}

#[test]
fn a_leader_change_starts_with_its_own_version() {
    let mut value = bytes("0000 00000003 03 00000003 00 00000004 00 02 00000003 00 00");
    let message = LeaderChangeMessage::decode(&mut value, 0).unwrap();
    assert!(value.is_empty());
    assert_eq!(message.leader_id, BrokerId::new(3));
    let voters = |voters: &[klamm_wire::data::leader_change_message::Voter]| {
        voters
            .iter()
            .map(|voter| voter.voter_id.get())
            .collect::<Vec<_>>()
    };
    assert_eq!(voters(&message.voters), [3, 4]);
    assert_eq!(voters(&message.granting_voters), [3]);
}

#[test]
fn what_must_be_known_is_refused_when_newer_or_longer() {
    let principal = DefaultPrincipalData {
        r#type: "User".into(),
        name: "alice".into(),
        ..Default::default()
    };
    let encoded = version_prefix::encode(&principal, 0).unwrap();
    assert_eq!(version_prefix::decode(encoded.clone()), Ok((0, principal)));

    let newer = [&[0, 1], &encoded[2..]].concat();
    assert!(matches!(
        version_prefix::decode::<DefaultPrincipalData>(newer.into()),
        Err(VersionPrefixError::Structure(
            DecodeError::UnsupportedVersion { version: 1, .. }
        ))
    ));
    let longer = [&encoded[..], &[0]].concat();
    assert_eq!(
        version_prefix::decode::<DefaultPrincipalData>(longer.into()),
        Err(VersionPrefixError::BytesLeft {
            structure: "DefaultPrincipalData",
            left: 1
        })
    );
}

/// The two producers of a snapshot file that Apache Kafka wrote.
fn snapshot() -> ProducerSnapshot {
    ProducerSnapshot {
        crc: 0x5f47_550c,
        producer_entries: vec![
            ProducerEntry {
                producer_id: ProducerId::new(1001),
                epoch: ProducerEpoch::new(3),
                last_sequence: 41,
                last_offset: Offset::new(5000),
                offset_delta: 2,
                timestamp: 1_722_470_400_000,
                coordinator_epoch: -1,
                current_txn_first_offset: Offset::UNKNOWN,
            },
            ProducerEntry {
                producer_id: ProducerId::new(1002),
                epoch: ProducerEpoch::new(0x7fff),
                last_sequence: 0,
                last_offset: Offset::new(5003),
                offset_delta: 0,
                timestamp: 1_722_470_400_001,
                coordinator_epoch: 9,
                current_txn_first_offset: Offset::new(5003),
            },
        ],
    }
}

#[test]
fn a_producer_snapshot_of_apache_kafka_is_read_and_written_back() {
    let file = bytes(
        "0001 5f47550c 00000002 \
         00000000000003e9 0003 00000029 0000000000001388 00000002 000001910b3c8000 ffffffff \
         ffffffffffffffff \
         00000000000003ea 7fff 00000000 000000000000138b 00000000 000001910b3c8001 00000009 \
         000000000000138b",
    );
    assert_eq!(version_prefix::decode(file.clone()), Ok((1, snapshot())));
    assert_eq!(version_prefix::encode(&snapshot(), 1), Ok(file));
}

#[test]
fn an_entry_of_a_transaction_index_is_34_bytes() {
    let entry = bytes("0000 00000000000003e9 0000000000000064 0000000000000078 0000000000000076");
    assert_eq!(entry.len(), 34);
    let aborted = AbortedTxn {
        producer_id: ProducerId::new(1001),
        first_offset: Offset::new(100),
        last_offset: Offset::new(120),
        last_stable_offset: Offset::new(118),
    };
    assert_eq!(
        version_prefix::decode(entry.clone()),
        Ok((0, aborted.clone()))
    );
    assert_eq!(version_prefix::encode(&aborted, 0), Ok(entry));
}

prop_compose! {
    fn any_topic_partition()(
        topic in "\\PC{0,12}",
        partitions in prop::collection::vec(any::<i32>(), 0..4),
    ) -> TopicPartition {
        TopicPartition {
            topic: topic.into(),
            partitions: partitions.into_iter().map(PartitionIndex::new).collect(),
        }
    }
}

prop_compose! {
    fn any_subscription()(
        topics in prop::collection::vec("\\PC{0,12}", 0..4),
        user_data in prop::option::of(prop::collection::vec(any::<u8>(), 0..32)),
        owned_partitions in prop::collection::vec(any_topic_partition(), 0..4),
        generation_id in any::<i32>(),
        rack_id in prop::option::of("\\PC{0,12}"),
    ) -> ConsumerProtocolSubscription {
        ConsumerProtocolSubscription {
            topics: topics.into_iter().map(Into::into).collect(),
            user_data: user_data.map(Into::into),
            owned_partitions,
            generation_id,
            rack_id: rack_id.map(Into::into),
        }
    }
}

proptest! {
    #[test]
    fn a_subscription_comes_back_as_it_was_sent(subscription in any_subscription()) {
        let encoded = version_prefix::encode(&subscription, 3).unwrap();
        prop_assert_eq!(version_prefix::decode(encoded), Ok((3, subscription)));
    }

    #[test]
    fn no_bytes_make_a_reader_panic(input in prop::collection::vec(any::<u8>(), 0..256)) {
        let input = Bytes::from(input);
        let _ = version_prefix::decode::<ConsumerProtocolSubscription>(input.clone());
        let _ = version_prefix::decode::<ConsumerProtocolAssignment>(input.clone());
        let _ = version_prefix::decode::<DefaultPrincipalData>(input.clone());
        let _ = version_prefix::decode::<ProducerSnapshot>(input);
    }

    /// One byte of a valid subscription changed: read or refused, and what is read can be
    /// written again.
    #[test]
    fn a_damaged_subscription_is_read_or_refused(
        subscription in any_subscription(),
        version in 0..=3i16,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut damaged = version_prefix::encode(&subscription, version).unwrap().to_vec();
        let at = at.index(damaged.len());
        damaged[at] = byte;
        if let Ok((version, read)) =
            version_prefix::decode::<ConsumerProtocolSubscription>(damaged.into())
        {
            prop_assert!(version >= 0);
            prop_assert!(read.encode(version.min(3)).is_ok());
        }
    }
}
