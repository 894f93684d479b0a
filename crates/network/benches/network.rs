//! What the server costs beside bare sockets: a round trip, frames in a row, large requests, and
//! large responses from a file.
//!
//! The client is a blocking socket on the bench's own thread, the same for every peer, so that
//! only the serving side differs. `klamm` is a server with two threads for the network and two
//! for handlers; the peers do no more than move bytes.
//!
//! `cargo bench -p klamm-network -- percentiles` prints those of the round trips instead, taken
//! in turn, so that whatever else the machine does meets all alike.

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput};
use klamm_io::{
    Clock as _, Disk, DiskFile, FileRange, OpenMode, RealDisk, RealFile, SystemClock, TcpNet,
};
use klamm_network::{
    HandlerPool, ListenerConfig, Parked, Received, Response, Server, ServerConfig, Unobserved,
};
use klamm_wire::header::RequestHeader;
use klamm_wire::messages::fetch::{FetchResponse, FetchableTopicResponse, PartitionData};
use klamm_wire::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use klamm_wire::{Encoded, Listener, Offer, Records, encode_request, encode_response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;

/// Bytes of the file that responses come from.
const FILE_LEN: usize = 64 << 20;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    round_trip(&mut criterion);
    pipelined(&mut criterion);
    large_requests(&mut criterion);
    file_responses(&mut criterion);
    criterion.final_summary();
    if std::env::args().any(|argument| argument == "percentiles") {
        percentiles();
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// A server whose handler is this, for as long as it is kept.
struct Klamm {
    address: SocketAddr,
    server: Option<Server<TcpNet, SystemClock, RealFile>>,
    pool: Option<HandlerPool<RealFile>>,
    runtime: Runtime,
}

impl Klamm {
    fn start(handler: impl Fn(Received<RealFile>) + Send + Sync + 'static) -> Self {
        let runtime = runtime();
        let offer = Offer {
            listener: Listener::Broker,
            unstable: false,
            telemetry: false,
            apis: klamm_wire::ApiSet::ALL,
        };
        let any = "127.0.0.1:0".parse().unwrap();
        let listener = ListenerConfig::plaintext("PLAINTEXT", any, offer);
        let config = ServerConfig::new(vec![listener]);
        let server = runtime.block_on(async {
            let mut server =
                Server::open(TcpNet, SystemClock, config, Arc::new(Unobserved)).unwrap();
            server.start().await.unwrap();
            server
        });
        let pool = HandlerPool::start(server.channel().clone(), Arc::new(handler), 2).unwrap();
        Self {
            address: server.address("PLAINTEXT").unwrap(),
            server: Some(server),
            pool: Some(pool),
            runtime,
        }
    }
}

impl Drop for Klamm {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop());
        }
        if let Some(pool) = self.pool.take() {
            pool.stop();
        }
    }
}

/// Sends every frame back as it is, one task a connection, nothing else.
fn bare_echo() -> (SocketAddr, Runtime) {
    let runtime = runtime();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
    let listener = listener.unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            tokio::spawn(async move {
                let mut buffer = vec![0; 64 * 1024];
                while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                    if stream.write_all(&buffer[..count]).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, runtime)
}

/// Takes frames, and answers each with four bytes of size and as many bytes.
fn bare_sink() -> (SocketAddr, Runtime) {
    let runtime = runtime();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
    let listener = listener.unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            tokio::spawn(async move {
                let mut frame = Vec::new();
                while let Ok(size) = stream.read_u32().await {
                    frame.resize(size as usize, 0);
                    if stream.read_exact(&mut frame).await.is_err()
                        || stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0]).await.is_err()
                    {
                        return;
                    }
                }
            });
        }
    });
    (address, runtime)
}

/// Answers each byte with a stretch of the file, by blocking calls on a thread of its own.
fn bare_files(
    file: &RealFile,
    send: fn(&RealFile, &mut TcpStream, u64, usize) -> std::io::Result<()>,
    len: usize,
) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, file) = (listener.local_addr().unwrap(), file.clone());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let (mut position, mut byte) = (0, [0]);
        while stream.read_exact(&mut byte).is_ok() {
            if send(&file, &mut stream, position, len).is_err() {
                return;
            }
            position = (position + len as u64) % FILE_LEN as u64;
        }
    });
    address
}

