//! CRC-32C over pieces of the sizes that headers, records and batches have, beside copying them.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use klamm_records::crc32c;
use std::hint::black_box;

fn crc(criterion: &mut Criterion) {
    let bytes = vec![0x5a_u8; 1 << 20];
    let mut copy = Vec::with_capacity(bytes.len());
    let mut group = criterion.benchmark_group("crc32c");
    for len in [40, 100, 1024, 16 << 10, 64 << 10, 1 << 20] {
        let piece = &bytes[..len];
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_with_input(BenchmarkId::new("klamm", len), piece, |bencher, piece| {
            bencher.iter(|| crc32c(black_box(piece)));
        });
        group.bench_with_input(BenchmarkId::new("memcpy", len), piece, |bencher, piece| {
            bencher.iter(|| {
                copy.clear();
                copy.extend_from_slice(black_box(piece));
                black_box(&copy);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, crc);
criterion_main!(benches);
