//! Opening what was left: by a clean stop, by a kill, by other hands.

use std::path::Path;

use klamm_io::sim::{Crash, SimDisk};
use klamm_io::{Disk, DiskFile, DiskOperation, OpenMode};
use klamm_log::{LogConfig, OpenError, OpenOptions, Opening, TimeTarget};
use klamm_records::Codecs;

use crate::support::{
    Batch, Bed, DIRECTORY, NOW_MS, all, content, epoch, keep_directory, log_file, offset, open,
    open_clean, read_offsets, small,
};

#[test]
fn lg_113_a_missing_directory_becomes_an_empty_log_at_the_log_start() {
    for was_clean in [true, false] {
        let disk = SimDisk::new(0);
        let options = OpenOptions {
            log_start: offset(500),
            ..OpenOptions::new(was_clean, NOW_MS)
        };
        let (log, _) = open(&disk, small(), &options).unwrap();
        assert_eq!(log.log_end_offset(), offset(500));
        assert_eq!(log.log_start_offset(), offset(500));
        let bed = Bed { disk, log };
        assert_eq!(bed.segments(), [500]);
    }
}

#[test]
fn lg_114_after_a_clean_stop_nothing_is_scanned() {
    let mut bed = Bed::new(LogConfig {
        segment_bytes: 20_000,
        ..small()
    });
    for i in 0..1000 {
        bed.append(&Batch::of(1).by(i % 7, 0, i32::try_from(i / 7).unwrap()));
    }
    bed.commit_all();
    assert!(bed.segments().len() > 3);
    let (files, size) = (bed.files().len(), bed.log.size());
    let bed = bed.reopen();
    // A look at every name, and at the last segment's begin and end.
    assert!(bed.disk.calls(DiskOperation::Read) < 20);
    assert!(bed.disk.calls(DiskOperation::Metadata) < 2 * files as u64 + 20);
    assert_eq!(bed.log.log_end_offset(), offset(1000));
    assert_eq!(bed.log.high_watermark(), offset(1000));
    assert_eq!(bed.log.recovery_point(), offset(1000));
    assert_eq!((bed.log.size(), bed.log.producer_count()), (size, 7));
    assert_eq!(bed.offsets_from(0), all(0..1000));
}

#[test]
fn lg_114_an_idle_log_costs_few_calls_to_open_and_none_that_writes() {
    let mut bed = Bed::new(LogConfig {
        segment_bytes: 20_000,
        ..small()
    });
    bed.fill(1000);
    bed.log.close().unwrap();
    let segments = bed.segments().len() as u64;
    let disk = bed.disk.crash(Crash::Kill);
    let (mut log, _) = open_clean(&disk, small()).unwrap();
    // The length of each segment; the epochs, the last entry of the offset index, the last batches
    // and the producers.
    assert!(disk.calls(DiskOperation::Metadata) <= segments + 1);
    assert_eq!(disk.calls(DiskOperation::Open), 4);
    assert_eq!(disk.calls(DiskOperation::Read), 4);
    log.close().unwrap();
    let changes = [
        DiskOperation::CreateDir,
        DiskOperation::Write,
        DiskOperation::SetLen,
        DiskOperation::Sync,
        DiskOperation::SyncDir,
    ];
    for operation in changes {
        assert_eq!(disk.calls(operation), 0, "{operation:?}");
    }
}

#[test]
fn lg_120_an_index_without_its_log_is_removed() {
    let mut bed = Bed::new(small());
    bed.fill(3);
    bed.log.close().unwrap();
    for extension in ["index", "timeindex", "txnindex"] {
        bed.overwrite(&format!("{:020}.{extension}", 99), &[0; 24]);
    }
    let bed = Bed::on(bed.disk, small());
    assert!(bed.files().iter().all(|name| !name.contains("99")));
    assert_eq!(bed.offsets_from(0), [0, 1, 2]);
}

