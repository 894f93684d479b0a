//! The accumulator by itself: appending, what is ready when, and what is taken out.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::thread;

use klamm_client::NodeId;
use klamm_io::Clock;
use klamm_io::sim::SimClock;
use klamm_primitives::TopicPartition;
use klamm_records::{Codecs, GzipLevel, RecordBatch};

use super::*;
use crate::batch::Boxed;
use crate::completion::Outcome;
use crate::interceptor::Interceptors;

const NODE: NodeId = NodeId::new(1);

/// Node 1 leads all partitions that are not named.
#[derive(Default)]
struct Led(HashMap<(Arc<str>, i32), Option<i32>>);

impl Leaders for Led {
    fn leader(&self, partition: &TopicPartition) -> Option<Leader> {
        let key = (Arc::clone(&partition.topic), partition.partition.get());
        let node = self.0.get(&key).copied().unwrap_or(Some(1))?;
        Some(Leader {
            node: NodeId::new(node),
            epoch: None,
        })
    }
}

struct Fixture {
    now: Instant,
    accumulator: Arc<RecordAccumulator>,
    backlog: Backlog,
    found: Readiness,
    led: Led,
    codecs: Codecs,
}

impl Fixture {
    fn new(batch_size: usize, linger_ms: u64) -> Self {
        Self::with(Rules {
            batch_size,
            compression: Compression::None,
            linger: Duration::from_millis(linger_ms),
            delivery_timeout: Duration::from_mins(2),
            adaptive: true,
        })
    }

    fn with(rules: Rules) -> Self {
        let pool = BufferPool::new(10 * 1024 * 1024, rules.batch_size);
        let accumulator = Arc::new(RecordAccumulator::new(rules, Arc::new(pool), 1));
        Self {
            now: SimClock::new().now(),
            backlog: Backlog::new(Arc::clone(&accumulator)),
            accumulator,
            found: Readiness::default(),
            led: Led::default(),
            codecs: Codecs::default(),
        }
    }

    fn append(&self, partition: i32, value: &[u8]) -> Appended {
        append(&self.accumulator, partition, value, self.now)
    }

    fn ready(&mut self) -> Vec<i32> {
        self.backlog
            .look(self.now, &self.led, true, &mut self.found);
        self.found.nodes.iter().map(|node| node.get()).collect()
    }

    /// Until when nothing is ready, from now.
    fn next_check_ms(&self) -> u128 {
        let next = self.found.next_check.expect("there is a batch");
        (next - self.now).as_millis()
    }

