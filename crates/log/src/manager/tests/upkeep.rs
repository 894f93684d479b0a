//! What is done from time to time, without waiting for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{Disk, DiskErrorKind, DiskOperation};
use klamm_primitives::{Offset, ProducerEpoch, ProducerId};
use klamm_records::ProducerStamp;

use super::support::*;
use crate::config::CleanupPolicy;
use crate::offset_checkpoint::Checkpoint;
use crate::partition_log::PartitionLog;

const SECOND: Duration = Duration::from_secs(1);

/// Two segments, of which the first is older than retention lets it be.
fn with_an_old_segment(log: &PartitionLog<SimDisk>) {
    append(log, 4);
    let mut log = log.lock();
    log.roll(Offset::ZERO, BEGIN_MS).unwrap();
    log.append(&[batch()], EPOCH, BEGIN_MS).unwrap();
    let log_end_offset = log.log_end_offset();
    log.set_high_watermark(log_end_offset);
    let mut config = log.config().clone();
    config.retention_age = Some(SECOND);
    log.set_config(config);
}

#[test]
fn lg_184_retention_runs_first_after_half_a_minute_and_then_every_five() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    let policies = [
        CleanupPolicy::COMPACT,
        CleanupPolicy {
            delete: true,
            compact: true,
        },
    ];
    let cleaners: Vec<_> = policies
        .into_iter()
        .enumerate()
        .map(|(index, policy)| {
            let log = bench.create(&manager, &partition("c", i32::try_from(index).unwrap()));
            let mut config = bench.config.clone();
            config.cleanup_policy = policy;
            log.lock().set_config(config);
            log
        })
        .collect();
    for log in cleaners.iter().chain([&log]) {
        with_an_old_segment(log);
    }
    manager.run_due(bench.after(29 * SECOND));
    assert_eq!(log.lock().segment_count(), 2);
    manager.run_due(bench.after(30 * SECOND));
    assert_eq!(log.lock().segment_count(), 1);
    assert_eq!(log.reader().offsets().log_start, Offset::new(5));
    for log in &cleaners {
        assert_eq!(log.lock().segment_count(), 2, "the cleaner's");
    }
    // What lies before the log start goes whatever the policy.
    for log in &cleaners {
        log.lock().raise_log_start(Offset::new(4)).unwrap();
    }
    with_an_old_segment(&log);
    let count = log.lock().segment_count();
    manager.run_due(bench.after(329 * SECOND));
    assert_eq!(log.lock().segment_count(), count);
    manager.run_due(bench.after(330 * SECOND));
    assert!(log.lock().segment_count() < count);
    assert_eq!(cleaners[0].lock().segment_count(), 1);

    // The files stay for readers until their delay is over.
    let file = Path::new("/logs/c-0/00000000000000000000.log.deleted");
    assert!(exists(&disk, file));
    manager.run_due(bench.after(330 * SECOND + bench.config.file_delete_delay));
    assert!(!exists(&disk, file));
}

/// Covers LG-184.
#[test]
fn without_a_cleaner_retention_deletes_of_compacted_logs_too() {
    let disk = SimDisk::new(1);
    let mut bench = Bench::of(&["/logs"]);
    bench.options.has_cleaner = false;
    bench.config.cleanup_policy = CleanupPolicy {
        delete: true,
        compact: true,
    };
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    with_an_old_segment(&log);
    manager.apply_retention(bench.after(5 * SECOND));
    assert_eq!(log.lock().segment_count(), 1);
}

