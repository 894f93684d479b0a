//! Batches whose base offset, which no checksum covers, is too high by a bit; and garbage behind the
//! last batch of a segment that is done.

use std::path::Path;

use klamm_io::sim::{Crash, SimDisk};
use klamm_log::{
    BatchFault, CleanupPolicy, Contradiction, Depth, LogConfig, OpenError, OpenOptions, ScanError,
    SegmentError, check,
};

use crate::support::{
    Batch, Bed, DIRECTORY, all, log_file, offset, open, open_clean, read_offsets, small, unclean,
};

/// The file with a bit of a batch's base offset flipped: batch `index` of those of one length.
fn leapt(whole: &[u8], batches: usize, index: usize, bit: u32) -> Vec<u8> {
    let at = whole.len() / batches * index;
    let mut bytes = whole.to_vec();
    let base = i64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
    bytes[at..at + 8].copy_from_slice(&(base ^ (1 << bit)).to_be_bytes());
    bytes
}

fn copy_of(bed: &Bed) -> Bed {
    Bed {
        log: open_clean(&SimDisk::new(0), small()).unwrap().0,
        disk: bed.disk.crash(Crash::Kill),
    }
}

fn compacted() -> LogConfig {
    LogConfig {
        cleanup_policy: CleanupPolicy::COMPACT,
        ..small()
    }
}

fn contradiction(error: OpenError) -> Contradiction {
    match error {
        OpenError::Segment(SegmentError::Scan(ScanError::Damaged {
            reason: BatchFault::Leaps { contradiction, .. },
            ..
        })) => contradiction,
        other => panic!("{other}"),
    }
}

/// Covers C089, LG-116: the batch behind begins where the one before it would have ended.
#[test]
fn a_batch_that_leaps_over_the_one_behind_it_is_the_damaged_one() {
    let mut bed = Bed::new(LogConfig {
        segment_bytes: 1 << 20,
        ..small()
    });
    bed.fill(10);
    let whole = bed.content(&log_file(0));
    for config in [small(), compacted()] {
        for (index, bit) in [(4, 20), (4, 5), (0, 30), (7, 3)] {
            let bed = copy_of(&bed);
            let bytes = leapt(&whole, 10, index, bit);
            bed.overwrite(&log_file(0), &bytes);
            let report = check(&bed.disk, Path::new(DIRECTORY), Depth::Batches).unwrap();
            let (log, opening) = open(&bed.disk, config.clone(), &unclean(0)).unwrap();
            let end = i64::try_from(index).unwrap();
            assert_eq!(log.log_end_offset(), offset(end), "{index} {bit}");
            let position = whole.len() / 10 * index;
            let cut = opening.cut.unwrap();
            assert_eq!(cut.position as usize, position);
            assert!(
                cut.reason.contains("a batch behind begins at"),
                "{}",
                cut.reason
            );
            // All of it is good, and is kept.
            assert_eq!(opening.saved[0].batches, 10 - u64::try_from(index).unwrap());
            let name = format!("{}.cut-{end}", log_file(0));
            assert_eq!(bed.content(&name), &bytes[position..]);
            assert_eq!(
                report.would_cut,
                Some(cut),
                "a look tells what a repair does"
            );
        }
    }
}

/// Covers C089: below the recovery point nothing is cut, though the batch says that it is far above.
#[test]
fn a_leap_below_the_recovery_point_is_left_to_those_who_can_mend_it() {
    let mut bed = Bed::new(small());
    bed.fill(10);
    let whole = bed.content(&log_file(0));
    for config in [small(), compacted()] {
        for (index, bit) in [(4, 20), (7, 4)] {
            let bed = copy_of(&bed);
            let bytes = leapt(&whole, 10, index, bit);
            bed.overwrite(&log_file(0), &bytes);
            let refused = open(&bed.disk, config.clone(), &unclean(10)).err().unwrap();
            let next = offset(i64::try_from(index).unwrap() + 1);
            assert_eq!(contradiction(refused), Contradiction::Batch(next));
            assert_eq!(bed.content(&log_file(0)), bytes);
            // With the eight bytes as they were it is whole.
            bed.overwrite(&log_file(0), &whole);
            let (log, _) = open(&bed.disk, config.clone(), &unclean(10)).unwrap();
            assert_eq!(read_offsets(&log.reader(), 0), all(0..10));
        }
    }
}

