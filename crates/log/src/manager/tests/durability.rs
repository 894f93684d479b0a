//! Syncs that were asked for: what is told to be durable is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{DiskErrorKind, DiskOperation};
use klamm_primitives::{Offset, TopicPartition};

use super::support::*;

#[test]
fn all_that_was_appended_before_a_round_is_synced_once() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let names = [partition("t", 0), partition("t", 1)];
    let logs = names.each_ref().map(|name| bench.create(&manager, name));
    for _ in 0..20 {
        for log in &logs {
            append(log, 1);
            log.request_sync();
        }
    }
    assert_eq!(manager.directories()[0].syncs_waiting, 2, "each waits once");
    let syncs = disk.calls(DiskOperation::Sync);
    manager.sync_requested();
    assert_eq!(disk.calls(DiskOperation::Sync) - syncs, 2);
    let seen = names.each_ref().map(|name| Seen::Synced(name.clone(), 20));
    assert_eq!(bench.take_events(), seen);

    // Nobody asked, nothing is done; who asks for what is durable already is told so.
    manager.sync_requested();
    assert_eq!(bench.take_events(), []);
    logs[1].request_sync();
    manager.sync_requested();
    assert_eq!(bench.take_events(), [Seen::Synced(names[1].clone(), 20)]);
    assert_eq!(disk.calls(DiskOperation::Sync) - syncs, 2);

    let found = disk.crash(Crash::PowerLossLosingAll);
    for log in bench.open(&found).all() {
        assert_eq!(log.reader().offsets().log_end.get(), 20);
    }
}

#[test]
fn a_log_that_is_being_synced_waits_for_its_next_turn() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    let syncs = log.directory().syncs();
    log.request_sync();
    assert!(syncs.pop().is_some());
    for _ in 0..3 {
        log.request_sync();
        assert!(syncs.pop().is_none(), "no other thread may sync it now");
    }
    syncs.done(&log);
    assert!(
        syncs.pop().is_some(),
        "once more for all who asked meanwhile"
    );
    syncs.done(&log);
    assert!(syncs.pop().is_none());
    // What was asked for before the queue is closed is still done.
    log.request_sync();
    assert!(syncs.wait().is_some());
    log.request_sync();
    syncs.close();
    syncs.done(&log);
    assert!(syncs.wait().is_some());
    syncs.done(&log);
    assert!(syncs.wait().is_none());
    log.request_sync();
    assert_eq!(syncs.len(), 0);
}

#[test]
fn a_thread_that_leaves_others_waiting_asks_for_help() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let logs: Vec<_> = (0..3)
        .map(|index| bench.create(&manager, &partition("t", index)))
        .collect();
    for log in &logs {
        log.request_sync();
    }
    let syncs = logs[0].directory().syncs();
    let needs_help: Vec<_> = logs
        .iter()
        .map(|_| syncs.wait().unwrap().needs_help)
        .collect();
    assert_eq!(needs_help, [true, true, false]);
}

/// Whoever waits for the sync has asked once; nothing has failed.
#[test]
fn a_sync_that_finds_no_descriptor_is_asked_for_again_by_housekeeping() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a"]);
    let manager = bench.open(&disk);
    let names = [partition("t", 0), partition("t", 1)];
    let logs = names.each_ref().map(|name| bench.create(&manager, name));
    let waiting = || manager.directories()[0].syncs_waiting;
    let used_up = Fault::on(DiskOperation::SyncDir).failing_with(DiskErrorKind::TooManyFiles);
    for log in &logs {
        append(log, 1);
        log.request_sync();
    }
    disk.inject(used_up.times(4));
    manager.sync_requested();
    manager.sync_requested();
    assert_eq!(bench.take_events(), []);
    assert_eq!(waiting(), 2, "they are kept, and not tried again at once");
    assert!(manager.directories()[0].offline.is_none());
    assert!(logs.iter().all(|log| !log.lock().is_failed()));
    manager.run_due(bench.now());
    manager.sync_requested();
    assert_eq!(bench.take_events(), [], "there is still none");
    assert_eq!(waiting(), 2);
    manager.run_due(bench.now());
    manager.sync_requested();
    let mut seen = bench.take_events();
    seen.sort_by_key(|it| format!("{it:?}"));
    assert_eq!(seen, names.map(|name| Seen::Synced(name, 1)));
    assert_eq!(waiting(), 0);
    manager.run_due(bench.now());
    manager.sync_requested();
    assert_eq!(bench.take_events(), []);
}

