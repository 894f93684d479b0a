//! A watched operation with a timer, entered and completed, while many others wait.
//!
//! There are two peers. tokio-util's `DelayQueue` has the timer alone: no key, no lock, no second
//! thread. The same queue behind a mutex, beside a map from key to timers, is what one would write
//! around it to find operations by key.
//!
//! Estimate. To enter: one question, one hash, one lock, a place in a slab, a place in a table, two
//! list operations. To complete: one hash, two locks (one to take the operation out, one to remove
//! its place, for it is asked under none), one question, and all of that taken out again. No
//! allocation once slab and table have grown. A lock and its release take 5 to 10 ns, a probe of a
//! table 5 to 10, a place or a list operation 2 to 5: about 100 ns in all, if what is touched lies
//! in the nearest cache. It does not: callgrind counts, with 1 000 waiting, some 950 instructions
//! for both calls together and 7 cache lines that 32 KiB do not hold, since each call is likely to
//! meet another shard than the last. The delay queue alone takes 900 instructions, and no such line.

mod support;

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use foldhash::quality::FixedState;
use hashbrown::HashMap;
use klamm_purgatory::{DelayedOperation, Purgatory, PurgatoryConfig};
use support::{a_deadline, a_delay_queue, a_runtime, an_instant, criterion, sizes};
use tokio_util::time::{DelayQueue, delay_queue};

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

/// What the purgatory and the keyed peer have in common.
trait Waiting {
    fn enter(&self, number: u64, key: u64);
    fn complete(&self, key: u64);
}

struct Ours {
    start: Instant,
    purgatory: Purgatory<u64, Op>,
}

impl Ours {
    fn new(start: Instant) -> Self {
        let purgatory = Purgatory::new(start, PurgatoryConfig::default());
        Self {
            start,
            purgatory: purgatory.expect("the defaults are valid"),
        }
    }
}

impl Waiting for Ours {
    fn enter(&self, number: u64, key: u64) {
        let deadline = Some(a_deadline(self.start, number));
        let op = Op::new(number);
        let entered = self.purgatory.try_complete_else_watch(op, &[key], deadline);
        assert!(matches!(entered, Ok(None)));
    }

    fn complete(&self, key: u64) {
        let mut done = Vec::new();
        assert_eq!(self.purgatory.check(&key, &mut done), 1);
    }
}

/// A delay queue and a map beside it, under one lock.
struct Keyed {
    start: Instant,
    inner: Mutex<(DelayQueue<Op>, TimersByKey)>,
}

type TimersByKey = HashMap<u64, Vec<delay_queue::Key>, FixedState>;

impl Keyed {
    fn new(start: Instant) -> Self {
        Self {
            start,
            inner: Mutex::default(),
        }
    }
}

impl Waiting for Keyed {
    fn enter(&self, number: u64, key: u64) {
        let mut op = Op::new(number);
        assert!(op.try_complete().is_none());
        let mut inner = self.inner.lock().expect("nobody panics");
        let (queue, by_key) = &mut *inner;
        let timer = queue.insert_at(op, a_deadline(self.start, number).into());
        by_key.entry(key).or_default().push(timer);
    }

    fn complete(&self, key: u64) {
        let mut inner = self.inner.lock().expect("nobody panics");
        let (queue, by_key) = &mut *inner;
        let timers = by_key.remove(&key).expect("something waits there");
        let completed = timers
            .iter()
            .filter_map(|timer| queue.remove(timer).into_inner().try_complete());
        assert_eq!(completed.count(), 1);
    }
}

/// Keys under which something waits all the time, and as many under which operations come and go.
const KEYS: u64 = 1_000;

fn fill(waiting: &impl Waiting, pending: u64) {
    for number in 0..pending {
        waiting.enter(number, number % KEYS);
    }
}

/// What has just entered completes, while others wait for long under other keys.
fn newest(criterion: &mut Criterion) {
    fn measure(bencher: &mut criterion::Bencher<'_>, waiting: &impl Waiting, pending: u64) {
        fill(waiting, pending);
        let mut number = pending;
        bencher.iter(|| {
            number += 1;
            let key = KEYS + number % KEYS;
            waiting.enter(number, key);
            waiting.complete(key);
        });
    }

    let mut group = criterion.benchmark_group("enter_and_complete");
    group.throughput(Throughput::Elements(1));
    let runtime = a_runtime();
    let _inside = runtime.enter();
    for &pending in sizes() {
        let start = an_instant();
        group.bench_function(BenchmarkId::new("klamm", pending), |bencher| {
            measure(bencher, &Ours::new(start), pending);
        });
        group.bench_function(BenchmarkId::new("keyed_delay_queue", pending), |bencher| {
            measure(bencher, &Keyed::new(start), pending);
        });
        group.bench_function(BenchmarkId::new("delay_queue", pending), |bencher| {
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

/// Each has a key of its own and the one that has waited longest completes: all that is touched
/// was last touched as many operations ago as are pending.
fn oldest(criterion: &mut Criterion) {
    fn measure(bencher: &mut criterion::Bencher<'_>, waiting: &impl Waiting, pending: u64) {
        for number in 0..pending {
            waiting.enter(number, number);
        }
        let mut number = pending;
        bencher.iter(|| {
            waiting.enter(number, number);
            waiting.complete(number - pending);
            number += 1;
        });
    }

    let mut group = criterion.benchmark_group("enter_and_complete_oldest");
    group.throughput(Throughput::Elements(1));
    let runtime = a_runtime();
    let _inside = runtime.enter();
    for &pending in sizes() {
        let start = an_instant();
        group.bench_function(BenchmarkId::new("klamm", pending), |bencher| {
            measure(bencher, &Ours::new(start), pending);
        });
        group.bench_function(BenchmarkId::new("keyed_delay_queue", pending), |bencher| {
            measure(bencher, &Keyed::new(start), pending);
        });
        group.bench_function(BenchmarkId::new("delay_queue", pending), |bencher| {
            let (mut queue, keys) = a_delay_queue(start, pending, Op::new);
            let mut keys = VecDeque::from(keys);
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
                let entered = purgatory.try_complete_else_watch(Patient, &["key"], deadline);
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
