//! Runs of batches in memory, and what is looked up in them.

use bytes::Bytes;
use klamm_primitives::{LeaderEpoch, Offset};
use klamm_records::{
    BatchError, BatchOptions, BatchPrefix, Codecs, Compression, FoundTimestamp, RecordBatch,
    RecordBatches, TimestampType, Timestamps,
};

use crate::support::{Plain, build, compressions, run_of, three};

fn sizes(bytes: Bytes) -> Vec<usize> {
    RecordBatches::new(bytes)
        .map(|batch| batch.unwrap().size())
        .collect()
}

/// Covers RB-043, RB-046.
#[test]
fn a_run_ends_quietly_at_a_cut_batch() {
    let batches = [
        three(Compression::None),
        three(Compression::Snappy),
        three(Compression::None),
    ];
    let run = run_of(&batches);
    let ends: Vec<_> = batches
        .iter()
        .scan(0, |end, batch| {
            *end += batch.size();
            Some(*end)
        })
        .collect();
    for len in 0..=run.len() {
        let whole = ends.iter().filter(|end| **end <= len).count();
        let cut = run.slice(..len);
        assert_eq!(sizes(cut.clone()).len(), whole, "{len} bytes");
        let whole_bytes = if whole == 0 { 0 } else { ends[whole - 1] };
        assert_eq!(
            RecordBatches::new(cut.clone()).whole_bytes(),
            Ok(whole_bytes)
        );
        let mut batches = RecordBatches::new(cut.clone());
        assert_eq!(batches.by_ref().count(), whole);
        assert_eq!(batches.remainder(), &cut[whole_bytes..]);
    }
}

#[test]
fn rb_044_the_first_size_is_known_from_17_bytes() {
    let batch = three(Compression::None);
    for len in 0..17 {
        assert_eq!(
            BatchPrefix::peek(&batch.bytes()[..len]),
            Ok(None),
            "{len} bytes"
        );
    }
    for len in 17..=batch.size() {
        let prefix = BatchPrefix::peek(&batch.bytes()[..len]).unwrap();
        assert_eq!(
            prefix,
            Some(BatchPrefix {
                size: batch.size(),
                magic: 2
            })
        );
    }
    let mut bytes = batch.bytes()[..17].to_vec();
    for magic in 0..=u8::MAX {
        bytes[16] = magic;
        let prefix = BatchPrefix::peek(&bytes);
        match magic {
            0..=2 => assert_eq!(prefix.unwrap().unwrap().magic, magic),
            _ => assert_eq!(prefix, Err(BatchError::UnknownMagic { magic })),
        }
    }
}

#[test]
fn rb_045_sizes_are_bounded_before_anything_is_read() {
    let batch = three(Compression::None);
    let limited = |limit| {
        RecordBatches::new(batch.bytes().clone())
            .with_size_max(limit)
            .next()
    };
    assert!(matches!(limited(batch.size()), Some(Ok(_))));
    let expected = BatchError::TooLarge {
        size: batch.size(),
        limit: batch.size() - 1,
    };
    assert_eq!(limited(batch.size() - 1), Some(Err(expected)));

    for length in [i32::MAX, i32::MAX - 1, i32::MAX - 12] {
        let mut bytes = batch.bytes().to_vec();
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        let size = usize::try_from(length).unwrap() + 12;
        let prefix = BatchPrefix::peek(&bytes);
        assert_eq!(prefix, Ok(Some(BatchPrefix { size, magic: 2 })));
        let bytes = Bytes::from(bytes);
        assert_eq!(RecordBatches::new(bytes.clone()).next(), None, "cut");
        let mut limited = RecordBatches::new(bytes.clone()).with_size_max(1 << 20);
        let too_large = BatchError::TooLarge {
            size,
            limit: 1 << 20,
        };
        assert_eq!(limited.next(), Some(Err(too_large)));
        assert_eq!(limited.next(), None, "an error is the end");
        let truncated = BatchError::Truncated {
            available: bytes.len(),
            needed: size,
        };
        assert_eq!(RecordBatch::parse(bytes), Err(truncated));
    }
}

/// Batches of one record each, at these offsets.
fn at_offsets(offsets: &[i64]) -> Bytes {
    let batch = |offset: &i64| {
        let options = BatchOptions {
            base_offset: Offset::new(*offset),
            ..BatchOptions::default()
        };
        build(options, &[Plain::new(*offset, 10 + *offset, "k", "v")])
    };
    run_of(&offsets.iter().map(batch).collect::<Vec<_>>())
}

