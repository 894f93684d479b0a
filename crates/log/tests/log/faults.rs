//! A disk that refuses: the caller gets to know, and the log stays what it says it is.

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{Disk, DiskErrorKind, DiskOperation};
use klamm_log::{AppendError, ChangeError, FlushError, LogConfig, OpenOptions, Unavailable};

use crate::support::{
    Batch, Bed, NOW_MS, all, epoch, keep_directory, log_file, offset, open, read_offsets, small,
};

fn on_log(operation: DiskOperation) -> Fault {
    Fault::on(operation).where_path(|path| path.extension().is_some_and(|it| it == "log"))
}

#[test]
fn a_write_that_stops_midway_is_taken_back() {
    for kind in [DiskErrorKind::Full, DiskErrorKind::Failed] {
        for bytes in [0, 1, 60, 61, 100] {
            let mut bed = Bed::new(small());
            bed.append(&Batch::of(1).by(1, 0, 0));
            let before = bed.content(&log_file(0));
            let fault = on_log(DiskOperation::Write);
            bed.disk
                .inject(fault.failing_with(kind).stopping_after_bytes(bytes));
            let batch = Batch::of(2).by(1, 0, 1).produced();
            match bed.log.append(&[batch], epoch(0), NOW_MS) {
                Err(AppendError::NotWritten(error)) => assert_eq!(error.kind(), kind),
                other => panic!("{other:?}"),
            }
            assert!(!bed.log.is_failed());
            assert_eq!(bed.content(&log_file(0)), before);
            assert_eq!(bed.log.log_end_offset(), offset(1));
            // The same again is no duplicate.
            let again = bed.append(&Batch::of(2).by(1, 0, 1));
            assert_eq!((again.first_offset, again.is_duplicate), (offset(1), false));
            assert_eq!(bed.offsets_from(0), [0, 1, 2]);
            assert_eq!(bed.kill().0.offsets_from(0), [0, 1, 2]);
        }
    }
}

#[test]
fn what_cannot_be_taken_back_ends_the_log() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(1));
    bed.disk
        .inject(on_log(DiskOperation::Write).stopping_after_bytes(70));
    bed.disk.inject(on_log(DiskOperation::SetLen));
    let batch = Batch::of(2).produced();
    let failed = bed
        .log
        .append(std::slice::from_ref(&batch), epoch(0), NOW_MS);
    assert!(matches!(failed, Err(AppendError::Failed(_))), "{failed:?}");
    assert!(bed.log.is_failed());
    let refused = bed.log.append(&[batch], epoch(0), NOW_MS);
    assert!(matches!(
        refused,
        Err(AppendError::Unavailable(Unavailable::Failed))
    ));
    assert!(matches!(
        bed.log.truncate_to(offset(0), NOW_MS),
        Err(ChangeError::Unavailable(Unavailable::Failed))
    ));
    assert!(bed.log.close().is_err());
    // Readers see what was there.
    assert_eq!(bed.offsets_from(0), [0]);
    let (bed, opening) = bed.kill();
    assert_eq!(
        (opening.cut.unwrap().bytes, bed.offsets_from(0)),
        (70, vec![0])
    );
}

#[test]
fn a_full_disk_refuses_appends_until_there_is_room() {
    let disk = SimDisk::new(0);
    let config = LogConfig {
        segment_bytes: 1 << 20,
        ..small()
    };
    let mut bed = Bed::on(disk, config);
    bed.append(&Batch::of(1));
    bed.disk.set_capacity(Some(40 << 10));
    let mut appended = 1;
    let large = Batch::of(1).sized(5000).produced();
    while bed
        .log
        .append(std::slice::from_ref(&large), epoch(0), NOW_MS)
        .is_ok()
    {
        appended += 1;
    }
    assert!((5..9).contains(&appended), "{appended}");
    assert!(!bed.log.is_failed());
    assert!(
        bed.log
            .append(std::slice::from_ref(&large), epoch(0), NOW_MS)
            .is_err()
    );
    bed.disk.set_capacity(None);
    bed.append(&Batch::of(1));
    assert_eq!(bed.offsets_from(0), all(0..appended + 1));
}

