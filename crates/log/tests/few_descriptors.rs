//! A process that may have fewer files open than it has partitions.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use klamm_io::{Clock, RealDisk, SystemClock};
use klamm_log::{
    Isolation, LogConfig, LogManager, ManagerOptions, Now, Opened, Owner, PartitionLog, Progress,
    ReadLimit, Wiring,
};
use klamm_primitives::{
    BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicPartition,
};
use klamm_records::{
    BatchOptions, Codecs, RecordBatchBuilder, RecordBatches, ValidBatch, ValidationRules, validate,
};

const DIRECTORY: &str = "KLAMM_LOG_TEST_FEW_DESCRIPTORS";

/// Partitions of the tests.
const COUNT: i32 = 120;

/// Files that the process below may have open.
const LIMIT: u32 = 48;

/// How many of them segments may have.
const OPEN_FILES_MAX: usize = 16;

const THREADS: usize = 2;

const WHOLE: ReadLimit = ReadLimit {
    bytes_max: 1 << 20,
    whole_first_batch: true,
};

fn open(path: &Path, progress: &(dyn Fn(&Progress<'_>) + Sync)) -> Opened<RealDisk> {
    let owner = Owner {
        cluster_id: "a-cluster".to_owned(),
        node_id: BrokerId::new(1),
    };
    let mut last = 0;
    let wiring = Wiring {
        random: Box::new(move || {
            last += 1;
            last
        }),
        events: Box::new(|_| ()),
    };
    let now = Now {
        instant: SystemClock.now(),
        unix_ms: SystemClock.unix_ms(),
    };
    let options = ManagerOptions {
        recovery_threads_per_directory: THREADS,
        open_files_max: Some(OPEN_FILES_MAX),
        ..ManagerOptions::new(owner, vec![path.to_owned()])
    };
    let config_of = |_: &TopicPartition| config();
    LogManager::open(&RealDisk, options, wiring, &config_of, progress, now).unwrap()
}

/// A few batches make a segment.
fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 1000,
        index_bytes: 4096,
        index_interval_bytes: 100,
        ..LogConfig::default()
    }
}

fn partition(index: i32) -> TopicPartition {
    TopicPartition::new("t", PartitionIndex::new(index))
}

fn create(manager: &LogManager<RealDisk>, index: i32) -> Arc<PartitionLog<RealDisk>> {
    let created = manager.create(&partition(index), None, &config(), 0);
    created.unwrap()
}

fn batch() -> ValidBatch {
    let mut codecs = Codecs::default();
    let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
    builder.append(0, None, Some(&[b'x'; 100]), &[]).unwrap();
    builder.close(&mut codecs).unwrap();
    let bytes = builder.into_bytes().unwrap();
    validate(bytes, &ValidationRules::default(), 0, &mut codecs).unwrap()
}

/// Open files below a directory.
fn open_files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd").unwrap() {
        // That of this very listing is gone by now, and others may be.
        if let Ok(target) = std::fs::read_link(entry.unwrap().path())
            && target.starts_with(path)
        {
            found.push(target);
        }
    }
    found
}

