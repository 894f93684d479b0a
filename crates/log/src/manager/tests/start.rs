//! Starting: what is in the directories, and what is not served.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{Disk as _, DiskErrorKind, DiskFile as _, DiskOperation, OpenMode};
use klamm_primitives::{BrokerEpoch, Offset};
use parking_lot::Mutex;

use super::support::*;
use crate::clean_shutdown::CleanShutdown;
use crate::log_event::DirectoryWork;
use crate::manager::{CreateError, DeleteError, LogManager, StartError};
use crate::offset_checkpoint::Checkpoint;
use crate::open::OpenError;

const LOG_FILE: &str = "00000000000000000000.log";

/// Covers LG-011, LG-197.
#[test]
fn what_waits_for_removal_is_removed_and_what_is_reserved_is_passed_over() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    drop(bench.open(&disk));
    let hex = "0123456789abcdef0123456789abcdef";
    let (deleted, stray) = (format!("a-0.{hex}-delete"), format!("b-0.{hex}-stray"));
    let future = format!("c-0.{hex}-future");
    let reserved = ["__cluster_metadata-0", "remote-log-index-cache"];
    for name in [&deleted, &stray, &future, reserved[0], reserved[1]] {
        disk.create_dir_all(&Path::new("/logs").join(name)).unwrap();
        write(
            &disk,
            &format!("/logs/{name}/00000000000000000000.log"),
            "text",
        );
    }
    let manager = bench.open(&disk);
    assert!(manager.is_empty());
    let delay = bench.options.file_delete_delay;
    manager.run_due(bench.after(delay / 2));
    assert!(exists(&disk, Path::new("/logs").join(&deleted)));
    manager.run_due(bench.after(delay));
    assert!(!exists(&disk, Path::new("/logs").join(&deleted)));
    assert!(!exists(&disk, Path::new("/logs").join(&stray)));
    for name in [&future, reserved[0], reserved[1]] {
        let file = format!("/logs/{name}/00000000000000000000.log");
        assert!(exists(&disk, file), "{name}");
    }
}

#[test]
fn lg_197_a_directory_that_is_no_partitions_stops_the_start() {
    for name in ["lost+found", "topic", "a-0-delete", "notes"] {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/logs"]);
        bench.open(&disk).stop(epoch(4));
        let path = Path::new("/logs").join(name);
        disk.create_dir_all(&path).unwrap();
        let refused = bench.try_open(&disk).err().unwrap();
        assert!(
            refused.to_string().contains(path.to_str().unwrap()),
            "{refused}"
        );
        if name == "lost+found" {
            let told = refused.to_string();
            assert!(told.contains("use a directory below it"), "{told}");
        }
        // Nothing has begun: once it is out of the way, the stop before was a clean one.
        disk.remove_dir(&path).unwrap();
        assert_eq!(bench.try_open(&disk).unwrap().broker_epoch, epoch(4));
    }
}

#[test]
fn lg_193_a_directory_that_cannot_be_read_is_offline_and_the_others_are_served() {
    let operations = [
        DiskOperation::CreateDir,
        DiskOperation::Lock,
        DiskOperation::List,
    ];
    for operation in operations {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/a", "/b"]);
        let manager = bench.open(&disk);
        let names = [partition("t", 0), partition("t", 1)];
        let paths = names.each_ref().map(|name| {
            let log = bench.create(&manager, name);
            log.log_directory().to_owned()
        });
        assert_ne!(paths[0], paths[1]);
        manager.stop(BrokerEpoch::NONE);

        disk.inject(Fault::on(operation).under(&paths[0]).always());
        let opened = bench.try_open(&disk).unwrap();
        assert_eq!(opened.offline.len(), 1, "{operation:?}");
        assert_eq!(opened.offline[0].0, paths[0]);
        assert!(opened.manager.get(&names[0]).is_none());
        append(&opened.manager.get(&names[1]).unwrap(), 1);
        assert!(opened.manager.has_offline_directory());
        opened.manager.stop(BrokerEpoch::NONE);

        disk.inject(Fault::on(operation).under(&paths[1]).always());
        let refused = bench.try_open(&disk).err().unwrap();
        assert!(
            matches!(&refused, StartError::NoDirectory { offline } if offline.len() == 2),
            "{refused}"
        );
    }
}

