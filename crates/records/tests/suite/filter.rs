//! Filtering, as compaction does it.

use bytes::Bytes;
use klamm_primitives::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{
    BatchError, BatchHeader, BatchOptions, BatchVerdict, Codec, Codecs, Compression, Emptied,
    EndMarker, FilterError, FilterErrorCause, Filtered, Horizon, Outcome, ProducerStamp, Record,
    RecordBatch, RecordBatches, RecordFilter, TimestampType, Timestamps, filter,
};

use crate::support::{Plain, build, compressions, read, run_of, three, three_plain, with_bytes};

/// Keeps the records whose offset the closure wants, in batches that are filtered alike.
struct Keep<F> {
    verdict: BatchVerdict,
    wanted: F,
}

impl<F: FnMut(i64) -> bool> RecordFilter for Keep<F> {
    fn batch(&mut self, _: &BatchHeader) -> BatchVerdict {
        self.verdict
    }

    fn keep(&mut self, _: &BatchHeader, record: &Record<'_>) -> bool {
        (self.wanted)(record.offset.get())
    }
}

fn keep<F: FnMut(i64) -> bool>(emptied: Emptied, wanted: F) -> Keep<F> {
    let verdict = BatchVerdict::Filter {
        emptied,
        horizon: Horizon::Leave,
    };
    Keep { verdict, wanted }
}

fn run(batches: &[RecordBatch], rules: &mut impl RecordFilter) -> (Filtered, Vec<RecordBatch>) {
    let mut out = Vec::new();
    let codecs = &mut Codecs::default();
    let filtered = filter(&run_of(batches), rules, &mut out, usize::MAX, codecs).unwrap();
    assert_eq!(filtered.bytes_kept, out.len());
    let batches = RecordBatches::new(out.into()).map(Result::unwrap).collect();
    (filtered, batches)
}

const PRODUCER: ProducerStamp = ProducerStamp {
    producer_id: ProducerId::new(9),
    producer_epoch: ProducerEpoch::new(1),
    base_sequence: Sequence::new(17),
};

/// A batch with every field of the header set, at offset 10 and following.
fn rich(compression: Compression, timestamps: Timestamps) -> RecordBatch {
    let options = BatchOptions {
        base_offset: Offset::new(10),
        leader_epoch: LeaderEpoch::new(4),
        compression,
        timestamps,
        transactional: true,
        producer: PRODUCER,
        ..BatchOptions::default()
    };
    let records = three_plain().map(|record| Plain {
        offset: record.offset + 10,
        ..record
    });
    build(options, &records)
}

#[test]
fn rb_112_a_batch_that_keeps_all_is_copied_byte_for_byte() {
    let batches: Vec<_> = compressions()
        .into_iter()
        .map(|c| rich(c, Timestamps::Create))
        .collect();
    let (filtered, kept) = run(&batches, &mut keep(Emptied::Delete, |_| true));
    assert_eq!(kept, batches);
    assert_eq!(filtered.bytes_read, filtered.bytes_kept);
    assert_eq!((filtered.records_read, filtered.records_kept), (15, 15));
}

/// Covers RB-113, RB-115.
#[test]
fn a_batch_that_loses_records_keeps_all_else() {
    for compression in compressions() {
        for timestamps in [Timestamps::Create, Timestamps::LogAppend { at_ms: 9999 }] {
            let batch = rich(compression, timestamps);
            // The record with the largest timestamp goes, and so does the last.
            let (filtered, kept) = run(
                std::slice::from_ref(&batch),
                &mut keep(Emptied::Delete, |o| o == 10),
            );
            assert_eq!((filtered.records_read, filtered.records_kept), (3, 1));
            let [kept] = &kept[..] else {
                panic!("{kept:?}")
            };
            assert_eq!(kept.check_crc(), Ok(()));
            let max_timestamp_ms = match timestamps {
                Timestamps::Create => 1000,
                Timestamps::LogAppend { at_ms } => at_ms,
            };
            assert_eq!(kept.header().attributes, batch.header().attributes);
            assert_eq!(kept.header().max_timestamp_ms, max_timestamp_ms);
            assert_eq!(kept.header().base_offset, batch.header().base_offset);
            assert_eq!(kept.header().last_offset_delta, 2, "its offsets stay used");
            assert_eq!(kept.header().producer(), PRODUCER);
            assert_eq!(kept.header().leader_epoch, LeaderEpoch::new(4));
            assert_eq!(kept.header().record_count, 1);
            assert_eq!(read(kept).unwrap(), read(&batch).unwrap()[..1]);
        }
    }
}

