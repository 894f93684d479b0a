//! What a leader checks, refuses and writes anew.

use bytes::Bytes;
use klamm_primitives::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{
    BatchError, BatchOptions, Codec, Codecs, Compression, EndMarker, FailureReason, GzipLevel,
    HEADER_LEN, Levels, Outcome, ProducerStamp, RecordBatch, RecordFailure, RecordsError,
    TimestampType, Timestamps, TopicCompression, ValidBatch, ValidationError, ValidationRules,
    validate, validate_own,
};

use crate::compression::pack;
use crate::support::{
    Plain, batch_around, build, compressions, mend, read, run_of, three, three_plain, with_bytes,
};

const NOW_MS: i64 = 2000;

fn check_bytes(records: Bytes, rules: &ValidationRules) -> Result<ValidBatch, ValidationError> {
    validate(records, rules, NOW_MS, &mut Codecs::default())
}

fn check(batch: &RecordBatch, rules: &ValidationRules) -> Result<ValidBatch, ValidationError> {
    check_bytes(batch.bytes().clone(), rules)
}

fn default_check(batch: &RecordBatch) -> Result<ValidBatch, ValidationError> {
    check(batch, &ValidationRules::default())
}

/// What a log would hold.
fn stored(valid: &ValidBatch, base_offset: i64, leader_epoch: i32, now_ms: i64) -> RecordBatch {
    let header = valid.stamped(base_offset.into(), LeaderEpoch::new(leader_epoch), now_ms);
    let bytes = [&header.to_bytes(), &valid.records()[..]].concat();
    let batch = RecordBatch::parse(bytes.into()).unwrap();
    assert_eq!(batch.check_crc(), Ok(()));
    assert_eq!(*batch.header(), header);
    batch
}

fn fixed(compression: Compression) -> ValidationRules {
    ValidationRules {
        compression: TopicCompression::Fixed(compression),
        ..ValidationRules::default()
    }
}

fn log_append() -> ValidationRules {
    ValidationRules {
        timestamp_type: TimestampType::LogAppend,
        ..ValidationRules::default()
    }
}

/// Covers RB-099, RB-100, RB-106.
#[test]
fn a_good_batch_gets_a_new_header_over_the_same_records() {
    for compression in compressions() {
        let batch = three(compression);
        for rules in [ValidationRules::default(), fixed(compression)] {
            let valid = check(&batch, &rules).unwrap();
            let untouched = valid.records();
            assert_eq!(
                untouched.as_ptr(),
                batch.bytes()[HEADER_LEN..].as_ptr(),
                "not copied"
            );
            assert_eq!(valid.size(), batch.size());
            assert_eq!(valid.header(), batch.header());

            let stored = stored(&valid, 1_234_567, 7, NOW_MS);
            assert_eq!(stored.header().base_offset, Offset::new(1_234_567));
            assert_eq!(stored.header().last_offset(), Offset::new(1_234_569));
            assert_eq!(stored.header().next_offset(), Offset::new(1_234_570));
            assert_eq!(stored.header().leader_epoch, LeaderEpoch::new(7));
            assert_eq!(stored.header().crc, batch.header().crc);
            let expected = three_plain().map(|record| Plain {
                offset: record.offset + 1_234_567,
                ..record
            });
            assert_eq!(read(&stored).unwrap(), expected);
        }
    }
}

#[test]
fn rb_099_a_max_timestamp_that_is_not_true_is_put_right() {
    for compression in compressions() {
        let mut lying = *three(compression).header();
        lying.set_timestamps(TimestampType::Create, 123_456_789);
        let bytes = [&lying.to_bytes(), three(compression).payload()].concat();
        let valid = check_bytes(bytes.into(), &ValidationRules::default()).unwrap();
        assert_eq!(valid.header(), three(compression).header());
        assert_eq!(stored(&valid, 0, -1, NOW_MS), three(compression));
    }
}

#[test]
fn log_append_time_is_stamped_without_reading_records_again() {
    for compression in compressions() {
        let batch = three(compression);
        let valid = check(&batch, &log_append()).unwrap();
        assert_eq!(
            valid.records().as_ptr(),
            batch.bytes()[HEADER_LEN..].as_ptr()
        );
        let stored = stored(&valid, 10, 1, 98_765);
        assert_eq!(
            stored.header().attributes.timestamp_type(),
            TimestampType::LogAppend
        );
        assert_eq!(stored.header().max_timestamp_ms, 98_765);
        assert!(
            read(&stored)
                .unwrap()
                .iter()
                .all(|record| record.timestamp_ms == 98_765)
        );
    }
}

