//! Compaction by the manager: whose turn it is, and what stops it.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use klamm_io::sim::{Fault, SimDisk};
use klamm_io::{
    Clock, Disk, DiskErrorKind, DiskFile, DiskOperation, OpenMode, RealDisk, SystemClock,
};
use klamm_primitives::Offset;
use klamm_records::{BatchOptions, Codecs, RecordBatchBuilder, ValidationRules, validate};

use super::support::*;
use crate::compaction::{Compaction, CompactionOptions};
use crate::config::CleanupPolicy;
use crate::manager::{CompactionOutcome, LogManager};
use crate::offset_checkpoint::Checkpoint;
use crate::partition_log::PartitionLog;

const KEY_BYTES: usize = 1 << 20;
const SECOND: Duration = Duration::from_secs(1);

fn bench() -> Bench {
    let mut bench = Bench::of(&["/logs"]);
    bench.config.cleanup_policy = CleanupPolicy::COMPACT;
    bench
}

/// Appends a record with each of these keys, and rolls.
fn put<D: Disk>(log: &PartitionLog<D>, keys: &[&str]) {
    let mut log = log.lock();
    for key in keys {
        let mut codecs = Codecs::default();
        let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
        let (key, value) = (Some(key.as_bytes()), Some(&[b'x'; 100][..]));
        builder.append(BEGIN_MS, key, value, &[]).unwrap();
        builder.close(&mut codecs).unwrap();
        let bytes = builder.into_bytes().unwrap();
        let rules = ValidationRules::default();
        let batch = validate(bytes, &rules, BEGIN_MS, &mut codecs).unwrap();
        log.append(&[batch], EPOCH, BEGIN_MS).unwrap();
    }
    let end = log.log_end_offset();
    log.set_high_watermark(end);
    log.roll(end, BEGIN_MS).unwrap();
}

fn compact(manager: &LogManager<SimDisk>, bench: &Bench) -> Option<(String, CompactionOutcome)> {
    let compacted = manager.compact_next(KEY_BYTES, bench.now(), &|| false)?;
    Some((compacted.partition.to_string(), compacted.outcome))
}

/// Covers LG-220.
#[test]
fn lg_201_the_filthiest_log_is_compacted_until_none_is_due() {
    let disk = SimDisk::new(1);
    let bench = bench();
    let manager = bench.open(&disk);
    let (a, b) = (partition("a", 0), partition("b", 0));
    let log_a = bench.create(&manager, &a);
    put(&log_a, &["x", "x", "x", "y"]);
    let size = log_a.size();
    let done = CompactionOutcome::Done;
    assert_eq!(compact(&manager, &bench), Some(("a-0".to_owned(), done)));
    assert_eq!(log_a.size() * 2, size, "x and y are left");
    assert_eq!(compact(&manager, &bench), None, "nothing is dirty");

    // A fifth of it is dirty, of the other all.
    put(&log_a, &["x"]);
    put(&bench.create(&manager, &b), &["x", "x"]);
    assert_eq!(compact(&manager, &bench), Some(("b-0".to_owned(), done)));
    assert_eq!(compact(&manager, &bench), None);
    let noted = Checkpoint::Cleaner.read(&disk, Path::new("/logs")).unwrap();
    assert_eq!(noted[&a], Offset::new(4));
    assert_eq!(noted[&b], Offset::new(2));

    // The next start goes on from there.
    manager.stop(epoch(1));
    drop((manager, log_a));
    let manager = bench.open(&disk);
    assert_eq!(compact(&manager, &bench), None);
    // The files that were replaced are gone.
    let files = names(&disk, "/logs/a-0");
    assert!(
        files.iter().all(|it| !it.ends_with(".deleted")),
        "{files:?}"
    );
}

#[test]
fn lg_205_a_log_of_an_old_format_is_left_out_and_said_to_be() {
    let disk = SimDisk::new(1);
    let bench = bench();
    let manager = bench.open(&disk);
    let old = bench.create(&manager, &partition("old", 0));
    put(&old, &["x", "x", "x"]);
    manager.stop(epoch(1));
    drop((manager, old));
    // A message of magic 1 in the place of the first batch, and of its size.
    let path = Path::new("/logs/old-0/00000000000000000000.log");
    let file = disk.open(path, OpenMode::ReadWrite).unwrap();
    let mut header = [0; 17];
    file.read_exact_at(&mut header, 0).unwrap();
    header[16] = 1;
    file.write_all_at(&header, 0).unwrap();

    let manager = bench.open(&disk);
    put(&bench.create(&manager, &partition("new", 0)), &["x", "x"]);
    put(&manager.get(&partition("old", 0)).unwrap(), &["x"]);
    let failed = CompactionOutcome::Failed;
    let first = [compact(&manager, &bench), compact(&manager, &bench)];
    assert!(
        first.contains(&Some(("old-0".to_owned(), failed))),
        "{first:?}"
    );
    let done = CompactionOutcome::Done;
    assert!(
        first.contains(&Some(("new-0".to_owned(), done))),
        "{first:?}"
    );
    assert_eq!(compact(&manager, &bench), None, "it is not tried again");

    let [uncleanable] = &manager.cleanings().uncleanable()[..] else {
        panic!("one is uncleanable");
    };
    assert_eq!(uncleanable.partition, partition("old", 0));
    let reason = &uncleanable.reason;
    assert!(
        reason.contains("00000000000000000000.log, byte 0"),
        "{reason}"
    );
    assert!(bench.take_events().is_empty(), "the directory is well");
    manager.cleanings().try_again(&partition("old", 0));
    assert_eq!(
        compact(&manager, &bench),
        Some(("old-0".to_owned(), failed))
    );
}