fn pread_write(
    file: &RealFile,
    stream: &mut TcpStream,
    position: u64,
    len: usize,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 128 * 1024];
    let mut sent = 0;
    while sent < len {
        let count = buffer.len().min(len - sent);
        let at = position + sent as u64;
        file.read_exact_at(&mut buffer[..count], at).unwrap();
        stream.write_all(&buffer[..count])?;
        sent += count;
    }
    Ok(())
}

fn sendfile(
    file: &RealFile,
    stream: &mut TcpStream,
    position: u64,
    len: usize,
) -> std::io::Result<()> {
    let (mut at, end) = (position, position + len as u64);
    let descriptor = file.descriptor().expect("a real file has one");
    while at < end {
        let left = usize::try_from(end - at).unwrap();
        rustix::fs::sendfile(&*stream, descriptor, Some(&mut at), left)?;
    }
    Ok(())
}

fn request(payload: &[u8]) -> Vec<u8> {
    let header = RequestHeader::of::<SaslAuthenticateRequest>(0, 7.into(), Some("bench".into()));
    let request = SaslAuthenticateRequest {
        auth_bytes: Bytes::copy_from_slice(payload),
        ..SaslAuthenticateRequest::default()
    };
    let encoded = encode_request(&header, &request).unwrap();
    encoded.into_bytes().unwrap().to_vec()
}

fn answer(received: &Received<RealFile>, payload: Bytes) -> Response<RealFile> {
    let response = SaslAuthenticateResponse {
        auth_bytes: payload,
        ..SaslAuthenticateResponse::default()
    };
    let correlation_id = received.request.frame.header.correlation_id;
    Response::new(encode_response(correlation_id, &response, 0).unwrap())
}

fn echo(received: Received<RealFile>) {
    let request: SaslAuthenticateRequest = received.request.frame.decode().unwrap();
    let answer = answer(&received, request.auth_bytes);
    received.responder.send(answer);
}

