//! Compaction: bytes of log cleaned a second, syncs and swap included.
//!
//! Estimate, a log of which half stays: each byte is read twice (keys, then records) and has its
//! checksum computed three times, each dirty key is hashed twice, half of the bytes are written.
//! The peer does what no compaction can do without: it reads the bytes once, writes half of them,
//! and syncs.

use std::hint::black_box;
use std::path::Path;

use criterion::{
    BatchSize, BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use klamm_io::{Disk as _, DiskFile as _, OpenMode, RealDisk};
use klamm_log::{CleanupPolicy, Log, LogConfig, OpenOptions, Swapped};
use klamm_primitives::{LeaderEpoch, Offset};
use klamm_records::{
    BatchOptions, Codec, Codecs, Levels, RecordBatchBuilder, ValidationRules, validate,
};
use tempfile::TempDir;

const VALUE_LEN: usize = 200;
const BATCH_RECORDS: u64 = 64;
const MAP_BYTES: usize = 128 << 20;

fn log_bytes() -> u64 {
    // Without `--bench` criterion runs each function once, to see that it can.
    if std::env::args().any(|it| it == "--bench") {
        64 << 20
    } else {
        256 << 10
    }
}

fn config() -> LogConfig {
    LogConfig {
        cleanup_policy: CleanupPolicy::COMPACT,
        segment_bytes: 16 << 20,
        ..LogConfig::default()
    }
}

fn open(directory: &Path) -> Log<RealDisk> {
    let options = OpenOptions {
        high_watermark: Offset::new(i64::MAX),
        ..OpenOptions::new(true, 0)
    };
    let opened = Log::open(RealDisk, directory.to_owned(), config(), &options);
    opened.expect("a directory of ours").0
}

/// A log in which each key stands twice, far apart.
fn fill(directory: &Path, codec: Codec) {
    let mut log = open(directory);
    let mut codecs = Codecs::default();
    let (rules, epoch) = (ValidationRules::default(), LeaderEpoch::new(0));
    let records = log_bytes() / (VALUE_LEN as u64 + 20);
    let mut value = [0; VALUE_LEN];
    for batch in 0..records / BATCH_RECORDS {
        let options = BatchOptions {
            compression: codec.at(&Levels::default()),
            ..BatchOptions::default()
        };
        let mut builder = RecordBatchBuilder::new(options, Vec::new());
        for record in 0..BATCH_RECORDS {
            let key = (batch * BATCH_RECORDS + record) % (records / 2);
            let key = key.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            value[..8].copy_from_slice(&key);
            builder
                .append(1000, Some(&key), Some(&value), &[])
                .expect("it fits");
        }
        builder.close(&mut codecs).expect("it is open");
        let sent = builder.into_bytes().expect("it is closed");
        let valid = validate(sent, &rules, 1000, &mut codecs).expect("a good batch");
        log.append(&[valid], epoch, 1000).expect("room on the disk");
    }
    log.roll(log.log_end_offset(), 1000)
        .expect("room on the disk");
    log.close().expect("room on the disk");
}

fn copy_of(directory: &Path) -> TempDir {
    let copy = tempfile::tempdir().expect("room on the disk");
    for entry in std::fs::read_dir(directory).expect("it is there") {
        let entry = entry.expect("it is there");
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("room on the disk");
    }
    copy
}

fn clean(log: &mut Log<RealDisk>) {
    let cleanable = log
        .cleanable(None, 2000)
        .expect("a good log")
        .expect("it is compacted");
    let cleaning = log.begin_cleaning(&cleanable, MAP_BYTES, 2000);
    let mut cleaning = cleaning.expect("a good log");
    while let Some(cleaned) = cleaning.next(&|| false).expect("a good log") {
        match log.swap_in(cleaned).expect("room on the disk") {
            Swapped::Done(retired) => retired.remove().expect("they are there"),
            Swapped::Outdated => unreachable!("nobody else has the log"),
        }
    }
    let counts = cleaning.counts();
    assert!(counts.records_kept * 2 <= counts.records_read + BATCH_RECORDS);
}

/// Reads all bytes, writes half of them, and syncs.
fn copy_half(directory: &Path) {
    let target = directory.join("copy");
    let target = RealDisk
        .open(&target, OpenMode::CreateOrTruncate)
        .expect("room on the disk");
    let mut position = 0;
    let mut buffer = vec![0; 512 << 10];
    for entry in RealDisk.list(directory).expect("it is there") {
        let path = directory.join(&entry.name);
        if path.extension().is_none_or(|it| it != "log") {
            continue;
        }
        let file = RealDisk.open(&path, OpenMode::Read).expect("it is there");
        let mut read = 0;
        loop {
            let len = file.read_at(&mut buffer, read).expect("it is there");
            if len == 0 {
                break;
            }
            target
                .write_all_at(&buffer[..len / 2], position)
                .expect("room on the disk");
            position += len as u64 / 2;
            read += len as u64;
        }
    }
    target.sync_all().expect("room on the disk");
}

fn compaction(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compaction");
    // One pass a sample: what is not timed, a copy of the log for each, takes as long.
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for codec in [Codec::None, Codec::Lz4] {
        let filled = tempfile::tempdir().expect("room on the disk");
        fill(filled.path(), codec);
        group.throughput(Throughput::Bytes(open(filled.path()).size()));
        group.bench_function(BenchmarkId::new("klamm", codec), |bencher| {
            bencher.iter_batched(
                || {
                    let copy = copy_of(filled.path());
                    let log = open(copy.path());
                    (copy, log)
                },
                |(copy, mut log)| {
                    clean(&mut log);
                    (copy, black_box(log))
                },
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("copy", codec), |bencher| {
            bencher.iter_batched(
                || copy_of(filled.path()),
                |copy| {
                    copy_half(copy.path());
                    copy
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, compaction);
criterion_main!(benches);
