//! Slow, cut and broken links.

use std::io::ErrorKind;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinHandle;

use super::*;
use crate::NetErrorKind;
use crate::testing::check_net;

/// A client's and a server's host, and the network between them.
struct Pair {
    clock: SimClock,
    net: SimNet,
    client: SimHost,
    server: SimHost,
}

const PORT: u16 = 9092;

impl Pair {
    fn new() -> Self {
        let clock = SimClock::new();
        let net = SimNet::new(clock.clone());
        let [client, server] = ["10.0.0.1", "10.0.0.2"].map(|ip| net.host(ip.parse().unwrap()));
        Self {
            clock,
            net,
            client,
            server,
        }
    }

    fn ips(&self) -> (IpAddr, IpAddr) {
        (self.client.address, self.server.address)
    }

    fn server_address(&self) -> SocketAddr {
        SocketAddr::new(self.server.address, PORT)
    }

    fn listen(&self, backlog: u32) -> SimListener {
        let options = ListenOptions {
            backlog,
            ..ListenOptions::default()
        };
        self.server.bind(self.server_address(), options).unwrap()
    }

    async fn connected(&self) -> (SimStream, SimStream) {
        let mut listener = self.listen(1);
        let client = self.connect().await.unwrap();
        let (server, peer) = listener.accept().await.unwrap();
        assert_eq!(peer.ip(), self.client.address);
        (client, server)
    }

    async fn connect(&self) -> Result<SimStream, NetError> {
        let address = self.server_address();
        self.client.connect(address, SocketOptions::default()).await
    }

    fn connecting(&self) -> JoinHandle<Result<SimStream, NetError>> {
        let (client, address) = (self.client.clone(), self.server_address());
        tokio::spawn(async move { client.connect(address, SocketOptions::default()).await })
    }

    /// Lets time pass, and what it wakes run.
    async fn pass_ms(&self, ms: u64) {
        settle().await;
        self.clock.advance(Duration::from_millis(ms));
        settle().await;
    }
}

/// Lets every task run until it waits.
async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

fn reading(mut stream: SimStream) -> JoinHandle<(std::io::Result<usize>, Vec<u8>)> {
    tokio::spawn(async move {
        let mut bytes = Vec::new();
        let outcome = stream.read_to_end(&mut bytes).await;
        (outcome, bytes)
    })
}

fn writing(mut stream: SimStream, len: usize) -> JoinHandle<std::io::Result<()>> {
    tokio::spawn(async move { stream.write_all(&vec![1; len]).await })
}

async fn conforms_with(change: impl FnOnce(&SimNet, IpAddr)) {
    let Pair {
        clock, net, client, ..
    } = Pair::new();
    change(&net, client.address);
    tokio::select! {
        () = check_net(&client, &clock, client.address) => {}
        () = async {
            loop {
                settle().await;
                clock.advance(Duration::from_millis(1));
            }
        } => {}
    }
}

#[tokio::test]
async fn conforms() {
    conforms_with(|_, _| {}).await;
    conforms_with(|net, _| net.set_segment_bytes_max(4_001)).await;
    conforms_with(|net, ip| net.set_latency(ip, ip, Duration::from_millis(3))).await;
}

#[tokio::test]
async fn bytes_take_as_long_as_the_link() {
    let pair = Pair::new();
    let (there, back) = (Duration::from_millis(30), Duration::from_millis(10));
    let (client_ip, server_ip) = pair.ips();
    pair.net.set_default_latency(there);
    pair.net.set_latency(server_ip, client_ip, back);
    let mut listener = pair.listen(1);
    let client = pair.connecting();
    pair.pass_ms(29).await;
    assert!(listener.accept().poll_once().await.is_none());
    pair.pass_ms(1).await;
    let (mut server, _) = listener.accept().await.unwrap();
    pair.pass_ms(9).await;
    assert!(!client.is_finished());
    pair.pass_ms(1).await;
    let client = client.await.unwrap().unwrap();

    server.write_all(b"slow").await.unwrap();
    pair.net.set_latency(server_ip, client_ip, Duration::ZERO);
    server.write_all(b", then fast").await.unwrap();
    drop(server);
    let received = reading(client);
    pair.pass_ms(9).await;
    assert!(!received.is_finished(), "nothing overtakes");
    pair.pass_ms(1).await;
    let (outcome, bytes) = received.await.unwrap();
    outcome.unwrap();
    assert_eq!(bytes, b"slow, then fast");
}