#[test]
fn lg_121_a_missing_time_index_counts_as_empty() {
    let mut bed = Bed::new(small());
    bed.fill(20);
    bed.log.close().unwrap();
    bed.disk
        .remove_file(&Bed::path("00000000000000000000.timeindex"))
        .unwrap();
    let bed = Bed::on(bed.disk, small());
    let target = TimeTarget::AtOrAfter(NOW_MS);
    let found = bed
        .log
        .reader()
        .offset_for_timestamp(target, &mut Codecs::default());
    assert_eq!(found.unwrap().unwrap().offset, offset(0));
    assert!(bed.content("00000000000000000000.timeindex").is_empty());
    let (bed, _) = bed.kill();
    bed.log.reader();
    let mut bed = bed;
    bed.log.close().unwrap();
    assert!(!bed.content("00000000000000000000.timeindex").is_empty());
}

#[test]
fn lg_123_an_empty_last_segment_gives_its_base() {
    let mut bed = Bed::new(small());
    bed.fill(5);
    bed.log.roll(offset(0), NOW_MS).unwrap();
    let bed = bed.reopen();
    assert_eq!(bed.log.log_end_offset(), offset(5));
    let (bed, _) = bed.kill();
    assert_eq!(bed.log.log_end_offset(), offset(5));
}

#[test]
fn lg_125_files_that_wait_to_be_removed_are() {
    let mut bed = Bed::new(small());
    bed.fill(30);
    bed.commit_all();
    bed.log.raise_log_start(offset(20)).unwrap();
    let retired = bed.log.delete_old_segments(NOW_MS).unwrap();
    assert!(!retired.is_empty());
    assert!(bed.files().iter().any(|name| name.ends_with(".deleted")));
    let bed = bed.reopen();
    assert!(!bed.files().iter().any(|name| name.ends_with(".deleted")));
    retired.remove().unwrap();
    assert_eq!(bed.log.log_start_offset(), offset(20));
}

#[test]
fn lg_126_epochs_of_records_that_are_not_there_are_dropped() {
    let mut bed = Bed::new(small());
    bed.append_in(1, &Batch::of(2));
    bed.append_in(2, &Batch::of(2));
    bed.append_in(3, &Batch::of(2));
    bed.log.begin_epoch(epoch(4)).unwrap();
    bed.commit_all();
    bed.log.raise_log_start(offset(3)).unwrap();
    let bed = bed.reopen();
    let epochs: Vec<_> = bed.log.epochs().iter().map(|it| it.epoch).collect();
    assert_eq!(epochs, [epoch(2), epoch(3)]);
    assert_eq!(bed.content("leader-epoch-checkpoint"), b"0\n2\n2 3\n3 4\n");
}

#[test]
fn lg_127_closing_leaves_a_snapshot_and_files_without_slack() {
    let mut bed = Bed::new(LogConfig {
        preallocate: true,
        ..small()
    });
    bed.append(&Batch::of(1).by(1, 0, 0));
    bed.fill(8);
    bed.log.close().unwrap();
    let calls = bed.disk.calls(DiskOperation::Write);
    bed.log.close().unwrap();
    assert_eq!(bed.disk.calls(DiskOperation::Write), calls);
    assert_eq!(bed.snapshots(), [9]);
    assert_eq!(bed.content(&log_file(0)).len() as u64, bed.log.size());
    assert_eq!(
        bed.content("00000000000000000000.index").len(),
        8 * bed.offset_index(0).len()
    );
    assert!(
        bed.log
            .append(&[Batch::of(1).produced()], epoch(0), NOW_MS)
            .is_err()
    );
    // All of it is durable.
    let disk = bed.disk.crash(Crash::PowerLossLosingAll);
    assert!(
        disk.list("/data".as_ref()).is_err(),
        "the directory's own name is its maker's care"
    );
    assert_eq!(bed.offsets_from(0), all(0..9));
}