/// A log that was synced meanwhile, or deleted, or is in a directory that has failed, is not asked
/// for again.
#[test]
fn a_sync_that_was_put_off_is_forgotten_once_nobody_needs_it() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a"]);
    let manager = bench.open(&disk);
    let names = [0, 1, 2].map(|index| partition("t", index));
    let logs = names.each_ref().map(|name| bench.create(&manager, name));
    let used_up = Fault::on(DiskOperation::SyncDir).failing_with(DiskErrorKind::TooManyFiles);
    for log in &logs {
        append(log, 1);
        log.request_sync();
    }
    disk.inject(used_up.times(3));
    manager.sync_requested();
    manager.delete(&names[0], bench.now().instant).unwrap();
    logs[1].request_sync();
    manager.sync_requested();
    assert_eq!(bench.take_events(), [Seen::Synced(names[1].clone(), 1)]);
    manager.run_due(bench.now());
    manager.sync_requested();
    assert_eq!(bench.take_events(), [Seen::Synced(names[2].clone(), 1)]);

    logs[2]
        .lock()
        .roll(klamm_primitives::Offset::ZERO, BEGIN_MS)
        .unwrap();
    append(&logs[2], 1);
    disk.inject(Fault::on(DiskOperation::SyncDir).failing_with(DiskErrorKind::TooManyFiles));
    logs[2].request_sync();
    manager.sync_requested();
    let syncs = logs[2].directory().syncs();
    assert_eq!(syncs.len(), 1);
    manager.report_failure(&logs[2], std::io::Error::other("the device is gone"));
    assert_eq!(syncs.len(), 0);
}

#[test]
fn a_sync_that_fails_takes_the_directory_and_nothing_of_it_is_durable_later() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a", "/b"]);
    let manager = bench.open(&disk);
    let names: Vec<_> = (0..6).map(|index| partition("t", index)).collect();
    let logs: Vec<_> = names
        .iter()
        .map(|name| bench.create(&manager, name))
        .collect();
    for log in &logs {
        append(log, 1);
        log.request_sync();
    }
    disk.inject(Fault::on(DiskOperation::Sync).under("/a/t-2"));
    manager.sync_requested();
    let here: Vec<_> = [0, 2, 4].map(|index| partition("t", index)).into();
    let synced = |index| Seen::Synced(partition("t", index), 1);
    let offline = Seen::Offline(PathBuf::from("/a"), here);
    let expected = [synced(0), offline, synced(1), synced(3), synced(5)];
    assert_eq!(bench.take_events(), expected);

    for log in &logs {
        log.request_sync();
    }
    manager.sync_requested();
    assert_eq!(bench.take_events(), [synced(1), synced(3), synced(5)]);
    for index in [0, 2, 4] {
        assert!(logs[index].lock().is_failed());
        assert!(manager.get(&names[index]).is_none());
    }
    assert!(
        manager
            .stop(epoch(1))
            .unclean
            .contains(&PathBuf::from("/a"))
    );
}

#[test]
fn a_log_that_has_failed_by_itself_is_told_of() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    append(&log, 1);
    log.request_sync();
    log.lock().fail();
    manager.sync_requested();
    assert_eq!(bench.take_events(), [Seen::LogFailed(partition("t", 0))]);
}

#[test]
fn a_deleted_partition_that_waits_for_a_sync_is_passed_over() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let name = partition("t", 0);
    let log = bench.create(&manager, &name);
    append(&log, 1);
    log.request_sync();
    manager.delete(&name, bench.now().instant).unwrap();
    manager.sync_requested();
    assert_eq!(bench.take_events(), []);
}

#[test]
fn what_a_user_reports_takes_the_directory() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a", "/b"]);
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    bench.create(&manager, &partition("t", 1));
    let error = std::io::Error::other("the device is gone");
    manager.report_failure(&log, error);
    manager.report_failure(&log, std::io::Error::other("again"));
    let offline = Seen::Offline(PathBuf::from("/a"), vec![partition("t", 0)]);
    assert_eq!(bench.take_events(), [offline]);
    let reason = manager.directories()[0].offline.clone().unwrap();
    assert!(
        reason.to_string().contains("the device is gone"),
        "{reason}"
    );
    assert_eq!(manager.len(), 1);
}

