//! Records from the call to the acknowledgement, over loopback, to a fake broker that only counts
//! what it is sent. Its work is in the time, too: what the producer alone costs is told by
//! `cargo xtask bench --peers`.
//!
//! `send_over_loopback/klamm/SIZE-BATCH`, with every record's future awaited; each element is a
//! record. The raw limit `write` writes the same bytes to a socket that is read and dropped, in
//! pieces of the batch's size.

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use klamm_fake_broker::{ClusterOptions, FakeCluster, Place};
use klamm_io::{SystemClock, TcpNet};
use klamm_producer::{Producer, ProducerConfig, Record};
use tokio::runtime::Runtime;

const RECORDS: u64 = 100_000;

/// The default size of a batch, and librdkafka's.
const BATCHES: [(&str, usize); 2] = [("16K", 16 * 1024), ("1M", 1_000_000)];

async fn producer(cluster: &FakeCluster<TcpNet, SystemClock>, batch_size: usize) -> Producer {
    let config = ProducerConfig::builder().bootstrap_servers(&cluster.bootstrap());
    let config = config.expect("an address").batch_size(batch_size);
    let config = config.linger(Duration::from_millis(5)).build();
    let config = config.expect("the bench's settings go together");
    Producer::builder(config).build().await.expect("loopback")
}

/// Sends so many records and awaits all of them.
async fn send(producer: &Producer, topic: &Arc<str>, value: &Bytes, records: u64) {
    let mut deliveries = Vec::with_capacity(usize::try_from(records).unwrap_or(0));
    for _ in 0..records {
        let record = Record::to(Arc::clone(topic)).with_value(value.clone());
        deliveries.push(producer.send(record).await.expect("it is open"));
    }
    producer.flush().await.expect("nothing fails");
    for delivery in deliveries {
        black_box(delivery.await.expect("nothing fails"));
    }
}

/// Writes bytes in pieces to somebody who drops them.
fn write(stream: &mut TcpStream, piece: &[u8], mut bytes: u64) {
    while bytes > 0 {
        let part = piece
            .len()
            .min(usize::try_from(bytes).unwrap_or(usize::MAX));
        stream.write_all(&piece[..part]).expect("somebody reads");
        bytes -= part as u64;
    }
}

fn dropping() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut buffer = vec![0; 256 * 1024];
            while stream.read(&mut buffer).is_ok_and(|size| size > 0) {}
        }
    });
    address
}

fn send_over_loopback(criterion: &mut Criterion) {
    let records = if std::env::args().any(|arg| arg == "--test") {
        1_000
    } else {
        RECORDS
    };
    let runtime = Runtime::new().expect("a runtime");
    let _entered = runtime.enter();
    let options = ClusterOptions {
        keep_records: false,
        keep_requests: false,
        ..ClusterOptions::default()
    };
    let places = vec![Place::new(TcpNet, SocketAddr::from(([127, 0, 0, 1], 0)))];
    let cluster = FakeCluster::start(SystemClock, places, options).expect("loopback");
    let nowhere = dropping();
    let topic: Arc<str> = "bench".into();

    let mut group = criterion.benchmark_group("send_over_loopback");
    group.sample_size(10);
    for size in [100, 1024] {
        group.throughput(Throughput::Elements(records));
        let value = Bytes::from(vec![b'x'; size]);
        for (name, batch_size) in BATCHES {
            let name = format!("{size}-{name}");
            let producer = runtime.block_on(producer(&cluster, batch_size));
            group.bench_function(BenchmarkId::new("klamm", &name), |bencher| {
                bencher.iter(|| runtime.block_on(send(&producer, &topic, &value, records)));
            });
            runtime.block_on(producer.close(None));
            group.bench_function(BenchmarkId::new("write", &name), |bencher| {
                let mut stream = TcpStream::connect(nowhere).expect("loopback");
                let piece = vec![b'x'; batch_size];
                bencher.iter(|| write(&mut stream, &piece, records * size as u64));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, send_over_loopback);
criterion_main!(benches);