#[test]
fn lg_188_a_disk_that_fails_while_compacting_takes_its_directory_offline() {
    let disk = SimDisk::new(1);
    let bench = bench();
    let manager = bench.open(&disk);
    put(&bench.create(&manager, &partition("t", 0)), &["x", "x"]);
    let is_new = |path: &Path| path.extension().is_some_and(|it| it == "cleaned");
    let full = Fault::on(DiskOperation::Write).failing_with(DiskErrorKind::Full);
    disk.inject(full.where_path(is_new));
    let failed = Some(("t-0".to_owned(), CompactionOutcome::Failed));
    assert_eq!(compact(&manager, &bench), failed);
    assert!(!manager.has_offline_directory(), "it is only full");
    assert_eq!(manager.cleanings().uncleanable(), []);
    disk.inject(Fault::on(DiskOperation::Write).where_path(is_new));
    assert_eq!(compact(&manager, &bench), failed);
    let offline = Seen::Offline("/logs".into(), vec![partition("t", 0)]);
    assert_eq!(bench.take_events(), [offline]);
}

#[test]
fn lg_184_a_log_with_both_policies_lets_old_segments_go_by_its_compaction() {
    let disk = SimDisk::new(1);
    let mut bench = bench();
    bench.config.cleanup_policy.delete = true;
    bench.config.retention_age = Some(SECOND);
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    put(&log, &["x", "y"]);
    let later = bench.after(2 * SECOND);
    manager.apply_retention(later);
    assert_eq!(log.lock().segment_count(), 2, "left to the compaction");
    manager.apply_retention_to_compacted(later);
    assert_eq!(log.lock().segment_count(), 1);
    put(&log, &["x", "y"]);
    manager.compact_next(KEY_BYTES, later, &|| false).unwrap();
    assert_eq!(log.reader().offsets().log_start, Offset::new(4));
}

#[test]
fn lg_204_a_stopped_compaction_changes_nothing_and_deleting_waits_for_one() {
    let disk = SimDisk::new(1);
    let bench = bench();
    let manager = bench.open(&disk);
    let log = bench.create(&manager, &partition("t", 0));
    put(&log, &["x", "x"]);
    let size = log.size();
    let compacted = manager.compact_next(KEY_BYTES, bench.now(), &|| true);
    assert_eq!(compacted.unwrap().outcome, CompactionOutcome::Stopped);
    assert_eq!(log.size(), size);

    // Whoever deletes stops the pass that is under way, and waits for it.
    let (begun, wait) = sync_channel(1);
    let outcome = std::thread::scope(|scope| {
        let manager = &manager;
        let now = bench.now();
        let pass = scope.spawn(move || {
            manager.compact_next(KEY_BYTES, now, &|| {
                let _ = begun.try_send(());
                // Its own pass is asked to stop before this is looked at, so here only the pause
                // of the deletion lets it go on.
                while !manager.cleanings().is_paused(&partition("t", 0)) {
                    std::thread::yield_now();
                }
                false
            })
        });
        wait.recv().unwrap();
        manager.delete(&partition("t", 0), now.instant).unwrap();
        pass.join().unwrap().unwrap().outcome
    });
    assert_eq!(outcome, CompactionOutcome::Stopped);
    assert_eq!(compact(&manager, &bench), None);
}

#[test]
fn the_threads_compact_what_is_due_and_end_when_they_are_told_to() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::of(&[directory.path().to_str().unwrap()]);
    bench.config.cleanup_policy = CleanupPolicy::COMPACT;
    let manager = Arc::new(bench.open(&RealDisk));
    let logs: Vec<_> = (0..3)
        .map(|index| bench.create(&manager, &partition("t", index)))
        .collect();
    for log in &logs {
        put(log, &["x", "x", "x"]);
    }
    let sizes: Vec<_> = logs.iter().map(|it| it.size()).collect();
    let options = CompactionOptions {
        threads: 2,
        backoff: Duration::from_millis(1),
        ..CompactionOptions::default()
    };
    let compaction = Compaction::start(&manager, &SystemClock, options).unwrap();
    let limit = SystemClock.now() + Duration::from_secs(30);
    while logs
        .iter()
        .zip(&sizes)
        .any(|(log, size)| log.size() == *size)
    {
        assert!(SystemClock.now() < limit, "not compacted");
        std::thread::yield_now();
    }
    compaction.stop();
    for (log, size) in logs.iter().zip(&sizes) {
        assert_eq!(log.size() * 3, *size);
    }
    manager.stop(epoch(1));
}
