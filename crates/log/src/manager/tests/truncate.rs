//! Cutting logs through the manager.

use std::path::Path;
use std::sync::Arc;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{DiskErrorKind, DiskOperation};
use klamm_primitives::Offset;

use super::support::*;
use crate::manager::{CutError, CutTo, LogManager};
use crate::offset_checkpoint::Checkpoint;
use crate::partition_log::PartitionLog;

fn recovery_point(disk: &SimDisk, index: i32) -> i64 {
    let points = Checkpoint::RecoveryPoint.read(disk, Path::new("/logs"));
    points.unwrap()[&partition("t", index)].get()
}

/// Partitions with ten durable records each, which their recovery points tell of.
fn filled(bench: &Bench, disk: &SimDisk) -> (LogManager<SimDisk>, Vec<Arc<PartitionLog<SimDisk>>>) {
    let manager = bench.open(disk);
    let logs: Vec<_> = (0..3)
        .map(|index| bench.create(&manager, &partition("t", index)))
        .collect();
    for log in &logs {
        append(log, 10);
        log.lock().flush().unwrap();
    }
    manager.checkpoint_all();
    assert_eq!(recovery_point(disk, 0), 10);
    (manager, logs)
}

/// Covers LG-094, LG-206.
#[test]
fn lg_056_a_cut_lowers_the_recovery_point_on_disk_first() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let (manager, logs) = filled(&bench, &disk);
    for log in &logs {
        let directory = log.directory().checkpoints();
        directory
            .set_cleaner_offset(log.partition(), Offset::new(7))
            .unwrap();
    }
    let to_nothing = CutTo::Nothing {
        start_at: Offset::new(3),
        log_start: None,
    };
    let cuts = [
        (logs[0].clone(), CutTo::Offset(Offset::new(5))),
        (logs[1].clone(), CutTo::Offset(Offset::new(10))),
        (logs[2].clone(), to_nothing),
    ];
    let cut = manager.truncate(&cuts, BEGIN_MS);
    let has_cut: Vec<_> = cut.into_iter().map(Result::unwrap).collect();
    assert_eq!(has_cut, [true, false, true]);
    let ends: Vec<_> = logs
        .iter()
        .map(|it| it.lock().log_end_offset().get())
        .collect();
    assert_eq!(ends, [5, 10, 3]);
    let points: Vec<_> = (0..3).map(|index| recovery_point(&disk, index)).collect();
    assert_eq!(points, [5, 10, 3]);
    let cleaned = Checkpoint::Cleaner.read(&disk, Path::new("/logs")).unwrap();
    let cleaned: Vec<_> = (0..3)
        .map(|index| cleaned[&partition("t", index)].get())
        .collect();
    assert_eq!(cleaned, [5, 7, 3]);
    for log in &logs {
        assert!(
            manager.cleanings().may_begin(log.partition()),
            "not paused any more"
        );
    }
}

#[test]
fn lg_104_a_power_cut_at_any_call_of_a_cut_leaves_the_log_before_or_after_it() {
    for call in 0.. {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/logs"]);
        let (manager, logs) = filled(&bench, &disk);
        logs[0].lock().roll(Offset::new(10), BEGIN_MS).unwrap();
        append(&logs[0], 5);
        logs[0].lock().flush().unwrap();
        manager.checkpoint_all();
        disk.inject(Fault::on_any().after(call).cutting_power());
        let cuts = [(logs[0].clone(), CutTo::Offset(Offset::new(4)))];
        let is_done = manager.truncate(&cuts, BEGIN_MS)[0].is_ok();
        let disk = disk.crash(Crash::PowerLossLosingAll);
        drop((manager, logs));
        let manager = bench.open(&disk);
        let end = manager.get(&partition("t", 0)).unwrap();
        let end = end.lock().log_end_offset().get();
        assert!([4, 10, 15].contains(&end), "{end} after call {call}");
        if is_done {
            assert_eq!(end, 4);
            assert!(call > 3, "the cut makes some calls");
            return;
        }
    }
}

/// What raised the log start of one log raised its recovery point, which a cut of another writes.
#[test]
fn a_power_cut_while_a_cut_writes_the_offsets_leaves_no_other_log_unopened() {
    for call in 0.. {
        let disk = SimDisk::new(1);
        let bench = Bench::of(&["/logs"]);
        let (manager, logs) = filled(&bench, &disk);
        append(&logs[1], 10);
        logs[1].lock().raise_log_start(Offset::new(15)).unwrap();
        disk.inject(Fault::on_any().after(call).cutting_power());
        let cuts = [(logs[0].clone(), CutTo::Offset(Offset::new(4)))];
        let is_done = manager.truncate(&cuts, BEGIN_MS)[0].is_ok();
        let disk = disk.crash(Crash::PowerLossLosingAll);
        drop((manager, logs));
        // Asserts that none is left unopened.
        let manager = bench.open(&disk);
        let start = manager.get(&partition("t", 1)).unwrap();
        let start = start.reader().offsets().log_start.get();
        assert!([0, 15].contains(&start), "{start} after call {call}");
        if is_done {
            assert_eq!(start, 15);
            return;
        }
    }
}

/// Otherwise the log would begin anew behind where it was cut.
#[test]
fn a_cut_below_the_log_start_lowers_that_on_disk_too() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let (manager, logs) = filled(&bench, &disk);
    logs[0].lock().raise_log_start(Offset::new(8)).unwrap();
    manager.checkpoint_all();
    let cuts = [(logs[0].clone(), CutTo::Offset(Offset::new(5)))];
    assert!(manager.truncate(&cuts, BEGIN_MS).remove(0).unwrap());
    drop((manager, logs));
    let manager = bench.open(&disk.crash(Crash::PowerLossLosingAll));
    let offsets = manager.get(&partition("t", 0)).unwrap().reader().offsets();
    assert_eq!((offsets.log_start.get(), offsets.log_end.get()), (5, 5));
}

#[test]
fn lg_188_without_a_recovery_point_that_is_lowered_nothing_is_cut() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let (manager, logs) = filled(&bench, &disk);
    let is_point = |path: &Path| path.to_string_lossy().contains("recovery-point");
    let full = Fault::on(DiskOperation::Write).failing_with(DiskErrorKind::Full);
    disk.inject(full.where_path(is_point));
    let cuts = [(logs[0].clone(), CutTo::Offset(Offset::new(5)))];
    let cut = manager.truncate(&cuts, BEGIN_MS).remove(0);
    assert!(matches!(cut, Err(CutError::Checkpoint(_))), "{cut:?}");
    assert_eq!(logs[0].lock().log_end_offset(), Offset::new(10));
    assert!(!manager.has_offline_directory());

    disk.inject(Fault::on(DiskOperation::Write).where_path(is_point));
    let cut = manager.truncate(&cuts, BEGIN_MS).remove(0);
    assert!(matches!(cut, Err(CutError::Checkpoint(_))), "{cut:?}");
    assert!(manager.has_offline_directory());
}
