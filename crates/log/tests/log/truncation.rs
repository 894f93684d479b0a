//! Cutting the end off.

use std::time::Duration;

use klamm_log::{AppendError, Isolation, LogConfig, TimeTarget};
use klamm_records::{Codecs, Outcome};
use proptest::prelude::*;

use crate::support::{Batch, Bed, NOW_MS, all, epoch, log_file, offset, read_all, small};

#[test]
fn lg_094_no_record_at_or_behind_the_offset_stays() {
    let mut bed = Bed::new(small());
    bed.fill(10);
    assert!(bed.log.truncate_to(offset(5), NOW_MS).unwrap());
    assert_eq!(bed.offsets_from(0), all(0..5));
    assert_eq!(bed.append(&Batch::of(1)).first_offset, offset(5));
    assert!(bed.log.truncate_to(offset(0), NOW_MS).unwrap());
    assert_eq!((bed.segments(), bed.log.size()), (vec![0], 0));
    assert_eq!(bed.append(&Batch::of(1)).first_offset, offset(0));
    assert_eq!(bed.offsets_from(0), [0]);
}

#[test]
fn lg_095_a_cut_behind_the_end_changes_nothing() {
    let mut bed = Bed::new(small());
    bed.fill(3);
    let before = bed.content(&log_file(0));
    for at in [3, 4, i64::MAX] {
        assert!(!bed.log.truncate_to(offset(at), NOW_MS).unwrap());
    }
    assert_eq!(bed.content(&log_file(0)), before);
    assert_eq!(bed.log.log_end_offset(), offset(3));
}

#[test]
#[should_panic(expected = "cut to a negative offset, -1")]
fn lg_095_a_negative_offset_is_a_mistake() {
    _ = Bed::new(small()).log.truncate_to(offset(-1), NOW_MS);
}

#[test]
fn lg_096_the_segment_that_holds_the_offset_is_appended_to() {
    let mut bed = Bed::new(small());
    bed.fill(45);
    assert_eq!(bed.segments(), [0, 13, 26, 39]);
    bed.log.truncate_to(offset(30), NOW_MS).unwrap();
    assert_eq!(bed.segments(), [0, 13, 26]);
    bed.log.truncate_to(offset(26), NOW_MS).unwrap();
    assert_eq!(bed.segments(), [0, 13, 26]);
    assert_eq!(bed.content(&log_file(26)), b"");
    bed.log.truncate_to(offset(25), NOW_MS).unwrap();
    assert_eq!(bed.segments(), [0, 13]);
    bed.fill(2);
    assert_eq!(bed.segments(), [0, 13, 26]);
    assert_eq!(bed.offsets_from(0), all(0..27));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn lg_097_no_index_entry_points_past_the_end(
        rounds in prop::collection::vec((1usize..20, 0i64..60), 1..12)
    ) {
        let mut bed = Bed::new(LogConfig { segment_bytes: 3000, ..small() });
        for (count, cut) in rounds {
            bed.fill(count);
            bed.log.truncate_to(offset(cut), NOW_MS).unwrap();
            let end = bed.log.log_end_offset().get();
            // Closing writes the indexes down.
            bed = bed.reopen();
            for base in bed.segments() {
                let len = bed.content(&log_file(base)).len();
                for (relative, position) in bed.offset_index(base) {
                    prop_assert!((position as usize) < len);
                    prop_assert!(base + i64::from(relative) < end);
                }
                for (_, relative) in bed.time_index(base) {
                    prop_assert!(base + i64::from(relative) < end);
                }
            }
            prop_assert_eq!(bed.offsets_from(0), all(0..end));
        }
    }
}

#[test]
fn lg_098_below_the_first_segment_nothing_is_left() {
    let mut bed = Bed::new(small());
    bed.fill(30);
    bed.commit_all();
    bed.log.raise_log_start(offset(26)).unwrap();
    _ = bed.log.delete_old_segments(NOW_MS).unwrap();
    assert_eq!(bed.segments(), [26]);
    bed.log.truncate_to(offset(10), NOW_MS).unwrap();
    assert_eq!(bed.segments(), [10]);
    assert_eq!(bed.log.log_end_offset(), offset(10));
    assert_eq!(bed.log.log_start_offset(), offset(10));
    assert_eq!(bed.append(&Batch::of(1)).first_offset, offset(10));
}

#[test]
fn lg_099_starting_anew_forgets_everything() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(2).by(1, 0, 0));
    bed.fill(30);
    bed.commit_all();
    bed.log
        .truncate_fully_and_start_at(offset(1000), None, NOW_MS)
        .unwrap();
    assert_eq!((bed.segments(), bed.snapshots()), (vec![1000], vec![]));
    assert_eq!(bed.log.log_end_offset(), offset(1000));
    assert_eq!(bed.log.high_watermark(), offset(1000));
    assert_eq!(bed.log.log_start_offset(), offset(1000));
    assert_eq!(bed.log.producer_count(), 0);
    assert_eq!(bed.log.epochs(), []);
    assert_eq!(bed.content("leader-epoch-checkpoint"), b"0\n0\n");

    bed.log
        .truncate_fully_and_start_at(offset(500), Some(offset(400)), NOW_MS)
        .unwrap();
    assert_eq!(bed.log.log_start_offset(), offset(400));
    assert_eq!(bed.append(&Batch::of(1)).first_offset, offset(500));
    let (bed, _) = bed.kill();
    assert_eq!(bed.offsets_from(500), [500]);
}

