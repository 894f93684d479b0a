//! What a record costs the heap: nothing of its own.

#![expect(
    unsafe_code,
    reason = "an allocator cannot be written without; it only counts and passes on"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::HashSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use klamm_fake_broker::{ClusterOptions, FakeCluster, Place};
use klamm_io::{SystemClock, TcpNet};
use klamm_producer::{NumberSerializer, Producer, ProducerConfig, Record};

type Server = FakeCluster<TcpNet, SystemClock>;

thread_local! {
    /// Allocations of this thread.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator with what the caller gave, whose contract is
// the caller's to keep; counting touches a plain number of this thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as said above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as said above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Runs a call that has to wait for nothing, and counts what it allocates.
fn count<T>(call: impl Future<Output = T>) -> (T, u64) {
    let before = COUNT.get();
    let mut call = pin!(call);
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => (value, COUNT.get() - before),
        Poll::Pending => panic!("metadata are known and there is memory"),
    }
}

const RECORDS: u32 = 20_000;

/// A batch costs its own memory, its completion, its place in two lists.
const PER_BATCH_MAX: u64 = 12;

/// To draw another partition once a batch's worth of bytes went to one: the lists of what may be
/// drawn.
const PER_DRAW_MAX: u64 = 2;

fn warm() -> (Server, ProducerConfig) {
    let place = Place::new(TcpNet, ([127, 0, 0, 1], 0).into());
    let options = ClusterOptions::default();
    let server = FakeCluster::start(SystemClock, vec![place], options).expect("loopback");
    let config = ProducerConfig::builder()
        .bootstrap_servers(&server.bootstrap())
        .expect("an address")
        .linger(Duration::from_millis(5))
        .build()
        .expect("defaults");
    (server, config)
}

/// Holds what each record behind the first cost its sender against where batches began.
fn judge(server: &Server, allocations: &[u64]) {
    let mut begins = HashSet::new();
    let mut offset = 0;
    for batch in server.model().batches_seen() {
        begins.insert(offset);
        offset += usize::try_from(batch.header.record_count).expect("a count");
    }
    assert_eq!(offset, allocations.len() + 1, "all are written once");
    assert!(begins.len() > 10, "{} batches", begins.len());
    let mut draws = 0;
    for (offset, allocated) in (1..).zip(allocations) {
        let begins_batch = begins.contains(&offset);
        let most = if begins_batch {
            PER_BATCH_MAX + PER_DRAW_MAX
        } else {
            PER_DRAW_MAX
        };
        assert!(
            *allocated <= most,
            "the record at offset {offset} allocates {allocated} times, {most} are its batch's"
        );
        draws += usize::from(*allocated > 0 && !begins_batch);
    }
    assert!(
        draws <= begins.len(),
        "{draws} records allocate, and only {} batches were begun",
        begins.len()
    );
}

/// The send path of byte records, deliveries included: whoever begins a batch, or fills it so far
/// that another partition is drawn, allocates for it; nobody else allocates anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_byte_record_allocates_nothing_of_its_own() {
    let (server, config) = warm();
    let producer = Producer::builder(config).build().await.expect("loopback");
    let topic: Arc<str> = "t".into();
    let value = Bytes::from_static(&[b'x'; 100]);
    let record = || Record::to(Arc::clone(&topic)).with_value(value.clone());
    producer.send(record()).await.unwrap().await.unwrap();
    let mut allocations = Vec::with_capacity(RECORDS as usize);
    let mut deliveries = Vec::with_capacity(RECORDS as usize);
    for _ in 0..RECORDS {
        let (delivery, allocated) = count(producer.send(record()));
        deliveries.push(delivery.unwrap());
        allocations.push(allocated);
    }
    producer.flush().await.unwrap();
    judge(&server, &allocations);
    producer.close(None).await;
    drop(server);
}

/// Typed ones write into a buffer that is used again.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_typed_record_allocates_nothing_of_its_own() {
    let (server, config) = warm();
    let producer = Producer::typed(config, NumberSerializer, NumberSerializer);
    let producer = producer.build().await.expect("loopback");
    let topic: Arc<str> = "t".into();
    let record = |number: u32| {
        Record::<u64, u32>::to(Arc::clone(&topic))
            .with_key(u64::from(number))
            .with_value(number)
    };
    producer.send(record(0)).await.unwrap().await.unwrap();
    let mut allocations = Vec::with_capacity(RECORDS as usize);
    for number in 0..RECORDS {
        let (delivery, allocated) = count(producer.send(record(number)));
        drop(delivery.unwrap());
        allocations.push(allocated);
    }
    producer.flush().await.unwrap();
    judge(&server, &allocations);
    producer.close(None).await;
    drop(server);
}
