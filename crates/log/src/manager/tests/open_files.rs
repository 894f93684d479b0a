//! No more files of segments are open than there may be, however many are in use.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{DiskErrorKind, DiskOperation, FileRange};
use klamm_primitives::Offset;
use klamm_records::RecordBatches;

use super::support::*;
use crate::config::LogConfig;
use crate::disk_failure::DiskFailure as _;
use crate::manager::LogManager;
use crate::partition_log::PartitionLog;
use crate::read::{Isolation, ReadLimit};

const MAX: u64 = 4;

/// Beside them: an index, a snapshot, a checkpoint or a directory at a time.
const MOMENTARY: u64 = 1;

const ALL: ReadLimit = ReadLimit {
    bytes_max: 1 << 20,
    whole_first_batch: true,
};

/// A few batches make a segment.
fn bench() -> Bench {
    let mut bench = Bench::of(&["/a", "/b"]);
    bench.options.open_files_max = Some(usize::try_from(MAX).unwrap());
    bench.config = LogConfig {
        segment_bytes: 1000,
        index_bytes: 4096,
        index_interval_bytes: 100,
        ..LogConfig::default()
    };
    bench
}

fn with_limit() -> SimDisk {
    let disk = SimDisk::new(1);
    disk.set_open_files_max(Some(MAX + MOMENTARY));
    disk
}

fn create_all(bench: &Bench, manager: &LogManager<SimDisk>) -> Vec<Arc<PartitionLog<SimDisk>>> {
    let names = (0..10).map(|index| partition("t", index));
    names.map(|name| bench.create(manager, &name)).collect()
}

/// The offsets of all batches, read one by one.
fn read_all(log: &PartitionLog<SimDisk>) -> Vec<i64> {
    let mut offsets = Vec::new();
    let mut next = Offset::ZERO;
    while let Some(range) = log
        .reader()
        .read(next, ALL, Isolation::LogEnd)
        .unwrap()
        .range
    {
        for batch in RecordBatches::new(FileRange::read(&range).unwrap()) {
            let header = *batch.unwrap().header();
            offsets.push(header.base_offset.get());
            next = header.last_offset() + 1;
        }
    }
    offsets
}

/// Covers LG-029: partitions in use may outnumber descriptors, and so may their segments.
#[test]
fn many_partitions_with_many_segments_are_written_read_synced_and_deleted() {
    let (disk, bench) = (with_limit(), bench());
    let manager = bench.open(&disk);
    let logs = create_all(&bench, &manager);
    for _ in 0..20 {
        for log in &logs {
            append(log, 1);
        }
    }
    for log in &logs {
        assert!(log.lock().segment_count() > 3);
        assert_eq!(read_all(log), (0..20).collect::<Vec<_>>());
    }
    for log in &logs {
        log.request_sync();
    }
    manager.sync_requested();
    assert_eq!(bench.take_events().len(), logs.len());
    for log in &logs[..5] {
        manager
            .delete(log.partition(), bench.now().instant)
            .unwrap();
    }
    manager.run_due(bench.after(Duration::from_secs(90)));
    for log in &logs[5..] {
        append(log, 5);
        assert_eq!(read_all(log), (0..25).collect::<Vec<_>>());
    }
    assert!(disk.open_files() <= MAX, "{}", disk.open_files());
    let stopped = manager.stop(epoch(1));
    assert!(stopped.unclean.is_empty(), "{:?}", stopped.unclean);
    assert_eq!(disk.open_files(), 0);
    let opened = bench.try_open(&disk).unwrap();
    assert!(opened.recovered.is_empty());
    assert_eq!(opened.manager.all().len(), 5);
}

/// A file that was written to is synced before it is closed.
#[test]
fn what_was_closed_to_make_room_is_durable() {
    let (disk, bench) = (with_limit(), bench());
    let manager = bench.open(&disk);
    let logs = create_all(&bench, &manager);
    for log in &logs {
        append(log, 1);
    }
    let synced = disk.calls(DiskOperation::Sync);
    for log in &logs {
        append(log, 1);
    }
    let synced = disk.calls(DiskOperation::Sync) - synced;
    assert_eq!(synced, 10, "each was closed to make room for another");
    let after = disk.crash(Crash::PowerLossLosingAll);
    let manager = bench.try_open(&after).unwrap().manager;
    let ends = manager.all().into_iter();
    let lost = ends.filter(|log| log.reader().offsets().log_end.get() < 2);
    assert_eq!(lost.count() as u64, MAX, "those that were open");
}

