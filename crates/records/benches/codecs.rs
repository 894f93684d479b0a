//! Compressing a batch and reading it again, with contexts that are reused and with fresh ones.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use klamm_records::{BatchOptions, Codec, Codecs, Levels, RecordBatch, RecordBatchBuilder};
use std::hint::black_box;

const TIMESTAMP_MS: i64 = 1_700_000_000_000;

/// Lines that shrink about as logs do.
fn values(count: usize) -> Vec<Vec<u8>> {
    let word = |n: usize| ["stream", "gorge", "water", "level", "gauge", "flood"][n % 6];
    (0..count)
        .map(|n| {
            let (a, b) = (word(n * n / 7), word(n / 3));
            let level = n * 7919 % 10_007;
            format!(
                "{n:08} {a} {b} level={level} host=10.0.{}.{}",
                n % 7,
                n * 31 % 251
            )
            .into_bytes()
        })
        .collect()
}

fn build(codec: Codec, values: &[Vec<u8>], buffer: Vec<u8>, codecs: &mut Codecs) -> Vec<u8> {
    let options = BatchOptions {
        compression: codec.at(&Levels::default()),
        ..BatchOptions::default()
    };
    let mut builder = RecordBatchBuilder::new(options, buffer);
    for value in values {
        builder
            .append(TIMESTAMP_MS, None, Some(value), &[])
            .expect("a plain record");
    }
    builder.close(codecs).expect("a codec that works");
    builder.into_buffer()
}

fn codecs(criterion: &mut Criterion) {
    for (subject, count) in [("compress_16k", 260), ("compress_1m", 16_000)] {
        let values = values(count);
        let plain: usize = values.iter().map(|value| value.len() + 8).sum();
        let mut group = criterion.benchmark_group(subject);
        group.throughput(Throughput::Bytes(plain as u64));
        for codec in &Codec::ALL[1..] {
            let mut codecs = Codecs::default();
            let mut buffer = Vec::with_capacity(2 * plain);
            group.bench_function(BenchmarkId::new("klamm", codec), |bencher| {
                bencher.iter(|| {
                    buffer.clear();
                    let built = build(*codec, &values, std::mem::take(&mut buffer), &mut codecs);
                    buffer = black_box(built);
                });
            });
            group.bench_function(BenchmarkId::new("fresh_contexts", codec), |bencher| {
                bencher.iter(|| {
                    buffer.clear();
                    let mut fresh = Codecs::default();
                    let built = build(*codec, &values, std::mem::take(&mut buffer), &mut fresh);
                    buffer = black_box(built);
                });
            });
        }
        group.finish();

        let mut group = criterion.benchmark_group(subject.replace("compress", "inflate"));
        group.throughput(Throughput::Bytes(plain as u64));
        for codec in &Codec::ALL[1..] {
            let mut codecs = Codecs::default();
            let bytes = build(*codec, &values, Vec::new(), &mut codecs);
            let batch = RecordBatch::parse(bytes.into()).expect("it was built");
            group.bench_function(BenchmarkId::new("klamm", codec), |bencher| {
                bencher.iter(|| read(&batch, &mut codecs));
            });
            group.bench_function(BenchmarkId::new("klamm_skim", codec), |bencher| {
                bencher.iter(|| {
                    for meta in black_box(&batch).skim(&mut codecs).expect("a known codec") {
                        black_box(meta.expect("a good record").offset);
                    }
                });
            });
            group.bench_function(BenchmarkId::new("fresh_contexts", codec), |bencher| {
                bencher.iter(|| read(&batch, &mut Codecs::default()));
            });
            group.bench_function(BenchmarkId::new("kafka_protocol", codec), |bencher| {
                bencher.iter(|| {
                    let mut bytes = black_box(&batch).bytes().clone();
                    kafka_protocol::records::RecordBatchDecoder::decode(&mut bytes)
                        .expect("a good batch")
                });
            });
        }
        group.finish();
    }
}

fn read(batch: &RecordBatch, codecs: &mut Codecs) {
    let mut reader = black_box(batch).read(codecs).expect("a known codec");
    while let Some(record) = reader.next().expect("a good record") {
        black_box(record.value);
    }
}

criterion_group!(benches, codecs);
criterion_main!(benches);
