//! The timing wheel alone, while many other values wait. The peer is tokio-util's `DelayQueue`.
//!
//! Estimate. To insert: one division for the tick, one for the slot, one place in a slab, one
//! list operation. To cancel: one place, one list operation. Nothing of it depends on how many
//! wait but for the processor's caches.

mod support;

use std::future::poll_fn;
use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use klamm_purgatory::{TimingWheel, WheelConfig};
use support::{a_deadline, a_delay_queue, a_runtime, an_instant, criterion, sizes};
use tokio_util::time::DelayQueue;

fn insert_cancel(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("insert_and_cancel");
    group.throughput(Throughput::Elements(1));
    for &pending in sizes() {
        let start = an_instant();
        for slots in [20, 64] {
            let name = if slots == 20 {
                "klamm"
            } else {
                "klamm_64_slots"
            };
            group.bench_function(BenchmarkId::new(name, pending), |bencher| {
                let config = WheelConfig {
                    slots,
                    ..WheelConfig::default()
                };
                let mut wheel = TimingWheel::new(start, config).expect("the defaults are valid");
                for number in 0..pending {
                    wheel.insert(a_deadline(start, number), number);
                }
                let mut number = pending;
                bencher.iter(|| {
                    number += 1;
                    let key = wheel.insert(a_deadline(start, number), number);
                    black_box(wheel.cancel(key));
                });
            });
        }
        group.bench_function(BenchmarkId::new("delay_queue", pending), |bencher| {
            let runtime = a_runtime();
            let _inside = runtime.enter();
            let (mut queue, _) = a_delay_queue(start, pending, |number| number);
            let mut number = pending;
            bencher.iter(|| {
                number += 1;
                let key = queue.insert_at(number, a_deadline(start, number).into());
                black_box(queue.remove(&key));
            });
        });
    }
    group.finish();
}

/// Inserts that many values with deadlines over ten seconds and lets all of them expire, tick by
/// tick. The peer's share includes its runtime, by whose paused clock it expires: one turn of it
/// for each millisecond.
fn insert_expire(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("insert_and_expire");
    group.sample_size(10);
    for &pending in sizes() {
        let start = an_instant();
        // Spread, but not in order.
        let after = |number: u64| Duration::from_millis(1 + number * 7_919 % 10_000);
        group.throughput(Throughput::Elements(pending));
        group.bench_function(BenchmarkId::new("klamm", pending), |bencher| {
            bencher.iter_batched(
                || TimingWheel::new(start, WheelConfig::default()).expect("they are valid"),
                |mut wheel| {
                    for number in 0..pending {
                        wheel.insert(start + after(number), number);
                    }
                    let mut expired = Vec::new();
                    while let Some(next) = wheel.next_deadline() {
                        expired.clear();
                        wheel.advance(next, &mut expired);
                        black_box(&expired);
                    }
                    wheel
                },
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("delay_queue", pending), |bencher| {
            let runtime = a_runtime();
            bencher.iter_batched(
                || {
                    let _inside = runtime.enter();
                    DelayQueue::new()
                },
                |mut queue| {
                    runtime.block_on(async {
                        for number in 0..pending {
                            queue.insert(number, after(number));
                        }
                        while let Some(expired) = poll_fn(|cx| queue.poll_expired(cx)).await {
                            black_box(expired.into_inner());
                        }
                    });
                    queue
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = criterion();
    targets = insert_cancel, insert_expire
}
criterion_main!(benches);