/// As [`echo`], by way of having been parked, as an acks=all produce is.
fn park_and_echo(received: Received<RealFile>) {
    let request: SaslAuthenticateRequest = received.request.frame.decode().unwrap();
    let answer = answer(&received, request.auth_bytes);
    received.responder.park(Parked::Produce).send(answer);
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// One frame into `buffer`; returns its size.
fn read_frame(stream: &mut TcpStream, buffer: &mut [u8]) -> usize {
    let mut size = [0; 4];
    stream.read_exact(&mut size).unwrap();
    let size = u32::from_be_bytes(size) as usize;
    stream.read_exact(&mut buffer[..size]).unwrap();
    size
}

fn round_trip(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("round_trip");
    let frame = request(&[1; 100]);
    let mut buffer = vec![0; 64 * 1024];
    let mut trip = |stream: &mut TcpStream| {
        stream.write_all(&frame).unwrap();
        black_box(read_frame(stream, &mut buffer))
    };
    for (name, handler) in [("klamm", echo as fn(_)), ("klamm-parked", park_and_echo)] {
        let klamm = Klamm::start(handler);
        let mut stream = connect(klamm.address);
        group.bench_function(BenchmarkId::new(name, 100), |bencher| {
            bencher.iter(|| trip(&mut stream));
        });
    }
    let (address, _runtime) = bare_echo();
    let mut stream = connect(address);
    group.bench_function(BenchmarkId::new("tokio", 100), |bencher| {
        bencher.iter(|| trip(&mut stream));
    });
    group.finish();
}

fn percentiles() {
    const TRIPS: usize = 20_000;
    let frame = request(&[1; 100]);
    let mut buffer = vec![0; 64 * 1024];
    let servers = [Klamm::start(echo), Klamm::start(park_and_echo)];
    let (address, _runtime) = bare_echo();
    let mut peers = [
        ("klamm", connect(servers[0].address), Vec::new()),
        ("klamm-parked", connect(servers[1].address), Vec::new()),
        ("tokio", connect(address), Vec::new()),
    ];
    let clock = SystemClock;
    for _ in 0..TRIPS {
        for (_, stream, times) in &mut peers {
            let begin = clock.now();
            stream.write_all(&frame).unwrap();
            black_box(read_frame(stream, &mut buffer));
            times.push(clock.now() - begin);
        }
    }
    for (name, _, times) in &mut peers {
        times.sort_unstable();
        let [p50, p90, p99] = [50, 90, 99].map(|percent| times[TRIPS * percent / 100]);
        println!("round trip, {name}: p50 {p50:?}, p90 {p90:?}, p99 {p99:?}");
    }
}

fn pipelined(criterion: &mut Criterion) {
    /// As many as a connection may have unanswered.
    const IN_FLIGHT: usize = 5;
    let mut group = criterion.benchmark_group("pipelined");
    group.throughput(Throughput::Elements(IN_FLIGHT as u64));
    let frames = request(&[1; 100]).repeat(IN_FLIGHT);
    let mut buffer = vec![0; 64 * 1024];
    let mut trip = |stream: &mut TcpStream| {
        stream.write_all(&frames).unwrap();
        for _ in 0..IN_FLIGHT {
            black_box(read_frame(stream, &mut buffer));
        }
    };
    let klamm = Klamm::start(echo);
    let mut stream = connect(klamm.address);
    group.bench_function(BenchmarkId::new("klamm", 100), |bencher| {
        bencher.iter(|| trip(&mut stream));
    });
    drop(klamm);
    let (address, _runtime) = bare_echo();
    let mut stream = connect(address);
    group.bench_function(BenchmarkId::new("tokio", 100), |bencher| {
        bencher.iter(|| trip(&mut stream));
    });
    group.finish();
}

fn large_requests(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("large_requests");
    let mut buffer = vec![0; 64 * 1024];
    for len in [64 << 10, 1_000_000] {
        group.throughput(Throughput::Bytes(len as u64));
        let frame = request(&vec![1; len]);
        let mut trip = |stream: &mut TcpStream| {
            stream.write_all(&frame).unwrap();
            black_box(read_frame(stream, &mut buffer))
        };
        let klamm = Klamm::start(|received| {
            let answer = answer(&received, Bytes::new());
            received.responder.send(answer);
        });
        let mut stream = connect(klamm.address);
        group.bench_function(BenchmarkId::new("klamm", len), |bencher| {
            bencher.iter(|| trip(&mut stream));
        });
        drop(klamm);
        let (address, _runtime) = bare_sink();
        let mut stream = connect(address);
        group.bench_function(BenchmarkId::new("tokio", len), |bencher| {
            bencher.iter(|| trip(&mut stream));
        });
    }
    group.finish();
}

fn fetch_response(received: &Received<RealFile>, len: usize) -> Encoded {
    let partition = PartitionData {
        records: Some(Records::Elsewhere(len)),
        ..PartitionData::default()
    };
    let topic = FetchableTopicResponse {
        partitions: vec![partition],
        ..FetchableTopicResponse::default()
    };
    let response = FetchResponse {
        responses: vec![topic],
        ..FetchResponse::default()
    };
    encode_response(received.request.frame.header.correlation_id, &response, 11).unwrap()
}

fn file_responses(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("file_responses");
    let directory = tempfile::tempdir().unwrap();
    let file = file(directory.path());
    let mut buffer = vec![0; 9 << 20];
    for len in [64 << 10, 1 << 20, 8 << 20] {
        group.throughput(Throughput::Bytes(len as u64));
        let served = file.clone();
        let klamm = Klamm::start(move |received| {
            let id = received.request.frame.header.correlation_id.get();
            let encoded = fetch_response(&received, len);
            let position = (id.unsigned_abs() as usize * len % FILE_LEN) as u64;
            let range = FileRange::new(served.clone(), position, len);
            let response = Response::with_files(encoded, vec![range]);
            received.responder.send(response);
        });
        let mut stream = connect(klamm.address);
        let frame = request(b"");
        group.bench_function(BenchmarkId::new("klamm", len), |bencher| {
            bencher.iter(|| {
                stream.write_all(&frame).unwrap();
                black_box(read_frame(&mut stream, &mut buffer))
            });
        });
        drop(klamm);
        for (peer, send) in [
            (
                "pread+write",
                pread_write as fn(&RealFile, &mut TcpStream, u64, usize) -> _,
            ),
            ("sendfile", sendfile),
        ] {
            let mut stream = connect(bare_files(&file, send, len));
            group.bench_function(BenchmarkId::new(peer, len), |bencher| {
                bencher.iter(|| {
                    stream.write_all(&[1]).unwrap();
                    stream.read_exact(&mut buffer[..len]).unwrap();
                });
            });
        }
    }
    group.finish();
}

fn file(directory: &Path) -> RealFile {
    let path = directory.join("segment.log");
    let file = RealDisk.open(&path, OpenMode::CreateNew).unwrap();
    let stretch: Vec<u8> = (0..1_u32 << 20).map(|at| at.to_be_bytes()[2]).collect();
    for at in (0..FILE_LEN as u64).step_by(stretch.len()) {
        file.write_all_at(&stretch, at).unwrap();
    }
    file
}
