//! Requests a second through the client's task over loopback, beside a bare exchange of the same
//! frames on a tokio stream with the same server.
//!
//! What the task does for a request beyond that: two looks at the metadata, a header and a body
//! encoded, the answer matched and decoded, two turns of the guest.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use klamm_client::{
    Answer, BootstrapAddress, ClientConfig, ClientHandle, ClientTask, Guest, NetworkClient, NodeId,
    SendOptions,
};
use klamm_fake_broker::{ClusterOptions, FakeCluster, Place};
use klamm_io::{SystemClock, TcpNet};
use klamm_wire::encode_request;
use klamm_wire::header::RequestHeader;
use klamm_wire::messages::metadata::MetadataRequest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

/// Requests in one measured round.
const ROUND: usize = 1_000;

const NODE: NodeId = NodeId::new(0);

/// An empty list of topics: a short request with a short answer.
fn request() -> MetadataRequest {
    MetadataRequest {
        topics: Some(Vec::new()),
        ..MetadataRequest::default()
    }
}

/// Sends requests as long as there are some to send, as many at a time as the client takes.
struct Pump(Arc<Round>);

#[derive(Default)]
struct Round {
    to_send: AtomicUsize,
    to_come: AtomicUsize,
    done: Notify,
}

impl Guest for Pump {
    fn turn(&mut self, now: Instant, client: &mut NetworkClient) -> Option<Instant> {
        let to_send = &self.0.to_send;
        while to_send.load(Ordering::Relaxed) > 0 && client.ready(NODE, now) {
            let sent = client.send(NODE, &request(), SendOptions::default(), now);
            sent.expect("it was ready");
            to_send.fetch_sub(1, Ordering::Relaxed);
        }
        None
    }

    fn answered(&mut self, _: Instant, answer: Answer, _: &mut NetworkClient) {
        let response = answer.decode::<MetadataRequest>().expect("an answer");
        black_box(response);
        if self.0.to_come.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.done.notify_one();
        }
    }
}

async fn round_of_klamm(round: &Round, handle: &ClientHandle) {
    round.to_come.store(ROUND, Ordering::Relaxed);
    round.to_send.store(ROUND, Ordering::Relaxed);
    handle.wake();
    round.done.notified().await;
}

/// The same frames by hand: `in_flight` are written at once, then as many answers are read.
async fn round_of_tokio(stream: &mut TcpStream, frames: &[u8], in_flight: usize) {
    let mut answer = vec![0; 64 << 10];
    for _ in 0..ROUND / in_flight {
        stream.write_all(frames).await.expect("written");
        for _ in 0..in_flight {
            let size = stream.read_u32().await.expect("an answer");
            let size = usize::try_from(size).expect("it fits");
            stream
                .read_exact(&mut answer[..size])
                .await
                .expect("an answer");
            black_box(&answer[..size]);
        }
    }
}

fn round_trips(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let _entered = runtime.enter();
    let options = ClusterOptions {
        keep_records: false,
        keep_requests: false,
        ..ClusterOptions::default()
    };
    let places = vec![Place::new(TcpNet, "127.0.0.1:0".parse().expect("legal"))];
    let cluster = FakeCluster::start(SystemClock, places, options).expect("loopback");
    let mut group = criterion.benchmark_group("round_trip");
    group.throughput(Throughput::Elements(ROUND as u64));
    for in_flight in [1, 5] {
        let config = ClientConfig {
            bootstrap: BootstrapAddress::parse_list(&cluster.bootstrap()).expect("legal"),
            max_in_flight: in_flight,
            ..ClientConfig::default()
        };
        let round = Arc::new(Round::default());
        let task = ClientTask::spawn(TcpNet, SystemClock, config, 1, Pump(round.clone()));
        let known = task.handle().metadata().newer_than(0);
        runtime.block_on(known).expect("the cluster");
        group.bench_function(BenchmarkId::new("klamm", in_flight), |bencher| {
            bencher.iter(|| runtime.block_on(round_of_klamm(&round, task.handle())));
        });
        runtime.block_on(task.close());

        let header = RequestHeader::of::<MetadataRequest>(13, 0.into(), Some("".into()));
        let frame = encode_request(&header, &request()).expect("legal");
        let frame: Bytes = frame.into_bytes().expect("no gap");
        let frames = frame.repeat(in_flight);
        let stream = TcpStream::connect(cluster.address(0));
        let mut stream = runtime.block_on(stream).expect("loopback");
        stream.set_nodelay(true).expect("a socket");
        group.bench_function(BenchmarkId::new("tokio", in_flight), |bencher| {
            bencher.iter(|| runtime.block_on(round_of_tokio(&mut stream, &frames, in_flight)));
        });
    }
    group.finish();
}

criterion_group!(benches, round_trips);
criterion_main!(benches);
