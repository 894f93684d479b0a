//! Records through the accumulator: appended by one task or by eight, drained by another, and
//! acknowledged. What the network and the calls around it cost is not in it.
//!
//! `append_and_drain/klamm/SIZE-PARTITIONSp-TASKSt`; each element is a record. The raw limit
//! `records` writes the same records into batches of the same size in one thread, without queue,
//! lock and delivery.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use klamm_io::{Clock, SystemClock};
use klamm_producer::testing::{Drain, Pipeline};
use klamm_producer::{ProducerConfig, ProducerConfigBuilder};
use klamm_records::{BatchOptions, Codecs, RecordBatchBuilder};

const RECORDS: u64 = 100_000;

fn config() -> ProducerConfigBuilder {
    let config = ProducerConfig::builder().bootstrap_servers("localhost:9092");
    config.expect("an address").linger(Duration::ZERO)
}

/// Sends so many records from `tasks` threads while this one drains.
fn run(
    pipeline: &Pipeline,
    drain: &mut Drain,
    size: usize,
    partitions: i32,
    tasks: u64,
    records: u64,
) {
    let value = vec![b'x'; size];
    let now = SystemClock.now();
    let each = records / tasks;
    if tasks == 1 {
        // In turns, so that nothing but the work itself is measured.
        let mut partition = 0;
        for number in 0..each {
            while pipeline
                .append(partition, &value, now)
                .map(black_box)
                .is_none()
            {
                drain.drain(now);
            }
            if number % 16 == 15 {
                partition = (partition + 1) % partitions;
            }
            if number % 2048 == 2047 {
                drain.drain(now);
            }
        }
        drain.drain(now);
        return;
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let senders: Vec<_> = (0..tasks)
            .map(|task| {
                let (pipeline, value) = (pipeline.clone(), &value);
                scope.spawn(move || {
                    let mut partition = i32::try_from(task).unwrap_or(0) % partitions;
                    for number in 0..each {
                        while pipeline
                            .append(partition, value, now)
                            .map(black_box)
                            .is_none()
                        {
                            thread::yield_now();
                        }
                        if number % 16 == 15 {
                            partition = (partition + 1) % partitions;
                        }
                    }
                })
            })
            .collect();
        let drainer = scope.spawn(|| {
            let mut drained = 0;
            while !done.load(Ordering::Acquire) {
                match drain.drain(now) {
                    0 => thread::yield_now(),
                    records => drained += records,
                }
            }
            drained + drain.drain(now)
        });
        for sender in senders {
            sender.join().expect("it only appends");
        }
        done.store(true, Ordering::Release);
        assert_eq!(drainer.join().expect("it only drains"), each * tasks);
    });
}

fn time(run: impl FnOnce()) -> Duration {
    let start: Instant = SystemClock.now();
    run();
    SystemClock.now() - start
}

fn append_and_drain(criterion: &mut Criterion) {
    let records = if std::env::args().any(|arg| arg == "--test") {
        1_000
    } else {
        RECORDS
    };
    let mut group = criterion.benchmark_group("append_and_drain");
    group.sample_size(10);
    for size in [100, 1024] {
        group.throughput(Throughput::Elements(records));
        let value = vec![b'x'; size];
        group.bench_function(BenchmarkId::new("records", size), |bencher| {
            let mut codecs = Codecs::default();
            let buffer = Vec::with_capacity(17 * 1024);
            let mut builder = RecordBatchBuilder::new(BatchOptions::default(), buffer);
            bencher.iter(|| {
                for _ in 0..records {
                    if builder.estimated_size() + size + 30 > 16 * 1024 {
                        builder.close(&mut codecs).expect("no codec");
                        black_box(builder.bytes().expect("it is closed"));
                        builder.reset(BatchOptions::default());
                    }
                    let value = Some(black_box(&value[..]));
                    builder
                        .append(1_700_000_000_000, None, value, &[])
                        .expect("a plain record");
                }
            });
        });
        for partitions in [1, 1_000] {
            for tasks in [1, 8] {
                let name = format!("{size}-{partitions}p-{tasks}t");
                let config = config().build().expect("the bench's settings go together");
                let (pipeline, mut drain) = Pipeline::new(&config);
                group.bench_function(BenchmarkId::new("klamm", name), |bencher| {
                    bencher.iter_custom(|iterations| {
                        (0..iterations)
                            .map(|_| {
                                time(|| {
                                    run(&pipeline, &mut drain, size, partitions, tasks, records);
                                })
                            })
                            .sum()
                    });
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, append_and_drain);
criterion_main!(benches);