/// Covers LG-029: neither making nor recovering partitions leaves a file open, and while they are
/// recovered each thread has a few, however many segments there are.
#[test]
fn idle_partitions_hold_no_descriptor_after_a_crash_either() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let lock = [path.join(".lock")];
    let manager = open(path, &|_| ()).manager;
    for index in 0..COUNT {
        create(&manager, index);
    }
    assert_eq!(open_files(path), lock);
    for index in 0..COUNT / 4 {
        let log = manager.get(&partition(index)).unwrap();
        for _ in 0..30 {
            let mut log = log.lock();
            log.append(&[batch()], LeaderEpoch::new(0), 0).unwrap();
        }
        assert!(log.lock().segment_count() > 3);
    }
    drop(manager);
    let most = std::sync::atomic::AtomicUsize::new(0);
    let opened = open(path, &|_| {
        let count = open_files(path).len();
        most.fetch_max(count, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(opened.recovered.len(), usize::try_from(COUNT).unwrap());
    let most = most.into_inner();
    assert!(most <= 1 + 4 * THREADS, "{most} files were open");
    assert_eq!(open_files(path), lock);
    for log in opened.manager.all() {
        let expected = if log.partition().partition < PartitionIndex::new(COUNT / 4) {
            30
        } else {
            0
        };
        assert_eq!(log.reader().offsets().log_end.get(), expected);
    }
    assert!(opened.manager.stop(BrokerEpoch::NONE).unclean.is_empty());
}

/// Covers LG-029: reading an idle log opens a file that the log itself has as well as its list of
/// segments, and closing it closes both.
#[test]
fn a_stop_closes_the_files_of_logs_that_were_only_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let manager = open(path, &|_| ()).manager;
    for index in 0..4 {
        let log = create(&manager, index);
        let appended = log.lock().append(&[batch()], LeaderEpoch::new(0), 0);
        appended.unwrap();
    }
    manager.stop(BrokerEpoch::NONE);
    let manager = open(path, &|_| ()).manager;
    let logs = manager.all();
    for log in &logs {
        let read = log.reader().read(Offset::ZERO, WHOLE, Isolation::LogEnd);
        assert!(!read.unwrap().range.unwrap().read().unwrap().is_empty());
    }
    assert!(open_files(path).len() > logs.len());
    assert!(manager.stop(BrokerEpoch::NONE).unclean.is_empty());
    let left = open_files(path);
    assert!(left.is_empty(), "{left:?}");
}

/// How many records there are.
fn read_through(log: &PartitionLog<RealDisk>) -> i64 {
    let mut count = 0;
    loop {
        let read = log
            .reader()
            .read(Offset::new(count), WHOLE, Isolation::LogEnd);
        let Some(range) = read.unwrap().range else {
            return count;
        };
        for batch in RecordBatches::new(range.read().unwrap()) {
            count += i64::from(batch.unwrap().header().record_count);
        }
    }
}

/// What the process with few descriptors does: the test below starts it.
#[test]
fn serves_more_partitions_than_it_may_have_files_open() {
    let Some(path) = std::env::var_os(DIRECTORY).map(PathBuf::from) else {
        return;
    };
    let opened = open(&path, &|_| ());
    assert!(opened.unopened.is_empty(), "{:?}", opened.unopened);
    let manager = opened.manager;
    for index in 0..COUNT {
        create(&manager, index);
    }
    // Those that are written to have a file open each, and there are not enough for all.
    for _ in 0..15 {
        for index in 0..COUNT {
            let log = create(&manager, index);
            let mut log = log.lock();
            log.append(&[batch()], LeaderEpoch::new(0), 0).unwrap();
        }
    }
    for index in 0..COUNT {
        let log = create(&manager, index);
        assert!(log.lock().segment_count() > 1);
        let count = read_through(&log);
        assert!(count >= 15 && count == log.reader().offsets().log_end.get());
    }
    // And now none at all is left.
    let mut others = Vec::new();
    while let Ok(other) = File::open("/dev/null") {
        others.push(other);
    }
    let stopped = manager.stop(BrokerEpoch::NONE);
    assert!(stopped.unclean.is_empty(), "{stopped:?}");
    drop(others);
    let opened = open(&path, &|_| ());
    assert!(opened.recovered.is_empty() && opened.unopened.is_empty());
    // Killed as it is.
    std::mem::forget(opened.manager);
}

#[test]
fn a_limit_of_open_files_below_the_partitions_stops_no_start_and_leaves_stops_clean() {
    let directory = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    for round in 0..3 {
        let ended = Command::new("sh")
            .arg("-c")
            .arg(format!("ulimit -n {LIMIT}; exec \"$0\" \"$@\""))
            .arg(&program)
            .args([
                "--exact",
                "serves_more_partitions_than_it_may_have_files_open",
                "--nocapture",
            ])
            .env(DIRECTORY, directory.path())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "round {round}: {told}");
    }
}
