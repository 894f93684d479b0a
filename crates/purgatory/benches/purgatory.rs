//! A watched operation with a timer, entered and completed, while many others wait.
//!
//! The peer, tokio-util's `DelayQueue`, has the timer alone: no key, no lock, no second thread.
//!
//! Estimate. To enter: one question, one lock, one hash, four insertions (place, entry, key,
//! timer). To complete: one hash, two locks, one question, four removals. No allocation once the
//! slabs have grown. A lock and its release are two atomic steps of some 5 ns each.

mod support;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use klamm_purgatory::{DelayedOperation, Purgatory, PurgatoryConfig};
use support::{a_deadline, a_delay_queue, a_runtime, an_instant, criterion, sizes};

/// Completes when it is asked for the second time, as a request whose event has come.
struct Op {
    asked: bool,
    /// As large as a small request.
    _payload: [u64; 6],
}

impl Op {
    fn new(number: u64) -> Self {
        Self {
            asked: false,
            _payload: [number; 6],
        }
    }
}

impl DelayedOperation for Op {
    type Done = ();

    fn try_complete(&mut self) -> Option<()> {
        std::mem::replace(&mut self.asked, true).then_some(())
    }

    fn expire(&mut self) {}
}

fn a_purgatory(start: std::time::Instant, pending: u64) -> Purgatory<u64, Op> {
    let purgatory =
        Purgatory::new(start, PurgatoryConfig::default()).expect("the defaults are valid");
    for number in 0..pending {
        enter(&purgatory, start, number);
    }
    purgatory
}

fn enter(purgatory: &Purgatory<u64, Op>, start: std::time::Instant, number: u64) {
    let deadline = Some(a_deadline(start, number));
    let entered = purgatory.try_complete_else_watch(start, Op::new(number), &[number], deadline);
    assert!(matches!(entered, Ok(None)));
}

/// What has just entered completes: most requests wait for a short time among many that wait long.
fn newest(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("enter_and_complete_newest");
    group.throughput(Throughput::Elements(1));
    for &pending in sizes() {
        let start = an_instant();
        group.bench_function(BenchmarkId::new("klamm", pending), |bencher| {
            let purgatory = a_purgatory(start, pending);
            let mut done = Vec::new();
            let mut number = pending;
            bencher.iter(|| {
                number += 1;
                enter(&purgatory, start, number);
                done.clear();
                assert_eq!(purgatory.check(&number, &mut done), 1);
            });
        });
        group.bench_function(BenchmarkId::new("delay_queue", pending), |bencher| {
            let runtime = a_runtime();
            let _inside = runtime.enter();
            let (mut queue, _) = a_delay_queue(start, pending, Op::new);
            let mut number = pending;
            bencher.iter(|| {
                number += 1;
                let deadline = a_deadline(start, number);
                let key = queue.insert_at(Op::new(number), deadline.into());
                black_box(queue.remove(&key));
            });
        });
    }
    group.finish();
}

/// What has waited longest completes: each one is cold again when its turn comes.
fn oldest(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("enter_and_complete_oldest");
    group.throughput(Throughput::Elements(1));
    for &pending in sizes() {
        let start = an_instant();
        group.bench_function(BenchmarkId::new("klamm", pending), |bencher| {
            let purgatory = a_purgatory(start, pending);
            let mut done = Vec::new();
            let mut number = pending;
            bencher.iter(|| {
                enter(&purgatory, start, number);
                done.clear();
                assert_eq!(purgatory.check(&(number - pending), &mut done), 1);
                number += 1;
            });
        });
        group.bench_function(BenchmarkId::new("delay_queue", pending), |bencher| {
            let runtime = a_runtime();
            let _inside = runtime.enter();
            let (mut queue, keys) = a_delay_queue(start, pending, Op::new);
            let mut keys = std::collections::VecDeque::from(keys);
            let mut number = pending;
            bencher.iter(|| {
                let deadline = a_deadline(start, number);
                keys.push_back(queue.insert_at(Op::new(number), deadline.into()));
                let oldest = keys.pop_front().expect("as many as are pending");
                black_box(queue.remove(&oldest));
                number += 1;
            });
        });
    }
    group.finish();
}

/// A check of a key that nobody waits under, which most are, and of one with many who stay.
fn check_in_vain(criterion: &mut Criterion) {
    struct Patient;
    impl DelayedOperation for Patient {
        type Done = ();
        fn try_complete(&mut self) -> Option<()> {
            None
        }
        fn expire(&mut self) {}
    }

    let mut group = criterion.benchmark_group("check_in_vain");
    for waiting in [0, 1, 100, 5_000] {
        let start = an_instant();
        group.throughput(Throughput::Elements(waiting.max(1)));
        group.bench_function(BenchmarkId::new("klamm", waiting), |bencher| {
            let purgatory =
                Purgatory::new(start, PurgatoryConfig::default()).expect("the defaults are valid");
            for number in 0..waiting {
                let deadline = Some(a_deadline(start, number));
                let entered = purgatory.try_complete_else_watch(start, Patient, &["key"], deadline);
                assert!(matches!(entered, Ok(None)));
            }
            let mut done = Vec::new();
            bencher.iter(|| purgatory.check(black_box(&"key"), &mut done));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = criterion();
    targets = newest, oldest, check_in_vain
}
criterion_main!(benches);