struct DeleteSecond(usize);
impl RecordFilter for DeleteSecond {
    fn batch(&mut self, _: &BatchHeader) -> BatchVerdict {
        self.0 += 1;
        match self.0 {
            2 => BatchVerdict::Delete,
            _ => BatchVerdict::Filter {
                emptied: Emptied::Delete,
                horizon: Horizon::Leave,
            },
        }
    }

    fn keep(&mut self, _: &BatchHeader, _: &Record<'_>) -> bool {
        assert_ne!(self.0, 2, "records of a deleted batch are not asked for");
        true
    }
}

#[test]
fn rb_114_a_batch_deleted_as_a_whole_leaves_the_rest_alone() {
    let [first, second, third] =
        [Compression::None, Compression::Snappy, Compression::None].map(three);
    let batches = [first.clone(), second, third.clone()];
    let (filtered, kept) = run(&batches, &mut DeleteSecond(0));
    assert_eq!(kept, [first, third]);
    assert_eq!((filtered.records_read, filtered.records_kept), (6, 6));
    assert_eq!(filtered.bytes_read, run_of(&batches).len());
}

#[test]
fn rb_116_counts_tell_what_was_read_and_kept() {
    // Seven records in batches that end at 2, 5 and 6.
    let batch = |offsets: std::ops::Range<i64>, timestamps: &[i64]| {
        let options = BatchOptions {
            base_offset: Offset::new(offsets.start),
            ..BatchOptions::default()
        };
        let records: Vec<_> = offsets
            .zip(timestamps)
            .map(|(offset, timestamp_ms)| Plain::new(offset, *timestamp_ms, "k", "v"))
            .collect();
        build(options, &records)
    };
    let batches = [
        batch(0..3, &[10, 11, 12]),
        batch(3..6, &[20, 15, 16]),
        batch(6..7, &[16]),
    ];
    let (filtered, kept) = run(
        &batches,
        &mut keep(Emptied::Delete, |offset| [0, 1, 3, 6].contains(&offset)),
    );
    let max_timestamps: Vec<_> = kept.iter().map(|b| b.header().max_timestamp_ms).collect();
    assert_eq!(max_timestamps, [11, 20, 16]);
    let last_offsets: Vec<_> = kept
        .iter()
        .map(|b| b.header().last_offset().get())
        .collect();
    assert_eq!(last_offsets, [2, 5, 6]);
    assert_eq!(
        filtered,
        Filtered {
            bytes_read: run_of(&batches).len(),
            records_read: 7,
            bytes_kept: run_of(&kept).len(),
            records_kept: 4,
            max_offset: Some(Offset::new(6)),
            max_timestamp_ms: 20,
            max_timestamp_offset: Some(Offset::new(5)),
        }
    );
}