/// Covers LG-193.
#[test]
fn a_disk_that_fails_while_logs_are_opened_takes_its_directory() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a", "/b"]);
    let manager = bench.open(&disk);
    for index in 0..6 {
        append(&bench.create(&manager, &partition("t", index)), 3);
    }
    drop(manager);
    disk.inject(Fault::on(DiskOperation::Read).under("/a/t-2").always());
    let opened = bench.try_open(&disk).unwrap();
    assert_eq!(opened.offline[0].1.work, DirectoryWork::Opening);
    let logs = opened.manager.all();
    assert_eq!(logs.len(), 3);
    assert!(
        logs.iter()
            .all(|log| log.log_directory() == Path::new("/b"))
    );
    assert!(opened.manager.is_unavailable(&partition("t", 0)));
    let taken = opened
        .manager
        .create(&partition("t", 0), None, &bench.config, BEGIN_MS);
    assert!(
        taken.is_err(),
        "its records are in the directory that failed"
    );
}

/// What the process or the disk has too little of may come back, and the partition with it.
#[test]
fn what_could_not_be_opened_for_want_of_something_is_opened_later() {
    for kind in [DiskErrorKind::TooManyFiles, DiskErrorKind::Full] {
        for was_clean in [true, false] {
            let disk = SimDisk::new(1);
            let bench = Bench::of(&["/logs"]);
            let manager = bench.open(&disk);
            let (good, late) = (partition("good", 0), partition("late", 0));
            for name in [&good, &late] {
                let log = bench.create(&manager, name);
                append(&log, 5);
                let mut log = log.lock();
                log.set_high_watermark(Offset::new(4));
                log.raise_log_start(Offset::new(2)).unwrap();
            }
            if was_clean {
                manager.stop(epoch(1));
            } else {
                manager.checkpoint_all();
                drop(manager);
            }
            let fault = Fault::on(DiskOperation::Open)
                .where_path(|it| it.starts_with("/logs/late-0") && it.ends_with(LOG_FILE));
            disk.inject(fault.failing_with(kind).always());
            let opened = bench.try_open(&disk).unwrap();
            let manager = opened.manager;
            assert_eq!(opened.unopened[0].0, late);
            assert!(opened.offline.is_empty() && manager.is_unavailable(&late));
            append(&manager.get(&good).unwrap(), 1);
            let create = || manager.create(&late, None, &bench.config, BEGIN_MS);
            for _ in 0..2 {
                assert!(matches!(create(), Err(CreateError::Shortage(_))));
                manager.checkpoint_all();
            }
            disk.clear_faults();
            let log = create().unwrap();
            assert!(!manager.is_unavailable(&late));
            let offsets = log.reader().offsets();
            assert_eq!(offsets.log_start, Offset::new(2));
            assert_eq!(offsets.log_end, Offset::new(5));
            append(&log, 3);
            let stopped = manager.stop(epoch(2));
            assert!(stopped.unclean.is_empty(), "all of them closed well");
            let checkpoint = "/logs/recovery-point-offset-checkpoint";
            assert_eq!(content(&disk, checkpoint), b"0\n2\ngood 0 6\nlate 0 8\n");
        }
    }
}