#[test]
fn rb_101_count_and_last_offset_delta_must_agree_and_there_must_be_records() {
    let with = |last_offset_delta: i32, count: i32| {
        let mut bytes = three(Compression::None).bytes().to_vec();
        bytes[23..27].copy_from_slice(&last_offset_delta.to_be_bytes());
        bytes[57..61].copy_from_slice(&count.to_be_bytes());
        mend(&mut bytes);
        check_bytes(bytes.into(), &ValidationRules::default())
    };
    let cases = [
        (0, 3),
        (15, 3),
        (-3, 3),
        (2, 0),
        (2, -1),
        (i32::MAX, i32::MIN),
        (-1, 0),
    ];
    for (last_offset_delta, record_count) in cases {
        let expected = ValidationError::Count {
            record_count,
            last_offset_delta,
        };
        assert_eq!(with(last_offset_delta, record_count), Err(expected));
    }
    assert!(with(2, 3).is_ok());
}

#[test]
fn rb_102_offsets_that_do_not_run_0_1_2_are_written_anew() {
    for compression in compressions() {
        for offsets in [[0, 1, 7], [0, 5, 6], [3, 4, 5], [0, 1, 1 << 30]] {
            let mut records = three_plain();
            for (record, offset) in records.iter_mut().zip(offsets) {
                record.offset = offset;
            }
            let options = BatchOptions {
                compression,
                ..BatchOptions::default()
            };
            let gaps = build(options, &records);
            let batch = with_bytes(&gaps, 23, &2_i32.to_be_bytes());
            let valid = default_check(&batch).unwrap();
            assert_eq!(stored(&valid, 0, -1, NOW_MS), three(compression));
        }
    }
}

#[test]
fn rb_103_the_topics_codec_decides_unless_it_is_the_producers() {
    for from in compressions() {
        let batch = three(from);
        assert_eq!(stored(&default_check(&batch).unwrap(), 0, -1, 0), batch);
        for to in compressions() {
            let valid = check(&batch, &fixed(to)).unwrap();
            assert_eq!(valid.header().attributes.codec(), Ok(to.codec()));
            assert_eq!(stored(&valid, 0, -1, 0), three(to), "{from:?} to {to:?}");
        }
    }
    // The level is the topic's too, where something is written; a fitting codec is enough else.
    let fast = Compression::Gzip(GzipLevel::new(1).unwrap());
    let small = Compression::Gzip(GzipLevel::new(9).unwrap());
    let valid = check(&three(Compression::Snappy), &fixed(fast)).unwrap();
    assert_eq!(stored(&valid, 0, -1, 0), three(fast));
    let valid = check(&three(small), &fixed(fast)).unwrap();
    assert_eq!(stored(&valid, 0, -1, 0), three(small));
}

fn one_at(timestamp_ms: i64) -> RecordBatch {
    let record = Plain {
        timestamp_ms,
        ..Plain::new(0, 0, "k", "v")
    };
    build(BatchOptions::default(), &[record])
}

/// Covers RB-104, RB-105.
#[test]
fn create_times_must_lie_within_the_topics_bounds() {
    let now_ms = 1_000_000;
    let rules = ValidationRules {
        timestamp_before_max_ms: 500,
        timestamp_after_max_ms: 300,
        ..ValidationRules::default()
    };
    let validate = |timestamp_ms, rules: &ValidationRules| {
        let records = one_at(timestamp_ms).into_bytes();
        validate(records, rules, now_ms, &mut Codecs::default())
    };
    for timestamp_ms in [now_ms, now_ms - 500, now_ms + 300, -1] {
        assert!(validate(timestamp_ms, &rules).is_ok(), "{timestamp_ms}");
    }
    let appended = ValidationRules {
        timestamp_type: TimestampType::LogAppend,
        ..rules
    };
    for timestamp_ms in [now_ms - 501, now_ms + 301, 0, i64::MAX] {
        let Err(ValidationError::Failures(failures)) = validate(timestamp_ms, &rules) else {
            panic!("{timestamp_ms} was taken");
        };
        assert!(failures.any_timestamp);
        let reason = FailureReason::Timestamp { timestamp_ms };
        assert_eq!(failures.listed, [RecordFailure { index: 0, reason }]);
        assert!(
            validate(timestamp_ms, &appended).is_ok(),
            "{timestamp_ms}: not looked at"
        );
    }
    let default = ValidationRules::default();
    assert!(validate(0, &default).is_ok(), "as old as may be");
    assert!(validate(now_ms + 60 * 60 * 1000, &default).is_ok());
    assert!(validate(now_ms + 60 * 60 * 1000 + 1, &default).is_err());
}

