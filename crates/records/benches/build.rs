//! Building an uncompressed batch: what a producer does for each record.
//!
//! The raw limits copy the very bytes that the batch will have, record by record
//! (`memcpy_crc`) or at once (`one_memcpy_crc`), and compute their CRC-32C.

use bytes::BytesMut;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kafka_protocol::records as peer;
use klamm_records::{BatchOptions, Codecs, RecordBatch, RecordBatchBuilder, crc32c};
use std::hint::black_box;

/// What a producer's batches hold unless it is told otherwise (`batch.size`).
const BATCH_SIZE: usize = 16 * 1024;

const TIMESTAMP_MS: i64 = 1_700_000_000_000;

/// The values of as many records as go into a batch, one behind the other in memory.
fn values(value_len: usize) -> Vec<u8> {
    let count = BATCH_SIZE / (value_len + 8);
    (0..=250_u8).cycle().take(count * value_len).collect()
}

fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("build");
    for value_len in [100, 1024] {
        let source = values(value_len);
        let values: Vec<_> = source.chunks(value_len).collect();
        let mut codecs = Codecs::default();
        let buffer = Vec::with_capacity(BATCH_SIZE + 1024);
        let mut builder = RecordBatchBuilder::new(BatchOptions::default(), buffer);
        let mut build = || {
            builder.reset(BatchOptions::default());
            for value in &values {
                builder
                    .append(TIMESTAMP_MS, None, Some(black_box(value)), &[])
                    .expect("a plain record");
            }
            builder.close(&mut codecs).expect("no codec");
            builder.bytes().expect("it is closed").to_vec()
        };
        let bytes = build();
        group.throughput(Throughput::Bytes(bytes.len() as u64));

        let options = BatchOptions::default();
        let buffer = Vec::with_capacity(BATCH_SIZE + 1024);
        let mut builder = RecordBatchBuilder::new(options.clone(), buffer);
        group.bench_function(BenchmarkId::new("klamm", value_len), |bencher| {
            bencher.iter(|| {
                builder.reset(options.clone());
                for value in &values {
                    builder
                        .append(TIMESTAMP_MS, None, Some(black_box(value)), &[])
                        .expect("a plain record");
                }
                builder.close(&mut codecs).expect("no codec");
                black_box(builder.bytes().expect("it is closed"));
            });
        });

        let batch = RecordBatch::parse(bytes.clone().into()).expect("it was built");
        let record_len = batch.payload().len() / values.len();
        let mut out = Vec::with_capacity(BATCH_SIZE + 1024);
        group.bench_function(BenchmarkId::new("memcpy_crc", value_len), |bencher| {
            bencher.iter(|| {
                out.clear();
                for piece in black_box(&bytes[..]).chunks(record_len) {
                    out.extend_from_slice(piece);
                }
                black_box((crc32c(&out[21..]), &out));
            });
        });
        group.bench_function(BenchmarkId::new("one_memcpy_crc", value_len), |bencher| {
            bencher.iter(|| {
                out.clear();
                out.extend_from_slice(black_box(&bytes[..]));
                black_box((crc32c(&out[21..]), &out));
            });
        });

        let records: Vec<_> = (0..)
            .zip(&values)
            .map(|(offset, value)| record(offset, value))
            .collect();
        let encoding = peer::RecordEncodeOptions {
            version: 2,
            compression: peer::Compression::None,
        };
        let mut out = BytesMut::with_capacity(BATCH_SIZE + 1024);
        group.bench_function(BenchmarkId::new("kafka_protocol", value_len), |bencher| {
            bencher.iter(|| {
                out.clear();
                peer::RecordBatchEncoder::encode(&mut out, black_box(&records), &encoding)
                    .expect("plain records");
                black_box(&out);
            });
        });
    }
    group.finish();
}

fn record(offset: i64, value: &[u8]) -> peer::Record {
    peer::Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: -1,
        producer_id: -1,
        producer_epoch: -1,
        timestamp_type: peer::TimestampType::Creation,
        offset,
        sequence: i32::try_from(offset).expect("a small batch") - 1,
        timestamp: TIMESTAMP_MS,
        key: None,
        value: Some(bytes::Bytes::copy_from_slice(value)),
        headers: kafka_protocol::indexmap::IndexMap::new(),
    }
}

criterion_group!(benches, build);
criterion_main!(benches);