#[test]
fn lg_187_settings_that_change_hold_from_the_next_pass() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    with_an_old_segment(&log);
    let set = |change: &dyn Fn(&mut crate::LogConfig)| {
        let mut log = log.lock();
        let mut config = log.config().clone();
        change(&mut config);
        log.set_config(config);
    };
    set(&|config| config.retention_age = None);
    manager.apply_retention(bench.after(9 * SECOND));
    assert_eq!(log.lock().segment_count(), 2);
    set(&|config| {
        config.retention_age = Some(SECOND);
        config.file_delete_delay = 2 * SECOND;
    });
    manager.apply_retention(bench.after(10 * SECOND));
    assert_eq!(log.lock().segment_count(), 1);
    let file = "/logs/t-0/00000000000000000000.log.deleted";
    manager.remove_doomed(bench.after(11 * SECOND).instant);
    assert!(exists(&disk, file));
    manager.remove_doomed(bench.after(12 * SECOND).instant);
    assert!(!exists(&disk, file));
}

#[test]
fn lg_189_the_size_is_that_of_the_log_files() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    with_an_old_segment(&log);
    let size_of = |name: String| {
        let path = Path::new("/logs/t-0").join(name);
        let is_log = path.extension().is_some_and(|it| it == "log");
        if is_log {
            disk.metadata(&path).unwrap().len
        } else {
            0
        }
    };
    let files: u64 = names(&disk, "/logs/t-0").into_iter().map(size_of).sum();
    assert!(files > 0);
    assert_eq!(log.size(), files);
    assert_eq!(log.lock().size(), files);
    assert_eq!(manager.directories()[0].size, files);
}

#[test]
fn lg_196_checkpoints_are_written_in_time_and_hold_the_directorys_own_logs() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a", "/b"]);
    let manager = bench.open(&disk);
    for index in 0..4 {
        let log = bench.create(&manager, &partition("t", index));
        append(&log, 5);
        let mut log = log.lock();
        log.set_high_watermark(Offset::new(4));
        log.raise_log_start(Offset::new(2)).unwrap();
        log.flush().unwrap();
    }
    let written = |checkpoint: Checkpoint, path: &str| {
        let offsets = checkpoint.read(&disk, Path::new(path)).unwrap();
        let indexes = offsets.iter().map(|it| (it.0.partition.get(), it.1.get()));
        indexes.collect::<Vec<_>>()
    };
    manager.run_due(bench.after(5 * SECOND));
    assert_eq!(written(Checkpoint::HighWatermark, "/a"), [(0, 4), (2, 4)]);
    assert_eq!(written(Checkpoint::HighWatermark, "/b"), [(1, 4), (3, 4)]);
    assert!(!exists(&disk, "/a/recovery-point-offset-checkpoint"));

    manager.run_due(bench.after(60 * SECOND));
    assert_eq!(written(Checkpoint::RecoveryPoint, "/a"), [(0, 5), (2, 5)]);
    assert_eq!(written(Checkpoint::RecoveryPoint, "/b"), [(1, 5), (3, 5)]);
    assert_eq!(written(Checkpoint::LogStart, "/a"), [(0, 2), (2, 2)]);

    // What has not changed is not written, and what is deleted is not there.
    let syncs = disk.calls(DiskOperation::Sync);
    manager.run_due(bench.after(120 * SECOND));
    assert_eq!(disk.calls(DiskOperation::Sync), syncs);
    manager
        .delete(&partition("t", 0), bench.now().instant)
        .unwrap();
    manager.run_due(bench.after(180 * SECOND));
    assert_eq!(written(Checkpoint::HighWatermark, "/a"), [(2, 4)]);
    assert_eq!(written(Checkpoint::RecoveryPoint, "/a"), [(2, 5)]);
    assert_eq!(written(Checkpoint::LogStart, "/a"), [(2, 2)]);
}

