//! Stopping with many partitions that were written to, so that the next start reads none of them
//! through. The peer makes as many records durable that were written to as many files: it syncs the
//! file of each, one after the other, as whoever has one thread must.

mod many;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use criterion::{BatchSize, BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use klamm_io::RealDisk;
use klamm_log::{LogConfig, LogManager, NewPartition};
use klamm_primitives::{BrokerEpoch, LeaderEpoch, PartitionIndex, TopicPartition};
use klamm_records::{
    BatchOptions, Codecs, RecordBatchBuilder, ValidBatch, ValidationRules, validate,
};

use crate::many::{now, open};

/// Makes so many partitions without records.
fn make(path: &Path, count: i32) {
    let names = (0..count).map(|index| TopicPartition::new("t", PartitionIndex::new(index)));
    let names: Vec<_> = names.collect();
    let config = LogConfig::default();
    let new = names.iter().map(|partition| NewPartition {
        partition,
        topic_id: None,
        config: &config,
    });
    let manager = open(path);
    for made in manager.create_many(&new.collect::<Vec<_>>(), now().unix_ms) {
        made.expect("there is room");
    }
    manager.stop(BrokerEpoch::NONE);
}

/// A batch of one record.
fn batch() -> ValidBatch {
    let mut codecs = Codecs::default();
    let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
    builder
        .append(now().unix_ms, None, Some(&[b'x'; 100]), &[])
        .expect("it fits");
    builder.close(&mut codecs).expect("nothing is compressed");
    let bytes = builder.into_bytes().expect("it was closed");
    let rules = ValidationRules::default();
    validate(bytes, &rules, now().unix_ms, &mut codecs).expect("it is valid")
}

/// A manager that has written a batch to each of its partitions.
fn written(path: &Path) -> LogManager<RealDisk> {
    let manager = open(path);
    let batch = [batch()];
    for log in manager.all() {
        log.lock()
            .append(&batch, LeaderEpoch::new(0), now().unix_ms)
            .expect("there is room");
    }
    manager
}

/// Writes as much to as many files.
fn written_plain(path: &Path, count: i32) -> Vec<File> {
    let file = |index| {
        let path: PathBuf = path.join(format!("{index}"));
        let file = File::options().append(true).create(true).open(path);
        let mut file = file.expect("there is room");
        file.write_all(&[b'x'; 170]).expect("there is room");
        file
    };
    (0..count).map(file).collect()
}

fn stop_many(criterion: &mut Criterion) {
    // Without `--bench` criterion runs each function once, to see that it can.
    let is_test = !std::env::args().any(|it| it == "--bench");
    let counts: &[i32] = if is_test { &[10] } else { &[10, 1_000] };
    let mut group = criterion.benchmark_group("stop");
    // One stop a sample, which bounds the time of the whole.
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for &count in counts {
        let directory = tempfile::tempdir().expect("there is room");
        let (logs, plain) = (
            directory.path().join("logs"),
            directory.path().join("plain"),
        );
        make(&logs, count);
        fs::create_dir(&plain).expect("there is room");
        group.bench_function(BenchmarkId::new("klamm", count), |bencher| {
            bencher.iter_batched(
                || written(&logs),
                |manager| {
                    assert!(manager.stop(BrokerEpoch::NONE).unclean.is_empty());
                    manager
                },
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("sync_in_turn", count), |bencher| {
            bencher.iter_batched(
                || written_plain(&plain, count),
                |files| {
                    for file in &files {
                        file.sync_data().expect("the disk is well");
                    }
                    files
                },
                BatchSize::PerIteration,
            );
        });
    }
}

criterion_group!(benches, stop_many);
criterion_main!(benches);