#[test]
fn rb_051_an_offset_is_found_in_the_first_batch_that_reaches_it() {
    let run = at_offsets(&[0, 1, 2, 50]);
    let size = sizes(run.clone())[0];
    let find = |offset| {
        RecordBatches::new(run.clone())
            .find_offset(Offset::new(offset))
            .unwrap()
            .map(|found| (found.position, found.batch.header().base_offset.get()))
    };
    assert_eq!(find(0), Some((0, 0)));
    assert_eq!(find(2), Some((2 * size, 2)));
    assert_eq!(find(3), Some((3 * size, 50)));
    assert_eq!(find(50), Some((3 * size, 50)));
    assert_eq!(find(51), None);
}

fn found(offset: i64, timestamp_ms: i64, leader_epoch: Option<i32>) -> FoundTimestamp {
    FoundTimestamp {
        offset: Offset::new(offset),
        timestamp_ms,
        leader_epoch: leader_epoch.map(LeaderEpoch::new),
    }
}

/// Covers RB-052, RB-053.
#[test]
fn a_timestamp_is_found_at_its_first_record_not_below_the_start() {
    let run = at_offsets(&[0, 1, 2]);
    let mut codecs = Codecs::default();
    let mut find = |timestamp, from| {
        RecordBatches::new(run.clone())
            .find_timestamp(timestamp, Offset::new(from), &mut codecs)
            .unwrap()
    };
    assert_eq!(find(0, 0), Some(found(0, 10, None)));
    assert_eq!(find(12, 0), Some(found(2, 12, None)));
    assert_eq!(find(13, 0), None);
    assert_eq!(find(10, 1), Some(found(1, 11, None)));

    let options = BatchOptions {
        leader_epoch: LeaderEpoch::new(6),
        ..BatchOptions::default()
    };
    let batch = build(options, &[Plain::new(0, 10, "k", "v")]);
    let found_there = batch.find_timestamp(10, Offset::ZERO, &mut codecs).unwrap();
    assert_eq!(found_there, Some(found(0, 10, Some(6))));
}

/// One batch with timestamps 10, 30, 20 for each codec and timestamp type (see also C022).
///
/// Covers RB-042, RB-052.
#[test]
fn timestamps_are_found_inside_batches_of_any_codec_and_type() {
    let records: Vec<_> = [10, 30, 20, 30]
        .iter()
        .zip(100..)
        .map(|(timestamp_ms, offset)| Plain::new(offset, *timestamp_ms, "k", "v"))
        .collect();
    let mut codecs = Codecs::default();
    for compression in compressions() {
        let options = BatchOptions {
            base_offset: Offset::new(100),
            compression,
            ..BatchOptions::default()
        };
        let created = build(options.clone(), &records);
        let mut find = |timestamp| {
            created
                .find_timestamp(timestamp, Offset::ZERO, &mut codecs)
                .unwrap()
        };
        assert_eq!(find(0), Some(found(100, 10, None)));
        assert_eq!(find(10), Some(found(100, 10, None)));
        assert_eq!(find(15), Some(found(101, 30, None)));
        assert_eq!(find(30), Some(found(101, 30, None)));
        assert_eq!(find(31), None);
        assert_eq!(
            created.find_max_timestamp(&mut codecs).unwrap(),
            Some(found(101, 30, None))
        );

        let timestamps = Timestamps::LogAppend { at_ms: 77 };
        let appended = build(
            BatchOptions {
                timestamps,
                ..options
            },
            &records,
        );
        let mut find = |timestamp| {
            appended
                .find_timestamp(timestamp, Offset::ZERO, &mut codecs)
                .unwrap()
        };
        assert_eq!(find(0), Some(found(100, 77, None)));
        assert_eq!(find(77), Some(found(100, 77, None)));
        assert_eq!(find(78), None);
        assert_eq!(
            appended.find_max_timestamp(&mut codecs).unwrap(),
            Some(found(100, 77, None))
        );
    }
}

#[test]
fn rb_042_without_timestamps_or_records_there_is_no_largest_one() {
    let mut codecs = Codecs::default();
    let none = Plain {
        timestamp_ms: -1,
        ..Plain::default()
    };
    let batch = build(BatchOptions::default(), &[none]);
    assert_eq!(batch.find_max_timestamp(&mut codecs), Ok(None));

    let mut empty = *three(Compression::None).header();
    empty.set_timestamps(TimestampType::Create, 5000);
    let mut bytes = empty.to_bytes().to_vec();
    bytes[57..61].copy_from_slice(&[0; 4]);
    crate::support::mend(&mut bytes);
    let batch = RecordBatch::parse(bytes.into()).unwrap();
    assert_eq!(batch.find_max_timestamp(&mut codecs), Ok(None));
}
