//! Batches that are refused as a whole.

use super::*;

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