#[test]
fn rb_117_a_full_output_stops_before_the_next_batch() {
    let batches = [Compression::None, Compression::Snappy, Compression::None].map(three);
    let input = run_of(&batches);
    let codecs = &mut Codecs::default();
    let mut position = 0;
    let mut out = Vec::new();
    let mut steps = Vec::new();
    while position < input.len() {
        out.clear();
        let rest = input.slice(position..);
        let rules = &mut keep(Emptied::Delete, |_| true);
        let filtered = filter(&rest, rules, &mut out, batches[0].size(), codecs).unwrap();
        assert!(
            filtered.bytes_read > 0,
            "a batch larger than the buffer makes it grow"
        );
        steps.push((filtered.bytes_read, out.len()));
        position += filtered.bytes_read;
    }
    let sizes: Vec<_> = batches
        .iter()
        .map(|batch| (batch.size(), batch.size()))
        .collect();
    assert_eq!(steps, sizes);

    // What is in the output before counts, and stays.
    let mut out = vec![7; 10];
    let rules = &mut keep(Emptied::Delete, |_| true);
    let filtered = filter(&input, rules, &mut out, input.len() + 9, codecs).unwrap();
    assert_eq!(filtered.bytes_read, batches[0].size() + batches[1].size());
    assert_eq!(out[..10], [7; 10]);
    // A cut batch is not read.
    let cut = input.slice(..input.len() - 1);
    let rules = &mut keep(Emptied::Delete, |_| true);
    let filtered = filter(&cut, rules, &mut Vec::new(), usize::MAX, codecs).unwrap();
    assert_eq!(filtered.bytes_read, batches[0].size() + batches[1].size());
}

#[test]
fn an_emptied_batch_goes_or_leaves_its_header() {
    for compression in compressions() {
        let batch = rich(compression, Timestamps::Create);
        let batches = std::slice::from_ref(&batch);
        let (filtered, kept) = run(batches, &mut keep(Emptied::Delete, |_| false));
        assert_eq!((kept.len(), filtered.records_read), (0, 3));
        assert_eq!(filtered.max_offset, None);

        let (filtered, kept) = run(batches, &mut keep(Emptied::KeepHeader, |_| false));
        let [kept] = &kept[..] else {
            panic!("{kept:?}")
        };
        assert_eq!(kept.check_crc(), Ok(()));
        let header = kept.header();
        assert_eq!((header.size(), header.record_count), (61, 0));
        assert_eq!(header.attributes.codec(), Ok(Codec::None));
        assert_eq!(header.last_offset(), batch.header().last_offset());
        assert_eq!(header.producer(), PRODUCER);
        assert_eq!(header.last_sequence(), batch.header().last_sequence());
        assert!(header.attributes.is_transactional());
        assert_eq!(
            (header.base_timestamp_ms, header.max_timestamp_ms),
            (-1, 1002)
        );
        assert_eq!(filtered.max_offset, Some(batch.header().last_offset()));
        assert_eq!(read(kept).unwrap(), []);

        // Once more: it stays the same.
        let (_, again) = run(
            std::slice::from_ref(kept),
            &mut keep(Emptied::KeepHeader, |_| false),
        );
        assert_eq!(again, std::slice::from_ref(kept));
    }
}

/// The bytes that Apache Kafka's cleaner leaves of an emptied batch.
#[test]
fn an_emptied_batch_is_what_the_reference_writes() {
    let golden = include_str!("../golden/record-batches.jsonl");
    let line = golden
        .lines()
        .find(|line| line.contains("jvm_empty_after_compaction"))
        .unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let expected = Bytes::from(hex::decode(line["hex"].as_str().unwrap()).unwrap());
    let options = BatchOptions {
        base_offset: Offset::new(10),
        transactional: true,
        producer: ProducerStamp {
            producer_id: ProducerId::new(7),
            producer_epoch: ProducerEpoch::new(1),
            base_sequence: Sequence::new(3),
        },
        ..BatchOptions::default()
    };
    let records: Vec<_> = (10..15)
        .map(|offset| Plain::new(offset, 1_722_470_400_000, "k", "v"))
        .collect();
    let batch = build(options, &records);
    let (_, kept) = run(&[batch], &mut keep(Emptied::KeepHeader, |_| false));
    assert_eq!(kept[0].bytes(), &expected);
}