#[test]
fn rb_107_all_failing_records_are_listed() {
    let rules = ValidationRules {
        key_required: true,
        ..ValidationRules::default()
    };
    for compression in compressions() {
        let options = BatchOptions {
            compression,
            ..BatchOptions::default()
        };
        let without_key = |offset| Plain {
            key: None,
            ..Plain::new(offset, 0, "", "v")
        };
        let records: Vec<_> = (0..20).map(without_key).collect();
        let Err(ValidationError::Failures(failures)) =
            check(&build(options.clone(), &records), &rules)
        else {
            panic!("records without keys were taken");
        };
        assert_eq!((failures.listed.len(), failures.count), (20, 20));
        assert!(!failures.any_timestamp);
        for (index, failure) in (0..).zip(&failures.listed) {
            assert_eq!(
                *failure,
                RecordFailure {
                    index,
                    reason: FailureReason::MissingKey
                }
            );
        }

        let mut records = records;
        records[7].key = Some(Vec::new());
        records[9] = Plain::new(9, i64::MAX, "k", "v");
        let Err(ValidationError::Failures(failures)) = check(&build(options, &records), &rules)
        else {
            panic!("records without keys were taken");
        };
        assert_eq!(failures.count, 19, "an empty key is one");
        assert!(failures.any_timestamp);
        let indexes: Vec<_> = failures
            .listed
            .iter()
            .map(|failure| failure.index)
            .collect();
        let expected: Vec<_> = (0..20).filter(|index| *index != 7).collect();
        assert_eq!(indexes, expected);
        let reason = FailureReason::Timestamp {
            timestamp_ms: i64::MAX,
        };
        assert_eq!(failures.listed[8], RecordFailure { index: 9, reason });
    }
}

#[test]
fn the_list_of_failing_records_is_bounded() {
    let rules = ValidationRules {
        key_required: true,
        ..ValidationRules::default()
    };
    let options = BatchOptions {
        compression: Compression::Snappy,
        ..BatchOptions::default()
    };
    let records: Vec<_> = (0..10_500)
        .map(|offset| Plain {
            offset,
            ..Plain::default()
        })
        .collect();
    let Err(ValidationError::Failures(failures)) = check(&build(options, &records), &rules) else {
        panic!("records without keys were taken");
    };
    assert_eq!((failures.listed.len(), failures.count), (10_000, 10_500));
}

const PRODUCER: ProducerStamp = ProducerStamp {
    producer_id: ProducerId::new(9),
    producer_epoch: ProducerEpoch::new(1),
    base_sequence: Sequence::new(17),
};

#[test]
fn rb_108_a_batch_written_anew_is_what_building_it_afresh_gives() {
    for from in compressions() {
        for to in compressions() {
            let options = |compression| BatchOptions {
                compression,
                transactional: true,
                producer: PRODUCER,
                ..BatchOptions::default()
            };
            let batch = build(options(from), &three_plain());
            let valid = check(&batch, &fixed(to)).unwrap();
            let afresh = build(options(to), &three_plain());
            assert_eq!(stored(&valid, 0, -1, 0), afresh, "{from:?} to {to:?}");

            let rules = ValidationRules {
                timestamp_type: TimestampType::LogAppend,
                ..fixed(to)
            };
            let appended = stored(&check(&batch, &rules).unwrap(), 0, -1, 5678);
            let mut header = *afresh.header();
            header.set_timestamps(TimestampType::LogAppend, 5678);
            assert_eq!(*appended.header(), header);
            assert_eq!(appended.payload(), afresh.payload());
        }
    }
}