#[test]
fn lg_128_opening_changes_nothing_by_itself() {
    let mut bed = Bed::new(small());
    for i in 0..30 {
        bed.append(&Batch::of(1).by(1, 0, i));
    }
    let all = |bed: &Bed| -> Vec<_> {
        let names = bed.files();
        names
            .iter()
            .map(|name| (name.clone(), bed.content(name)))
            .collect()
    };
    let (bed, _) = bed.kill();
    let mut bed = bed;
    bed.log.close().unwrap();
    let first = all(&bed);
    for was_clean in [true, false, true, false] {
        let (mut log, opening) =
            open(&bed.disk, small(), &OpenOptions::new(was_clean, NOW_MS)).unwrap();
        assert_eq!((opening.cut, opening.segments_removed.len()), (None, 0));
        log.close().unwrap();
        assert_eq!(all(&bed), first);
    }
}

/// Covers LG-089, LG-198, C094.
#[test]
fn checkpoints_are_clamped_to_what_is_there() {
    let mut bed = Bed::new(small());
    bed.fill(30);
    for (high_watermark, log_start, expected) in [
        (0, 0, (0, 0)),
        (20, 5, (20, 5)),
        (1, 5, (5, 5)),
        (1 << 62, 0, (30, 0)),
        (-1, -1, (0, 0)),
    ] {
        for was_clean in [true, false] {
            let disk = bed.disk.crash(Crash::Kill);
            let options = OpenOptions {
                high_watermark: offset(high_watermark),
                log_start: offset(log_start),
                recovery_point: offset(high_watermark.min(30)),
                ..OpenOptions::new(was_clean, NOW_MS)
            };
            let (log, _) = open(&disk, small(), &options).unwrap();
            let found = (log.high_watermark().get(), log.log_start_offset().get());
            assert_eq!(found, expected);
            assert!(log.recovery_point() <= offset(30));
        }
    }
}

/// What was durable does not go by itself: offsets that were given out must not be given out again
/// as if nothing had been.
#[test]
fn a_log_whose_durable_end_is_missing_is_not_opened() {
    let mut bed = Bed::new(small());
    bed.fill(30);
    bed.log.close().unwrap();
    let last = *bed.segments().last().unwrap();
    let whole = bed.content(&log_file(last));
    let kept = whole.len() * 2 / 3;
    bed.overwrite(&log_file(last), &whole[..kept]);
    for was_clean in [true, false] {
        let disk = bed.disk.crash(Crash::Kill);
        let at = |recovery_point| OpenOptions {
            recovery_point: offset(recovery_point),
            ..OpenOptions::new(was_clean, NOW_MS)
        };
        match open(&disk, small(), &at(30)).map(drop) {
            Err(OpenError::TailLost {
                path,
                log_end,
                recovery_point,
            }) => {
                assert_eq!(path, Path::new(DIRECTORY));
                assert_eq!(recovery_point, offset(30));
                assert!(offset(last) < log_end && log_end < offset(30), "{log_end}");
            }
            other => panic!("{other:?}"),
        }
        // Told once more, until somebody says to go on without.
        let again = open(&disk, small(), &at(30)).map(drop);
        assert!(matches!(again, Err(OpenError::TailLost { .. })));
        // Half a batch, too, is for a person to rescue.
        let left = content(&disk, &log_file(last));
        assert!(left == whole[..kept], "{} of {kept} bytes", left.len());
        let (log, _) = open(&disk, small(), &at(0)).unwrap();
        let end = log.log_end_offset().get();
        assert_eq!(read_offsets(&log.reader(), 0), all(0..end));
    }
}

#[test]
fn a_log_that_ends_before_its_start_begins_anew_there() {
    let mut bed = Bed::new(small());
    bed.append(&Batch::of(30).by(1, 0, 0));
    for was_clean in [true, false] {
        let disk = bed.disk.crash(Crash::Kill);
        let options = OpenOptions {
            log_start: offset(50),
            ..OpenOptions::new(was_clean, NOW_MS)
        };
        let (log, _) = open(&disk, small(), &options).unwrap();
        let bed = Bed { disk, log };
        assert_eq!(bed.segments(), [50]);
        assert_eq!(bed.log.log_end_offset(), offset(50));
        assert_eq!(bed.log.producer_count(), 0);
    }
}

