//! Reading the records of a batch, and checking what was produced.

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kafka_protocol::records as peer;
use klamm_records::{
    BatchOptions, Codecs, RecordBatch, RecordBatchBuilder, TimestampType, ValidationRules, crc32c,
    validate,
};
use std::hint::black_box;

const TIMESTAMP_MS: i64 = 1_700_000_000_000;

/// An uncompressed batch of about that size.
fn batch(batch_size: usize, value_len: usize) -> RecordBatch {
    let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
    let value: Vec<_> = (0..=250_u8).cycle().take(value_len).collect();
    for _ in 0..batch_size / (value_len + 8) {
        builder
            .append(TIMESTAMP_MS, None, Some(&value), &[])
            .expect("a plain record");
    }
    builder.close(&mut Codecs::default()).expect("no codec");
    RecordBatch::parse(builder.into_bytes().expect("it is closed")).expect("it was built")
}

fn read(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read");
    for value_len in [100, 1024] {
        let batch = batch(16 << 10, value_len);
        let count = u64::try_from(batch.header().record_count).expect("a built batch");
        group.throughput(Throughput::Elements(count));
        group.bench_function(BenchmarkId::new("klamm", value_len), |bencher| {
            bencher.iter(|| {
                for record in black_box(&batch).records().expect("uncompressed") {
                    black_box(record.expect("a good record").value);
                }
            });
        });
        let mut codecs = Codecs::default();
        group.bench_function(BenchmarkId::new("klamm_skim", value_len), |bencher| {
            bencher.iter(|| {
                for meta in black_box(&batch).skim(&mut codecs).expect("a known codec") {
                    black_box(meta.expect("a good record").offset);
                }
            });
        });
        group.bench_function(BenchmarkId::new("kafka_protocol", value_len), |bencher| {
            bencher.iter(|| {
                let mut bytes = black_box(&batch).bytes().clone();
                let set = peer::RecordBatchDecoder::decode(&mut bytes).expect("a good batch");
                for record in set.records {
                    black_box(record.value);
                }
            });
        });
    }
    group.finish();
}

/// Checking a batch is one pass for the checksum and one from record to record; `crc` is the
/// former alone.
fn check(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("validate");
    let rules = ValidationRules {
        batch_size_max: usize::MAX,
        ..ValidationRules::default()
    };
    for (name, batch_size, value_len) in [
        ("1k_of_1024", 1100, 1024),
        ("1k_of_100", 1100, 100),
        ("16k_of_100", 16 << 10, 100),
        ("1m_of_1024", 1 << 20, 1024),
    ] {
        let batch = batch(batch_size, value_len);
        let mut codecs = Codecs::default();
        let mut check = |rules: &ValidationRules| {
            let records = Bytes::clone(black_box(&batch).bytes());
            let valid = validate(records, rules, TIMESTAMP_MS, &mut codecs).expect("a good one");
            valid.stamped(1234.into(), 5.into(), TIMESTAMP_MS)
        };
        group.throughput(Throughput::Bytes(batch.size() as u64));
        group.bench_function(BenchmarkId::new("klamm", name), |bencher| {
            bencher.iter(|| check(&rules));
        });
        let appended = ValidationRules {
            timestamp_type: TimestampType::LogAppend,
            ..rules
        };
        group.bench_function(BenchmarkId::new("klamm_log_append", name), |bencher| {
            bencher.iter(|| check(&appended));
        });
        group.bench_function(BenchmarkId::new("crc", name), |bencher| {
            bencher.iter(|| crc32c(&black_box(batch.bytes())[21..]));
        });
    }
    group.finish();
}

criterion_group!(benches, read, check);
criterion_main!(benches);