#[tokio::test]
async fn a_cut_link_holds_what_is_under_way_until_it_is_healed() {
    let pair = Pair::new();
    let (client_ip, server_ip) = pair.ips();
    let (mut client, mut server) = pair.connected().await;
    pair.net.set_default_latency(Duration::from_millis(10));
    client.write_all(b"before ").await.unwrap();
    pair.pass_ms(5).await;
    pair.net.cut_one_way(client_ip, server_ip);
    client.write_all(b"after").await.unwrap();
    drop(client.shutdown().await);
    // The other way is open.
    server.write_all(b"x").await.unwrap();
    pair.pass_ms(10).await;
    client.read_exact(&mut [0]).await.unwrap();

    let received = reading(server);
    pair.pass_ms(3_600_000).await;
    assert!(!received.is_finished());
    pair.net.heal(client_ip, server_ip);
    pair.pass_ms(9).await;
    assert!(!received.is_finished());
    pair.pass_ms(1).await;
    assert_eq!(received.await.unwrap().1, b"before after");
}

#[tokio::test]
async fn no_connection_comes_about_over_a_cut_link() {
    let pair = Pair::new();
    let (client_ip, server_ip) = pair.ips();
    let mut listener = pair.listen(1);
    pair.net.cut(client_ip, server_ip);
    let client = pair.connecting();
    pair.pass_ms(3_600_000).await;
    assert!(!client.is_finished());
    assert!(listener.accept().poll_once().await.is_none());
    pair.net.heal(client_ip, server_ip);
    let (_server, _) = listener.accept().await.unwrap();
    client.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_host_that_vanished_leaves_its_peers_half_open() {
    let pair = Pair::new();
    let (_, server_ip) = pair.ips();
    let mut listener = pair.listen(1);
    let [reader, writer] = [pair.connect(), pair.connect()];
    let (mut servers, mut clients) = (Vec::new(), Vec::new());
    for connecting in [reader, writer] {
        clients.push(connecting.await.unwrap());
        servers.push(listener.accept().await.unwrap().0);
    }
    pair.net.vanish(server_ip);
    let writer = writing(clients.pop().unwrap(), 1 << 20);
    let reader = reading(clients.pop().unwrap());
    pair.pass_ms(3_600_000).await;
    assert!(!reader.is_finished() && !writer.is_finished());

    // The process that went with it can do nothing any more, not even say goodbye.
    let error = servers[0].write_all(b"x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert!(listener.accept().await.is_err());
    let address = pair.server_address();
    assert!(pair.server.bind(address, ListenOptions::default()).is_err());
    drop(servers);
    pair.pass_ms(1).await;
    assert!(!reader.is_finished() && !writer.is_finished());

    // When it is back, those who send learn that it has forgotten them.
    pair.net.come_back(server_ip);
    let error = writer.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    pair.pass_ms(1).await;
    assert!(!reader.is_finished());

    // A listener of the time before does not disturb that of the time after.
    let mut new = pair.listen(1);
    drop(listener);
    let client = pair.connecting();
    new.accept().await.unwrap();
    client.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_connection_may_break_within_a_frame() {
    let pair = Pair::new();
    let (client_ip, server_ip) = pair.ips();
    let (mut client, server) = pair.connected().await;
    client.write_all(b"whole").await.unwrap();
    pair.net.reset_after_bytes(client_ip, server_ip, 4);
    let error = client.write_all(b"half of it").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let error = client.read(&mut [0]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let (outcome, bytes) = reading(server).await.unwrap();
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(bytes, b"wholehalf");
    // Once only.
    let (mut client, mut server) = pair.connected().await;
    client.write_all(b"whole again").await.unwrap();
    server.read_exact(&mut [0; 11]).await.unwrap();
}

#[tokio::test]
async fn a_writer_that_waits_learns_of_a_reset() {
    let pair = Pair::new();
    let (client_ip, server_ip) = pair.ips();
    let (client, server) = pair.connected().await;
    pair.net.set_default_latency(Duration::from_millis(10));
    let writer = writing(client, 1 << 20);
    pair.pass_ms(1000).await;
    assert!(!writer.is_finished());
    // Its peer goes without having read anything.
    drop(server);
    pair.pass_ms(9).await;
    assert!(!writer.is_finished());
    pair.pass_ms(1).await;
    let error = writer.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);

    // A reset of the link is known at both ends at once.
    let connecting = tokio::spawn({
        let pair = Pair {
            clock: pair.clock.clone(),
            net: pair.net.clone(),
            client: pair.client.clone(),
            server: pair.server.clone(),
        };
        async move { pair.connected().await }
    });
    pair.pass_ms(10).await;
    pair.pass_ms(10).await;
    let (client, _server) = connecting.await.unwrap();
    let writer = writing(client, 1 << 20);
    settle().await;
    assert!(!writer.is_finished());
    pair.net.reset(client_ip, server_ip);
    let error = writer.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_full_backlog_lets_others_wait() {
    let pair = Pair::new();
    let mut listener = pair.listen(2);
    let clients = [(); 3].map(|()| pair.connecting());
    settle().await;
    assert_eq!(clients.iter().filter(|it| it.is_finished()).count(), 2);
    listener.accept().await.unwrap();
    settle().await;
    assert!(clients.iter().all(JoinHandle::is_finished));

    let refused = pair.connecting();
    settle().await;
    assert!(!refused.is_finished());
    drop(listener);
    let error = refused.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::Refused);
}

#[tokio::test]
async fn whoever_gives_up_connecting_closes_the_connection() {
    let pair = Pair::new();
    pair.net.set_default_latency(Duration::from_millis(10));
    let mut listener = pair.listen(1);
    let client = pair.connecting();
    pair.pass_ms(10).await;
    let (mut server, _) = listener.accept().await.unwrap();
    client.abort();
    pair.pass_ms(10).await;
    assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test]
async fn reads_and_writes_come_in_pieces_where_told_to() {
    let pair = Pair::new();
    pair.net.set_segment_bytes_max(3);
    let (mut client, mut server) = pair.connected().await;
    let pieces = [b"ab", b"cd"].map(|piece| std::io::IoSlice::new(piece));
    assert!(client.is_write_vectored());
    assert_eq!(client.write_vectored(&pieces).await.unwrap(), 3);
    assert_eq!(client.write(b"d").await.unwrap(), 1);
    let mut buffer = [0; 9];
    assert_eq!(server.read(&mut buffer).await.unwrap(), 3);
    assert_eq!(server.read(&mut buffer[3..]).await.unwrap(), 1);
    assert_eq!(&buffer[..4], b"abcd");
    assert_eq!(client.write(b"").await.unwrap(), 0);
    assert_eq!(server.read(&mut []).await.unwrap(), 0);
}

#[tokio::test]
async fn names_lead_to_the_addresses_they_were_given() {
    let pair = Pair::new();
    let (client_ip, server_ip) = pair.ips();
    pair.net.set_name("brokers", &[server_ip, client_ip]);
    let found = pair.client.resolve("brokers", PORT).await.unwrap();
    let expected = [server_ip, client_ip].map(|ip| SocketAddr::new(ip, PORT));
    assert_eq!(found, expected);
    pair.net.set_name("brokers", &[]);
    let error = pair.client.resolve("brokers", PORT).await.unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::NoSuchHost);
}

#[derive(Debug, Clone)]
enum Step {
    Write(usize),
    Read(usize),
    PassMs(u64),
    LatencyMs(u64),
    SegmentBytesMax(usize),
    Cut,
    Heal,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..100_000usize).prop_map(Step::Write),
        4 => (1..100_000usize).prop_map(Step::Read),
        4 => (0..50u64).prop_map(Step::PassMs),
        1 => (0..50u64).prop_map(Step::LatencyMs),
        1 => (1..100_000usize).prop_map(Step::SegmentBytesMax),
        1 => Just(Step::Cut),
        1 => Just(Step::Heal),
    ]
}

