//! No descriptor left: the call is refused, the log is as it was, and goes on when there are some.

use std::path::Path;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{DiskErrorKind, DiskOperation};
use klamm_log::{
    AppendError, Appended, DiskFailure as _, FlushError, Isolation, LogConfig, OpenOptions,
    ReadError,
};
use klamm_records::Outcome;

use crate::support::{
    Batch, Bed, NOW_MS, WHOLE, all, epoch, keep_directory, log_file, marker, offset, open, small,
    unclean,
};

/// From here on no file can be opened, and no directory.
fn use_up(disk: &SimDisk) {
    for operation in [
        DiskOperation::Open,
        DiskOperation::List,
        DiskOperation::SyncDir,
    ] {
        let fault = Fault::on(operation).failing_with(DiskErrorKind::TooManyFiles);
        disk.inject(fault.always());
    }
}

fn append(bed: &mut Bed, batch: &Batch) -> Result<Appended, AppendError> {
    bed.log.append(&[batch.produced()], epoch(0), NOW_MS)
}

fn assert_refused(bed: &Bed, result: Result<Appended, AppendError>) {
    match result {
        Err(error @ AppendError::NotWritten(_)) => {
            assert!(error.may_pass() && !error.takes_directory_offline());
        }
        other => panic!("{other:?}"),
    }
    assert!(!bed.log.is_failed());
}

#[test]
fn a_log_that_was_opened_and_not_touched_refuses_and_goes_on() {
    for filled in [0, 3, 30] {
        let mut bed = Bed::new(small());
        bed.fill(filled);
        let mut bed = bed.reopen();
        use_up(&bed.disk);
        let end = i64::try_from(filled).unwrap();
        let refused = append(&mut bed, &Batch::of(1));
        if filled > 0 {
            assert_refused(&bed, refused);
            let read = bed.log.reader().read(offset(0), WHOLE, Isolation::LogEnd);
            let Err(error @ ReadError::Segment(_)) = read else {
                panic!("{read:?}")
            };
            assert!(error.may_pass() && !error.takes_directory_offline());
        } else {
            assert_refused(&bed, refused);
        }
        assert_eq!(bed.log.log_end_offset(), offset(end));
        bed.disk.clear_faults();
        bed.fill(5);
        assert_eq!(bed.offsets_from(0), all(0..end + 5));
        assert_eq!(bed.kill().0.offsets_from(0), all(0..end + 5));
    }
}

/// A roll that cannot be done is tried again by the next append; one that needs none goes on in the
/// segment that was to end.
#[test]
fn a_roll_that_finds_no_descriptor_leaves_the_segment_as_it_was() {
    let mut bed = Bed::new(small());
    let large = Batch::of(1).sized(300);
    bed.append(&large);
    bed.append(&large);
    use_up(&bed.disk);
    for _ in 0..3 {
        let refused = append(&mut bed, &large);
        assert_refused(&bed, refused);
    }
    // It fits behind the others, over the offset at which the segment was to begin.
    assert_eq!(bed.append(&Batch::of(3)).first_offset, offset(2));
    assert_eq!(bed.segments_by_name(), [0]);
    bed.disk.clear_faults();
    let rolled = bed.append(&large);
    assert!(rolled.has_rolled);
    assert_eq!(bed.segments_by_name(), [0, 5]);
    bed.commit_all();
    assert_eq!(bed.offsets_from(0), all(0..6));
    let bed = bed.reopen();
    assert_eq!(bed.offsets_from(0), all(0..6));
    assert_eq!(bed.kill().0.offsets_from(0), all(0..6));
}