/// A log that is not that of its partition is out of use, and keeps what is known of it.
#[test]
fn a_log_that_is_set_aside_is_left_as_it_is() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let other = partition("other", 0);
    let log = bench.create(&manager, &other);
    append(&log, 5);
    log.lock().set_high_watermark(Offset::new(5));
    log.lock().raise_log_start(Offset::new(2)).unwrap();
    log.lock().flush().unwrap();
    manager.set_aside(&other);
    manager.set_aside(&partition("nobody", 0));
    assert!(manager.get(&other).is_none() && manager.is_unavailable(&other));
    let refused = manager.create(&other, None, &bench.config, BEGIN_MS);
    assert!(matches!(refused, Err(CreateError::Unavailable { .. })));
    assert_eq!(
        manager.delete(&other, bench.now().instant),
        Err(DeleteError::Offline)
    );
    let stopped = manager.stop(epoch(1));
    assert_eq!(stopped.unclean, [PathBuf::from("/logs")]);
    let checkpoint = "/logs/log-start-offset-checkpoint";
    assert_eq!(content(&disk, checkpoint), b"0\n1\nother 0 2\n");
    let log = bench.open(&disk).get(&other).unwrap();
    assert_eq!(log.reader().offsets().log_start, Offset::new(2));
    assert_eq!(log.lock().recovery_point(), Offset::new(5));
}

#[test]
fn a_partition_whose_files_make_no_sense_is_left_as_it_is() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let (good, bad) = (partition("good", 0), partition("bad", 0));
    for name in [&good, &bad] {
        let log = bench.create(&manager, name);
        append(&log, 5);
        let mut log = log.lock();
        log.set_high_watermark(Offset::new(5));
        log.raise_log_start(Offset::new(2)).unwrap();
    }
    manager.stop(epoch(1));
    write(&disk, "/logs/bad-0/partition.metadata", "garbage");

    let opened = bench.try_open(&disk).unwrap();
    assert!(opened.manager.get(&good).is_some());
    assert_eq!(opened.unopened.len(), 1);
    assert_eq!(opened.unopened[0].0, bad);
    let made = opened.manager.create(&bad, None, &bench.config, BEGIN_MS);
    assert!(made.is_err(), "it is there");
    let stopped = opened.manager.stop(epoch(2));
    assert_eq!(
        stopped.unclean,
        [PathBuf::from("/logs")],
        "it was not closed well"
    );

    // Once it is mended, nothing that was known of it is lost.
    disk.remove_file(Path::new("/logs/bad-0/partition.metadata"))
        .unwrap();
    let manager = bench.open(&disk);
    assert_eq!(
        manager.get(&bad).unwrap().reader().offsets().log_start,
        Offset::new(2)
    );
}

/// The error says what to do to go on without the records, and that is all there is to do.
#[test]
fn a_log_that_has_lost_its_durable_end_is_opened_once_the_checkpoint_says_so() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let (good, short) = (partition("good", 0), partition("short", 0));
    for name in [&good, &short] {
        append(&bench.create(&manager, name), 10);
    }
    manager.stop(epoch(1));
    let path = Path::new("/logs/short-0/00000000000000000000.log");
    let file = disk.open(path, OpenMode::ReadWrite).unwrap();
    file.set_len(disk.metadata(path).unwrap().len * 7 / 10)
        .unwrap();

    let opened = bench.try_open(&disk).unwrap();
    let (name, error) = &opened.unopened[0];
    assert_eq!(*name, short);
    let OpenError::TailLost { log_end, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(*log_end, Offset::new(7));
    let told = error.to_string();
    let remedy = "set the partition's offset in recovery-point-offset-checkpoint to 7";
    assert!(
        told.contains("stop the broker") && told.ends_with(remedy),
        "{told}"
    );
    append(&opened.manager.get(&good).unwrap(), 1);
    opened.manager.stop(epoch(2));

    let checkpoint = "/logs/recovery-point-offset-checkpoint";
    let text = String::from_utf8(content(&disk, checkpoint)).unwrap();
    assert_eq!(text, "0\n2\ngood 0 11\nshort 0 10\n");
    write(&disk, checkpoint, &text.replace("short 0 10", "short 0 7"));
    let manager = bench.open(&disk);
    let short = manager.get(&short).unwrap();
    assert_eq!(short.reader().offsets().log_end, Offset::new(7));
    append(&short, 1);
    let good = manager.get(&good).unwrap();
    assert_eq!(
        good.lock().recovery_point(),
        Offset::new(11),
        "it kept its own"
    );
}

