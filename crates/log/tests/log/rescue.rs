//! What recovery takes out of a log and keeps in files beside it: good batches behind damage, and
//! segments behind a hole.

use std::path::Path;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{Disk, DiskErrorKind, DiskFile, DiskOperation, OpenMode};
use klamm_log::{CleanupPolicy, DiskFailure as _, LogConfig, OpenError, ScanError, SegmentError};
use klamm_records::HEADER_LEN;

use crate::support::{
    Batch, Bed, NOW_MS, all, log_file, offset, open, open_clean, read_offsets, small, unclean,
};

/// Covers C089: good batches behind a bad one are no torn tail, so a person finds them in a file.
#[test]
fn good_batches_behind_damage_are_kept_in_a_file() {
    let mut bed = Bed::new(LogConfig {
        segment_bytes: 1 << 20,
        ..small()
    });
    bed.fill(10);
    let whole = bed.content(&log_file(0));
    let batch_len = whole.len() / 10;
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        bytes
    };
    let at = 4 * batch_len;
    let zeroed = [&whole[..at], &vec![0; batch_len], &whole[at + batch_len..]].concat();
    let moved = {
        let mut bytes = whole.clone();
        bytes[at + 1] ^= 0x40;
        bytes
    };
    // A record, the length, a page that was never written, an offset out of reach.
    for (bytes, batches, first) in [
        (flipped(at + batch_len - 1), 5, 5),
        (flipped(at + 9), 5, 5),
        (zeroed, 5, 5),
        (moved, 5, 5),
    ] {
        let disk = bed.disk.crash(Crash::Kill);
        let bed = Bed {
            log: open_clean(&SimDisk::new(0), small()).unwrap().0,
            disk,
        };
        bed.overwrite(&log_file(0), &bytes);
        let (mut log, opening) = open(&bed.disk, small(), &unclean(0)).unwrap();
        assert_eq!(log.log_end_offset(), offset(4));
        let [saved] = &opening.saved[..] else {
            panic!("{opening:?}")
        };
        assert_eq!(saved.path, Bed::path(&format!("{}.cut-4", log_file(0))));
        assert_eq!(
            (saved.batches, saved.first_offset),
            (batches, offset(first))
        );
        assert_eq!(saved.last_offset, offset(9));
        let name = saved.path.file_name().unwrap().to_str().unwrap();
        assert_eq!(bed.content(name), &bytes[at..]);
        assert_eq!(bed.content(&log_file(0)), &bytes[..at]);

        // The same again loses nothing of what was kept before, and the log lives on.
        let batches: Vec<_> = (0..6).map(|_| Batch::of(1).produced()).collect();
        log.append(&batches, crate::support::epoch(0), NOW_MS)
            .unwrap();
        drop(log);
        let again = bed.content(&log_file(0));
        let mut again_flipped = again.clone();
        again_flipped[at + batch_len - 1] ^= 0x40;
        bed.overwrite(&log_file(0), &again_flipped);
        let (log, opening) = open(&bed.disk, small(), &unclean(0)).unwrap();
        let second = Bed::path(&format!("{}.cut-4-2", log_file(0)));
        assert_eq!(opening.saved[0].path, second);
        assert_eq!(bed.content(name), &bytes[at..]);
        drop(log);
        let (log, opening) = open(&bed.disk, small(), &unclean(0)).unwrap();
        assert_eq!((opening.saved.len(), log.log_end_offset()), (0, offset(4)));
    }
}

/// A crash leaves half a batch and no file of it.
#[test]
fn a_torn_batch_is_not_kept() {
    let mut bed = Bed::new(small());
    bed.fill(5);
    let whole = bed.content(&log_file(0));
    for lost in [1, 30, 70] {
        let disk = bed.disk.crash(Crash::Kill);
        let bed = Bed {
            log: open_clean(&SimDisk::new(0), small()).unwrap().0,
            disk,
        };
        bed.overwrite(&log_file(0), &whole[..whole.len() - lost]);
        let (_, opening) = open(&bed.disk, small(), &unclean(0)).unwrap();
        assert!(
            opening.cut.is_some() && opening.saved.is_empty(),
            "{opening:?}"
        );
        assert!(bed.files().iter().all(|name| !name.contains("cut")));
    }
}