#[test]
fn rb_109_the_brokers_own_batches_skip_what_only_clients_may_not() {
    let marker = EndMarker {
        outcome: Outcome::Commit,
        coordinator_epoch: 3,
    };
    let producer = (ProducerId::new(9), ProducerEpoch::new(1));
    let batch = marker
        .batch(Offset::new(41), LeaderEpoch::new(5), producer, 1)
        .unwrap();
    let rules = ValidationRules::default();
    let codecs = &mut Codecs::default();
    let valid = validate_own(batch.clone(), &rules, NOW_MS, codecs).unwrap();
    assert_eq!(stored(&valid, 41, 5, NOW_MS), batch);
    let base_offset = ValidationError::BaseOffset {
        base_offset: Offset::new(41),
    };
    assert_eq!(default_check(&batch), Err(base_offset));
    let from_client = with_bytes(&batch, 0, &[0; 8]);
    assert_eq!(default_check(&from_client), Err(ValidationError::Control));

    // The rest is checked.
    let mut bytes = batch.bytes().to_vec();
    bytes[77] ^= 1;
    let flipped = RecordBatch::parse(bytes.into()).unwrap();
    let error = validate_own(flipped, &rules, NOW_MS, codecs).unwrap_err();
    assert!(matches!(
        error,
        ValidationError::Batch(BatchError::Crc { .. })
    ));
    let small = ValidationRules {
        batch_size_max: 77,
        ..rules
    };
    let too_large = BatchError::TooLarge {
        size: 78,
        limit: 77,
    };
    assert_eq!(
        validate_own(batch, &small, NOW_MS, codecs),
        Err(too_large.into())
    );
}

#[test]
fn rb_111_a_partitions_records_are_exactly_one_batch() {
    let batch = three(Compression::None);
    let rules = ValidationRules::default();
    assert_eq!(
        check_bytes(Bytes::new(), &rules),
        Err(ValidationError::NoBatch)
    );
    let cut = batch.bytes().slice(..batch.size() - 1);
    assert_eq!(check_bytes(cut, &rules), Err(ValidationError::NoBatch));
    let two = run_of(&[batch.clone(), batch.clone()]);
    assert_eq!(
        check_bytes(two.clone(), &rules),
        Err(ValidationError::SeveralBatches)
    );
    let cut_second = two.slice(..two.len() - 1);
    assert!(
        check_bytes(cut_second, &rules).is_ok(),
        "a cut batch does not count"
    );
    let garbage = Bytes::from([&batch.bytes()[..], &[0xff; 20]].concat());
    assert!(matches!(
        check_bytes(garbage, &rules),
        Err(ValidationError::Batch(_))
    ));
}

#[test]
fn legacy_magic_is_refused_by_name() {
    for magic in [0, 1] {
        let mut bytes = three(Compression::None).bytes().to_vec();
        bytes[16] = magic;
        let refused = check_bytes(bytes.into(), &ValidationRules::default());
        assert_eq!(refused, Err(ValidationError::LegacyMagic { magic }));
    }
}

#[test]
fn zstd_needs_a_request_that_allows_it() {
    let rules = ValidationRules {
        zstd_allowed: false,
        ..ValidationRules::default()
    };
    for compression in compressions() {
        let checked = check(&three(compression), &rules);
        match compression.codec() {
            Codec::Zstd => assert_eq!(checked, Err(ValidationError::ZstdNotAllowed)),
            _ => assert!(checked.is_ok()),
        }
    }
}

#[test]
fn sizes_above_the_topics_are_refused_before_and_after_writing_anew() {
    let batch = three(Compression::None);
    let rules = |batch_size_max| ValidationRules {
        batch_size_max,
        ..ValidationRules::default()
    };
    assert!(check(&batch, &rules(batch.size())).is_ok());
    let too_large = |size, limit| Err(BatchError::TooLarge { size, limit }.into());
    let size = batch.size();
    assert_eq!(check(&batch, &rules(size - 1)), too_large(size, size - 1));

    // gzip makes three small records larger.
    let gzip = Codec::Gzip.at(&Levels::default());
    let gzip_size = three(gzip).size();
    let to_gzip = |batch_size_max| ValidationRules {
        batch_size_max,
        ..fixed(gzip)
    };
    assert!(gzip_size > size);
    assert_eq!(
        check(&batch, &to_gzip(gzip_size - 1)),
        too_large(gzip_size, gzip_size - 1)
    );
    assert!(check(&batch, &to_gzip(gzip_size)).is_ok());
}

#[test]
fn what_clients_may_not_set_is_refused() {
    let batch = three(Compression::None);
    let moved = with_bytes(&batch, 0, &1_i64.to_be_bytes());
    let base_offset = ValidationError::BaseOffset {
        base_offset: Offset::new(1),
    };
    assert_eq!(default_check(&moved), Err(base_offset));

    let control = with_bytes(&batch, 21, &[0, 0x20]);
    assert_eq!(default_check(&control), Err(ValidationError::Control));

    let unsequenced = with_bytes(&batch, 43, &7_i64.to_be_bytes());
    let base_sequence = Sequence::NONE;
    assert_eq!(
        default_check(&unsequenced),
        Err(ValidationError::Sequence { base_sequence })
    );

    let options = BatchOptions {
        timestamps: Timestamps::LogAppend { at_ms: NOW_MS },
        ..BatchOptions::default()
    };
    let appended = build(options, &three_plain());
    assert_eq!(
        default_check(&appended),
        Err(ValidationError::LogAppendTime)
    );
    assert_eq!(
        check(&appended, &log_append()),
        Err(ValidationError::LogAppendTime)
    );
}

