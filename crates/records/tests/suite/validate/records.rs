//! Batches with records that the topic does not allow.

use super::*;

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
