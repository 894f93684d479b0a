//! What the disk seam costs on the real side: the same bytes written and read through it and
//! through the standard library or the system call.
//!
//! Everything stays in the page cache; nothing is synced.

use std::fs::File;
use std::hint::black_box;
use std::io::IoSlice;
use std::os::unix::fs::FileExt;
use std::path::Path;

use criterion::{Criterion, Throughput};
use klamm_io::{Disk, DiskFile, OpenMode, RealDisk};

const SIZES: [usize; 3] = [1 << 10, 16 << 10, 64 << 10];

/// The head of a record batch, which is written apart from the rest.
const HEAD_LEN: usize = 61;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("file");
    let plain = File::options()
        .create_new(true)
        .read(true)
        .write(true)
        .open(&path)
        .expect("a new file");
    writes(&mut criterion, &RealDisk, &path, &plain);
    vectored_writes(&mut criterion, &RealDisk, &path, &plain);
    reads(&mut criterion, &RealDisk, &path, &plain);
    criterion.final_summary();
}

fn writes<D: Disk>(criterion: &mut Criterion, disk: &D, path: &Path, plain: &File) {
    let file = disk.open(path, OpenMode::ReadWrite).expect("it exists");
    let mut group = criterion.benchmark_group("disk_write");
    for size in SIZES {
        let bytes = vec![1; size];
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format!("klamm/{size}"), |bencher| {
            bencher.iter(|| file.write_all_at(black_box(&bytes), 0).expect("written"));
        });
        group.bench_function(format!("std/{size}"), |bencher| {
            bencher.iter(|| plain.write_all_at(black_box(&bytes), 0).expect("written"));
        });
    }
    group.finish();
}

fn vectored_writes<D: Disk>(criterion: &mut Criterion, disk: &D, path: &Path, plain: &File) {
    let file = disk.open(path, OpenMode::ReadWrite).expect("it exists");
    let mut group = criterion.benchmark_group("disk_write_vectored");
    for size in SIZES {
        let bytes = vec![1; size];
        let (head, rest) = bytes.split_at(HEAD_LEN);
        let pieces = [IoSlice::new(head), IoSlice::new(rest)];
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format!("klamm/{size}"), |bencher| {
            bencher.iter(|| {
                file.write_all_vectored_at(black_box(&pieces), 0)
                    .expect("written");
            });
        });
        group.bench_function(format!("pwritev/{size}"), |bencher| {
            bencher.iter(|| {
                let written = rustix::io::pwritev(plain, black_box(&pieces), 0);
                assert_eq!(written, Ok(size));
            });
        });
    }
    group.finish();
}

fn reads<D: Disk>(criterion: &mut Criterion, disk: &D, path: &Path, plain: &File) {
    let file = disk.open(path, OpenMode::Read).expect("it exists");
    file.read_exact_at(&mut vec![0; SIZES[SIZES.len() - 1]], 0)
        .expect("written before");
    let mut group = criterion.benchmark_group("disk_read_bytes");
    for size in SIZES {
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format!("klamm/{size}"), |bencher| {
            bencher.iter(|| file.read_bytes_at(0, black_box(size)).expect("read"));
        });
        group.bench_function(format!("std_zeroed/{size}"), |bencher| {
            bencher.iter(|| {
                let mut bytes = vec![0; black_box(size)];
                plain.read_exact_at(&mut bytes, 0).expect("read");
                bytes
            });
        });
    }
    group.finish();
}
