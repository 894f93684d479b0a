//! Retention: which old segments go.

use std::time::Duration;

use klamm_io::sim::{SimClock, SimDisk};
use klamm_log::{CleanupPolicy, LogConfig};

use crate::support::{Batch, Bed, NOW_MS, epoch, offset, small};

fn retained(bytes: Option<u64>, age_ms: Option<u64>) -> LogConfig {
    LogConfig {
        retention_bytes: bytes,
        retention_age: age_ms.map(Duration::from_millis),
        ..small()
    }
}

/// Lets old segments go; says which are left.
fn left(bed: &mut Bed) -> Vec<i64> {
    bed.log
        .delete_old_segments(NOW_MS)
        .unwrap()
        .remove()
        .unwrap();
    bed.segments()
}

/// Covers LG-178, LG-189, LG-092, B4.2.
#[test]
fn the_oldest_go_while_the_log_is_too_large() {
    let mut bed = Bed::new(retained(None, None));
    bed.fill(45);
    bed.commit_all();
    let size = bed.log.size();
    let segment = size / 45 * 13;
    assert_eq!(left(&mut bed), [0, 13, 26, 39]);
    for (bytes, expected) in [
        (size, vec![0, 13, 26, 39]),
        (size - segment + 1, vec![0, 13, 26, 39]),
        (size - segment, vec![13, 26, 39]),
        (size - 3 * segment + 1, vec![26, 39]),
        (1, vec![39]),
    ] {
        bed.log.set_config(retained(Some(bytes), None));
        assert_eq!(left(&mut bed), expected, "at most {bytes}");
        assert_eq!(bed.log.log_start_offset(), offset(expected[0]));
    }
    // Nothing at all may stay: a new segment takes the place of the last one.
    bed.log.set_config(retained(Some(0), None));
    assert_eq!(left(&mut bed), [45]);
    assert_eq!(bed.log.log_start_offset(), offset(45));
    assert_eq!(bed.append(&Batch::of(1)).first_offset, offset(45));
}

/// Covers LG-179, LG-181.
#[test]
fn segments_go_when_their_newest_record_is_too_old() {
    let mut bed = Bed::new(retained(None, Some(1000)));
    for age in [2000, 1001, 1000, 5000, 0] {
        bed.append(&Batch::at(&[NOW_MS - 9000, NOW_MS - age]));
        bed.log.roll(offset(0), NOW_MS).unwrap();
    }
    bed.commit_all();
    // The first one that stays keeps those behind it.
    assert_eq!(left(&mut bed), [4, 6, 8, 10]);
    bed.log.set_config(retained(None, None));
    assert_eq!(left(&mut bed), [4, 6, 8, 10]);
}

/// Covers LG-179, LG-183.
#[test]
fn an_old_active_segment_goes_and_an_empty_one_stays() {
    let mut bed = Bed::new(retained(None, Some(1000)));
    bed.append(&Batch::at(&[NOW_MS - 2000]));
    bed.commit_all();
    assert_eq!(left(&mut bed), [1]);
    assert_eq!(left(&mut bed), [1]);
    assert_eq!(bed.log.log_end_offset(), offset(1));
    bed.log.set_config(retained(Some(0), Some(0)));
    assert_eq!(left(&mut bed), [1]);
}

/// Covers LG-037, C101.
#[test]
fn without_timestamps_the_files_age_counts() {
    let clock = SimClock::new();
    let disk = SimDisk::with_clock(0, clock.clone());
    let mut bed = Bed::on(disk, retained(None, Some(1000)));
    bed.append(&Batch::at(&[-1]));
    bed.log.roll(offset(0), NOW_MS).unwrap();
    bed.append(&Batch::at(&[-1]));
    bed.commit_all();
    let written_ms = klamm_io::Clock::unix_ms(&clock);
    let retired = bed.log.delete_old_segments(written_ms + 1000).unwrap();
    assert!(retired.is_empty());
    let retired = bed.log.delete_old_segments(written_ms + 1001).unwrap();
    assert!(!retired.is_empty());
}

/// Covers LG-180, LG-182, C103.
#[test]
fn segments_before_the_log_start_go_whatever_the_policy() {
    for policy in [CleanupPolicy::DELETE, CleanupPolicy::COMPACT] {
        let mut bed = Bed::new(LogConfig {
            cleanup_policy: policy,
            ..retained(Some(0), Some(0))
        });
        bed.log.set_config(LogConfig {
            cleanup_policy: policy,
            ..retained(None, None)
        });
        bed.fill(45);
        bed.commit_all();
        bed.log.raise_log_start(offset(25)).unwrap();
        assert_eq!(left(&mut bed), [13, 26, 39]);
        bed.log.raise_log_start(offset(26)).unwrap();
        assert_eq!(left(&mut bed), [26, 39]);
        bed.log.set_config(LogConfig {
            cleanup_policy: policy,
            ..retained(Some(0), Some(0))
        });
        let expected = if policy.delete {
            vec![45]
        } else {
            vec![26, 39]
        };
        assert_eq!(left(&mut bed), expected);
    }
}

/// Covers LG-178: nothing goes that not all replicas have.
#[test]
fn retention_stops_at_the_high_watermark() {
    let mut bed = Bed::new(retained(Some(0), Some(0)));
    bed.fill(45);
    bed.log.set_high_watermark(offset(30));
    assert_eq!(left(&mut bed), [26, 39]);
    assert_eq!(bed.log.log_start_offset(), offset(26));
    assert_eq!(bed.log.high_watermark(), offset(30));
    bed.commit_all();
    assert_eq!(left(&mut bed), [45]);
}

/// Covers LG-146, LG-147.
#[test]
fn a_segment_takes_its_snapshot_along_and_the_log_knows_its_producers_still() {
    let mut bed = Bed::new(retained(Some(0), None));
    bed.append(&Batch::of(1).by(1, 0, 0));
    for sequence in 0..40 {
        bed.append(&Batch::of(1).by(2, 0, sequence));
    }
    assert_eq!(bed.snapshots(), [13, 26, 39]);
    bed.log.set_high_watermark(offset(30));
    let retired = bed.log.delete_old_segments(NOW_MS).unwrap();
    assert_eq!(bed.snapshots(), [26, 39]);
    let waiting = "00000000000000000013.snapshot.deleted";
    assert!(bed.files().contains(&waiting.to_owned()));
    retired.remove().unwrap();
    assert!(!bed.files().contains(&waiting.to_owned()));
    assert_eq!(bed.log.producer_count(), 2);
    assert!(bed.append(&Batch::of(1).by(1, 0, 0)).is_duplicate);
    // The snapshots that are left know it too.
    let mut bed = bed.reopen();
    assert!(bed.append(&Batch::of(1).by(1, 0, 0)).is_duplicate);
}

#[test]
fn lg_187_a_new_setting_holds_from_the_next_pass() {
    let mut bed = Bed::new(retained(None, None));
    let old = Batch::at(&[NOW_MS - 50]).produced();
    bed.log.append(&[old], epoch(0), NOW_MS).unwrap();
    bed.commit_all();
    assert_eq!(left(&mut bed), [0]);
    bed.log.set_config(retained(None, Some(49)));
    assert_eq!(left(&mut bed), [1]);
}