/// Segments behind a hole go, but not their records.
#[test]
fn segments_behind_a_hole_are_kept_under_other_names() {
    let mut bed = Bed::new(small());
    bed.fill(45);
    assert_eq!(bed.segments(), [0, 13, 26, 39]);
    let former: Vec<_> = [13, 26, 39].map(|it| bed.content(&log_file(it))).into();
    bed.overwrite(&log_file(0), b"");
    let (log, opening) = open(&bed.disk, small(), &unclean(0)).unwrap();
    assert_eq!(log.log_end_offset(), offset(0));
    assert_eq!(opening.segments_removed.len(), 3);
    let kept: Vec<_> = opening
        .saved
        .iter()
        .map(|it| it.first_offset.get())
        .collect();
    assert_eq!(kept, [39, 26, 13]);
    for (base, former) in [13, 26, 39].into_iter().zip(&former) {
        let name = format!("{}.cut-0", log_file(base));
        assert_eq!(bed.content(&name), *former);
    }
    assert_eq!(bed.segments(), [0]);
    drop(log);

    // Once the broker is stopped the names are all there is to mend.
    bed.disk.remove_file(&Bed::path(&log_file(0))).unwrap();
    for base in [13, 26, 39] {
        let name = format!("{}.cut-0", log_file(base));
        let (from, to) = (Bed::path(&name), Bed::path(&log_file(base)));
        bed.disk.rename(&from, &to).unwrap();
    }
    let (log, _) = open(&bed.disk, small(), &unclean(0)).unwrap();
    assert_eq!(log.log_start_offset(), offset(13));
    assert_eq!(read_offsets(&log.reader(), 13), all(13..45));
}

/// Without room for a copy nothing is cut.
#[test]
fn what_finds_no_room_to_be_kept_is_not_cut() {
    let mut bed = Bed::new(small());
    bed.fill(10);
    let mut bytes = bed.content(&log_file(0));
    let batch_len = bytes.len() / 10;
    bytes[5 * batch_len - 1] ^= 0x40;
    bed.overwrite(&log_file(0), &bytes);
    let full = Fault::on(DiskOperation::Write).failing_with(DiskErrorKind::Full);
    bed.disk.inject(full.always());
    let error = open(&bed.disk, small(), &unclean(0))
        .map(|it| it.1)
        .unwrap_err();
    assert!(
        error.may_pass() && !error.takes_directory_offline(),
        "{error}"
    );
    assert_eq!(bed.content(&log_file(0)), bytes);
    let is_odd = |name: &String| name.contains("cut") || name.contains("cleaned");
    assert!(!bed.files().iter().any(is_odd), "{:?}", bed.files());
    bed.disk.clear_faults();
    let (log, opening) = open(&bed.disk, small(), &unclean(0)).unwrap();
    assert_eq!((log.log_end_offset(), opening.saved.len()), (offset(4), 1));
}

#[test]
fn a_segment_behind_a_hole_is_removed_unless_the_log_is_compacted() {
    let mut bed = Bed::new(small());
    bed.fill(45);
    assert_eq!(bed.segments(), [0, 13, 26, 39]);
    // The end of a segment was lost, along the border of two batches.
    let segment = bed.content(&log_file(13));
    bed.overwrite(&log_file(13), &segment[..segment.len() / 13 * 12]);
    let open = |config: LogConfig, point| {
        let disk = bed.disk.crash(Crash::Kill);
        open(&disk, config, &unclean(point)).unwrap()
    };
    let (log, opening) = open(small(), 0);
    assert_eq!(read_offsets(&log.reader(), 0), all(0..25));
    let removed = [39, 26].map(|base| Bed::path(&log_file(base)));
    assert_eq!(opening.segments_removed, removed);
    for (policy, point) in [(CleanupPolicy::COMPACT, 0), (CleanupPolicy::DELETE, 45)] {
        let config = LogConfig {
            cleanup_policy: policy,
            ..small()
        };
        let (log, opening) = open(config, point);
        assert_eq!(log.log_end_offset(), offset(45));
        assert!(opening.segments_removed.is_empty());
    }
}

/// With space reserved a log ends in zeros, which nobody misses. A page of zeros in its middle was
/// never written, and what is behind it was: it is damage like any other.
#[test]
fn good_batches_behind_zeros_are_kept_where_space_is_reserved() {
    let config = LogConfig {
        preallocate: true,
        segment_bytes: 1 << 20,
        ..small()
    };
    let mut bed = Bed::new(config.clone());
    bed.fill(10);
    let whole = bed.content(&log_file(0));
    assert_eq!(whole.len(), 1 << 20);
    let batch_len = usize::try_from(bed.log.size()).unwrap() / 10;
    let at = 4 * batch_len;
    let recovered = |bytes: &[u8]| {
        let bed = Bed {
            log: open_clean(&SimDisk::new(0), small()).unwrap().0,
            disk: bed.disk.crash(Crash::Kill),
        };
        bed.overwrite(&log_file(0), bytes);
        let (log, opening) = open(&bed.disk, config.clone(), &unclean(0)).unwrap();
        assert_eq!(log.log_end_offset(), offset(4));
        assert_eq!(bed.content(&log_file(0)), &bytes[..at]);
        (bed, opening)
    };
    let mut zeroed = whole.clone();
    zeroed[at..at + batch_len].fill(0);
    let (bed, opening) = recovered(&zeroed);
    let [saved] = &opening.saved[..] else {
        panic!("{opening:?}")
    };
    assert_eq!((saved.batches, saved.first_offset), (5, offset(5)));
    let name = saved.path.file_name().unwrap().to_str().unwrap();
    assert_eq!(bed.content(name), &zeroed[at..]);
    assert_eq!(opening.cut.unwrap().position as usize, at);

    // What is no good batch is not worth a file, and is told all the same.
    zeroed[at + batch_len..].fill(0);
    *zeroed.last_mut().unwrap() = 1;
    let (bed, opening) = recovered(&zeroed);
    assert_eq!((opening.saved.len(), opening.cut.is_some()), (0, true));
    assert!(bed.files().iter().all(|name| !name.contains("cut")));
}

