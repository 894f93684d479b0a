//! Compaction on a simulated disk: what stays, what goes, and what a reader sees meanwhile.

mod crashes;
mod fixture;
mod model;
mod transactions;

use std::time::Duration;

use klamm_io::{Disk as _, DiskFile as _, OpenMode};
use klamm_primitives::Offset;
use klamm_records::Codec;

use self::fixture::{Fixture, MIB, compacted};
use super::*;
use crate::config::{CleanupPolicy, LogConfig};
use crate::read::Isolation;

/// Covers LG-208, LG-202, LG-220.
#[test]
fn of_each_key_the_newest_record_stays_with_its_offset() {
    let mut it = Fixture::new(compacted());
    it.put(&[("a", "1"), ("b", "1"), ("a", "2")]);
    it.put(&[("c", "1")]);
    it.roll();
    it.put(&[("b", "2"), ("d", "1")]);
    it.roll();
    it.put(&[("a", "3"), ("a", "4")]);

    let end = it.clean();
    assert_eq!(
        end,
        Offset::new(6),
        "the segment that is appended to stays dirty"
    );
    let expected = [
        // Newest but for what the active segment has, which nobody looked at.
        (2, "a", "2"),
        (3, "c", "1"),
        (4, "b", "2"),
        (5, "d", "1"),
        (6, "a", "3"),
        (7, "a", "4"),
    ];
    assert_eq!(it.records(), fixture::owned(&expected));
    it.check();
}

#[test]
fn lg_209_what_may_not_be_cleaned_is_not_touched() {
    let mut it = Fixture::new(compacted());
    it.put(&[("a", "1")]);
    it.roll();
    it.put(&[("a", "2"), ("a", "3")]);
    it.roll();
    let active = it.file("00000000000000000001.log");
    it.put(&[("a", "4")]);
    // The second segment holds records of an open transaction's time.
    it.log.set_high_watermark(Offset::new(2));
    let cleanable = it.cleanable(None);
    assert_eq!(cleanable.first_uncleanable, Offset::new(1));
    it.clean();
    assert_eq!(it.file("00000000000000000001.log"), active);
    assert_eq!(
        it.records().len(),
        4,
        "the first record is the newest below the end"
    );
}

/// Covers LG-201, LG-202, LG-207.
#[test]
fn only_compacted_logs_are_cleaned_and_their_bytes_are_counted() {
    let mut it = Fixture::new(compacted());
    it.put(&[("a", "1")]);
    it.roll();
    it.put(&[("a", "2")]);
    let size = it.file("00000000000000000000.log").len() as u64;
    let cleanable = it.cleanable(None);
    assert_eq!((cleanable.clean_bytes, cleanable.dirty_bytes), (0, size));
    assert_eq!(cleanable.first_uncleanable, Offset::new(1));
    let cleanable = it.cleanable(Some(Offset::new(1)));
    assert_eq!((cleanable.clean_bytes, cleanable.dirty_bytes), (size, 0));
    // One past the log's end is none of its.
    let cleanable = it.cleanable(Some(Offset::new(99)));
    assert_eq!(cleanable.first_dirty, Offset::ZERO);

    it.log.set_config(LogConfig::default());
    assert_eq!(it.log.cleanable(None, 0).unwrap(), None);
    it.log.set_config(LogConfig {
        cleanup_policy: CleanupPolicy {
            delete: true,
            compact: true,
        },
        ..LogConfig::default()
    });
    assert!(it.log.cleanable(None, 0).unwrap().is_some());
}

#[test]
fn lg_203_a_log_is_overdue_when_its_oldest_dirty_record_is_too_old() {
    let config = LogConfig {
        compaction_lag_max: Some(Duration::from_millis(100)),
        ..compacted()
    };
    let mut it = Fixture::new(config);
    it.now_ms = 1000;
    it.put(&[("a", "1")]);
    it.roll();
    it.now_ms = 1100;
    assert!(!it.cleanable(None).is_overdue);
    it.now_ms = 1101;
    assert!(it.cleanable(None).is_overdue);
    assert!(!it.cleanable(Some(Offset::new(1))).is_overdue);
}