    fn pass(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    fn drain(&mut self, size_max: usize) -> Vec<Boxed> {
        self.ready();
        self.drain_from(NODE, size_max, false)
    }

    fn drain_from(&mut self, node: NodeId, size_max: usize, mute: bool) -> Vec<Boxed> {
        let drained = self
            .backlog
            .drain(node, self.now, size_max, mute, &mut (), &mut self.codecs);
        drained.into_iter().map(|drained| drained.batch).collect()
    }

    fn settle(&self, mut batch: Box<Batch>) {
        settle(&self.accumulator, &mut batch);
        batch.release();
    }

    fn partitions(batches: &[Boxed]) -> Vec<i32> {
        batches
            .iter()
            .map(|batch| batch.partition().partition.get())
            .collect()
    }
}

fn settle(accumulator: &RecordAccumulator, batch: &mut Batch) {
    let outcome = Outcome::Written {
        base_offset: 0.into(),
        append_time_ms: -1,
    };
    batch.settle(outcome, &Interceptors::<(), ()>(Vec::new()));
    accumulator.incomplete().remove(batch.completion());
}

fn append(accumulator: &RecordAccumulator, partition: i32, value: &[u8], now: Instant) -> Appended {
    let topic = accumulator.topic(&"t".into());
    let queue = accumulator.queue(&topic, partition.into());
    let place = Place {
        topic: &topic,
        queue: &queue,
        sticky: None,
    };
    let draft = Draft::new(Some(b"key"), Some(value), &[], 5);
    let mut listener = Listener::new(false, None);
    loop {
        let attempt = match place.try_append(&draft, &mut listener) {
            Attempt::NeedsBatch => {
                let size = accumulator.new_batch_size(&draft);
                let Some(mut memory) = accumulator.pool().try_take(size).unwrap() else {
                    thread::yield_now();
                    continue;
                };
                let buffer = memory.buffer().unwrap();
                accumulator.append_to_new(place, &draft, &mut listener, (memory, buffer), now)
            }
            other => other,
        };
        if let Attempt::Appended(appended) = attempt {
            return appended;
        }
    }
}

/// Covers PR-036, P3.2, P3.7, P2.8, P3.1, P3.6.
#[test]
fn records_join_the_last_batch_until_it_has_no_room() {
    let mut fixture = Fixture::new(1024, 0);
    let woke: Vec<_> = (0..20)
        .map(|_| fixture.append(0, &[b'v'; 100]).wake)
        .collect();
    // A batch of 1024 takes some eight of them.
    assert!(woke[0] && woke.iter().filter(|wake| **wake).count() < 6);
    assert_eq!(fixture.ready(), [1]);
    let mut total = 0;
    while let [batch] = &mut fixture.drain(usize::MAX)[..] {
        assert!(batch.size() <= 1024);
        total += batch.record_count();
    }
    assert_eq!(total, 20);
}

/// Covers PR-037, P3.3.
#[test]
fn a_record_larger_than_a_batch_has_one_of_its_own() {
    for compression in [Compression::None, Compression::Gzip(GzipLevel::default())] {
        let mut fixture = Fixture::with(Rules {
            compression,
            ..Fixture::new(512, 0).accumulator.rules.clone()
        });
        fixture.append(0, &[b'x'; 5_000]);
        assert_eq!(fixture.ready(), [1], "with linger 0 it is ready at once");
        let mut batches = fixture.drain(usize::MAX);
        let bytes = batches[0].seal(&mut Codecs::default()).unwrap();
        let batch = RecordBatch::parse(bytes).unwrap();
        assert_eq!(
            (
                batch.header().base_offset.get(),
                batch.header().record_count
            ),
            (0, 1)
        );
        let mut codecs = Codecs::default();
        let mut records = batch.read(&mut codecs).unwrap();
        let record = records.next().unwrap().unwrap();
        assert_eq!(
            (record.key, record.value),
            (Some(&b"key"[..]), Some(&[b'x'; 5_000][..]))
        );
        drop(records);
        for batch in batches {
            fixture.settle(batch);
        }
        assert_eq!(
            fixture.accumulator.pool().available(),
            fixture.accumulator.pool().total()
        );
    }
}

/// Covers PR-039, PR-040, C080.
#[test]
fn a_batch_lingers_from_its_beginning_and_a_full_one_does_not() {
    let mut fixture = Fixture::new(1024, 10);
    fixture.append(0, b"a");
    assert!(fixture.ready().is_empty());
    assert_eq!(fixture.next_check_ms(), 10);
    fixture.pass(5);
    fixture.append(1, b"b");
    fixture.append(0, b"a later one does not begin it anew");
    assert!(fixture.ready().is_empty());
    assert_eq!(fixture.next_check_ms(), 5, "the earliest counts");
    fixture.pass(4);
    assert!(fixture.ready().is_empty());
    fixture.pass(1);
    assert_eq!(fixture.ready(), [1]);

    let mut fixture = Fixture::new(1024, 10);
    fixture.append(0, &[b'x'; 2000]);
    assert_eq!(fixture.ready(), [1]);
}

/// Covers PR-038, PR-137, C074, P5.2.
#[test]
fn a_flush_closing_and_those_who_wait_for_memory_end_the_lingering() {
    let mut fixture = Fixture::new(1024, 1_000);
    fixture.append(0, b"a");
    assert!(fixture.ready().is_empty());
    let flushing = fixture.accumulator.begin_flush();
    assert_eq!(fixture.ready(), [1]);
    drop(flushing);
    assert!(
        fixture.ready().is_empty(),
        "the flush is over, also if it was given up"
    );

    let pool = Arc::clone(fixture.accumulator.pool());
    let mut taking = Box::pin(pool.take(usize::try_from(pool.total()).unwrap()));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(taking.as_mut().poll(&mut context).is_pending());
    assert_eq!(fixture.ready(), [1]);
    drop(taking);
    assert!(fixture.ready().is_empty());

    fixture.accumulator.close();
    assert_eq!(fixture.ready(), [1]);
}

#[test]
fn pr_138_a_flush_that_is_dropped_is_over() {
    let fixture = Fixture::new(1024, 1_000);
    let both = [
        fixture.accumulator.begin_flush(),
        fixture.accumulator.begin_flush(),
    ];
    let [one, other] = both;
    drop(one);
    assert!(fixture.accumulator.is_flushing());
    drop(other);
    assert!(!fixture.accumulator.is_flushing());
}

/// Covers PR-041.
#[test]
fn topics_without_a_leader_are_told_and_others_go_on() {
    let mut fixture = Fixture::new(1024, 0);
    fixture.led.0.insert(("t".into(), 0), None);
    fixture.append(0, b"a");
    fixture.append(1, b"b");
    assert_eq!(fixture.ready(), [1]);
    assert_eq!(fixture.found.unknown_leaders, [Arc::from("t")]);
    assert_eq!(
        Fixture::partitions(&fixture.drain_from(NODE, usize::MAX, false)),
        [1]
    );
}

/// Covers PR-042.
#[test]
fn a_muted_partition_is_neither_ready_nor_taken() {
    let mut fixture = Fixture::new(1024, 0);
    fixture.append(0, b"a");
    fixture.ready();
    let first = fixture.drain_from(NODE, usize::MAX, true);
    fixture.append(0, b"b");
    assert!(fixture.ready().is_empty());
    assert!(fixture.drain(usize::MAX).is_empty());
    fixture.backlog.unmute(first[0].partition());
    assert_eq!(fixture.ready(), [1]);
    assert_eq!(fixture.drain(usize::MAX).len(), 1);
}

/// Covers PR-043, PR-044, P5.5.
#[test]
fn a_request_has_one_batch_a_partition_up_to_its_size_and_partitions_take_turns() {
    let mut fixture = Fixture::new(1024, 0);
    for partition in 0..4 {
        for _ in 0..2 {
            fixture.append(partition, &[b'x'; 2_000]);
        }
    }
    let all = fixture.drain(usize::MAX);
    assert_eq!(Fixture::partitions(&all), [0, 1, 2, 3]);
    // Two fit. The next begins where this one ended.
    let first = fixture.drain(5_000);
    let second = fixture.drain(5_000);
    let mut both = Fixture::partitions(&first);
    both.extend(Fixture::partitions(&second));
    assert_eq!((first.len(), second.len()), (2, 2));
    both.sort_unstable();
    assert_eq!(both, [0, 1, 2, 3]);
    // One is taken always, so that a large one holds up nobody.
    fixture.append(0, &[b'x'; 2_000]);
    assert_eq!(fixture.drain(10).len(), 1);
}

#[test]
fn pr_045_a_node_without_partitions_has_nothing() {
    let mut fixture = Fixture::new(1024, 0);
    fixture.append(0, b"a");
    fixture.ready();
    assert!(
        fixture
            .drain_from(NodeId::new(9), usize::MAX, false)
            .is_empty()
    );
}

#[test]
fn pr_046_a_batch_that_was_taken_is_closed() {
    let mut fixture = Fixture::new(1024, 0);
    fixture.append(0, b"a");
    let batches = fixture.drain(usize::MAX);
    fixture.append(0, b"b");
    assert_eq!(batches[0].record_count(), 1);
    assert!(!batches[0].is_open());
    assert_eq!(
        batches[0].stamp(),
        None,
        "without idempotence there is no mark"
    );
    assert_eq!(fixture.drain(usize::MAX)[0].record_count(), 1);
}

/// Covers PR-047, PR-061.
#[test]
fn five_threads_and_one_that_drains_lose_nothing_and_no_memory() {
    const EACH: u32 = 10_000;
    let mut fixture = Fixture::new(1024, 0);
    let accumulator = Arc::clone(&fixture.accumulator);
    let now = fixture.now;
    let done = AtomicBool::new(false);
    let mut seen = Vec::new();
    thread::scope(|scope| {
        let senders: Vec<_> = (0..5_u32)
            .map(|sender| {
                let accumulator = &accumulator;
                scope.spawn(move || {
                    for number in 0..EACH {
                        let value = (sender * EACH + number).to_be_bytes();
                        for partition in 0..2 {
                            append(accumulator, partition, &value, now);
                        }
                    }
                })
            })
            .collect();
        let drainer = scope.spawn(|| {
            let mut values: Vec<(i32, u32)> = Vec::new();
            loop {
                let is_last = done.load(Ordering::SeqCst);
                let batches = fixture.drain(usize::MAX);
                if batches.is_empty() && is_last {
                    return values;
                }
                for mut batch in batches {
                    let bytes = batch.seal(&mut Codecs::default()).unwrap();
                    let partition = batch.partition().partition.get();
                    let parsed = RecordBatch::parse(bytes).unwrap();
                    for record in parsed.records().unwrap() {
                        let value = record.unwrap().value.unwrap().try_into().unwrap();
                        values.push((partition, u32::from_be_bytes(value)));
                    }
                    drop(parsed);
                    fixture.settle(batch);
                }
            }
        });
        for sender in senders {
            sender.join().unwrap();
        }
        done.store(true, Ordering::SeqCst);
        seen = drainer.join().unwrap();
    });
    assert_eq!(seen.len(), 100_000);
    // Each sender's records of a partition are in its order, and none is there twice.
    for partition in 0..2 {
        for sender in 0..5_u32 {
            let own = seen
                .iter()
                .filter(|(at, value)| *at == partition && value / EACH == sender);
            assert!(own.map(|(_, value)| value % EACH).eq(0..EACH));
        }
    }
    assert_eq!(accumulator.pool().available(), accumulator.pool().total());
    assert!(accumulator.incomplete().all().is_empty());
}

/// Covers PR-048.
#[test]
fn fullness_of_compressed_batches_is_estimated_so_that_few_are_too_large() {
    let mut fixture = Fixture::with(Rules {
        compression: Compression::Gzip(GzipLevel::default()),
        ..Fixture::new(4096, 0).accumulator.rules.clone()
    });
    let mut rng = fastrand::Rng::with_seed(3);
    let (mut batches, mut too_large) = (0, 0);
    for _ in 0..30_000 {
        // Some of it compresses well, some not at all.
        let value: Vec<u8> = if rng.bool() {
            vec![b'a'; 100]
        } else {
            (0..100).map(|_| rng.u8(..)).collect()
        };
        fixture.append(0, &value);
        if fixture
            .accumulator
            .topic(&"t".into())
            .queue(0.into())
            .unwrap()
            .len()
            > 1
        {
            for batch in fixture.drain(usize::MAX) {
                batches += 1;
                too_large += usize::from(batch.size() > 4096);
                fixture.settle(batch);
            }
        }
    }
    assert!(batches > 100, "{batches}");
    assert!(too_large * 10 < batches, "{too_large} of {batches}");
    let ratio = fixture.accumulator.topic(&"t".into()).expected_ratio();
    assert!((0.3..0.9).contains(&ratio), "{ratio}");
}

#[test]
fn pr_049_a_batch_size_of_1_gives_each_record_its_own() {
    let mut fixture = Fixture::new(1, 0);
    for _ in 0..3 {
        fixture.append(0, b"a");
    }
    let counts: Vec<_> = (0..3)
        .flat_map(|_| fixture.drain(usize::MAX))
        .map(|batch| batch.record_count())
        .collect();
    assert_eq!(counts, [1, 1, 1]);
}

/// Covers PR-050, P3.5.
#[test]
fn a_batch_that_somebody_made_meanwhile_is_used_and_the_memory_goes_back() {
    let fixture = Fixture::new(1024, 0);
    let topic = fixture.accumulator.topic(&"t".into());
    let queue = fixture.accumulator.queue(&topic, 0.into());
    let place = Place {
        topic: &topic,
        queue: &queue,
        sticky: None,
    };
    let pool = fixture.accumulator.pool();
    let mut memory = pool.try_take(1024).unwrap().unwrap();
    let buffer = memory.buffer().unwrap();
    fixture.append(0, b"of the other task");
    let available = pool.available();
    let draft = Draft::new(None, Some(b"mine"), &[], 5);
    let mut listener = Listener::new(false, None);
    let memory = (memory, buffer);
    let attempt =
        fixture
            .accumulator
            .append_to_new(place, &draft, &mut listener, memory, fixture.now);
    assert!(matches!(
        attempt,
        Attempt::Appended(Appended { wake: false, .. })
    ));
    assert_eq!(pool.available(), available + 1024);
    assert_eq!(queue.len(), 1);
}

#[test]
fn after_closing_nothing_is_appended_anywhere() {
    let fixture = Fixture::new(1024, 0);
    fixture.append(0, b"a");
    fixture.accumulator.close();
    let topic = fixture.accumulator.topic(&"t".into());
    for partition in [0, 1] {
        let queue = fixture.accumulator.queue(&topic, partition.into());
        let place = Place {
            topic: &topic,
            queue: &queue,
            sticky: None,
        };
        let draft = Draft::new(None, Some(b"b"), &[], 5);
        let mut listener = Listener::new(false, None);
        let attempt = place.try_append(&draft, &mut listener);
        assert!(matches!(attempt, Attempt::Closed));
    }
}

/// Covers PR-089.
#[test]
fn parts_of_a_divided_batch_keep_what_the_records_had() {
    for compression in [Compression::None, Compression::Snappy] {
        let fixture = Fixture::new(1024, 0);
        let pool = fixture.accumulator.pool();
        let mut memory = pool.try_take(8192).unwrap().unwrap();
        let buffer = memory.buffer().unwrap();
        let plan = BatchPlan {
            size_limit: 8192,
            compression,
            expected_ratio: 1.0,
        };
        let name = TopicPartition::new("t", 0.into());
        let mut batch = Box::new(Batch::begin(name, plan, memory, buffer, fixture.now));
        let value = [b'v'; 500];
        for number in 0..8_i64 {
            let key = number.to_string();
            let headers = [
                klamm_records::Header::new("name", Some(key.as_bytes())),
                klamm_records::Header::new("name", None),
            ];
            let draft = Draft::new(Some(key.as_bytes()), Some(&value), &headers, 1_000 - number);
            batch.append(&draft).unwrap();
        }
        let mut codecs = Codecs::default();
        batch.seal(&mut codecs).unwrap();
        let plan = BatchPlan {
            size_limit: 1024,
            ..plan
        };
        let parts = batch
            .split(plan, &mut codecs)
            .ok()
            .expect("its own bytes can be read");
        assert!(parts.len() >= 4);
        let mut number = 0_i64;
        for mut part in parts {
            let parsed = RecordBatch::parse(part.seal(&mut codecs).unwrap()).unwrap();
            assert_eq!(parsed.header().attributes.codec(), Ok(compression.codec()));
            let mut reader = Codecs::default();
            let mut records = parsed.read(&mut reader).unwrap();
            let mut delta = 0;
            while let Some(record) = records.next().unwrap() {
                let key = number.to_string();
                assert_eq!(record.offset.get(), delta);
                assert_eq!(record.timestamp_ms, 1_000 - number);
                assert_eq!(record.key, Some(key.as_bytes()));
                let headers: Vec<_> = record.headers.map(|header| header.value).collect();
                assert_eq!(headers, [Some(key.as_bytes()), None]);
                delta += 1;
                number += 1;
            }
            drop(records);
            settle(&fixture.accumulator, &mut part);
            part.release();
        }
        assert_eq!(number, 8);
        assert_eq!(pool.available(), pool.total(), "with the last part");
    }
}