/// Covers LG-065.
#[test]
fn after_a_failed_sync_nothing_more_is_called_durable() {
    for operation in [DiskOperation::Sync, DiskOperation::SyncDir] {
        for at in 0..6 {
            let mut bed = Bed::new(small());
            bed.fill(20);
            let earlier = bed.log.begin_flush().unwrap().unwrap();
            bed.disk.inject(Fault::on(operation).after(at));
            let Err(error) = bed.log.flush() else {
                assert!(at > 0);
                assert_eq!(bed.log.recovery_point(), offset(20));
                continue;
            };
            assert!(matches!(error, FlushError::Disk(_)));
            assert!(bed.log.is_failed());
            assert_eq!(bed.log.recovery_point(), offset(0));
            assert!(matches!(
                bed.log.flush(),
                Err(FlushError::Unavailable(Unavailable::Failed))
            ));
            bed.log.flushed(&earlier);
            assert_eq!(bed.log.recovery_point(), offset(0));
            assert!(bed.log.close().is_err());
        }
    }
}

#[test]
fn a_flush_beside_one_that_failed_fails_as_well() {
    let mut bed = Bed::new(small());
    bed.fill(20);
    let first = bed.log.begin_flush().unwrap().unwrap();
    bed.fill(1);
    let second = bed.log.begin_flush().unwrap().unwrap();
    bed.disk.inject(Fault::on(DiskOperation::Sync));
    assert!(first.run().is_err());
    let error = second.run().unwrap_err();
    assert!(
        error.to_string().contains(crate::support::DIRECTORY),
        "{error}"
    );
}

/// Every call of a workload fails once, in turn: what is reported is true, then and after a
/// power cut.
#[test]
fn whatever_fails_the_log_is_what_it_says() {
    for operation in [
        DiskOperation::Open,
        DiskOperation::Write,
        DiskOperation::Sync,
        DiskOperation::SyncDir,
        DiskOperation::SetLen,
        DiskOperation::Rename,
        DiskOperation::RemoveFile,
        DiskOperation::Allocate,
        DiskOperation::Metadata,
        DiskOperation::Read,
    ] {
        for at in 0.. {
            let disk = SimDisk::new(at);
            disk.create_dir_all("/data/topic-0".as_ref()).unwrap();
            keep_directory(&disk);
            let config = LogConfig {
                preallocate: true,
                retention_bytes: Some(4000),
                ..small()
            };
            let mut bed = Bed::on(disk, config.clone());
            bed.disk.inject(Fault::on(operation).after(at));
            let mut durable = 0;
            let mut cut_to = i64::MAX;
            let done = (|| {
                for round in 0..3 {
                    for _ in 0..20 {
                        let batch = Batch::of(1).produced();
                        bed.log
                            .append(&[batch], epoch(round), NOW_MS)
                            .map_err(drop)?;
                    }
                    bed.log.flush().map_err(drop)?;
                    durable = bed.log.log_end_offset().get();
                    bed.log.set_high_watermark(offset(durable - 10));
                    let retired = bed.log.delete_old_segments(NOW_MS).map_err(drop)?;
                    retired.remove().map_err(drop)?;
                    cut_to = durable - 7;
                    bed.log.truncate_to(offset(cut_to), NOW_MS).map_err(drop)?;
                    durable = durable.min(cut_to);
                    cut_to = i64::MAX;
                }
                bed.log.close().map_err(drop)
            })();
            let start = bed.log.log_start_offset().get();
            let end = bed.log.log_end_offset().get();
            let read = bed.log.reader().read(
                offset(start),
                crate::support::WHOLE,
                klamm_log::Isolation::LogEnd,
            );
            // After it was closed the files are opened to be read.
            let reads = [
                DiskOperation::Read,
                DiskOperation::Open,
                DiskOperation::Metadata,
            ];
            if !reads.contains(&operation) {
                read.unwrap();
            }
            let after = bed.disk.crash(Crash::PowerLoss { seed: at });
            let options = OpenOptions {
                log_start: offset(start),
                ..OpenOptions::new(false, NOW_MS)
            };
            let (log, _) = open(&after, config, &options).unwrap();
            let kept = durable.min(cut_to);
            let offsets = read_offsets(&log.reader(), log.log_start_offset().get());
            let expected: Vec<_> =
                (log.log_start_offset().get()..log.log_end_offset().get()).collect();
            assert_eq!(offsets, expected, "{operation} {at}");
            assert!(log.log_end_offset() >= offset(kept), "{operation} {at}");
            assert!(log.log_end_offset() <= offset(end.max(durable).max(60)));
            if done.is_ok() {
                break;
            }
        }
    }
}