/// Takes the steps, then lets everything arrive; returns what was sent and what was received.
async fn sent_and_received(steps: Vec<Step>) -> (Vec<u8>, Vec<u8>) {
    let pair = Pair::new();
    let (client_ip, server_ip) = pair.ips();
    let (mut client, mut server) = pair.connected().await;
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Write(len) => {
                let from = sent.len();
                let bytes: Vec<u8> = (from..from + len).map(|at| at.to_le_bytes()[0]).collect();
                if let Some(written) = client.write(&bytes).poll_once().await {
                    sent.extend(&bytes[..written.unwrap()]);
                }
            }
            Step::Read(len) => {
                let mut buffer = vec![0; len];
                if let Some(read) = server.read(&mut buffer).poll_once().await {
                    received.extend(&buffer[..read.unwrap()]);
                }
            }
            Step::PassMs(ms) => pair.clock.advance(Duration::from_millis(ms)),
            Step::LatencyMs(ms) => pair.net.set_default_latency(Duration::from_millis(ms)),
            Step::SegmentBytesMax(bytes) => pair.net.set_segment_bytes_max(bytes),
            Step::Cut => pair.net.cut(client_ip, server_ip),
            Step::Heal => pair.net.heal(client_ip, server_ip),
        }
        assert!(received.len() <= sent.len() && sent.len() - received.len() <= 64 << 10);
    }
    drop(client);
    pair.net.heal(client_ip, server_ip);
    pair.clock.advance(Duration::from_secs(1));
    server.read_to_end(&mut received).await.unwrap();
    (sent, received)
}

proptest! {
    #[test]
    fn all_bytes_arrive_in_order(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (sent, received) = runtime.block_on(sent_and_received(steps));
        prop_assert!(sent == received, "{} bytes sent, {} received", sent.len(), received.len());
    }
}

/// A look at a future that is then dropped.
trait PollOnce: Future + Sized {
    async fn poll_once(self) -> Option<Self::Output> {
        let mut future = std::pin::pin!(self);
        poll_fn(|context| {
            Poll::Ready(match future.as_mut().poll(context) {
                Poll::Ready(output) => Some(output),
                Poll::Pending => None,
            })
        })
        .await
    }
}

impl<F: Future> PollOnce for F {}
