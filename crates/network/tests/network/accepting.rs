//! Listeners: how they open, what they wait for, whom they refuse.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use klamm_io::sim::{SimClock, SimHost, SimListener, SimNet, SimStream};
use klamm_io::{
    ListenOptions, Listener, Net, NetError, NetErrorKind, NetOperation, SocketOptions, SystemClock,
    TcpListener, TcpNet,
};
use klamm_network::{ListenerName, MayStart, Server, ServerConfig, StartError, Unobserved};
use klamm_wire::SecurityProtocol;
use parking_lot::Mutex;
use rustix::net::sockopt;
use tokio::net::TcpStream;

use crate::support::{
    PLAIN, RealServer, SERVER, Simulated, backlog, connect, connect_to, echo, listener, loopback,
    spawn_echo, start,
};

const LOOPBACK: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn open(config: ServerConfig) -> Result<RealServer, StartError> {
    Server::open(TcpNet, SystemClock, config, Arc::new(Unobserved))
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let probe = std::net::TcpListener::bind((LOOPBACK, 0)).unwrap();
    probe.local_addr().unwrap().port()
}

/// Covers NE-029, B1.1.
#[tokio::test]
async fn each_listener_accepts_for_itself() {
    let simulated = Simulated::start(|config| {
        config.listeners = vec![listener("A", SERVER, 9092), listener("B", SERVER, 9093)];
    })
    .await;
    let mut ids = Vec::new();
    for (name, port) in [("A", 9092), ("B", 9093), ("A", 9092)] {
        let client_host = crate::support::CLIENT;
        let mut client = simulated.connect_from(client_host, port).await;
        client.ask(1, b"").await;
        let received = simulated.taken().await;
        assert_eq!(received.request.context.listener, ListenerName::from(name));
        ids.push(received.request.context.id.listener);
        echo(received);
        assert_eq!(client.answer().await.0, 1);
    }
    assert_eq!(ids, [0, 1, 0]);
}