/// What raises the log start raises the recovery point, beyond what is durable.
#[test]
fn a_power_cut_at_any_call_of_a_checkpoint_leaves_no_log_that_is_not_opened() {
    for by_retention in [false, true] {
        let mut opened = 0;
        for call in 0.. {
            let disk = SimDisk::new(1);
            let bench = Bench::of(&["/logs"]);
            let manager = bench.open(&disk);
            let log = bench.create(&manager, &partition("t", 0));
            manager.checkpoint_all();
            {
                append(&log, 10);
                let mut log = log.lock();
                log.set_high_watermark(Offset::new(10));
                if by_retention {
                    let mut config = log.config().clone();
                    config.retention_bytes = Some(0);
                    log.set_config(config);
                    assert!(!log.delete_old_segments(BEGIN_MS).unwrap().is_empty());
                    assert_eq!(log.log_start_offset(), Offset::new(10));
                } else {
                    log.raise_log_start(Offset::new(8)).unwrap();
                }
            }
            disk.inject(Fault::on_any().after(call).cutting_power());
            manager.checkpoint_all();
            let is_over = bench.take_events().is_empty();
            for crash in [Crash::PowerLossLosingAll, Crash::PowerLoss { seed: call }] {
                // Asserts that none is left unopened.
                let manager = bench.open(&disk.crash(crash));
                let found = manager.get(&partition("t", 0)).unwrap();
                let offsets = found.reader().offsets();
                assert!(offsets.log_start <= offsets.log_end);
                if is_over {
                    let least = if by_retention { 10 } else { 8 };
                    assert!(offsets.log_start >= Offset::new(least), "{offsets:?}");
                }
                opened += 1;
            }
            if is_over {
                break;
            }
        }
        assert!(opened > 12, "three files are written: {opened}");
    }
}

#[test]
fn a_checkpoint_that_cannot_be_written_takes_the_directory_unless_it_is_full() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/a"]);
    let manager = bench.open(&disk);
    append(&bench.create(&manager, &partition("t", 0)), 1);
    disk.inject(Fault::on(DiskOperation::Write).failing_with(DiskErrorKind::Full));
    manager.checkpoint_all();
    assert!(bench.take_events().is_empty());
    manager.checkpoint_all();
    assert!(exists(&disk, "/a/recovery-point-offset-checkpoint"));

    append(&manager.get(&partition("t", 0)).unwrap(), 1);
    manager
        .get(&partition("t", 0))
        .unwrap()
        .lock()
        .flush()
        .unwrap();
    disk.inject(Fault::on(DiskOperation::Write));
    manager.checkpoint_all();
    let offline = Seen::Offline(PathBuf::from("/a"), vec![partition("t", 0)]);
    assert_eq!(bench.take_events(), [offline]);
}

#[test]
fn records_are_synced_once_they_have_waited_for_flush_ms() {
    let disk = SimDisk::new(1);
    let mut bench = Bench::of(&["/logs"]);
    bench.options.flush_check_interval = Some(SECOND);
    let manager = bench.open(&disk);
    bench.config.flush_age = Some(3 * SECOND);
    let log = bench.create(&manager, &partition("t", 0));
    bench.config.flush_age = None;
    append(&bench.create(&manager, &partition("never", 0)), 1);
    let at = |seconds| {
        manager.run_due(bench.after(seconds * SECOND));
        manager.sync_requested();
        bench.take_events()
    };
    assert_eq!(at(1), []);
    append(&log, 2);
    for seconds in 2..5 {
        assert_eq!(at(seconds), [], "seen at 2");
    }
    assert_eq!(at(5), [Seen::Synced(partition("t", 0), 2)]);
    for seconds in 6..20 {
        assert_eq!(at(seconds), []);
    }
}

#[test]
fn idle_producers_are_forgotten_every_ten_minutes() {
    let disk = SimDisk::new(1);
    let mut bench = Bench::of(&["/logs"]);
    bench.config.producer_id_expiration = 60 * SECOND;
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    let producer = ProducerStamp {
        producer_id: ProducerId::new(4),
        producer_epoch: ProducerEpoch::new(0),
        base_sequence: 0.into(),
    };
    let batch = batch_by(producer, b"x");
    log.lock().append(&[batch], EPOCH, BEGIN_MS).unwrap();
    manager.run_due(bench.after(599 * SECOND));
    assert_eq!(log.lock().producer_count(), 1);
    manager.run_due(bench.after(600 * SECOND));
    assert_eq!(log.lock().producer_count(), 0);
}
