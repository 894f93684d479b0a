//! Reading between the bounds.

use std::sync::atomic::{AtomicBool, Ordering};

use klamm_io::Disk;
use klamm_log::{Isolation, ReadError, ReadLimit};
use klamm_primitives::LeaderEpoch;
use klamm_records::RecordBatches;
use proptest::prelude::*;

use crate::support::{
    Batch, Bed, NOW_MS, WHOLE, all, batches, epoch, offset, offsets_of, read_all, read_offsets,
    small,
};

fn limit(bytes_max: u32) -> ReadLimit {
    ReadLimit {
        bytes_max,
        whole_first_batch: false,
    }
}

/// Covers LG-072, LG-082.
#[test]
fn offsets_outside_of_the_log_are_refused() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(10));
    bed.commit_all();
    bed.log.raise_log_start(offset(5)).unwrap();
    let reader = bed.log.reader();
    for refused in [4, 11] {
        match reader.read(offset(refused), WHOLE, Isolation::LogEnd) {
            Err(ReadError::OffsetOutOfRange {
                offset: it,
                log_start,
                log_end,
            }) => {
                assert_eq!(
                    (it, log_start, log_end),
                    (offset(refused), offset(5), offset(10))
                );
            }
            other => panic!("{other:?}"),
        }
    }
    let read = reader.read(offset(5), WHOLE, Isolation::LogEnd).unwrap();
    assert_eq!(batches(&read).len(), 1);
    let read = reader.read(offset(10), WHOLE, Isolation::LogEnd).unwrap();
    assert!(read.range.is_none());
}

/// Covers LG-073, LG-079.
#[test]
fn each_reader_sees_up_to_its_bound() {
    let mut bed = Bed::new(small());
    for sequence in 0..4 {
        bed.append(&Batch::of(1).by(1, 0, sequence));
    }
    bed.append(&Batch::of(1).by(2, 0, 0).transactional());
    bed.fill(4);
    bed.log.set_high_watermark(offset(6));
    assert_eq!(bed.log.last_stable_offset(), offset(4));
    let reader = bed.log.reader();
    let seen = |isolation| offsets_of(&read_all(&reader, 1, isolation));
    assert_eq!(seen(Isolation::LogEnd), all(1..9));
    assert_eq!(seen(Isolation::HighWatermark), all(1..6));
    assert_eq!(seen(Isolation::Committed), all(1..4));
    for at in 6..=9 {
        for isolation in [Isolation::HighWatermark, Isolation::Committed] {
            let read = reader.read(offset(at), WHOLE, isolation).unwrap();
            assert!(read.range.is_none());
            assert_eq!(read.offsets.high_watermark, offset(6));
            assert_eq!(read.aborted.is_some(), isolation == Isolation::Committed);
        }
    }
}

/// Covers LG-074, LG-075, LG-078.
#[test]
fn the_first_batch_reaches_to_the_offset_or_is_the_next_one() {
    let mut bed = Bed::new(small());
    bed.follow(&[Batch::of(5).at_offset(10), Batch::of(2).at_offset(40)]);
    let size = u32::try_from(Batch::of(5).build().size()).unwrap();
    for (from, base, position) in [(0, 10, 0), (10, 10, 0), (13, 10, 0), (15, 40, size)] {
        let read = bed
            .log
            .reader()
            .read(offset(from), WHOLE, Isolation::LogEnd)
            .unwrap();
        assert_eq!(batches(&read)[0].header().base_offset, offset(base));
        let start = read.start;
        assert_eq!((start.offset, start.position), (offset(from), position));
        assert_eq!(start.segment_base, offset(0));
    }
}

#[test]
fn lg_076_the_limit_cuts_inside_of_a_batch() {
    let mut bed = Bed::new(small());
    bed.fill(3);
    let size = u32::try_from(Batch::of(1).build().size()).unwrap();
    let read = |limit| {
        bed.log
            .reader()
            .read(offset(0), limit, Isolation::LogEnd)
            .unwrap()
    };
    let len = |limit| read(limit).range.map_or(0, |it| it.len);
    for bytes in [1, size - 1, size, size + 1, 3 * size, 5 * size] {
        assert_eq!(len(limit(bytes)), bytes.min(3 * size) as usize);
        assert_eq!(read(limit(bytes)).first_batch_is_cut, bytes < size);
        let whole = ReadLimit {
            whole_first_batch: true,
            ..limit(bytes)
        };
        assert_eq!(len(whole), bytes.clamp(size, 3 * size) as usize);
        assert!(!read(whole).first_batch_is_cut);
    }
    // Nothing was asked for, so nothing is cut.
    assert!(read(limit(0)).range.is_none());
    assert!(!read(limit(0)).first_batch_is_cut);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn lg_080_every_offset_of_a_log_with_gaps_gives_the_next_record(
        steps in prop::collection::vec((0i64..30, 1usize..4), 1..60)
    ) {
        let mut bed = Bed::new(small());
        let mut held = Vec::new();
        let mut next = 0;
        for (gap, count) in steps {
            let base = next + gap;
            bed.follow(&[Batch::of(count).at_offset(base)]);
            next = base + i64::try_from(count).unwrap();
            held.extend(base..next);
        }
        for from in 0..=next {
            let expected: Vec<_> = held.iter().copied().filter(|it| *it >= from).collect();
            let mut found = bed.offsets_from(from);
            found.retain(|it| *it >= from);
            prop_assert_eq!(found, expected);
        }
    }
}