#[test]
fn lg_209_records_younger_than_the_least_lag_wait() {
    let config = LogConfig {
        compaction_lag_min: Duration::from_millis(100),
        ..compacted()
    };
    let mut it = Fixture::new(config);
    it.now_ms = 1000;
    it.put(&[("a", "1")]);
    it.roll();
    it.now_ms = 1050;
    it.put(&[("a", "2")]);
    it.roll();
    it.now_ms = 1099;
    assert_eq!(it.cleanable(None).first_uncleanable, Offset::ZERO);
    it.now_ms = 1100;
    assert_eq!(it.cleanable(None).first_uncleanable, Offset::new(1));
    it.now_ms = 1150;
    assert_eq!(it.cleanable(None).first_uncleanable, Offset::new(2));
}

#[test]
fn lg_210_records_without_a_key_are_dropped() {
    let mut it = Fixture::new(compacted());
    it.put_raw(&[(Some("a"), Some("1")), (None, Some("2")), (None, None)]);
    it.roll();
    it.clean();
    assert_eq!(it.records(), fixture::owned(&[(0, "a", "1")]));
}

#[test]
fn lg_211_without_memory_for_all_keys_the_next_pass_goes_on() {
    let mut it = Fixture::new(compacted());
    // Room for two keys.
    it.map_bytes = 24 * 3;
    it.put(&[("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("a", "3")]);
    it.roll();
    it.put(&[("c", "2"), ("b", "2")]);
    it.roll();
    let first = it.clean();
    assert_eq!(first, Offset::new(3), "c was one too many");
    let kept: Vec<_> = it.records().iter().map(|it| it.0).collect();
    assert_eq!(kept, [1, 2, 3, 4, 5, 6], "what lies behind is as it was");
    let mut passes = 1;
    let mut end = first;
    while end < Offset::new(7) {
        let next = it.clean_from(Some(end));
        assert!(next > end, "each pass gets on");
        end = next;
        passes += 1;
    }
    assert!(passes > 2);
    let expected = [(4, "a", "3"), (5, "c", "2"), (6, "b", "2")];
    assert_eq!(it.records(), fixture::owned(&expected));
}

/// Covers LG-212, LG-217, LG-219.
#[test]
fn neighbours_are_joined_under_the_first_ones_base_and_the_last_ones_time() {
    let config = LogConfig {
        preallocate: true,
        segment_bytes: 2 * MIB,
        ..compacted()
    };
    let mut it = Fixture::new(config);
    for value in ["1", "2", "3"] {
        it.put(&[("a", value)]);
        it.roll();
    }
    let path = "00000000000000000002.log";
    let file = it
        .disk
        .open(&fixture::path(path), OpenMode::ReadWrite)
        .unwrap();
    file.set_modified_ms(123_456).unwrap();
    it.clean();
    assert_eq!(it.log.segment_count(), 2, "one cleaned, one active");
    assert_eq!(it.records(), fixture::owned(&[(2, "a", "3")]));
    let metadata = it.disk.metadata(&fixture::path("00000000000000000000.log"));
    let metadata = metadata.unwrap();
    assert_eq!(metadata.modified_ms, 123_456);
    assert!(metadata.len < 200, "cut to its data: {}", metadata.len);
    assert!(it.disk.metadata(&fixture::path(path)).is_err());

    // A group of which nothing stays is a segment all the same.
    let mut it = Fixture::new(compacted());
    it.put(&[("a", "1")]);
    it.roll();
    it.put(&[("a", "2"), ("b", "1")]);
    it.roll();
    it.log.set_config(LogConfig {
        segment_bytes: 1,
        ..compacted()
    });
    it.clean();
    assert_eq!(it.log.segment_count(), 3);
    assert_eq!(it.file("00000000000000000000.log").len(), 0);
    assert_eq!(it.records().len(), 2);
    it.check();
    it.reopen(true);
    assert_eq!(it.records().len(), 2);
    it.reopen(false);
    assert_eq!(it.records().len(), 2);
}

#[test]
fn lg_213_the_old_files_wait_to_be_removed_and_the_new_ones_have_their_names() {
    let mut it = Fixture::new(compacted());
    it.put(&[("a", "1"), ("a", "2")]);
    it.roll();
    let old = it.file("00000000000000000000.log");
    let cleaned = it.begin(None).next(&|| false).unwrap().unwrap();
    assert!(
        it.names()
            .contains(&"00000000000000000000.log.cleaned".to_owned())
    );
    assert_eq!(it.file("00000000000000000000.log"), old, "not shown yet");
    let Swapped::Done(retired) = it.log.swap_in(cleaned).unwrap() else {
        panic!("nothing has changed meanwhile");
    };
    assert_eq!(it.file("00000000000000000000.log.deleted"), old);
    assert!(it.file("00000000000000000000.log").len() < old.len());
    assert!(!retired.is_empty());
    retired.remove().unwrap();
    let left: Vec<_> = it.names();
    let in_transit = left.iter().filter(|name| name.matches('.').count() > 1);
    assert_eq!(in_transit.count(), 0, "{left:?}");
}

#[test]
fn lg_213_who_reads_the_old_segment_reads_on() {
    let mut it = Fixture::new(compacted());
    for round in 0..50 {
        let value = format!("{round}").repeat(100);
        it.put(&[("a", &value), ("b", &value)]);
    }
    it.roll();
    it.put(&[("c", "1")]);
    let reader = it.log.reader();
    let range = fixture::read(&reader, 0, Isolation::LogEnd).range.unwrap();
    let before = range.read().unwrap();
    let old = it.log.shared.segment_for(Offset::ZERO);
    let (_, retired) = it.clean_keeping(None);

    let after = range.read().unwrap();
    assert_eq!(before, after);
    // One that got hold of the segment before finds its way by its own indexes.
    let found = old.find(Offset::new(60)).unwrap().unwrap();
    assert_eq!(found.base_offset, Offset::new(60));
    let read = fixture::read(&reader, 60, Isolation::LogEnd);
    assert_eq!(read.start.position, 0, "one batch is left, the first");
    drop(retired);
}

#[test]
fn lg_214_batches_larger_than_the_buffer_are_cleaned_too() {
    let mut it = Fixture::new(compacted());
    let large = "x".repeat(900_000);
    it.put(&[("a", &large), ("a", "2")]);
    it.put(&[("b", &large)]);
    it.roll();
    it.clean();
    let expected = [(1, "a", "2"), (2, "b", large.as_str())];
    assert_eq!(it.records(), fixture::owned(&expected));
}

#[test]
fn lg_214_a_damaged_batch_stops_the_pass_and_changes_nothing() {
    // A record; an offset, which no checksum covers; a size above what is there; a size above the
    // limit, whose checksum is wrong.
    let damages: [(u64, &[u8]); 4] = [
        (65, &[0xff]),
        (70, &[0xff]),
        (8, &[0x7f]),
        (8, &[0, 0x20, 0, 0]),
    ];
    for (position, bytes) in damages {
        let mut it = Fixture::new(compacted());
        it.put(&[("a", "1")]);
        it.put(&[("a", &"y".repeat(1_000_000))]);
        it.put(&[("a", &"y".repeat(1_000_000))]);
        it.put(&[("a", &"y".repeat(1_000_000))]);
        it.roll();
        let path = fixture::path("00000000000000000000.log");
        let file = it.disk.open(&path, OpenMode::ReadWrite).unwrap();
        file.write_all_at(bytes, position).unwrap();
        let before = it.file("00000000000000000000.log");
        let failed = it.begin(None).next(&|| false).err().unwrap();
        assert!(
            matches!(failed, CleanError::Damaged { .. } | CleanError::Segment(_)),
            "{failed:?}"
        );
        assert!(!it.log.is_failed());
        assert_eq!(it.file("00000000000000000000.log"), before);
        assert!(it.names().iter().all(|name| !name.ends_with("cleaned")));
    }
}

#[test]
fn lg_215_codec_timestamps_and_epochs_stay() {
    for codec in [
        Codec::None,
        Codec::Gzip,
        Codec::Snappy,
        Codec::Lz4,
        Codec::Zstd,
    ] {
        let mut it = Fixture::new(compacted());
        it.codec = codec;
        it.now_ms = 5000;
        it.leader_epoch = 3;
        it.put(&[("a", "1"), ("b", "1"), ("a", "2")]);
        it.now_ms = 6000;
        it.leader_epoch = 4;
        it.put(&[("a", "3"), ("c", "1")]);
        it.roll();
        let epochs = it.log.epochs();
        let before = it.headers();
        it.clean();
        assert_eq!(it.log.epochs(), epochs);
        let after = it.headers();
        assert_eq!(after.len(), 2);
        for (before, after) in before.iter().zip(&after) {
            let codec = before.attributes.codec().unwrap();
            assert_eq!(after.attributes.codec().unwrap(), codec);
            assert_eq!(after.max_timestamp_ms, before.max_timestamp_ms);
            assert_eq!(after.leader_epoch, before.leader_epoch);
            assert_eq!(after.base_offset, before.base_offset);
            assert_eq!(after.last_offset(), before.last_offset());
            assert_eq!(after.producer(), before.producer());
        }
        assert_eq!(after[0].record_count, 1);
        it.check();
    }
}

#[test]
fn lg_216_a_clean_log_cleaned_again_does_not_change() {
    let mut it = Fixture::new(compacted());
    it.put_raw(&[(Some("a"), Some("1")), (Some("b"), None), (None, Some("x"))]);
    it.put(&[("c", "1"), ("a", "2")]);
    it.roll();
    it.clean();
    let once = it.file("00000000000000000000.log");
    it.clean();
    assert_eq!(it.file("00000000000000000000.log"), once);
    it.put(&[("c", "2")]);
    it.roll();
    it.clean();
    let twice = it.records();
    assert_eq!(twice.len(), 3, "a, the tombstone of b, c");
    it.clean();
    assert_eq!(it.records(), twice);
}

/// Covers LG-208.
#[test]
fn a_tombstone_goes_once_it_has_been_seen_for_long_enough() {
    let config = LogConfig {
        tombstone_retention: Duration::from_millis(100),
        ..compacted()
    };
    let mut it = Fixture::new(config);
    it.put(&[("a", "1"), ("b", "1")]);
    it.put_raw(&[(Some("a"), None)]);
    it.roll();
    it.put(&[("z", "1")]);
    it.roll();
    it.now_ms = 10_000;
    it.clean();
    let offsets = |it: &Fixture| it.records().iter().map(|it| it.0).collect::<Vec<_>>();
    assert_eq!(offsets(&it), [1, 2, 3]);
    let horizon = it.headers()[1].delete_horizon_ms();
    assert_eq!(
        horizon,
        Some(10_100),
        "counted from the first pass (KIP-534)"
    );
    it.now_ms = 10_099;
    it.clean();
    assert_eq!(offsets(&it), [1, 2, 3]);
    assert_eq!(it.headers()[1].delete_horizon_ms(), horizon);
    it.now_ms = 10_100;
    it.clean();
    assert_eq!(offsets(&it), [1, 3]);
}

#[test]
fn lg_217_the_last_batch_below_the_end_keeps_its_header() {
    // A record without a key, and nothing behind it: C053.
    let mut it = Fixture::new(compacted());
    it.put(&[("a", "1")]);
    it.put_raw(&[(None, Some("1"))]);
    it.roll();
    it.clean();
    let last = *it.headers().last().unwrap();
    assert_eq!((last.record_count, last.next_offset()), (0, Offset::new(2)));
    assert_eq!(it.log.log_end_offset(), Offset::new(2));
    it.reopen(false);
    assert_eq!(it.log.log_end_offset(), Offset::new(2));
}

/// Covers LG-208: C104, the log starts before the first record that is left.
#[test]
fn a_read_at_the_log_start_finds_the_first_record_that_is_left() {
    let mut it = Fixture::new(compacted());
    for round in 0..10 {
        it.put(&[("a", &round.to_string())]);
    }
    it.roll();
    it.clean();
    assert_eq!(it.log.log_start_offset(), Offset::ZERO);
    assert_eq!(it.records(), fixture::owned(&[(9, "a", "9")]));
}

#[test]
fn lg_206_what_was_cleaned_of_a_log_that_was_cut_meanwhile_is_dropped() {
    let mut it = Fixture::new(compacted());
    it.put(&[("a", "1"), ("a", "2")]);
    it.put(&[("a", "3")]);
    it.roll();
    let cleaned = it.begin(None).next(&|| false).unwrap().unwrap();
    it.log.truncate_to(Offset::new(2), it.now_ms).unwrap();
    assert!(matches!(
        it.log.swap_in(cleaned).unwrap(),
        Swapped::Outdated
    ));
    assert!(it.names().iter().all(|name| !name.ends_with("cleaned")));
    assert_eq!(it.records().len(), 2);
    assert!(!it.log.is_failed());
}

#[test]
fn lg_204_a_pass_stops_when_it_is_told_to() {
    let mut it = Fixture::new(compacted());
    it.put(&[("a", "1"), ("a", "2")]);
    it.roll();
    let stopped = it.begin(None).next(&|| true).err().unwrap();
    assert!(matches!(stopped, CleanError::Stopped));
    assert_eq!(it.records().len(), 2);
}