/// Covers C089: the hole that a cut leaves would be compaction's to the next opening, which
/// serves what is behind one. So what is behind is gone before there is one.
#[test]
fn no_crash_of_a_recovery_has_a_compacted_log_serve_what_is_behind_damage() {
    let mut bed = Bed::new(small());
    bed.fill(45);
    assert_eq!(bed.segments(), [0, 13, 26, 39]);
    let mut damaged = bed.content(&log_file(13));
    let batch_len = damaged.len() / 13;
    let at = 7 * batch_len;
    damaged[at + batch_len - 1] ^= 0x40;
    bed.overwrite(&log_file(13), &damaged);
    let kept = [
        damaged[at..].to_vec(),
        bed.content(&log_file(26)),
        bed.content(&log_file(39)),
    ];
    for name in bed.files() {
        let file = bed.disk.open(&Bed::path(&name), OpenMode::ReadWrite);
        file.unwrap().sync_data().unwrap();
    }
    for directory in ["/", "/data", "/data/topic-0"] {
        bed.disk.sync_dir(Path::new(directory)).unwrap();
    }
    let config = LogConfig {
        cleanup_policy: CleanupPolicy::COMPACT,
        ..small()
    };
    for passed in 0.. {
        let mut is_done = false;
        for crash in [
            Crash::Kill,
            Crash::PowerLossLosingAll,
            Crash::PowerLoss { seed: passed },
            Crash::PowerLoss { seed: !passed },
        ] {
            let disk = bed.disk.crash(Crash::Kill);
            disk.inject(Fault::on_any().after(passed).cutting_power());
            is_done = open(&disk, config.clone(), &unclean(0)).is_ok();
            let disk = disk.crash(crash);
            let (log, _) = open(&disk, config.clone(), &unclean(0)).unwrap();
            let found = read_offsets(&log.reader(), 0);
            assert_eq!(found, all(0..20), "{crash:?} at call {passed}");
            let after = Bed { disk, log };
            let files = after.files();
            let cut = files.iter().filter(|name| name.contains(".cut-20"));
            let cut: Vec<_> = cut.map(|name| after.content(name)).collect();
            for kept in &kept {
                assert!(cut.contains(kept), "{crash:?} at call {passed}");
            }
        }
        if is_done {
            assert!(passed > 20, "{passed}");
            break;
        }
    }
}

/// Covers C089: a client may have filled its records with heads of batches, each of which claims to be
/// long. Not all of that is put under checksums, and nothing of it is thrown away.
#[test]
fn what_looks_like_too_many_batches_is_kept_without_checking_all_of_it() {
    let config = LogConfig {
        segment_bytes: 1 << 30,
        ..small()
    };
    let mut bed = Bed::new(config.clone());
    bed.fill(5);
    let mut bytes = bed.content(&log_file(0));
    let batch_len = bytes.len() / 5;
    let at = 4 * batch_len;
    bytes[at + batch_len - 1] ^= 0x40;
    let mut head = bytes[at..at + HEADER_LEN].to_vec();
    head[8..12].copy_from_slice(&(8_i32 << 20).to_be_bytes());
    bytes.extend(head.repeat((16 << 20) / HEADER_LEN));
    let left = (bytes.len() - at) as u64;
    let copy = || {
        let bed = Bed {
            log: open_clean(&SimDisk::new(0), small()).unwrap().0,
            disk: bed.disk.crash(Crash::Kill),
        };
        bed.overwrite(&log_file(0), &bytes);
        bed
    };

    let after = copy();
    let (log, opening) = open(&after.disk, config.clone(), &unclean(0)).unwrap();
    assert_eq!(log.log_end_offset(), offset(4));
    let [saved] = &opening.saved[..] else {
        panic!("{opening:?}")
    };
    assert_eq!((saved.batches, saved.is_all), (0, false));
    let name = saved.path.file_name().unwrap().to_str().unwrap();
    // Four times for checksums, once to look for heads, once to copy it.
    let read = after.disk.bytes_read();
    assert!(read < 7 * left, "{read} bytes of {left}");
    assert!(after.content(name) == bytes[at..], "all of it is kept");
    assert!(after.content(&log_file(0)) == bytes[..at]);

    // Below the recovery point it may have been durable: then nothing is cut.
    let refused = copy();
    let error = open(&refused.disk, config.clone(), &unclean(6)).map(|it| it.1);
    assert!(
        matches!(
            error,
            Err(OpenError::Segment(SegmentError::Scan(
                ScanError::Damaged { .. }
            )))
        ),
        "{error:?}"
    );
    let read = refused.disk.bytes_read();
    assert!(read < 6 * left, "{read} bytes of {left}");
    assert!(refused.content(&log_file(0)) == bytes, "nothing is cut");
}
