//! What is appended of a good batch: the batch as it is, or one written anew.

use super::*;

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
