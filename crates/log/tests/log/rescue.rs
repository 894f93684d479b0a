//! What recovery takes out of a log and keeps in files beside it: good batches behind damage, and
//! segments behind a hole.

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{Disk, DiskErrorKind, DiskOperation};
use klamm_log::{CleanupPolicy, DiskFailure as _, LogConfig};

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