#[test]
fn files_of_others_are_left_alone_and_too_large_ones_refused() {
    let mut bed = Bed::new(small());
    bed.fill(3);
    for name in ["notes.txt", "42.log", "00000000000000000000.log.bak"] {
        bed.overwrite(name, b"mine");
    }
    let bed = bed.kill().0.reopen();
    assert_eq!(bed.content("notes.txt"), b"mine");
    assert_eq!(bed.content("42.log"), b"mine");
    let file = bed
        .disk
        .open(&Bed::path(&log_file(3)), OpenMode::CreateNew)
        .unwrap();
    file.set_len(1 << 31).unwrap();
    match open_clean(&bed.disk, small()) {
        Err(OpenError::TooLarge { path, len }) => {
            assert_eq!((path, len), (Bed::path(&log_file(3)), 1 << 31));
        }
        other => panic!("{:?}", other.map(|it| it.1)),
    }
}

/// Every batch has its leader epoch, so nothing is lost but epochs without a record.
#[test]
fn a_list_of_epochs_that_makes_no_sense_is_made_anew_from_the_batches() {
    let mut bed = Bed::new(small());
    for leader_epoch in [1, 1, 2, 2, 7] {
        for _ in 0..7 {
            bed.append_in(leader_epoch, &Batch::of(1));
        }
    }
    bed.log.close().unwrap();
    let expected = content(&bed.disk, "leader-epoch-checkpoint");
    assert_eq!(expected, b"0\n3\n1 0\n2 14\n7 28\n");
    for damaged in [&b"rubbish"[..], b"0\n9\n1 0\n", b"0\n2\n7 28\n2 14\n"] {
        for was_clean in [true, false] {
            let disk = bed.disk.crash(Crash::Kill);
            let bed = Bed {
                log: open_clean(&SimDisk::new(0), small()).unwrap().0,
                disk,
            };
            bed.overwrite("leader-epoch-checkpoint", damaged);
            let options = OpenOptions::new(was_clean, NOW_MS);
            let (log, _) = open(&bed.disk, small(), &options).unwrap();
            assert_eq!(log.epochs().len(), 3);
            assert_eq!(content(&bed.disk, "leader-epoch-checkpoint"), expected);
            assert_eq!(read_offsets(&log.reader(), 0), all(0..35));
        }
    }
}

/// A log whose owner wants none writes no producer snapshot, and what is there is used.
#[test]
fn producer_snapshots_are_written_only_where_they_are_wanted() {
    for keeps_producer_snapshots in [true, false] {
        let config = LogConfig {
            keeps_producer_snapshots,
            ..small()
        };
        let mut bed = Bed::new(config.clone());
        bed.fill(30);
        let bed = bed.reopen_with(config);
        assert_eq!(!bed.snapshots().is_empty(), keeps_producer_snapshots);
        let (bed, _) = bed.kill();
        assert_eq!(!bed.snapshots().is_empty(), keeps_producer_snapshots);
        assert_eq!(bed.offsets_from(0), all(0..30));
    }
}

/// What has no records leaves nothing to be made durable, and is opened from nothing.
#[test]
fn an_empty_log_is_recovered_and_closed_without_making_a_file() {
    let (mut bed, opening) = Bed::new(small()).kill();
    assert_eq!(opening.segments_recovered, 1);
    assert_eq!(bed.files(), [log_file(0)]);
    let syncs =
        |disk: &SimDisk| disk.calls(DiskOperation::Sync) + disk.calls(DiskOperation::SyncDir);
    let before = syncs(&bed.disk);
    bed.log.close().unwrap();
    assert_eq!(bed.files(), [log_file(0)]);
    assert_eq!(syncs(&bed.disk), before);
    let mut bed = Bed::on(bed.disk, small());
    bed.fill(3);
    assert_eq!(bed.kill().0.offsets_from(0), [0, 1, 2]);
}