/// Covers C089: the last batch of a segment cannot lie beyond the beginning of the next one.
#[test]
fn a_batch_that_leaps_over_the_next_segment_is_damaged() {
    let mut bed = Bed::new(small());
    bed.fill(45);
    assert_eq!(bed.segments(), [0, 13, 26, 39]);
    let whole = bed.content(&log_file(13));
    for config in [small(), compacted()] {
        for bit in [1, 9, 30] {
            let bed = copy_of(&bed);
            bed.overwrite(&log_file(13), &leapt(&whole, 13, 12, bit));
            let report = check(&bed.disk, Path::new(DIRECTORY), Depth::Batches).unwrap();
            let (log, opening) = open(&bed.disk, config.clone(), &unclean(0)).unwrap();
            assert_eq!(log.log_end_offset(), offset(25), "{bit}");
            assert_eq!(read_offsets(&log.reader(), 0), all(0..25));
            let reason = &opening.cut.as_ref().unwrap().reason;
            assert!(
                reason.ends_with("the next segment begins at 26"),
                "{reason}"
            );
            // The one batch, and the segments behind: nothing is lost.
            let kept: u64 = opening.saved.iter().map(|it| it.batches).sum();
            assert_eq!(kept, 1 + 13 + 6);
            assert_eq!(report.would_cut, opening.cut);
            let mut removed = opening.segments_removed;
            removed.sort();
            assert_eq!(report.would_remove, removed);
        }
        let bed = copy_of(&bed);
        bed.overwrite(&log_file(13), &leapt(&whole, 13, 12, 9));
        let refused = open(&bed.disk, config, &unclean(26)).err().unwrap();
        assert_eq!(contradiction(refused), Contradiction::Segment(offset(26)));
        assert_eq!(bed.segments_by_name(), [0, 13, 26, 39]);
    }
}

/// The last batch of all has nothing behind it; what was noted while it was where it belongs is left.
#[test]
fn the_last_batch_is_held_against_the_checkpoints_and_the_leader_epochs() {
    let mut bed = Bed::new(small());
    bed.fill(9);
    let bit = 20;
    let far = 8 + (1 << bit);
    let whole = bed.content(&log_file(0));
    let bytes = leapt(&whole, 9, 8, bit);
    let recovered = |config: LogConfig, options: &OpenOptions| {
        let bed = copy_of(&bed);
        bed.overwrite(&log_file(0), &bytes);
        let opened = open(&bed.disk, config, options);
        opened.map(|(log, opening)| (log.log_end_offset(), opening))
    };
    // Nothing contradicts it.
    let (end, opening) = recovered(small(), &unclean(0)).unwrap();
    assert_eq!((end, opening.cut), (offset(far + 1), None));
    let refused = recovered(small(), &unclean(9)).err().unwrap();
    assert_eq!(
        contradiction(refused),
        Contradiction::RecoveryPoint(offset(9))
    );
    let with_high_watermark = OpenOptions {
        high_watermark: offset(9),
        ..unclean(8)
    };
    let (end, opening) = recovered(small(), &with_high_watermark).unwrap();
    let reason = opening.cut.unwrap().reason;
    assert_eq!(end, offset(8));
    assert!(reason.ends_with("the high watermark was 9"), "{reason}");
    assert_eq!(opening.saved[0].batches, 1);
    // Compaction may have left such a gap, and may have removed what ended there.
    for options in [&with_high_watermark, &unclean(9)] {
        let (end, _) = recovered(compacted(), options).unwrap();
        assert_eq!(end, offset(far + 1));
    }
    // Where the points say nothing, they contradict nothing.
    for point in [8, far + 1] {
        let (end, _) = recovered(small(), &unclean(point)).unwrap();
        assert_eq!(end, offset(far + 1));
    }
}

/// Covers LG-116: records of an earlier epoch do not follow the beginning of a later one.
#[test]
fn a_batch_that_leaps_into_a_later_leader_epoch_is_damaged() {
    for config in [small(), compacted()] {
        let mut bed = Bed::new(config.clone());
        bed.append_in(3, &Batch::of(1));
        bed.append_in(3, &Batch::of(1));
        bed.log.begin_epoch(crate::support::epoch(5)).unwrap();
        bed.append_in(5, &Batch::of(1));
        let whole = bed.content(&log_file(0));
        let epochs = bed.content("leader-epoch-checkpoint");
        // The record of epoch 5 was torn off.
        let batch_len = whole.len() / 3;
        let bed = copy_of(&bed);
        bed.overwrite("leader-epoch-checkpoint", &epochs);
        bed.overwrite(&log_file(0), &leapt(&whole[..2 * batch_len], 2, 1, 16));
        let (log, opening) = open(&bed.disk, config, &unclean(0)).unwrap();
        assert_eq!(log.log_end_offset(), offset(1));
        let reason = opening.cut.unwrap().reason;
        assert!(reason.ends_with("leader epoch 5 begins at 2"), "{reason}");
    }
}