/// What that sync has lost no other one makes durable, and whoever writes to the log hears of it.
#[test]
fn a_failure_to_sync_what_is_to_be_closed_is_that_of_its_log() {
    for writes_on in [false, true] {
        let (disk, bench) = (with_limit(), bench());
        let manager = bench.open(&disk);
        let logs = create_all(&bench, &manager);
        for log in &logs {
            append(log, 1);
        }
        let is_log = |path: &Path| path.extension() == Some("log".as_ref());
        disk.inject(Fault::on(DiskOperation::Sync).where_path(is_log));
        // Another one is closed for it.
        append(&logs[0], 1);
        let failed: Vec<_> = logs[1..]
            .iter()
            .filter(|log| {
                if writes_on {
                    let appended = log.lock().append(&[batch()], EPOCH, BEGIN_MS);
                    appended.is_err_and(|error| error.takes_directory_offline())
                } else {
                    log.lock().flush().is_err()
                }
            })
            .collect();
        assert_eq!(failed.len(), 1);
        let failed = failed[0].lock();
        assert!(writes_on || failed.is_failed());
        assert_eq!(failed.recovery_point(), Offset::ZERO);
    }
}

/// Readers read on by the file that they were given, and the log opens it again for others.
#[test]
fn a_file_that_was_closed_is_read_on_by_who_has_it() {
    let (disk, bench) = (SimDisk::new(1), bench());
    let manager = bench.open(&disk);
    let logs = create_all(&bench, &manager);
    for log in &logs {
        append(log, 20);
    }
    let reads: Vec<_> = logs
        .iter()
        .map(|log| log.reader().read(Offset::ZERO, ALL, Isolation::LogEnd))
        .map(|read| read.unwrap().range.unwrap())
        .collect();
    assert!(disk.open_files() >= 10);
    for (log, range) in logs.iter().zip(reads) {
        assert_eq!(range.read().unwrap().len(), range.len);
        assert_eq!(read_all(log).len(), 20);
    }
    assert!(disk.open_files() <= MAX);
}

/// Space that was reserved is cut off a segment that ends while its file is closed.
#[test]
fn a_segment_that_was_closed_keeps_no_reserved_space() {
    let (disk, mut bench) = (with_limit(), bench());
    bench.config.preallocate = true;
    let manager = bench.open(&disk);
    let logs = create_all(&bench, &manager);
    for _ in 0..20 {
        for log in &logs {
            append(log, 1);
        }
    }
    assert!(manager.stop(epoch(1)).unclean.is_empty());
    for index in 0..10 {
        let root = if exists(&disk, format!("/a/t-{index}")) {
            "a"
        } else {
            "b"
        };
        let directory = format!("/{root}/t-{index}");
        let names = names(&disk, &directory);
        let is_log = |name: &&String| Path::new(name).extension() == Some("log".as_ref());
        let logs: Vec<_> = names.iter().filter(is_log).collect();
        assert!(logs.len() > 3);
        for name in logs {
            let bytes = content(&disk, &format!("{directory}/{name}"));
            let whole: usize = RecordBatches::new(bytes.clone().into())
                .map(|batch| batch.unwrap().header().size())
                .sum();
            assert_eq!(whole, bytes.len(), "{directory}/{name}");
        }
    }
}

/// Readers that hold a segment which goes open it by the name that it waits under, and not by the one
/// that may be another's.
#[test]
fn a_segment_that_goes_is_read_on_by_its_other_name() {
    let (disk, bench) = (with_limit(), bench());
    let manager = bench.open(&disk);
    let logs = create_all(&bench, &manager);
    append(&logs[0], 20);
    let old = logs[0].reader().shared.segment_for(Offset::ZERO);
    let retired = {
        let mut log = logs[0].lock();
        let end = log.log_end_offset();
        log.set_high_watermark(end);
        log.raise_log_start(end).unwrap();
        log.delete_old_segments(BEGIN_MS).unwrap()
    };
    for log in &logs[1..] {
        append(log, 1);
    }
    assert!(!old.holds_file());
    let first = old.scan(0).unwrap().next().unwrap().unwrap();
    assert_eq!(first.base_offset, Offset::ZERO);
    retired.remove().unwrap();
    for log in &logs[1..] {
        append(log, 1);
    }
    assert!(!old.holds_file());
    let gone = old.file().map(drop).unwrap_err();
    assert_eq!(gone.kind(), DiskErrorKind::NotFound);
}
