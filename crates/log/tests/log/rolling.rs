//! Rolling: when a segment ends, and what is left of it.

use std::time::Duration;

use klamm_log::{CleanupPolicy, Isolation, LogConfig};

use crate::support::{Batch, Bed, NOW_MS, WHOLE, all, content, epoch, log_file, offset, small};

/// Covers LG-058, LG-059, LG-077, B4.2.
#[test]
fn segments_are_no_larger_than_they_may_and_hold_whole_batches() {
    let mut bed = Bed::new(small());
    let mut size_of = |len: usize| {
        let before = bed.log.size();
        let rolled = bed.append(&Batch::of(1).sized(len)).has_rolled;
        (bed.log.size() - before, rolled)
    };
    // Two of just 500 bytes fit exactly.
    let overhead = usize::try_from(size_of(400).0).unwrap() - 400;
    assert_eq!(size_of(600 - 2 * overhead), (600 - overhead as u64, false));
    assert!(size_of(1).1);
    for len in (0..900).step_by(37) {
        size_of(len);
    }
    for base in bed.segments() {
        assert!(bed.content(&log_file(base)).len() <= 1000);
        // A read ends with its segment.
        let read = bed
            .log
            .reader()
            .read(offset(base), WHOLE, Isolation::LogEnd)
            .unwrap();
        assert_eq!(read.range.unwrap().len, bed.content(&log_file(base)).len());
    }
    let end = bed.log.log_end_offset().get();
    assert_eq!(bed.offsets_from(0), all(0..end));
}

#[test]
fn lg_058_a_full_index_ends_its_segment() {
    let mut bed = Bed::new(LogConfig {
        segment_bytes: 1 << 20,
        index_bytes: 40,
        ..small()
    });
    bed.fill(40);
    for base in bed.segments() {
        assert!(
            bed.offset_index(base).len() <= 5,
            "{:?}",
            bed.offset_index(base)
        );
        assert!(bed.time_index(base).len() <= 3);
    }
    assert!(bed.segments().len() > 2);
    assert_eq!(bed.offsets_from(0), all(0..40));
}

fn aged(max: u64) -> LogConfig {
    LogConfig {
        segment_age_max: Duration::from_millis(max),
        ..small()
    }
}

/// Covers LG-058, LG-060.
#[test]
fn a_segment_is_rolled_when_its_records_span_too_long() {
    let mut bed = Bed::new(aged(100));
    // The empty segment has no age, however late the first append is.
    let late = Batch::at(&[1000]).produced();
    assert!(
        !bed.log
            .append(&[late], epoch(0), NOW_MS + 9999)
            .unwrap()
            .has_rolled
    );
    assert!(!bed.append(&Batch::at(&[1100])).has_rolled);
    assert!(!bed.append(&Batch::at(&[500])).has_rolled);
    assert!(bed.append(&Batch::at(&[1101])).has_rolled);
    assert_eq!(bed.segments(), [0, 3]);
}

#[test]
fn lg_060_the_age_counts_on_after_reopening() {
    let mut bed = Bed::new(aged(100));
    bed.append(&Batch::at(&[1000]));
    let mut bed = bed.reopen();
    assert!(!bed.append(&Batch::at(&[1100])).has_rolled);
    assert!(bed.append(&Batch::at(&[1101])).has_rolled);
}

#[test]
fn lg_061_jitter_lets_segments_roll_earlier_each_at_its_own_time() {
    let config = LogConfig {
        segment_jitter: Duration::from_millis(90),
        segment_bytes: 1 << 20,
        ..aged(100)
    };
    let ages: Vec<_> = (0..20)
        .map(|i| {
            let mut bed = Bed::new(config.clone());
            bed.log
                .truncate_fully_and_start_at(offset(i), None, NOW_MS)
                .unwrap();
            bed.append(&Batch::at(&[1000]));
            (0..200)
                .find(|age| bed.append(&Batch::at(&[1000 + age])).has_rolled)
                .unwrap()
        })
        .collect();
    assert!(ages.iter().all(|age| (11..=101).contains(age)), "{ages:?}");
    assert!(ages.iter().any(|age| *age != ages[0]));
}

#[test]
fn lg_062_without_timestamps_the_age_counts_from_the_making() {
    let mut bed = Bed::new(aged(100));
    let mut append = |now_ms| {
        let batch = Batch::at(&[-1]).produced();
        bed.log
            .append(&[batch], epoch(0), now_ms)
            .unwrap()
            .has_rolled
    };
    assert!(!append(NOW_MS + 50));
    assert!(!append(NOW_MS + 100));
    assert!(append(NOW_MS + 101));
    assert!(!append(NOW_MS + 201));
    assert!(append(NOW_MS + 202));
}

/// Covers LG-021, LG-063.
#[test]
fn a_rolled_segment_is_cut_to_what_it_holds() {
    let mut bed = Bed::new(LogConfig {
        preallocate: true,
        ..small()
    });
    bed.fill(8);
    bed.append(&Batch::at(&[NOW_MS + 5]));
    assert_eq!(bed.content(&log_file(0)).len(), 1000);
    let size = usize::try_from(bed.log.size()).unwrap();
    bed.log.roll(offset(0), NOW_MS).unwrap();
    assert_eq!(bed.content(&log_file(0)).len(), size);
    assert_eq!(
        bed.content("00000000000000000000.index").len(),
        8 * bed.offset_index(0).len()
    );
    assert_eq!(bed.time_index(0), [(NOW_MS, 0), (NOW_MS + 5, 8)]);
    assert_eq!(bed.content("00000000000000000000.timeindex").len(), 24);
    assert_eq!(bed.content(&log_file(9)).len(), 1000);
    assert_eq!(bed.offsets_from(0), all(0..9));
}