/// Covers LG-045: gaps are fine where batches rise, whether this log is compacted or its leader's was.
#[test]
fn gaps_that_nothing_contradicts_are_left_alone() {
    for config in [small(), compacted()] {
        let mut bed = Bed::new(config.clone());
        let offsets = [0, 1, 9, 100, 101, 4196, 1 << 20];
        for base in offsets {
            bed.follow(&[Batch::of(1).at_offset(base).in_epoch(0)]);
        }
        bed.log.flush().unwrap();
        for (point, high_watermark) in [(0, 0), (102, 101), (4197, 4197), ((1 << 20) + 1, 4197)] {
            let options = OpenOptions {
                high_watermark: offset(high_watermark),
                ..unclean(point)
            };
            let disk = bed.disk.crash(Crash::Kill);
            let (log, opening) = open(&disk, config.clone(), &options).unwrap();
            assert_eq!((opening.cut, opening.saved.len()), (None, 0));
            assert_eq!(read_offsets(&log.reader(), 0), offsets);
        }
    }
}

/// Where a compacted log's leap is true, one batch behind it that lies does not outweigh it.
#[test]
fn in_a_compacted_log_one_batch_does_not_contradict_another() {
    let mut bed = Bed::new(compacted());
    for base in [0, 1, 80, 81] {
        bed.follow(&[Batch::of(1).at_offset(base).in_epoch(0)]);
    }
    let whole = bed.content(&log_file(0));
    // The last one, 81, says 17.
    bed.overwrite(&log_file(0), &leapt(&whole, 4, 3, 6));
    let (log, _) = open(&bed.disk, compacted(), &unclean(0)).unwrap();
    assert_eq!(read_offsets(&log.reader(), 0), [0, 1, 80]);
}

/// Covers LG-117: what stands behind the last batch of a segment costs no segment that goes on where
/// that batch ends.
#[test]
fn lg_117_garbage_behind_a_finished_segment_goes_alone() {
    let mut bed = Bed::new(small());
    bed.fill(45);
    assert_eq!(bed.segments(), [0, 13, 26, 39]);
    let whole = bed.content(&log_file(13));
    let batch_len = whole.len() / 13;
    let cases: [(&[u8], u64); 4] = [
        (&[0x5a; 100], 0),
        (&[0; 100], 0),
        (&whole[..batch_len / 2], 0),
        // Good batches once more: nobody misses them, but they are kept.
        (&whole[..2 * batch_len], 2),
    ];
    for config in [small(), compacted()] {
        for (garbage, kept) in cases {
            for point in [0, 26, 45] {
                let bed = copy_of(&bed);
                let bytes = [&whole[..], garbage].concat();
                bed.overwrite(&log_file(13), &bytes);
                let report = check(&bed.disk, Path::new(DIRECTORY), Depth::Batches).unwrap();
                let (log, opening) = open(&bed.disk, config.clone(), &unclean(point)).unwrap();
                if point == 45 {
                    // It is not looked at.
                    assert_eq!(opening.cut, None);
                    continue;
                }
                assert_eq!(read_offsets(&log.reader(), 0), all(0..45), "{point}");
                assert_eq!(opening.segments_removed.len(), 0);
                assert_eq!(bed.content(&log_file(13)), whole);
                let saved: u64 = opening.saved.iter().map(|it| it.batches).sum();
                assert_eq!(saved, kept);
                assert_eq!(report.would_cut, opening.cut);
                assert!(report.would_remove.is_empty());
            }
        }
    }
    // The next one does not go on there: what is behind goes as well, and is kept.
    bed.overwrite(
        &log_file(13),
        &[&whole[..12 * batch_len], &[0x5a; 9]].concat(),
    );
    let (log, opening) = open(&bed.disk, small(), &unclean(0)).unwrap();
    assert_eq!(log.log_end_offset(), offset(25));
    assert_eq!(opening.segments_removed.len(), 2);
}

/// Covers C089: that a gap may be a leap costs a look at the head behind it, and no byte of its records.
#[test]
fn a_log_full_of_gaps_is_read_once() {
    let config = LogConfig {
        segment_bytes: 1 << 30,
        ..compacted()
    };
    let mut bed = Bed::new(config.clone());
    let gaps: Vec<_> = (0..50)
        .map(|it| Batch::of(1).sized(40_000).at_offset(it * 7))
        .collect();
    bed.follow(&gaps);
    let len = bed.log.size();
    let disk = bed.disk.crash(Crash::Kill);
    let (log, opening) = open(&disk, config, &unclean(0)).unwrap();
    let read = disk.bytes_read();
    assert_eq!((log.log_end_offset(), opening.cut), (offset(344), None));
    // A head is read with what is around it.
    let heads = 50 * 4096;
    assert!(read <= len + 2 * heads, "{read} bytes of {len}");
}