/// As above, at whichever of its calls a roll is refused, and on a full disk too.
#[test]
fn a_roll_may_be_refused_at_any_of_its_calls() {
    for kind in [DiskErrorKind::TooManyFiles, DiskErrorKind::Full] {
        for preallocate in [false, true] {
            let mut at = 0;
            loop {
                let mut bed = Bed::new(LogConfig {
                    preallocate,
                    ..small()
                });
                let large = Batch::of(1).sized(300).by(1, 0, 0);
                bed.append(&large);
                bed.append(&Batch::of(1).sized(300).by(1, 0, 1));
                for operation in [
                    DiskOperation::Open,
                    DiskOperation::SetLen,
                    DiskOperation::Allocate,
                ] {
                    bed.disk
                        .inject(Fault::on(operation).failing_with(kind).after(at));
                }
                let next = Batch::of(1).sized(500).by(1, 0, 2);
                let appended = append(&mut bed, &next);
                bed.disk.clear_faults();
                let is_over = appended.is_ok();
                if !is_over {
                    assert_refused(&bed, appended);
                    assert_eq!(bed.segments_by_name(), [0], "{kind:?} {at}");
                    // No duplicate, and the same offset.
                    assert_eq!(bed.append(&next).last_offset, offset(2));
                }
                assert_eq!(bed.offsets_from(0), [0, 1, 2]);
                bed.log.flush().unwrap();
                keep_directory(&bed.disk);
                let recovered = bed.disk.crash(Crash::PowerLossLosingAll);
                let (log, opening) = open(&recovered, small(), &unclean(0)).unwrap();
                assert_eq!(opening.segments_removed.len(), 0);
                assert_eq!(log.log_end_offset(), offset(3));
                if is_over {
                    break;
                }
                at += 1;
            }
            assert!(at > 2, "a roll opens a few files");
        }
    }
}

/// Index entries wait in memory for as long as they must, and none is lost.
#[test]
fn appends_go_on_while_the_index_cannot_be_written() {
    let config = LogConfig {
        segment_bytes: 1 << 20,
        index_bytes: 1 << 20,
        index_interval_bytes: 1,
        ..LogConfig::default()
    };
    let mut bed = Bed::new(config);
    bed.append(&Batch::of(1));
    use_up(&bed.disk);
    // More entries than wait in memory as a rule.
    bed.fill(1299);
    bed.disk.clear_faults();
    for from in (0..1300).step_by(50) {
        let read = bed
            .log
            .reader()
            .read(offset(from), WHOLE, Isolation::LogEnd);
        let position = u64::from(read.unwrap().start.position);
        assert_eq!(position, from.unsigned_abs() * bed.log.size() / 1300);
    }
    let bed = bed.reopen();
    assert_eq!(bed.offset_index(0).len(), 1299);
}

#[test]
fn a_flush_that_finds_no_descriptor_is_put_off() {
    let mut bed = Bed::new(small());
    bed.fill(30);
    use_up(&bed.disk);
    let refused = bed.log.flush();
    match refused {
        Err(FlushError::Disk(error)) => assert_eq!(error.kind(), DiskErrorKind::TooManyFiles),
        other => panic!("{other:?}"),
    }
    assert!(!bed.log.is_failed());
    assert_eq!(bed.log.recovery_point(), offset(0));
    bed.disk.clear_faults();
    bed.log.flush().unwrap();
    keep_directory(&bed.disk);
    assert_eq!(bed.log.recovery_point(), offset(30));
    // The snapshots are durable as well, so that recovery goes on from them.
    let found = bed.disk.crash(Crash::PowerLossLosingAll);
    let (log, _) = open(&found, small(), &unclean(30)).unwrap();
    let after = Bed { disk: found, log };
    assert_eq!(after.offsets_from(0), all(0..30));
    assert!(after.snapshots().len() > 1, "{:?}", after.snapshots());
}

/// No sync has failed where a file could not be opened for want of memory; a sync that wants for
/// memory has.
#[test]
fn a_flush_is_put_off_where_it_is_an_opening_that_wants_for_memory() {
    for (operation, is_put_off) in [(DiskOperation::Open, true), (DiskOperation::Sync, false)] {
        let mut bed = Bed::new(small());
        bed.fill(30);
        let fault = Fault::on(operation).failing_with(DiskErrorKind::NoMemory);
        bed.disk.inject(fault);
        let refused = bed.log.flush();
        assert!(matches!(refused, Err(FlushError::Disk(_))), "{refused:?}");
        assert_eq!(!bed.log.is_failed(), is_put_off, "{operation:?}");
        assert_eq!(bed.log.flush().is_ok(), is_put_off);
    }
}

/// Recovery on a full disk leaves indexes in memory, which a flush finds unwritten; that is no sync
/// that has failed, and neither is one of the log file that comes before.
#[test]
fn a_flush_is_put_off_while_recovered_indexes_find_no_room() {
    let mut bed = Bed::new(small());
    bed.fill(30);
    let disk = bed.disk.crash(Crash::Kill);
    let is_index = |path: &Path| path.to_string_lossy().ends_with("index");
    for operation in [DiskOperation::Write, DiskOperation::Open] {
        let full = Fault::on(operation).where_path(is_index);
        disk.inject(full.failing_with(DiskErrorKind::Full).always());
    }
    let (mut log, _) = open(&disk, small(), &unclean(0)).unwrap();
    assert!(log.segment_count() > 2);
    for _ in 0..2 {
        let refused = log.flush();
        match refused {
            Err(FlushError::Disk(error)) => assert_eq!(error.kind(), DiskErrorKind::Full),
            other => panic!("{other:?}"),
        }
        assert!(!log.is_failed());
        assert_eq!(log.recovery_point(), offset(0));
    }
    disk.clear_faults();
    log.flush().unwrap();
    assert_eq!(log.recovery_point(), offset(30));
}