#[test]
fn delete_horizons_are_set_once_and_where_tombstones_are_kept() {
    let mut records = three_plain();
    records[1].value = None;
    for compression in compressions() {
        let options = BatchOptions {
            compression,
            ..BatchOptions::default()
        };
        let batch = build(options, &records);
        let with = |horizon, wanted: fn(i64) -> bool, batch: &RecordBatch| {
            let verdict = BatchVerdict::Filter {
                emptied: Emptied::Delete,
                horizon,
            };
            let (_, mut kept) = run(std::slice::from_ref(batch), &mut Keep { verdict, wanted });
            kept.remove(0)
        };
        let if_tombstones = Horizon::IfTombstones { at_ms: 5000 };
        let untouched = with(Horizon::Leave, |_| true, &batch);
        assert_eq!(untouched, batch);
        let gone = with(if_tombstones, |offset| offset != 1, &batch);
        assert_eq!(gone.header().delete_horizon_ms(), None);

        let set = with(if_tombstones, |_| true, &batch);
        assert_eq!(set.header().delete_horizon_ms(), Some(5000));
        assert_eq!(read(&set).unwrap(), records);
        assert_eq!(set.header().max_timestamp_ms, 1002);
        let later = with(Horizon::IfTombstones { at_ms: 7000 }, |_| true, &set);
        assert_eq!(later, set);
        let thinned = with(Horizon::Always { at_ms: 7000 }, |offset| offset > 0, &set);
        assert_eq!(thinned.header().delete_horizon_ms(), Some(5000));
        assert_eq!(read(&thinned).unwrap(), records[1..]);
    }
    let marker = EndMarker {
        outcome: Outcome::Commit,
        coordinator_epoch: 1,
    };
    let producer = (ProducerId::new(9), ProducerEpoch::new(1));
    let marker = marker
        .batch(Offset::new(3), LeaderEpoch::new(1), producer, 60)
        .unwrap();
    let always = BatchVerdict::Filter {
        emptied: Emptied::Delete,
        horizon: Horizon::Always { at_ms: 5000 },
    };
    let (_, kept) = run(
        std::slice::from_ref(&marker),
        &mut Keep {
            verdict: always,
            wanted: |_| true,
        },
    );
    assert_eq!(kept[0].header().delete_horizon_ms(), Some(5000));
    assert!(kept[0].header().attributes.is_control());
    assert_eq!(read(&kept[0]).unwrap(), read(&marker).unwrap());
}

/// Apache Kafka stores uncompressed batches without looking at their offset deltas, so a log that
/// it wrote may hold records beyond their batch's last offset. The batch must not grow into the
/// next one.
#[test]
fn a_batch_with_records_beyond_its_end_keeps_its_end() {
    let mut records = three_plain();
    records[2].offset = 40;
    let batch = build(BatchOptions::default(), &records);
    let batch = with_bytes(&batch, 23, &2_i32.to_be_bytes());
    let batches = std::slice::from_ref(&batch);
    let (filtered, kept) = run(batches, &mut keep(Emptied::Delete, |offset| offset > 0));
    assert_eq!(kept[0].header().last_offset(), Offset::new(2));
    assert_eq!(filtered.max_offset, Some(Offset::new(2)));
    assert_eq!(read(&kept[0]).unwrap(), records[1..]);
}

#[test]
fn damage_stops_filtering_and_is_not_written_anew() {
    let good = three(Compression::None);
    let mut flipped = three(Compression::Snappy).bytes().to_vec();
    *flipped.last_mut().unwrap() ^= 1;
    let bad = RecordBatch::parse(flipped.into()).unwrap();
    let input = run_of(&[good.clone(), bad, good.clone()]);
    let mut out = Vec::new();
    let rules = &mut keep(Emptied::Delete, |offset| offset == 0);
    let codecs = &mut Codecs::default();
    let error = filter(&input, rules, &mut out, usize::MAX, codecs).unwrap_err();
    assert!(matches!(
        error,
        FilterError { position, cause: FilterErrorCause::Batch(BatchError::Crc { .. }) }
            if position == good.size()
    ));
    let kept: Vec<_> = RecordBatches::new(out.into()).map(Result::unwrap).collect();
    assert_eq!(kept.len(), 1, "whole batches were written before");
    assert_eq!(
        kept[0].header().attributes.timestamp_type(),
        TimestampType::Create
    );
}