/// Covers C091: a disk that refuses is no damaged index, and a log that was closed well is not
/// recovered for it.
#[test]
fn a_disk_that_refuses_while_opening_is_told_as_that() {
    use klamm_io::DiskErrorKind;
    use klamm_io::sim::Fault;
    let mut bed = Bed::new(small());
    bed.fill(40);
    bed.log.close().unwrap();
    for passed in 0.. {
        let disk = bed.disk.crash(Crash::Kill);
        disk.inject(
            Fault::on(DiskOperation::Read)
                .after(passed)
                .failing_with(DiskErrorKind::NoMemory),
        );
        match open_clean(&disk, small()) {
            Ok((_, opening)) => {
                assert_eq!(opening, Opening::default());
                assert_eq!(
                    passed, 3,
                    "the epochs, the last batch and the producers are read"
                );
                break;
            }
            Err(error) => assert!(error.to_string().contains("cannot read"), "{error}"),
        }
        assert_eq!(disk.calls(DiskOperation::SetLen), 0);
        assert_eq!(disk.calls(DiskOperation::RemoveFile), 0);
    }
}

/// Covers LG-038.
#[test]
fn the_largest_timestamp_is_found_behind_the_last_entry_of_the_time_index() {
    let mut bed = Bed::new(LogConfig {
        index_interval_bytes: 500,
        segment_bytes: 1 << 20,
        ..small()
    });
    for n in 0..40 {
        bed.append(&Batch::at(&[NOW_MS + n]));
    }
    let largest = |bed: &Bed| {
        let reader = bed.log.reader();
        let found = reader.offset_for_timestamp(TimeTarget::MaxTimestamp, &mut Codecs::default());
        found.unwrap().unwrap()
    };
    let before = largest(&bed);
    assert_eq!(before.timestamp_ms, Some(NOW_MS + 39));
    // Closed, the last entry tells it; killed, the batches behind the last one do.
    let bed = bed.reopen();
    assert_eq!(largest(&bed), before);
    let (bed, _) = bed.kill();
    assert_eq!(largest(&bed), before);
    // Without that last entry, as one would find it after a cut.
    let entries = bed.content("00000000000000000000.timeindex");
    assert!(entries.len() > 24, "there are some");
    let mut bed = bed;
    bed.log.close().unwrap();
    bed.overwrite("00000000000000000000.timeindex", &entries[..12]);
    let (log, _) = open_clean(&bed.disk, small()).unwrap();
    bed.log = log;
    assert_eq!(largest(&bed), before);
}

/// A list of leader epochs that nobody asks for costs nothing, and one that is there is left alone.
#[test]
fn a_log_without_a_list_of_leader_epochs_waits_for_no_sync_of_it() {
    const LIST: &str = "leader-epoch-checkpoint";
    let mut bed = Bed::new(small());
    bed.append_in(1, &Batch::of(1));
    let former = bed.content(LIST);
    let disk = bed.disk.crash(Crash::Kill);
    keep_directory(&disk);
    let config = LogConfig {
        keeps_leader_epochs: false,
        ..small()
    };
    let options = OpenOptions::new(false, NOW_MS);
    let (log, _) = open(&disk, config.clone(), &options).unwrap();
    let mut bed = Bed { disk, log };
    bed.log.flush().unwrap();
    let syncs = [DiskOperation::Sync, DiskOperation::SyncDir].map(|it| bed.disk.calls(it));
    for leader_epoch in 2..5 {
        bed.append_in(leader_epoch, &Batch::of(1));
    }
    assert_eq!(bed.log.latest_epoch(), Some(epoch(4)));
    // As if for a file beside the segments.
    bed.disk.sync_dir(Path::new(DIRECTORY)).unwrap();
    bed.log.note_directory_synced();
    bed.log.flush().unwrap();
    let now = [DiskOperation::Sync, DiskOperation::SyncDir].map(|it| bed.disk.calls(it));
    assert_eq!(
        now,
        [syncs[0] + 1, syncs[1] + 1],
        "of the records, and the one above"
    );
    let disk = bed.disk.crash(Crash::PowerLossLosingAll);
    let (log, _) = open(&disk, config, &options).unwrap();
    let bed = Bed { disk, log };
    assert_eq!(bed.offsets_from(0), all(0..4));
    assert_eq!(bed.content(LIST), former);
}
