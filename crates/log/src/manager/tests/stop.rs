//! Stopping, and what the next start finds.

use std::path::{Path, PathBuf};

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{DiskErrorKind, DiskOperation, RealDisk};
use klamm_primitives::{BrokerEpoch, Offset};

use super::support::*;
use crate::clean_shutdown::CleanShutdown;
use crate::manager::Stopped;
use crate::offset_checkpoint::Checkpoint;

/// Covers LG-198, LG-200, LG-114.
#[test]
fn what_was_known_at_a_clean_stop_is_known_at_the_next_start() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let name = partition("t", 0);
    let log = bench.create(&manager, &name);
    append(&log, 10);
    {
        let mut log = log.lock();
        log.set_high_watermark(Offset::new(7));
        log.raise_log_start(Offset::new(3)).unwrap();
    }
    assert_eq!(manager.stop(epoch(12)), Stopped::default());
    assert!(manager.get(&name).is_none());
    assert!(log.lock().flush().is_err(), "it is closed");

    // A power cut after the stop changes nothing.
    let disk = disk.crash(Crash::PowerLossLosingAll);
    let opened = bench.try_open(&disk).unwrap();
    assert_eq!(opened.broker_epoch, epoch(12));
    assert!(opened.recovered.is_empty(), "{:?}", opened.recovered);
    let log = opened.manager.get(&name).unwrap();
    let offsets = log.reader().offsets();
    assert_eq!(offsets.log_start, Offset::new(3));
    assert_eq!(offsets.high_watermark, Offset::new(7));
    assert_eq!(offsets.log_end, Offset::new(10));
    assert_eq!(log.lock().recovery_point(), Offset::new(10));
    // And this run is no clean one before it is stopped.
    assert!(!exists(&disk, "/logs/.kafka_cleanshutdown"));
}

#[test]
fn lg_200_only_a_directory_whose_logs_closed_well_is_marked() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a", "/b"]);
    let manager = bench.open(&disk);
    for index in 0..6 {
        append(&bench.create(&manager, &partition("t", index)), 2);
    }
    disk.inject(Fault::on(DiskOperation::Sync).under("/a/t-2").always());
    let stopped = manager.stop(epoch(3));
    assert_eq!(stopped.unclean, [PathBuf::from("/a")]);
    let mark = |path| CleanShutdown::read(&disk, Path::new(path)).unwrap();
    assert_eq!(mark("/a"), None);
    assert_eq!(
        mark("/b"),
        Some(CleanShutdown {
            broker_epoch: epoch(3)
        })
    );
    // Its checkpoints are written all the same.
    let points = Checkpoint::RecoveryPoint
        .read(&disk, Path::new("/a"))
        .unwrap();
    assert_eq!(points[&partition("t", 0)], Offset::new(2));
    assert_eq!(points[&partition("t", 2)], Offset::ZERO);

    disk.clear_faults();
    let opened = bench.try_open(&disk).unwrap();
    let mut recovered: Vec<_> = opened.recovered.iter().map(|it| it.0.clone()).collect();
    recovered.sort();
    assert_eq!(recovered, [0, 2, 4].map(|index| partition("t", index)));
    assert_eq!(opened.broker_epoch, BrokerEpoch::NONE);
}

/// Covers LG-200.
#[test]
fn a_stop_that_the_power_cuts_short_is_clean_or_loses_nothing() {
    let bench = Bench::of(&["/logs"]);
    for call in 0.. {
        let disk = SimDisk::new(call);
        let manager = bench.open(&disk);
        for index in 0..2 {
            append(&bench.create(&manager, &partition("t", index)), 3);
        }
        for log in manager.all() {
            log.lock().flush().unwrap();
        }
        disk.inject(Fault::on_any().after(call).cutting_power());
        let stopped = manager.stop(epoch(1));
        let found = disk.crash(Crash::PowerLoss { seed: call });
        for log in bench.open(&found).all() {
            assert_eq!(
                log.reader().offsets().log_end,
                Offset::new(3),
                "call {call}"
            );
        }
        if stopped.unclean.is_empty() {
            return;
        }
    }
}

/// What finds no descriptor while others are being closed is closed after them.
#[test]
fn a_log_that_finds_no_descriptor_at_a_stop_is_closed_last() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    for index in 0..6 {
        append(&bench.create(&manager, &partition("t", index)), 2);
    }
    let none_left = Fault::on(DiskOperation::Open).failing_with(DiskErrorKind::TooManyFiles);
    disk.inject(none_left.times(5));
    assert_eq!(manager.stop(epoch(3)), Stopped::default());
    let opened = bench
        .try_open(&disk.crash(Crash::PowerLossLosingAll))
        .unwrap();
    assert!(opened.recovered.is_empty(), "{:?}", opened.recovered);
    assert_eq!(opened.broker_epoch, epoch(3));
    for log in opened.manager.all() {
        assert_eq!(log.reader().offsets().log_end, Offset::new(2));
    }
}

#[test]
fn stopping_twice_is_harmless_and_what_is_stopped_makes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let bench = Bench::of(&[directory.path().to_str().unwrap()]);
    let manager = bench.open(&RealDisk);
    append(&bench.create(&manager, &partition("t", 0)), 1);
    assert!(manager.stop(epoch(1)).unclean.is_empty());
    let again = bench.open(&RealDisk);
    manager.stop(epoch(2));
    assert!(
        manager
            .create(&partition("t", 1), None, &bench.config, BEGIN_MS)
            .is_err()
    );
    assert!(
        CleanShutdown::read(&RealDisk, directory.path())
            .unwrap()
            .is_none()
    );
    assert_eq!(again.len(), 1);
}