#[test]
fn lg_081_readers_beside_an_appender_see_a_prefix_of_whole_batches() {
    let mut bed = Bed::new(small());
    let reader = bed.log.reader();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = [
            Isolation::LogEnd,
            Isolation::HighWatermark,
            Isolation::Committed,
        ]
        .into_iter()
        .map(|isolation| {
            let (reader, done) = (&reader, &done);
            scope.spawn(move || {
                let mut next = offset(0);
                loop {
                    let was_done = done.load(Ordering::Acquire);
                    let read = reader.read(next, WHOLE, isolation).unwrap();
                    for batch in batches(&read) {
                        assert_eq!(batch.header().base_offset, next);
                        next = batch.header().next_offset();
                    }
                    if was_done && read.range.is_none() {
                        return next;
                    }
                }
            })
        })
        .collect();
        for count in 0..500 {
            bed.append(&Batch::of(1 + count % 3));
            bed.commit_all();
        }
        done.store(true, Ordering::Release);
        for reader in readers {
            assert_eq!(reader.join().unwrap(), bed.log.log_end_offset());
        }
    });
}

#[test]
fn readers_beside_a_cut_see_no_damage() {
    let mut bed = Bed::new(small());
    bed.fill(40);
    let reader = bed.log.reader();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (reader, done) = (&reader, &done);
        let reading = scope.spawn(move || {
            let mut from = 0;
            while !done.load(Ordering::Acquire) {
                from = (from + 1) % 40;
                match reader.read(offset(from), limit(200), Isolation::LogEnd) {
                    Ok(_) | Err(ReadError::OffsetOutOfRange { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        for round in 0..200 {
            bed.log.truncate_to(offset(round % 40), NOW_MS).unwrap();
            while bed.log.log_end_offset() < offset(40) {
                bed.append(&Batch::of(2));
            }
        }
        done.store(true, Ordering::Release);
        reading.join().unwrap();
    });
}

/// Covers LG-012, LG-083.
#[test]
fn a_segment_that_goes_is_read_to_its_end() {
    let mut bed = Bed::new(small());
    bed.fill(30);
    bed.commit_all();
    let reader = bed.log.reader();
    let read = reader.read(offset(3), WHOLE, Isolation::LogEnd).unwrap();
    bed.log.raise_log_start(offset(26)).unwrap();
    let retired = bed.log.delete_old_segments(NOW_MS).unwrap();
    assert_eq!(batches(&read).len(), 10);
    retired.remove().unwrap();
    assert_eq!(batches(&read).len(), 10);
    let read = reader.read(offset(3), WHOLE, Isolation::LogEnd);
    assert!(matches!(read, Err(ReadError::OffsetOutOfRange { .. })));
}

#[test]
fn a_reader_outlives_the_log_and_its_directorys_name() {
    use klamm_primitives::TopicPartition;
    let mut bed = Bed::new(small());
    bed.fill(30);
    let reader = bed.log.reader();
    let partition = TopicPartition::new("topic", 0.into());
    let renamed = bed.log.rename_for_deletion(&partition, 7).unwrap();
    assert_eq!(renamed.parent(), Some("/data".as_ref()));
    // A new partition of the same name holds other records.
    let mut new = Bed::on(bed.disk.clone(), small());
    new.append(&Batch::of(2).value(b"other"));
    assert_eq!(read_offsets(&reader, 0), all(0..30));
    assert!(
        bed.log
            .append(&[Batch::of(1).produced()], epoch(0), NOW_MS)
            .is_err()
    );
}

/// Covers LG-085, LG-086, LG-087, LG-088.
#[test]
fn the_high_watermark_stays_between_log_start_and_log_end() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(10));
    assert_eq!(bed.log.high_watermark(), offset(0));
    assert_eq!(bed.log.set_high_watermark(offset(100)), offset(10));
    bed.log.raise_log_start(offset(3)).unwrap();
    assert_eq!(bed.log.set_high_watermark(offset(1)), offset(3));

    assert_eq!(
        bed.log.raise_high_watermark(offset(7), None).unwrap(),
        Some(offset(3))
    );
    assert_eq!(bed.log.raise_high_watermark(offset(7), None).unwrap(), None);
    assert_eq!(bed.log.raise_high_watermark(offset(5), None).unwrap(), None);
    let refused = bed.log.raise_high_watermark(offset(11), None).unwrap_err();
    assert_eq!(refused.log_end_offset, offset(10));
    assert_eq!(bed.log.high_watermark(), offset(7));

    bed.append(&Batch::of(5));
    assert_eq!(bed.log.high_watermark(), offset(7));
    bed.log.truncate_to(offset(10), NOW_MS).unwrap();
    assert_eq!(bed.log.high_watermark(), offset(7));
    bed.log.raise_high_watermark(offset(10), None).unwrap();
    bed.append(&Batch::of(5));
    bed.log.raise_high_watermark(offset(15), None).unwrap();
    bed.log.truncate_to(offset(10), NOW_MS).unwrap();
    assert_eq!(bed.log.high_watermark(), offset(10));
}

/// Covers LG-090, LG-091.
#[test]
fn raising_the_log_start_takes_everything_below_along() {
    let mut bed = Bed::new(small());
    bed.append_in(1, &Batch::of(5));
    bed.append_in(2, &Batch::of(5).by(1, 0, 0).transactional());
    bed.append_in(3, &Batch::of(5));
    bed.log.set_high_watermark(offset(4));
    assert!(bed.log.raise_log_start(offset(8)).unwrap());
    assert_eq!(bed.log.log_start_offset(), offset(8));
    assert_eq!(bed.log.high_watermark(), offset(8));
    assert_eq!(bed.log.recovery_point(), offset(8));
    let starts: Vec<_> = bed.log.epochs().iter().map(|it| it.start_offset).collect();
    assert_eq!(starts, [offset(8), offset(10)]);
    bed.commit_all();
    // The transaction that began at 5 is still open.
    assert_eq!(bed.log.last_stable_offset(), offset(8));

    assert!(!bed.log.raise_log_start(offset(8)).unwrap());
    assert!(!bed.log.raise_log_start(offset(2)).unwrap());
    assert!(bed.log.raise_log_start(offset(900)).unwrap());
    assert_eq!(bed.log.log_start_offset(), offset(15));
}

#[test]
fn lg_093_a_high_watermark_without_a_place_finds_it_on_the_next_read() {
    let mut bed = Bed::new(small());
    for _ in 0..20 {
        bed.append(&Batch::of(3));
    }
    let reader = bed.log.reader();
    for at in [7, 29, 30, 31, 59] {
        bed.log.set_high_watermark(offset(at));
        // In the middle of a batch, that batch is not seen yet.
        let seen = offsets_of(&read_all(&reader, 0, Isolation::HighWatermark));
        assert_eq!(seen, all(0..at / 3 * 3));
        let read = reader
            .read(offset(at), WHOLE, Isolation::HighWatermark)
            .unwrap();
        assert_eq!(read.start.offset, offset(at));
        let there = reader.read(offset(at), WHOLE, Isolation::LogEnd).unwrap();
        assert_eq!(read.start, there.start);
    }
}

#[test]
fn a_reader_knows_where_its_sight_ends_and_where_epochs_ended() {
    let mut bed = Bed::new(small());
    bed.fill(2);
    let reader = bed.log.reader();
    for isolation in [
        Isolation::LogEnd,
        Isolation::HighWatermark,
        Isolation::Committed,
    ] {
        for at in 0..=2 {
            bed.log.set_high_watermark(offset(at));
            let end = reader.visible_end(isolation).unwrap();
            let read = reader.read(end.offset, WHOLE, isolation).unwrap();
            assert_eq!(end, read.start);
        }
    }
    let epoch = bed.log.latest_epoch().unwrap();
    for asked in [-1, epoch.get(), epoch.get() + 1] {
        let asked = LeaderEpoch::new(asked);
        assert_eq!(reader.end_of_epoch(asked), bed.log.end_of_epoch(asked));
    }
}

/// Covers C104.
#[test]
fn a_read_below_the_first_record_finds_the_first_batch() {
    let mut bed = Bed::new(small());
    bed.follow(&[Batch::of(1).at_offset(1000)]);
    let read = bed
        .log
        .reader()
        .read(offset(0), WHOLE, Isolation::LogEnd)
        .unwrap();
    assert_eq!(offsets_of(&batches(&read)), [1000]);
}

/// Covers LG-077.
#[test]
fn segments_without_records_from_there_on_are_passed_over() {
    let mut bed = Bed::new(small());
    bed.fill(5);
    bed.log.roll(offset(0), NOW_MS).unwrap();
    bed.fill(5);
    bed.log.roll(offset(0), NOW_MS).unwrap();
    bed.fill(5);
    bed.commit_all();
    let bed = {
        // As compaction leaves it: nothing of the second segment, and of the first its begin.
        let mut bed = bed;
        bed.log.close().unwrap();
        bed.overwrite("00000000000000000005.log", b"");
        bed.overwrite("00000000000000000005.index", b"");
        let first = bed.content("00000000000000000000.log");
        let kept = RecordBatches::new(first.clone().into())
            .next()
            .unwrap()
            .unwrap();
        bed.overwrite("00000000000000000000.log", &first[..kept.size()]);
        Bed::on(bed.disk.clone(), small())
    };
    for from in 1..=10 {
        assert_eq!(bed.offsets_from(from), all(10..15));
    }
    assert!(
        bed.disk
            .metadata(&Bed::path("00000000000000000005.log"))
            .is_ok()
    );
}
