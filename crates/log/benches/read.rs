//! Reading from the middle of a log and sending it to a socket, against `sendfile` of the same
//! range; and what finding the range costs by itself.
//!
//! Estimate: a read looks into the offset index (in memory for the segment that is appended to, a
//! `pread` of at most 4 KiB for another) and walks on from there by one `pread` of 4 KiB.

use std::fs::File;
use std::hint::black_box;
use std::io::Read as _;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use klamm_io::{DiskFile as _, FileRange, RealDisk, RealFile};
use klamm_log::{Isolation, Log, LogConfig, OpenOptions, ReadLimit};
use klamm_primitives::{LeaderEpoch, Offset};
use klamm_records::{BatchOptions, Codecs, RecordBatchBuilder, ValidationRules, validate};
use tempfile::TempDir;

const NOW_MS: i64 = 1_700_000_000_000;
const BATCHES: i64 = 4096;
const BATCH_VALUE_LEN: usize = 16 << 10;

fn fill(directory: &Path) -> Log<RealDisk> {
    let options = OpenOptions::new(true, NOW_MS);
    let config = LogConfig::default();
    let opened = Log::open(RealDisk, directory.to_owned(), config, &options);
    let mut log = opened.expect("the directory is ours").0;
    let mut codecs = Codecs::default();
    let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
    let value = vec![b'x'; BATCH_VALUE_LEN];
    builder
        .append(NOW_MS, None, Some(&value), &[])
        .expect("it fits");
    builder.close(&mut codecs).expect("nothing is compressed");
    let bytes = builder.into_bytes().expect("it was closed");
    let rules = ValidationRules::default();
    let batch = [validate(bytes, &rules, NOW_MS, &mut codecs).expect("it is valid")];
    for _ in 0..BATCHES {
        log.append(&batch, LeaderEpoch::new(0), NOW_MS)
            .expect("there is room");
    }
    log
}

/// Sends a range to a socket, and takes it out at the other end.
fn send(range: &FileRange<RealFile>, out: &UnixStream) {
    let file = range.file().expect("it is there");
    let file = file.descriptor().expect("a real file has one");
    let (mut position, mut left) = (range.position, range.len);
    while left > 0 {
        let sent = rustix::fs::sendfile(out, file.as_fd(), Some(&mut position), left);
        left -= sent.expect("the other end reads");
    }
}

/// A socket whose other end is emptied by a thread.
fn sink() -> UnixStream {
    let (out, mut other) = UnixStream::pair().expect("sockets are to be had");
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 20];
        while other.read(&mut buffer).is_ok_and(|read| read > 0) {}
    });
    out
}

fn read(criterion: &mut Criterion) {
    let directory = TempDir::new().expect("there is room");
    let log = fill(directory.path());
    let reader = log.reader();
    let out = sink();
    let offsets = || (0..).map(|i: i64| Offset::new(i * 7919 % (BATCHES - 128)));

    let mut group = criterion.benchmark_group("send");
    for size in [64 << 10, 1 << 20] {
        let limit = ReadLimit {
            bytes_max: size,
            whole_first_batch: true,
        };
        group.throughput(Throughput::Bytes(u64::from(size)));
        group.bench_function(BenchmarkId::new("klamm", size), |bencher| {
            let mut offsets = offsets();
            bencher.iter(|| {
                let from = offsets.next().expect("there is no end");
                let read = reader.read(from, limit, Isolation::LogEnd);
                send(&read.expect("it is there").range.expect("and long"), &out);
            });
        });
        group.bench_function(BenchmarkId::new("sendfile", size), |bencher| {
            let range = reader.read(Offset::ZERO, limit, Isolation::LogEnd);
            let range = range.expect("it is there").range.expect("and long");
            let file = range.file().expect("it is there");
            let batch_len = log.size() / BATCHES.unsigned_abs();
            let mut offsets = offsets();
            bencher.iter(|| {
                let from = offsets.next().expect("there is no end");
                let position = from.get().unsigned_abs() * batch_len;
                let range = FileRange::new(file.clone(), position, range.len);
                send(&range, &out);
            });
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("find");
    let limit = ReadLimit {
        bytes_max: 1 << 20,
        whole_first_batch: true,
    };
    group.bench_function("klamm/range", |bencher| {
        let mut offsets = offsets();
        bencher.iter(|| {
            let from = offsets.next().expect("there is no end");
            black_box(
                reader
                    .read(from, limit, Isolation::LogEnd)
                    .expect("it is there"),
            )
        });
    });
    // What every search in a file needs at least once.
    group.bench_function("pread/4096", |bencher| {
        use std::os::unix::fs::FileExt as _;
        let path = directory.path().join("00000000000000000000.log");
        let file = File::open(path).expect("it is there");
        let mut buffer = [0; 4096];
        let mut offsets = offsets();
        bencher.iter(|| {
            let from = offsets
                .next()
                .expect("there is no end")
                .get()
                .unsigned_abs();
            file.read_exact_at(&mut buffer, from * BATCH_VALUE_LEN as u64)
                .expect("it is there");
            black_box(buffer[0])
        });
    });
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