#[test]
fn a_damaged_checkpoint_is_only_passed_over_where_that_is_safe() {
    let opened = |checkpoint: Checkpoint| {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/a", "/b"]);
        let manager = bench.open(&disk);
        append(&bench.create(&manager, &partition("t", 0)), 1);
        manager.stop(BrokerEpoch::NONE);
        write(
            &disk,
            &format!("/a/{}", checkpoint.file_name()),
            "0\n2\ngarbage\n",
        );
        bench.try_open(&disk).unwrap()
    };
    for safe in [Checkpoint::RecoveryPoint, Checkpoint::HighWatermark] {
        assert!(opened(safe).offline.is_empty());
    }
    let offline = opened(Checkpoint::LogStart).offline;
    assert_eq!(offline[0].0, PathBuf::from("/a"));
    let reason = offline[0].1.to_string();
    assert!(
        reason.contains("/a/log-start-offset-checkpoint"),
        "{reason}"
    );
}

/// Covers LG-194, LG-115.
#[test]
fn lg_194_an_interrupted_start_is_no_clean_stop() {
    let bench = Bench::of(&["/logs"]);
    let stopped = SimDisk::new(1);
    let manager = bench.open(&stopped);
    for index in 0..3 {
        append(&bench.create(&manager, &partition("t", index)), 4);
    }
    manager.stop(epoch(9));

    let mut interrupted = 0;
    for call in 0.. {
        let disk = stopped.crash(Crash::Kill);
        disk.inject(Fault::on_any().after(call).cutting_power());
        let begun = AtomicUsize::new(0);
        let config_of = |_: &_| {
            begun.fetch_add(1, Ordering::Relaxed);
            bench.config.clone()
        };
        let options = bench.options.clone();
        let wiring = bench.wiring();
        let opened = LogManager::open(&disk, options, wiring, &config_of, &|_| {}, bench.now());
        if opened.is_ok_and(|it| it.offline.is_empty()) {
            break;
        }
        for seed in 0..4 {
            let disk = disk.crash(Crash::PowerLoss { seed });
            let again = bench.try_open(&disk).unwrap();
            if begun.load(Ordering::Relaxed) > 0 {
                assert_eq!(again.broker_epoch, BrokerEpoch::NONE, "call {call}");
                assert_eq!(again.recovered.len(), 3, "call {call}");
            }
            for log in again.manager.all() {
                assert_eq!(log.reader().offsets().log_end, Offset::new(4));
            }
            assert_eq!(again.manager.len(), 3);
        }
        interrupted += begun.load(Ordering::Relaxed).min(1);
    }
    assert!(
        interrupted > 10,
        "only {interrupted} starts came to opening logs"
    );
    assert!(
        CleanShutdown::read(&stopped, Path::new("/logs"))
            .unwrap()
            .is_some()
    );
}

#[test]
fn lg_129_a_start_tells_how_much_remains() {
    let disk = SimDisk::new(1);
    let mut bench = Bench::of(&["/a", "/b"]);
    bench.options.recovery_threads_per_directory = 3;
    let manager = bench.open(&disk);
    for index in 0..10 {
        let log = bench.create(&manager, &partition("t", index));
        append(&log, 2);
        log.lock().roll(Offset::ZERO, BEGIN_MS).unwrap();
        append(&log, 2);
    }
    drop(manager);
    let seen = Mutex::new(Vec::new());
    let progress = |it: &super::super::Progress<'_>| {
        let remaining = (it.logs_remaining, it.segments_remaining);
        seen.lock().push((it.directory.to_owned(), remaining));
    };
    let config_of = |_: &_| bench.config.clone();
    let (options, wiring) = (bench.options.clone(), bench.wiring());
    let opened = LogManager::open(&disk, options, wiring, &config_of, &progress, bench.now());
    assert_eq!(opened.unwrap().recovered.len(), 10);
    for directory in ["/a", "/b"] {
        let seen = seen.lock();
        let of_directory = seen.iter().filter(|it| it.0 == Path::new(directory));
        let (logs, segments): (Vec<_>, Vec<_>) = of_directory.map(|it| it.1).unzip();
        // After each segment and after each log, from several threads.
        assert_eq!((logs.len(), segments.len()), (15, 15));
        let each = |seen: Vec<usize>| BTreeSet::from_iter(seen);
        assert_eq!(each(logs), (0..=5).collect());
        assert_eq!(each(segments), (0..10).collect());
    }
}