/// Faults at every kind of call, then a power cut that takes all it may: what was told to be
/// durable is there.
#[test]
fn what_was_told_to_be_durable_survives() {
    let operations = [
        DiskOperation::Sync,
        DiskOperation::SyncDir,
        DiskOperation::Write,
        DiskOperation::Open,
    ];
    let mut told_in_all = 0;
    for seed in 0..120 {
        let disk = SimDisk::new(seed);
        let mut bench = Bench::of(&["/a", "/b"]);
        bench.config.segment_bytes = 1 << 20;
        let manager = bench.open(&disk);
        let names: Vec<_> = (0..4).map(|index| partition("t", index)).collect();
        for name in &names {
            bench.create(&manager, name);
        }
        let operation = operations[usize::try_from(seed).unwrap() % operations.len()];
        disk.inject(Fault::on(operation).after(seed / 2));
        let mut chance = seed;
        for _ in 0..60 {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(seed | 1);
            let name = &names[usize::try_from(chance >> 33).unwrap() % names.len()];
            let Some(log) = manager.get(name) else {
                continue;
            };
            let appended = {
                let mut log = log.lock();
                if (chance >> 40) % 8 == 0 {
                    let _ = log.roll(klamm_primitives::Offset::ZERO, BEGIN_MS);
                }
                log.append(&[batch()], EPOCH, BEGIN_MS)
            };
            if appended.is_ok() {
                log.request_sync();
            }
            if (chance >> 45) % 4 == 0 {
                manager.sync_requested();
            }
        }
        let mut told: BTreeMap<TopicPartition, i64> = BTreeMap::new();
        for event in bench.take_events() {
            if let Seen::Synced(name, offset) = event {
                told.insert(name, offset);
            }
        }
        drop(manager);
        for crash in [Crash::PowerLossLosingAll, Crash::PowerLoss { seed }] {
            let found = bench.open(&disk.crash(crash));
            for (name, offset) in &told {
                let log_end = found
                    .get(name)
                    .map(|it| it.reader().offsets().log_end.get());
                assert!(
                    log_end >= Some(*offset),
                    "seed {seed}, {name}: {log_end:?} < {offset}"
                );
            }
        }
        told_in_all += told.len();
    }
    assert!(told_in_all > 200, "{told_in_all}");
}

/// Covers LG-056: damage to what was acknowledged as durable is told from a torn end soon after.
#[test]
fn what_was_synced_is_known_as_durable_before_the_checkpoints_are_due() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    append(&log, 5);
    let interval = bench.options.high_watermark_interval;
    assert!(interval < bench.options.recovery_point_interval);
    let point = || {
        let killed = disk.crash(Crash::Kill);
        let manager = bench.open(&killed);
        let log = manager.get(&partition("t", 0)).unwrap();
        log.lock().recovery_point().get()
    };
    manager.run_due(bench.after(interval));
    assert_eq!(point(), 0, "nothing was synced");
    log.request_sync();
    manager.sync_requested();
    assert_eq!(point(), 0);
    manager.run_due(bench.after(interval * 2));
    assert_eq!(point(), 5);
    let writes = disk.calls(DiskOperation::Write);
    append(&log, 1);
    let appended = disk.calls(DiskOperation::Write);
    assert!(appended > writes);
    manager.run_due(bench.after(interval * 3));
    assert_eq!(disk.calls(DiskOperation::Write), appended, "nothing to say");
}

/// A pass that found no room is made up for by the next, not by the next sync alone.
#[test]
fn what_was_synced_is_written_later_where_there_was_no_room_for_it() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    append(&log, 5);
    log.request_sync();
    manager.sync_requested();
    let full = Fault::on(DiskOperation::Write)
        .where_path(|it| it.to_string_lossy().contains("recovery-point"));
    disk.inject(full.failing_with(DiskErrorKind::Full).always());
    let interval = bench.options.high_watermark_interval;
    manager.run_due(bench.after(interval));
    disk.clear_faults();
    manager.run_due(bench.after(interval * 2));
    let manager = bench.open(&disk.crash(Crash::Kill));
    let log = manager.get(&partition("t", 0)).unwrap();
    assert_eq!(log.lock().recovery_point(), Offset::new(5));
}