#[test]
fn damage_is_found_by_the_checksum_before_anything_else_is_said_of_it() {
    for compression in compressions() {
        let batch = three(compression);
        for bit in 17 * 8..batch.size() * 8 {
            let mut bytes = batch.bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let checked = check_bytes(bytes.into(), &ValidationRules::default());
            assert!(
                matches!(checked, Err(ValidationError::Batch(BatchError::Crc { .. }))),
                "bit {bit}"
            );
        }
    }
}

#[test]
fn records_that_cannot_be_read_are_refused_whatever_the_codec() {
    let payload = three(Compression::None).payload().to_vec();
    for codec in Codec::ALL {
        for len in 0..payload.len() {
            let cut = batch_around(3, codec, &pack(codec, &payload[..len]));
            let checked = default_check(&cut);
            assert!(
                matches!(checked, Err(ValidationError::Records(_))),
                "{codec}: {checked:?}"
            );
        }
        let more = [&payload[..], &[0]].concat();
        let more = batch_around(3, codec, &pack(codec, &more));
        let trailing = matches!(
            default_check(&more),
            Err(ValidationError::Records(RecordsError::TrailingBytes {
                count: 3,
                ..
            }))
        );
        assert!(trailing, "{codec}");
    }
    for id in 5..8 {
        let unknown = with_bytes(&three(Compression::None), 21, &[0, id]);
        let refused = default_check(&unknown);
        assert!(matches!(
            refused,
            Err(ValidationError::Records(RecordsError::UnknownCodec(unknown))) if unknown.id == id
        ));
    }
}

#[test]
fn a_bomb_is_refused_within_the_limit() {
    let record = Plain {
        value: Some(vec![0; 4 << 20]),
        ..Plain::new(0, 1, "k", "")
    };
    for compression in compressions().into_iter().skip(1) {
        let options = BatchOptions {
            compression,
            ..BatchOptions::default()
        };
        let batch = build(options, std::slice::from_ref(&record));
        let mut codecs = Codecs::with_inflated_max(1 << 20);
        let rules = ValidationRules::default();
        let refused = validate(batch.bytes().clone(), &rules, NOW_MS, &mut codecs);
        assert!(
            matches!(
                refused,
                Err(ValidationError::Records(RecordsError::Inflate { .. }))
            ),
            "{compression:?}: {refused:?}"
        );
    }
}

#[test]
fn a_batch_that_is_to_be_stored_plain_is_given_up_at_the_topics_limit() {
    const COUNT: usize = 300;
    let value_len = 4096;
    let records: Vec<Plain> = (0..COUNT)
        .map(|at| Plain {
            value: Some(vec![0; value_len]),
            ..Plain::new(i64::try_from(at).unwrap(), 1, "k", "")
        })
        .collect();
    let rules = ValidationRules {
        batch_size_max: 100_000,
        ..fixed(Compression::None)
    };
    for compression in compressions().into_iter().skip(1) {
        let options = BatchOptions {
            compression,
            ..BatchOptions::default()
        };
        let refused = check(&build(options, &records), &rules);
        let Err(ValidationError::Batch(BatchError::TooLarge { size, limit })) = refused else {
            panic!("{compression:?}: {refused:?}");
        };
        assert_eq!(limit, rules.batch_size_max);
        assert!(
            size <= limit + value_len + 100,
            "{size} bytes were gathered"
        );
    }
}

#[test]
fn a_follower_takes_what_a_leader_appended_as_it_is() {
    let batch = three(Compression::Snappy);
    let valid = check(&batch, &log_append()).unwrap();
    let from_leader = stored(&valid, 77, 3, 1234);
    let replicated = ValidBatch::replicated(from_leader.clone()).unwrap();
    let bytes = [&replicated.header().to_bytes(), &replicated.records()[..]].concat();
    assert_eq!(from_leader.bytes(), &bytes);
    let mut flipped = bytes;
    flipped[70] ^= 1;
    let flipped = RecordBatch::parse(flipped.into()).unwrap();
    assert!(matches!(
        ValidBatch::replicated(flipped),
        Err(BatchError::Crc { .. })
    ));
}
