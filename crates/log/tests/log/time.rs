//! Offsets by time.

use klamm_log::{Isolation, OffsetAndTime, TimeTarget};
use klamm_records::{Codecs, Compression, GzipLevel, Lz4Level, ZstdLevel};

use crate::support::{Batch, Bed, NOW_MS, epoch, offset, small};

fn find(bed: &Bed, target: TimeTarget) -> Option<OffsetAndTime> {
    let reader = bed.log.reader();
    reader
        .offset_for_timestamp(target, &mut Codecs::default())
        .unwrap()
}

fn at(bed: &Bed, timestamp_ms: i64) -> Option<i64> {
    find(bed, TimeTarget::AtOrAfter(timestamp_ms)).map(|it| it.offset.get())
}

fn largest(bed: &Bed) -> Option<(i64, i64)> {
    let found = find(bed, TimeTarget::MaxTimestamp)?;
    Some((found.offset.get(), found.timestamp_ms.unwrap()))
}

#[test]
fn lg_106_places_with_a_name_have_no_time() {
    let mut bed = Bed::new(small());
    let none = |offset, leader_epoch: Option<i32>| {
        Some(OffsetAndTime {
            offset: crate::support::offset(offset),
            timestamp_ms: None,
            leader_epoch: leader_epoch.map(epoch),
        })
    };
    assert_eq!(find(&bed, TimeTarget::Earliest), none(0, None));
    bed.append_in(3, &Batch::of(2));
    bed.append_in(5, &Batch::of(1).by(1, 0, 0).transactional());
    bed.append_in(5, &Batch::of(4));
    bed.log.set_high_watermark(offset(4));
    let latest = |isolation| find(&bed, TimeTarget::Latest(isolation));
    assert_eq!(latest(Isolation::LogEnd), none(7, Some(5)));
    assert_eq!(latest(Isolation::HighWatermark), none(4, Some(5)));
    assert_eq!(latest(Isolation::Committed), none(2, Some(5)));
    assert_eq!(find(&bed, TimeTarget::Earliest), none(0, Some(3)));
    bed.log.raise_log_start(offset(3)).unwrap();
    assert_eq!(find(&bed, TimeTarget::Earliest), none(3, Some(5)));
}

#[test]
fn lg_107_the_first_record_as_late_as_asked_for() {
    let mut bed = Bed::new(small());
    bed.log
        .truncate_fully_and_start_at(offset(40), None, NOW_MS)
        .unwrap();
    for i in 40..50 {
        bed.append(&Batch::at(&[10 * i]));
    }
    for (timestamp, found) in [
        (420, 42),
        (421, 43),
        (430, 43),
        (431, 44),
        (399, 40),
        (0, 40),
    ] {
        assert_eq!(at(&bed, timestamp), Some(found));
    }
    assert_eq!(at(&bed, 490), Some(49));
    assert_eq!(at(&bed, 491), None);
}

/// Covers LG-107, LG-112.
#[test]
fn every_timestamp_is_found_whatever_the_order_of_batches_and_segments() {
    let mut bed = Bed::new(small());
    let timestamp = |i: i64| 1000 + (i * 37) % 101 - if i % 40 < 20 { 500 } else { 0 };
    for i in 0..60 {
        bed.append(&Batch::at(&[timestamp(2 * i), timestamp(2 * i + 1)]));
    }
    assert!(bed.segments().len() > 3);
    let check = |bed: &Bed| {
        for wanted in 400..1110 {
            let expected = (0..120).find(|i| timestamp(*i) >= wanted);
            assert_eq!(at(bed, wanted), expected, "{wanted}");
        }
        let max = (0..120).map(timestamp).max().unwrap();
        let first = (0..120).find(|i| timestamp(*i) == max).unwrap();
        assert_eq!(largest(bed), Some((first, max)));
    };
    check(&bed);
    let bed = bed.reopen();
    check(&bed);
    check(&bed.kill().0);
}

/// Covers LG-109, LG-110, LG-112, C022.
#[test]
fn records_are_found_inside_of_batches_of_every_codec() {
    for compression in [
        Compression::None,
        Compression::Gzip(GzipLevel::default()),
        Compression::Snappy,
        Compression::Lz4(Lz4Level::default()),
        Compression::Zstd(ZstdLevel::default()),
    ] {
        let mut bed = Bed::new(small());
        assert_eq!(largest(&bed), None);
        bed.append_in(6, &Batch::at(&[10, 30, 20]).compressed(compression));
        for (timestamp, found) in [(0, 0), (10, 0), (11, 1), (15, 1), (30, 1)] {
            let it = find(&bed, TimeTarget::AtOrAfter(timestamp)).unwrap();
            assert_eq!(it.offset, offset(found), "{compression:?} {timestamp}");
            assert_eq!(it.leader_epoch, Some(epoch(6)));
            assert_eq!(it.timestamp_ms, Some(if found == 0 { 10 } else { 30 }));
        }
        assert_eq!(at(&bed, 31), None);
        assert_eq!(largest(&bed), Some((1, 30)));
    }
}

#[test]
fn lg_111_log_append_time_is_that_of_the_batchs_first_record() {
    let mut bed = Bed::new(small());
    for i in 0..3 {
        let batch = Batch::at(&[1, 2, 3]).with_log_append_time().produced();
        bed.log.append(&[batch], epoch(0), NOW_MS + 10 * i).unwrap();
    }
    assert_eq!(at(&bed, 0), Some(0));
    assert_eq!(at(&bed, NOW_MS + 1), Some(3));
    assert_eq!(at(&bed, NOW_MS + 10), Some(3));
    assert_eq!(at(&bed, NOW_MS + 20), Some(6));
    assert_eq!(at(&bed, NOW_MS + 21), None);
    assert_eq!(largest(&bed), Some((6, NOW_MS + 20)));
}

/// Covers LG-037, LG-109.
#[test]
fn records_without_a_time_are_never_found() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::at(&[-1]));
    bed.log.roll(offset(0), NOW_MS).unwrap();
    bed.append(&Batch::at(&[-1]));
    assert_eq!(bed.time_index(0), []);
    assert_eq!(at(&bed, 0), None);
    assert_eq!(largest(&bed), None);
}

/// Covers LG-109, C058.
#[test]
fn what_lies_before_the_log_start_is_never_found() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::at(&[900, 5, 800, 10]));
    bed.append(&Batch::at(&[700]));
    bed.append(&Batch::at(&[20, 20]));
    for (start, expected) in [(0, (0, 900)), (1, (2, 800)), (3, (4, 700)), (5, (5, 20))] {
        bed.log.raise_log_start(offset(start)).unwrap();
        assert_eq!(largest(&bed), Some(expected), "from {start}");
        assert_eq!(at(&bed, expected.1), Some(expected.0));
    }
}
