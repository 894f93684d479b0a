//! Appending a batch, against writing the same bytes to a file at the same positions.
//!
//! Estimate, beside the one system call that both make: a header of 61 bytes encoded, three short
//! allocations for each call, a look at the index, an entry every 4 KiB of log.

use std::io::IoSlice;
use std::path::Path;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use klamm_io::{Clock, Disk as _, DiskFile as _, OpenMode, RealDisk, SystemClock};
use klamm_log::{Log, LogConfig, OpenOptions};
use klamm_primitives::{LeaderEpoch, Offset};
use klamm_records::{
    BatchOptions, Codecs, HEADER_LEN, RecordBatchBuilder, ValidBatch, ValidationRules, validate,
};
use tempfile::TempDir;

const NOW_MS: i64 = 1_700_000_000_000;

/// Bytes after which both begin anew, so that neither fills the disk.
const ROUND_BYTES: u64 = 256 << 20;

fn batch(size: usize) -> ValidBatch {
    let mut codecs = Codecs::default();
    let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
    // One record takes what the header leaves.
    let value = vec![b'x'; size - HEADER_LEN - 16];
    builder
        .append(NOW_MS, None, Some(&value), &[])
        .expect("it fits");
    builder.close(&mut codecs).expect("nothing is compressed");
    let bytes = builder.into_bytes().expect("it was closed");
    let rules = ValidationRules::default();
    validate(bytes, &rules, NOW_MS, &mut codecs).expect("it is valid")
}

fn open(directory: &Path) -> Log<RealDisk> {
    let config = LogConfig::default();
    let options = OpenOptions::new(true, NOW_MS);
    let opened = Log::open(RealDisk, directory.to_owned(), config, &options);
    opened.expect("the directory is ours").0
}

/// Appends in rounds, between which the disk is given the space back. That is not timed, for it
/// waits for what of the round before is being written; nor is the first append of a round, which
/// also notes a leader epoch on disk.
struct Rounds {
    appends: u64,
    /// Appends that are left of this one.
    left: u64,
}

impl Rounds {
    fn of(bytes: u64) -> Self {
        Self {
            appends: ROUND_BYTES / bytes,
            left: 0,
        }
    }

    /// Appends so many times, and returns how long that took.
    fn time(&mut self, count: u64, mut act: impl FnMut(Act)) -> Duration {
        let (mut left, mut taken) = (count, Duration::ZERO);
        while left > 0 {
            if self.left == 0 {
                act(Act::BeginRound);
                act(Act::Append);
                self.left = self.appends;
            }
            let now = left.min(self.left);
            let begin = SystemClock.now();
            for _ in 0..now {
                act(Act::Append);
            }
            taken += SystemClock.now() - begin;
            self.left -= now;
            left -= now;
        }
        taken
    }
}

enum Act {
    BeginRound,
    Append,
}

fn append(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append");
    for size in [1 << 10, 16 << 10, 64 << 10, 1 << 20] {
        let batch = [batch(size)];
        let bytes = batch[0].size() as u64;
        group.throughput(Throughput::Bytes(bytes));
        group.bench_function(BenchmarkId::new("klamm", size), |bencher| {
            let directory = TempDir::new().expect("there is room");
            let mut log = open(directory.path());
            let mut rounds = Rounds::of(bytes);
            bencher.iter_custom(|count| {
                rounds.time(count, |act| match act {
                    Act::BeginRound => log
                        .truncate_fully_and_start_at(Offset::ZERO, None, NOW_MS)
                        .expect("the disk works"),
                    Act::Append => {
                        log.append(&batch, LeaderEpoch::new(0), NOW_MS)
                            .expect("there is room");
                    }
                })
            });
        });
        group.bench_function(BenchmarkId::new("pwrite", size), |bencher| {
            let directory = TempDir::new().expect("there is room");
            let path = directory.path().join("file");
            let file = RealDisk
                .open(&path, OpenMode::CreateNew)
                .expect("it is new");
            let whole = [&batch[0].header().to_bytes(), &batch[0].records()[..]].concat();
            let mut position = 0;
            let mut rounds = Rounds::of(bytes);
            bencher.iter_custom(|count| {
                rounds.time(count, |act| match act {
                    Act::BeginRound => {
                        file.set_len(0).expect("the disk works");
                        file.sync_data().expect("the disk works");
                        position = 0;
                    }
                    Act::Append => {
                        file.write_all_vectored_at(&[IoSlice::new(&whole)], position)
                            .expect("there is room");
                        position += bytes;
                    }
                })
            });
        });
    }
    group.finish();
}

criterion_group!(benches, append);
criterion_main!(benches);
