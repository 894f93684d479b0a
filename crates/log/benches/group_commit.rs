//! Appends of 1 KiB, each acknowledged once it is durable, by 1, 8 and 64 writers: syncs in groups
//! against one fdatasync per append. To one partition, and to one for each writer.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use klamm_io::{Clock, RealDisk, SystemClock};
use klamm_log::{
    Durability, LogConfig, LogEvent, LogManager, ManagerOptions, Now, Owner, PartitionLog,
    SYNC_THREADS, Wiring,
};
use klamm_primitives::{
    BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicPartition,
};
use klamm_records::{
    BatchOptions, Codecs, RecordBatchBuilder, ValidBatch, ValidationRules, validate,
};
use parking_lot::{Condvar, Mutex};

const SIZE: usize = 1024;

fn batch() -> ValidBatch {
    let mut codecs = Codecs::default();
    let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
    let (now_ms, value) = (SystemClock.unix_ms(), [b'x'; SIZE - 74]);
    builder
        .append(now_ms, None, Some(&value), &[])
        .expect("it fits");
    builder.close(&mut codecs).expect("nothing is compressed");
    let bytes = builder.into_bytes().expect("it was closed");
    validate(bytes, &ValidationRules::default(), now_ms, &mut codecs).expect("it is valid")
}

/// Up to where each partition is durable, for those who wait for it: by themselves, so that a sync
/// wakes nobody whom it does not concern.
struct Durable {
    partitions: Vec<(Mutex<Offset>, Condvar)>,
}

impl Durable {
    fn of(partitions: usize) -> Self {
        let none = || (Mutex::new(Offset::ZERO), Condvar::new());
        Self {
            partitions: (0..partitions).map(|_| none()).collect(),
        }
    }

    fn of_partition(&self, log: &PartitionLog<RealDisk>) -> &(Mutex<Offset>, Condvar) {
        let index = log.partition().partition.get();
        &self.partitions[usize::try_from(index).expect("they count from 0")]
    }

    fn note(&self, log: &PartitionLog<RealDisk>, offset: Offset) {
        let (durable, moved) = self.of_partition(log);
        *durable.lock() = offset;
        moved.notify_all();
    }

    fn wait_for(&self, log: &PartitionLog<RealDisk>, offset: Offset) {
        let (durable, moved) = self.of_partition(log);
        let mut durable = durable.lock();
        while *durable <= offset {
            moved.wait(&mut durable);
        }
    }
}

fn open(path: &std::path::Path, durable: &Arc<Durable>) -> Arc<LogManager<RealDisk>> {
    let owner = Owner {
        cluster_id: "bench".to_owned(),
        node_id: BrokerId::new(1),
    };
    let durable = durable.clone();
    let wiring = Wiring {
        random: Box::new(|| 4),
        events: Box::new(move |event| {
            if let LogEvent::Synced { log, offset } = event {
                durable.note(&log, offset);
            }
        }),
    };
    let now = Now {
        instant: SystemClock.now(),
        unix_ms: SystemClock.unix_ms(),
    };
    let options = ManagerOptions::new(owner, vec![path.to_owned()]);
    let config_of = |_: &_| LogConfig::default();
    let opened = LogManager::open(&RealDisk, options, wiring, &config_of, &|_| {}, now);
    Arc::new(opened.expect("the directory is empty").manager)
}

/// Runs `append` so many times, by so many threads that share the work.
fn by_writers(writers: usize, count: u64, append: impl Fn(usize) + Sync) -> Duration {
    let left = AtomicU64::new(count);
    let begin = SystemClock.now();
    thread::scope(|scope| {
        for writer in 0..writers {
            let (left, append) = (&left, &append);
            scope.spawn(move || {
                let take = |left: u64| left.checked_sub(1);
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                    .is_ok()
                {
                    append(writer);
                }
            });
        }
    });
    SystemClock.now() - begin
}

fn group_commit(criterion: &mut Criterion) {
    for (name, one_each) in [
        ("group_commit", false),
        ("group_commit_partition_each", true),
    ] {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).throughput(Throughput::Elements(1));
        for writers in [1, 8, 64] {
            let directory = tempfile::tempdir().expect("there is room");
            let partitions = if one_each { writers } else { 1 };
            let durable = Arc::new(Durable::of(partitions));
            let manager = open(&directory.path().join("logs"), &durable);
            let durability =
                Durability::start(manager.clone(), SYNC_THREADS).expect("there are threads");
            let logs: Vec<_> = (0..partitions)
                .map(|index| {
                    let index = i32::try_from(index).expect("it is small");
                    let name = TopicPartition::new("t", PartitionIndex::new(index));
                    let made = manager.create(&name, None, &LogConfig::default(), 0);
                    made.expect("the directory is empty")
                })
                .collect();
            let batch = batch();
            group.bench_function(BenchmarkId::new("klamm", writers), |bencher| {
                bencher.iter_custom(|count| {
                    by_writers(writers, count, |writer| {
                        let log = &logs[writer % logs.len()];
                        let now_ms = SystemClock.unix_ms();
                        let appended = {
                            let mut log = log.lock();
                            log.append(std::slice::from_ref(&batch), LeaderEpoch::new(0), now_ms)
                        };
                        log.request_sync();
                        durable.wait_for(log, appended.expect("there is room").last_offset);
                    })
                });
            });
            durability.stop();
            manager.stop(BrokerEpoch::NONE);

            let files: Vec<_> = (0..partitions)
                .map(|index| {
                    let path = directory.path().join(format!("plain-{index}"));
                    let file = File::create(path).expect("there is room");
                    (file, Mutex::new(0))
                })
                .collect();
            let bytes = [b'x'; SIZE];
            group.bench_function(BenchmarkId::new("fdatasync_each", writers), |bencher| {
                bencher.iter_custom(|count| {
                    by_writers(writers, count, |writer| {
                        let (file, end) = &files[writer % files.len()];
                        // One append at a time, as to a log whose appends sync.
                        let mut end = end.lock();
                        file.write_all_at(&bytes, *end).expect("there is room");
                        *end += SIZE as u64;
                        file.sync_data().expect("the disk works");
                    })
                });
            });
        }
    }
}

criterion_group!(benches, group_commit);
criterion_main!(benches);