#[test]
fn lg_100_a_cut_in_a_gap_keeps_what_is_before_it() {
    for cut in [41, 42, 43] {
        let mut bed = Bed::new(small());
        bed.follow(&[Batch::of(1).at_offset(40), Batch::of(1).at_offset(43)]);
        bed.log.truncate_to(offset(cut), NOW_MS).unwrap();
        assert_eq!(bed.offsets_from(0), [40]);
        assert_eq!(bed.log.log_end_offset(), offset(41));
    }
}

/// Covers LG-094: a batch goes as a whole, and the log ends where it began.
#[test]
fn a_cut_inside_of_a_batch_ends_the_log_before_it() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(3));
    bed.append(&Batch::of(10));
    bed.commit_all();
    bed.log.truncate_to(offset(7), NOW_MS).unwrap();
    assert_eq!(bed.log.log_end_offset(), offset(3));
    assert_eq!(bed.log.high_watermark(), offset(3));
    assert_eq!(bed.offsets_from(0), [0, 1, 2]);
    // The same batch again from the leader fits.
    bed.follow(&[Batch::of(10).at_offset(3)]);
    assert_eq!(bed.offsets_from(0), all(0..13));
}

#[test]
fn lg_101_the_largest_timestamp_is_found_again() {
    let mut bed = Bed::new(small());
    bed.log
        .truncate_fully_and_start_at(offset(40), None, NOW_MS)
        .unwrap();
    for timestamp in [400, 410, 420] {
        bed.append(&Batch::at(&[timestamp]));
    }
    bed.log.truncate_to(offset(41), NOW_MS).unwrap();
    let largest = bed
        .log
        .reader()
        .offset_for_timestamp(TimeTarget::MaxTimestamp, &mut Codecs::default())
        .unwrap()
        .unwrap();
    assert_eq!(
        (largest.offset, largest.timestamp_ms),
        (offset(40), Some(400))
    );
    bed.log.roll(offset(0), NOW_MS).unwrap();
    assert_eq!(bed.time_index(40), [(400, 0)]);
}

#[test]
fn lg_102_an_emptied_segment_counts_as_new() {
    let mut bed = Bed::new(LogConfig {
        segment_age_max: Duration::from_millis(100),
        ..small()
    });
    let append = |bed: &mut Bed, now_ms| {
        let batch = Batch::at(&[-1]).produced();
        bed.log
            .append(&[batch], epoch(0), now_ms)
            .unwrap()
            .has_rolled
    };
    append(&mut bed, NOW_MS);
    bed.log.truncate_to(offset(0), NOW_MS + 500).unwrap();
    assert!(!append(&mut bed, NOW_MS + 500));
    assert!(!append(&mut bed, NOW_MS + 600));
    assert!(append(&mut bed, NOW_MS + 601));
}

#[test]
fn lg_103_the_log_start_is_not_behind_the_end() {
    let mut bed = Bed::new(small());
    bed.fill(10);
    bed.log.raise_log_start(offset(6)).unwrap();
    bed.log.truncate_to(offset(8), NOW_MS).unwrap();
    assert_eq!(bed.log.log_start_offset(), offset(6));
    bed.log.truncate_to(offset(4), NOW_MS).unwrap();
    assert_eq!(bed.log.log_start_offset(), offset(4));
    assert_eq!(bed.log.log_end_offset(), offset(4));
    assert_eq!(bed.log.high_watermark(), offset(4));
}

/// Covers LG-104, LG-149.
#[test]
fn producers_are_what_they_were_at_the_cut() {
    let mut bed = Bed::new(small());
    for sequence in 0..40 {
        bed.append(&Batch::of(1).by(1, 0, sequence));
    }
    assert_eq!(bed.snapshots(), [13, 26, 39]);
    bed.log.truncate_to(offset(20), NOW_MS).unwrap();
    assert_eq!(bed.snapshots(), [13]);
    let late = Batch::of(1).by(1, 0, 40).produced();
    let refused = bed.log.append(&[late], epoch(0), NOW_MS);
    assert!(matches!(refused, Err(AppendError::Producer(_))));
    assert_eq!(
        bed.append(&Batch::of(1).by(1, 0, 20)).first_offset,
        offset(20)
    );
    bed.log.truncate_to(offset(0), NOW_MS).unwrap();
    assert_eq!(bed.log.producer_count(), 0);
}

#[test]
fn lg_105_epochs_and_aborted_transactions_behind_the_cut_go() {
    let mut bed = Bed::new(small());
    bed.append_in(1, &Batch::of(1).by(1, 0, 0).transactional());
    bed.append_marker((1, 0), Outcome::Abort);
    bed.append_in(2, &Batch::of(1).by(1, 0, 1).transactional());
    bed.append_marker((1, 0), Outcome::Abort);
    assert_eq!(bed.content("00000000000000000000.txnindex").len(), 2 * 34);
    bed.log.truncate_to(offset(3), NOW_MS).unwrap();
    assert_eq!(bed.content("00000000000000000000.txnindex").len(), 34);
    assert_eq!(bed.log.epochs().len(), 2);
    // The second transaction is open again.
    bed.commit_all();
    assert_eq!(bed.log.last_stable_offset(), offset(2));
    bed.log.truncate_to(offset(2), NOW_MS).unwrap();
    assert_eq!(bed.log.epochs().len(), 1);
    assert_eq!(bed.content("leader-epoch-checkpoint"), b"0\n1\n1 0\n");
    let read = read_all(&bed.log.reader(), 0, Isolation::LogEnd);
    assert_eq!(read.len(), 2);
}