/// What was aborted is noted with the marker, or neither is there.
#[test]
fn an_aborted_transaction_is_noted_or_its_marker_refused() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(2).by(1, 0, 0).transactional());
    use_up(&bed.disk);
    let marker = [marker((1, 0), Outcome::Abort)];
    let refused = bed.log.append_own(&marker, epoch(0), NOW_MS);
    assert_refused(&bed, refused);
    assert_eq!(bed.log.log_end_offset(), offset(2));
    bed.disk.clear_faults();
    bed.append_marker((1, 0), Outcome::Abort);
    bed.commit_all();
    let read = bed
        .log
        .reader()
        .read(offset(0), WHOLE, Isolation::Committed);
    assert_eq!(read.unwrap().aborted.unwrap().len(), 1);
}

/// The index is held open for a marker that is being written, and for no longer.
#[test]
fn a_marker_that_is_not_written_keeps_no_descriptor() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(2).by(1, 0, 0).transactional());
    let full = Fault::on(DiskOperation::Write).failing_with(DiskErrorKind::Full);
    bed.disk.inject(full);
    let marker = [marker((1, 0), Outcome::Abort)];
    let refused = bed.log.append_own(&marker, epoch(0), NOW_MS);
    assert_refused(&bed, refused);
    let opened = bed.disk.calls(DiskOperation::Open);
    bed.log.append_own(&marker, epoch(0), NOW_MS).unwrap();
    let opened = bed.disk.calls(DiskOperation::Open) - opened;
    assert_eq!(opened, 1, "the index was not held open since");
}

/// Readers open a segment that they still have by the name that it waits under.
#[test]
fn old_segments_go_without_a_descriptor() {
    let config = LogConfig {
        retention_age: None,
        retention_bytes: Some(0),
        ..small()
    };
    let mut bed = Bed::new(config);
    bed.fill(30);
    bed.commit_all();
    let mut bed = bed.reopen();
    let before = bed.segments_by_name();
    assert!(before.len() > 2);
    use_up(&bed.disk);
    // The last one can only go once there is another to append to.
    let retired = bed.log.delete_old_segments(NOW_MS);
    assert!(retired.is_ok() && !bed.log.is_failed());
    let last = offset(*before.last().unwrap());
    assert_eq!(bed.log.log_start_offset(), last);
    bed.disk.clear_faults();
    let retired = bed.log.delete_old_segments(NOW_MS).unwrap();
    assert!(!retired.is_empty());
    assert_eq!(bed.log.log_start_offset(), offset(30));
}

#[test]
fn a_log_is_cut_once_it_can_be_read_where() {
    let mut bed = Bed::new(small());
    bed.fill(30);
    let mut bed = bed.reopen();
    use_up(&bed.disk);
    bed.log.truncate_to(offset(12), NOW_MS).unwrap_err();
    assert!(!bed.log.is_failed());
    assert_eq!(bed.log.log_end_offset(), offset(30));
    bed.log.raise_log_start(offset(3)).unwrap_err();
    // It is only noted, until there is a record.
    bed.log.begin_epoch(epoch(7)).unwrap();
    assert!(!bed.log.is_failed());
    assert_eq!(bed.log.log_start_offset(), offset(0));
    bed.disk.clear_faults();
    assert!(bed.log.truncate_to(offset(12), NOW_MS).unwrap());
    assert!(bed.log.raise_log_start(offset(3)).unwrap());
    bed.log.begin_epoch(epoch(7)).unwrap();
    assert_eq!(bed.offsets_from(3), all(3..12));
    let (log, _) = open(
        &bed.disk.crash(Crash::Kill),
        small(),
        &OpenOptions::new(false, NOW_MS),
    )
    .unwrap();
    assert_eq!(log.log_end_offset(), offset(12));
    assert!(!bed.content(&log_file(0)).is_empty());
}