#[test]
fn lg_131_no_log_waits_for_a_slow_one() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    for index in 0..8 {
        append(&bench.create(&manager, &partition("t", index)), 2);
    }
    drop(manager);
    // The first log is not opened before all others are.
    let (others_are_open, wait) = sync_channel(1);
    let wait = Mutex::new(wait);
    let slow = partition("t", 0);
    let config_of = |it: &_| {
        if *it == slow {
            wait.lock().recv().unwrap();
        }
        bench.config.clone()
    };
    let progress = |it: &super::super::Progress<'_>| {
        if it.logs_remaining == 1 {
            others_are_open.send(()).unwrap();
        }
    };
    let (options, wiring) = (bench.options.clone(), bench.wiring());
    let opened = LogManager::open(&disk, options, wiring, &config_of, &progress, bench.now());
    // Nobody could be served before, since there was nothing to ask.
    assert_eq!(opened.unwrap().manager.len(), 8);
}

/// The process may have been killed after it gave a partition its name, and before it synced that.
#[test]
fn a_name_that_a_killed_process_left_is_durable_before_anything_is_written_under_it() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    drop(bench.open(&disk));
    disk.create_dir_all(Path::new("/logs/t-0")).unwrap();
    let disk = disk.crash(Crash::Kill);
    let manager = bench.open(&disk);
    let log = manager.get(&partition("t", 0)).unwrap();
    append(&log, 3);
    log.lock().flush().unwrap();
    drop((log, manager));
    let manager = bench.open(&disk.crash(Crash::PowerLossLosingAll));
    let log = manager.get(&partition("t", 0)).unwrap();
    assert_eq!(log.reader().offsets().log_end, Offset::new(3));
}

/// Covers LG-193, LG-200: a start that could use no directory, and has changed none of their logs, does
/// not cost the next one a recovery.
#[test]
fn a_start_that_is_refused_leaves_a_clean_stop_as_it_was() {
    for damaged in [false, true] {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/a", "/b"]);
        let manager = bench.open(&disk);
        for index in 0..6 {
            append(&bench.create(&manager, &partition("t", index)), 4);
        }
        assert!(manager.stop(epoch(9)).unclean.is_empty());
        if damaged {
            // It is cut before the directory turns out to be of no use.
            let path = "/a/t-0/00000000000000000000.log";
            let bytes = content(&disk, path);
            let file = disk.open(Path::new(path), OpenMode::ReadWrite).unwrap();
            file.set_len(bytes.len() as u64 - 1).unwrap();
        }
        let last = |it: &Path| it.ends_with("t-4") || it.ends_with("t-5");
        disk.inject(Fault::on(DiskOperation::List).where_path(last).always());
        let refused = bench.try_open(&disk).err().expect("no directory is left");
        assert!(
            matches!(refused, StartError::NoDirectory { .. }),
            "{refused}"
        );
        disk.clear_faults();

        let opened = bench.try_open(&disk.crash(Crash::PowerLossLosingAll));
        let opened = opened.unwrap();
        // In the one directory a log was changed.
        assert_eq!(opened.recovered.len(), if damaged { 3 } else { 0 });
        let expected = if damaged { BrokerEpoch::NONE } else { epoch(9) };
        assert_eq!(opened.broker_epoch, expected);
        assert_eq!(opened.manager.len(), 6);
    }
}