/// Two connections that never rest, on one thread, are both served.
#[tokio::test]
async fn ne_029_connections_share_the_threads_there_are() {
    let server = start(loopback()).await;
    let _echo = spawn_echo(server.channel().clone());
    let mut clients = [connect(&server).await, connect(&server).await];
    for id in 0..100 {
        for client in &mut clients {
            client.ask(id, &[0; 10_000]).await;
        }
        for client in &mut clients {
            assert_eq!(client.answer().await.0, id);
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn ne_031_a_flood_of_connects_does_not_starve_who_is_there() {
    let simulated = Simulated::start(|config| config.listeners[0].options = backlog(1_000)).await;
    let mut client = simulated.connect().await;
    let mut flood = Vec::new();
    for id in 0..20 {
        for _ in 0..50 {
            flood.push(simulated.connect().await);
        }
        client.ask(id, b"").await;
        echo(simulated.taken().await);
        assert_eq!(client.answer().await.0, id);
    }
    simulated.settle().await;
    assert_eq!(simulated.live(), 1_001);
}

/// TCP, with a look at each socket as the server gets it.
#[derive(Clone)]
struct Watched(Arc<Mutex<Vec<(bool, bool, usize)>>>);

struct WatchedListener {
    listener: TcpListener,
    seen: Watched,
}

impl Net for Watched {
    type Stream = TcpStream;
    type Listener = WatchedListener;

    fn bind(
        &self,
        address: SocketAddr,
        options: ListenOptions,
    ) -> Result<WatchedListener, NetError> {
        Ok(WatchedListener {
            listener: TcpNet.bind(address, options)?,
            seen: self.clone(),
        })
    }

    fn check_free(&self, address: SocketAddr) -> Result<(), NetError> {
        TcpNet.check_free(address)
    }

    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> impl Future<Output = Result<TcpStream, NetError>> + Send {
        TcpNet.connect(address, options)
    }

    fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> impl Future<Output = Result<Vec<SocketAddr>, NetError>> + Send {
        TcpNet.resolve(host, port)
    }
}

impl Listener for WatchedListener {
    type Stream = TcpStream;

    fn local_address(&self) -> SocketAddr {
        self.listener.local_address()
    }

    async fn accept(&mut self) -> Result<(TcpStream, SocketAddr), NetError> {
        let (stream, peer) = self.listener.accept().await?;
        self.seen.0.lock().push((
            stream.nodelay().unwrap(),
            sockopt::socket_keepalive(&stream).unwrap(),
            sockopt::socket_send_buffer_size(&stream).unwrap(),
        ));
        Ok((stream, peer))
    }
}

#[tokio::test]
async fn ne_032_accepted_sockets_have_their_options() {
    let mut sizes = Vec::new();
    for send_buffer_bytes in [Some(20_000), None] {
        let watched = Watched(Arc::default());
        let mut config = loopback();
        config.listeners[0].options.socket.send_buffer_bytes = send_buffer_bytes;
        let observer = Arc::new(Unobserved);
        let mut server: Server<_, _, klamm_io::RealFile> =
            Server::open(watched.clone(), SystemClock, config, observer).unwrap();
        server.start().await.unwrap();
        let _echo = spawn_echo(server.channel().clone());
        let mut client = connect_to(server.address(PLAIN).unwrap()).await;
        client.ask(1, &vec![0; 500_000]).await;
        assert_eq!(client.answer().await.1.len(), 500_000);
        let seen = watched.0.lock().clone();
        let [(true, true, size)] = seen[..] else {
            panic!("{seen:?}")
        };
        sizes.push(size);
        server.stop().await;
    }
    // Linux doubles what is asked for, to count its own bookkeeping.
    assert_eq!(sizes[0], 40_000);
    assert!(sizes[1] > sizes[0], "the system's choice");
}

#[tokio::test]
async fn ne_033_as_many_as_the_backlog_connect_before_accepting_begins() {
    let mut config = loopback();
    config.listeners[0].options = backlog(8);
    let mut server = open(config).unwrap();
    let address = server.address(PLAIN).unwrap();
    let mut clients = Vec::new();
    for id in 0..8 {
        let mut client = connect_to(address).await;
        client.ask(id, b"early").await;
        clients.push(client);
    }
    assert!(server.channel().is_empty());
    server.start().await.unwrap();
    let _echo = spawn_echo(server.channel().clone());
    for (id, client) in (0..).zip(&mut clients) {
        assert_eq!(client.answer().await.0, id);
    }
    server.stop().await;
}

#[tokio::test]
async fn ne_034_port_0_is_bound_at_once_and_can_be_asked_for() {
    let server = open(loopback()).unwrap();
    let address = server.address(PLAIN).unwrap();
    assert_ne!(address.port(), 0);
    assert_eq!(server.address("OTHER"), None);
    connect_to(address).await;
}

#[tokio::test]
async fn ne_035_a_fixed_port_is_open_only_from_the_start_on() {
    let mut simulated = Simulated::open(|_| {});
    assert_eq!(simulated.server.address(PLAIN), None);
    let host = simulated.net.host(crate::support::CLIENT);
    let connect = || {
        let address = (SERVER, 9092).into();
        host.connect(address, SocketOptions::default())
    };
    let refused = connect().await.unwrap_err();
    assert_eq!(refused.kind(), NetErrorKind::Refused);
    simulated.server.start().await.unwrap();
    assert!(simulated.server.address(PLAIN).is_some());
    connect().await.unwrap();
    let again = simulated.server.start().await;
    assert!(matches!(again, Err(StartError::StartedBefore)));
}

#[tokio::test]
async fn ne_036_a_listener_waits_for_what_it_was_told_to() {
    let mut config = loopback();
    config.listeners = vec![listener("NOW", LOOPBACK, 0), listener("LATER", LOOPBACK, 0)];
    let mut server = open(config).unwrap();
    let [now, later] = ["NOW", "LATER"].map(|name| server.address(name).unwrap());
    let channel = server.channel().clone();
    let _echo = spawn_echo(channel);
    let (open_it, gate) = tokio::sync::oneshot::channel::<()>();
    let gate: MayStart = Box::pin(async move {
        gate.await.unwrap();
        Ok(())
    });
    let starting = tokio::spawn(async move {
        server
            .start_when(vec![("LATER".into(), gate)])
            .await
            .unwrap();
        server
    });
    let mut early = connect_to(later).await;
    early.ask(1, b"").await;
    let mut client = connect_to(now).await;
    client.ask(2, b"").await;
    assert_eq!(client.answer().await.0, 2, "the other has started");
    assert!(!starting.is_finished());
    let answer = tokio::time::timeout(Duration::from_millis(50), early.answer());
    assert!(answer.await.is_err(), "it takes no requests yet");
    open_it.send(()).unwrap();
    assert_eq!(early.answer().await.0, 1);
    starting.await.unwrap().stop().await;
}

#[tokio::test]
async fn ne_036_what_a_listener_waits_for_fails_the_start_with_its_cause() {
    let mut simulated = Simulated::open(|config| {
        config.listeners.push(listener("OTHER", SERVER, 9093));
    });
    let gate: MayStart = Box::pin(async { Err("no authorizer".into()) });
    let failed = simulated
        .server
        .start_when(vec![(PLAIN.into(), gate)])
        .await;
    let Err(StartError::MayNotStart { listener, source }) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!(
        (listener.as_str(), source.to_string().as_str()),
        (PLAIN, "no authorizer")
    );
    let host = simulated.net.host(crate::support::CLIENT);
    for port in [9092, 9093] {
        let address = (SERVER, port).into();
        let connect = host.connect(address, SocketOptions::default());
        assert!(connect.await.is_err(), "{port} is not open");
    }
}

#[tokio::test]
async fn ne_037_a_failure_to_bind_names_the_address_and_leaves_nothing_open() {
    // An address that no other test uses: nobody else gets the port while it is let go.
    let apart = std::net::IpAddr::from([127, 0, 0, 37]);
    let taken = std::net::TcpListener::bind((apart, 0)).unwrap();
    let (free, used) = (free_port(), taken.local_addr().unwrap().port());
    let mut config = loopback();
    config.listeners = vec![
        listener("FIRST", LOOPBACK, free),
        listener("SECOND", apart, used),
    ];
    let check = |failed| {
        let Err(StartError::Bind { listener, source }) = failed else {
            panic!("two listeners on one port");
        };
        assert_eq!(listener.as_str(), "SECOND");
        assert_eq!(source.target(), format!("127.0.0.37:{used}"));
        assert_eq!(source.kind(), NetErrorKind::AddressInUse);
    };
    check(open(config.clone()).map(drop));
    // Somebody may still come in between.
    drop(taken);
    let mut server = open(config).unwrap();
    let _taken = std::net::TcpListener::bind((apart, used)).unwrap();
    check(server.start().await);
    std::net::TcpListener::bind((LOOPBACK, free)).expect("the first is closed again");
}

#[tokio::test]
async fn what_cannot_be_served_is_refused_at_opening() {
    let refused = |change: fn(&mut ServerConfig)| {
        let mut config = loopback();
        change(&mut config);
        open(config).err()
    };
    let none = refused(|config| config.listeners.clear());
    assert!(matches!(none, Some(StartError::NoListener)));
    let twice = refused(|config| config.listeners.push(config.listeners[0].clone()));
    assert!(matches!(twice, Some(StartError::SameName { .. })));
    for security in [
        SecurityProtocol::Ssl,
        SecurityProtocol::SaslPlaintext,
        SecurityProtocol::SaslSsl,
    ] {
        let mut config = loopback();
        config.listeners[0].security = security;
        let error = open(config).err().unwrap();
        assert!(error.to_string().contains(security.name()), "{error}");
    }
}

/// A network whose listeners fail to accept now and then.
#[derive(Clone)]
struct Flaky(SimHost);

struct FlakyListener {
    listener: SimListener,
    failures: Vec<i32>,
}

impl Net for Flaky {
    type Stream = SimStream;
    type Listener = FlakyListener;

    fn bind(&self, address: SocketAddr, options: ListenOptions) -> Result<FlakyListener, NetError> {
        const ECONNABORTED: i32 = 103;
        const EMFILE: i32 = 24;
        Ok(FlakyListener {
            listener: self.0.bind(address, options)?,
            failures: vec![ECONNABORTED, EMFILE, ECONNABORTED],
        })
    }

    fn check_free(&self, address: SocketAddr) -> Result<(), NetError> {
        self.0.check_free(address)
    }

    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> impl Future<Output = Result<SimStream, NetError>> + Send {
        self.0.connect(address, options)
    }

    fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> impl Future<Output = Result<Vec<SocketAddr>, NetError>> + Send {
        self.0.resolve(host, port)
    }
}

impl Listener for FlakyListener {
    type Stream = SimStream;

    fn local_address(&self) -> SocketAddr {
        self.listener.local_address()
    }

    async fn accept(&mut self) -> Result<(SimStream, SocketAddr), NetError> {
        if let Some(errno) = self.failures.pop() {
            let source = std::io::Error::from_raw_os_error(errno);
            return Err(NetError::new(NetOperation::Accept, "here", source));
        }
        self.listener.accept().await
    }
}

#[tokio::test]
async fn ne_038_an_error_in_accepting_does_not_end_the_accept_loop() {
    let clock = SimClock::new();
    let net = SimNet::new(clock.clone());
    let config = ServerConfig::new(vec![listener(PLAIN, SERVER, 9092)]);
    let host = Flaky(net.host(SERVER));
    let observer = Arc::new(Unobserved);
    let mut server: Server<_, _, klamm_io::sim::SimFile> =
        Server::open(host, clock.clone(), config, observer).unwrap();
    server.start().await.unwrap();
    let _echo = spawn_echo(server.channel().clone());
    let client = net.host(crate::support::CLIENT);
    let stream = client
        .connect((SERVER, 9092).into(), SocketOptions::default())
        .await;
    let mut client = crate::support::Client::new(stream.unwrap());
    client.ask(1, b"").await;
    assert!(client.is_quiet().await, "without file descriptors it waits");
    clock.advance(Duration::from_millis(100));
    assert_eq!(client.answer().await.0, 1);
    server.stop().await;
}

/// A client that resets at once must not end the accept loop, whether accepting or setting up
/// fails by it.
#[tokio::test]
async fn ne_038_a_socket_that_fails_at_once_does_not_end_the_accept_loop() {
    let mut config = loopback();
    config.listeners[0].options = backlog(128);
    let mut server = open(config).unwrap();
    let address = server.address(PLAIN).unwrap();
    for _ in 0..50 {
        let client = connect_to(address).await;
        sockopt::set_socket_linger(&client.stream, Some(Duration::ZERO)).unwrap();
    }
    server.start().await.unwrap();
    let _echo = spawn_echo(server.channel().clone());
    let mut client = connect(&server).await;
    client.ask(1, b"").await;
    assert_eq!(client.answer().await.0, 1);
    server.stop().await;
}
