//! The messages that carry the load, decoded and encoded, beside the crate kafka-protocol.
//!
//! | parameter | Produce and Fetch | Metadata |
//! |---|---|---|
//! | small | 1 partition with 100 bytes of records | 1 topic of 1 partition |
//! | medium | 10 topics of 4 partitions, 1 KiB each | 50 topics of 6 partitions |
//! | large | 1 topic of 16 partitions, 64 KiB each: 1 MiB | 1500 topics of 12 partitions: 1 MiB |
//!
//! Estimate. Decoding costs an allocation for each array, and for each string, bytes or records an
//! atomic step to take hold of the frame's buffer and one to let it go, some 5 ns each; the rest are
//! a few instructions a field. The peer pays the same for strings, so what is left to gain lies in
//! numbers, lists of numbers and the way between them. Encoding walks over the message once, into a
//! buffer that grows; records from 2 KiB on are passed on, not copied.
//!
//! The peer encodes in two ways: `kafka_protocol` is the one that its documentation shows, into an
//! empty buffer that grows; `kafka_protocol_presized` is into a buffer that happens to have the right
//! size, which nobody knows beforehand.

mod peer;
mod samples;

use std::hint::black_box;

use bytes::{Bytes, BytesMut};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kafka_protocol::protocol::{Decodable, Encodable};
use klamm_wire::Message;

use samples::{SIZES, Size};

/// Benches one message at all sizes: ours from `sample`, the peer's read from the same bytes.
fn message<M: Message, P: Decodable + Encodable>(
    criterion: &mut Criterion,
    name: &str,
    version: i16,
    sample: fn(Size) -> M,
) {
    let samples = SIZES.map(|size| {
        let message = sample(size);
        let encoded = message.encode(version).expect("legal");
        (size, message, encoded.into_bytes().expect("no gap"))
    });

    let mut group = criterion.benchmark_group(format!("decode_{name}"));
    for (size, _, bytes) in &samples {
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(BenchmarkId::new("klamm", size), |bencher| {
            bencher.iter(|| M::decode(&mut black_box(bytes).clone(), version));
        });
        group.bench_function(BenchmarkId::new("kafka_protocol", size), |bencher| {
            bencher.iter(|| P::decode(&mut black_box(bytes).clone(), version));
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group(format!("encode_{name}"));
    for (size, message, bytes) in &samples {
        let peer: P = peer::decode(bytes, version);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(BenchmarkId::new("klamm", size), |bencher| {
            bencher.iter(|| black_box(message).encode(version));
        });
        group.bench_function(BenchmarkId::new("kafka_protocol", size), |bencher| {
            bencher.iter(|| peer::encode(black_box(&peer), version, BytesMut::new()));
        });
        group.bench_function(
            BenchmarkId::new("kafka_protocol_presized", size),
            |bencher| {
                bencher.iter(|| {
                    let room = BytesMut::with_capacity(bytes.len());
                    peer::encode(black_box(&peer), version, room)
                });
            },
        );
    }
    group.finish();
}

/// What it costs to copy large records after all, for whoever needs one stretch of bytes.
fn contiguous(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("contiguous_produce_request");
    let request = samples::produce_request(Size::Large);
    let len = request.encoded_len(samples::PRODUCE).expect("legal");
    group.throughput(Throughput::Bytes(len as u64));
    group.bench_function(BenchmarkId::new("klamm", Size::Large), |bencher| {
        bencher.iter(|| -> Option<Bytes> {
            black_box(&request)
                .encode(samples::PRODUCE)
                .ok()?
                .into_bytes()
        });
    });
    group.finish();
}

fn messages(criterion: &mut Criterion) {
    use kafka_protocol::messages as peer;

    message::<_, peer::ProduceRequest>(
        criterion,
        "produce_request",
        samples::PRODUCE,
        samples::produce_request,
    );
    message::<_, peer::ProduceResponse>(
        criterion,
        "produce_response",
        samples::PRODUCE,
        samples::produce_response,
    );
    message::<_, peer::FetchRequest>(
        criterion,
        "fetch_request",
        samples::FETCH,
        samples::fetch_request,
    );
    message::<_, peer::FetchResponse>(
        criterion,
        "fetch_response",
        samples::FETCH,
        samples::fetch_response,
    );
    message::<_, peer::MetadataResponse>(
        criterion,
        "metadata_response",
        samples::METADATA,
        samples::metadata_response,
    );
}

criterion_group!(benches, messages, contiguous);
criterion_main!(benches);