/// Covers LG-021, LG-029.
#[test]
fn an_index_file_in_use_has_its_full_size_and_none_is_made_before_it_is_needed() {
    let mut bed = Bed::new(LogConfig {
        segment_bytes: 1 << 20,
        index_bytes: 8 * 2000 + 3,
        ..small()
    });
    bed.fill(1);
    assert_eq!(
        bed.files(),
        ["00000000000000000000.log", "leader-epoch-checkpoint"]
    );
    bed.fill(1200);
    assert_eq!(bed.content("00000000000000000000.index").len(), 8 * 2000);
    let bed = bed.reopen();
    let entries = bed.offset_index(0).len();
    assert_eq!(bed.content("00000000000000000000.index").len(), 8 * entries);
}

#[test]
fn lg_064_a_roll_leaves_a_snapshot_of_the_producers_also_of_none() {
    let mut bed = Bed::new(small());
    bed.fill(1);
    bed.log.roll(offset(0), NOW_MS).unwrap();
    let none = bed.content("00000000000000000001.snapshot");
    assert_eq!(
        (none.len(), &none[..2], &none[6..]),
        (10, &[0, 1][..], &[0; 4][..])
    );
    bed.append(&Batch::of(1).by(5, 0, 0));
    bed.log.roll(offset(0), NOW_MS).unwrap();
    assert_eq!(bed.content("00000000000000000002.snapshot").len(), 56);
}

#[test]
fn lg_065_the_recovery_point_follows_once_the_old_segment_is_synced() {
    let mut bed = Bed::new(small());
    bed.fill(5);
    bed.log.roll(offset(0), NOW_MS).unwrap();
    assert_eq!(bed.log.recovery_point(), offset(0));
    let flush = bed.log.begin_flush().unwrap().unwrap();
    flush.run().unwrap();
    bed.log.flushed(&flush);
    assert_eq!(bed.log.recovery_point(), offset(5));
}

/// Covers LG-066, LG-068, LG-069.
#[test]
fn rolling_goes_no_further_back_than_the_log_end() {
    let mut bed = Bed::new(small());
    bed.log.roll(offset(0), NOW_MS).unwrap();
    assert_eq!(bed.segments(), [0]);
    // Empty: replaced.
    bed.log.roll(offset(7), NOW_MS).unwrap();
    assert_eq!((bed.segments(), bed.snapshots()), (vec![7], vec![7]));
    assert_eq!(bed.log.log_end_offset(), offset(0));
    bed.log.roll(offset(7), NOW_MS).unwrap();
    assert_eq!(bed.segments(), [7]);
    // A leader goes on from where the log ends.
    bed.fill(2);
    assert_eq!(bed.offsets_from(0), [0, 1]);
    bed.log.roll(offset(1), NOW_MS).unwrap();
    assert_eq!(bed.segments(), [0, 2]);
}

#[test]
fn lg_067_left_overs_of_the_new_name_are_removed() {
    let mut bed = Bed::new(small());
    bed.fill(3);
    for extension in ["log", "index", "timeindex", "txnindex"] {
        bed.overwrite(&format!("{:020}.{extension}", 3), &[7; 777]);
    }
    bed.log.roll(offset(0), NOW_MS).unwrap();
    assert_eq!(content(&bed.disk, &log_file(3)), b"");
    bed.fill(3);
    assert_eq!(bed.offsets_from(0), all(0..6));
    assert!(
        !bed.files()
            .contains(&"00000000000000000003.txnindex".to_owned())
    );
}

#[test]
fn lg_070_a_new_setting_holds_from_the_next_append() {
    let mut bed = Bed::new(aged(100_000));
    bed.append(&Batch::at(&[1000]));
    bed.append(&Batch::at(&[2000]));
    bed.log.set_config(aged(10));
    assert!(bed.append(&Batch::at(&[2000])).has_rolled);
    bed.log.set_config(LogConfig {
        segment_bytes: 200,
        ..aged(100_000)
    });
    assert!(!bed.append(&Batch::at(&[2000])).has_rolled);
    assert!(bed.append(&Batch::at(&[2000])).has_rolled);
}

#[test]
fn lg_203_a_compacted_log_rolls_before_its_records_must_be_compacted() {
    let lag_max = |cleanup_policy| LogConfig {
        compaction_lag_max: Some(Duration::from_millis(100)),
        cleanup_policy,
        ..aged(100_000)
    };
    for (policy, rolls) in [
        (CleanupPolicy::COMPACT, true),
        (CleanupPolicy::DELETE, false),
    ] {
        let mut bed = Bed::new(lag_max(policy));
        bed.append(&Batch::at(&[1000]));
        assert!(!bed.append(&Batch::at(&[1100])).has_rolled);
        assert_eq!(bed.append(&Batch::at(&[1101])).has_rolled, rolls);
    }
}

#[test]
fn lg_071_a_high_watermark_at_the_log_end_moves_to_the_new_segment() {
    let mut bed = Bed::new(small());
    bed.fill(4);
    bed.commit_all();
    bed.log.roll(offset(0), NOW_MS).unwrap();
    for isolation in [
        Isolation::LogEnd,
        Isolation::HighWatermark,
        Isolation::Committed,
    ] {
        let read = bed.log.reader().read(offset(4), WHOLE, isolation).unwrap();
        assert_eq!(read.start, bed.log.log_end());
        assert_eq!(
            (read.start.segment_base, read.start.position),
            (offset(4), 0)
        );
    }
}
