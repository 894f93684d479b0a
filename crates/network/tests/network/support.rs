//! A server to talk to, a client to talk with, and requests that carry bytes there and back.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use klamm_io::sim::{SimClock, SimFile, SimHost, SimNet, SimStream};
use klamm_io::{Clock, DiskFile, ListenOptions, Net, RealFile, SocketOptions, SystemClock, TcpNet};
use klamm_network::{
    CompletedRequest, ConnectionContext, ConnectionId, ListenerConfig, Observer, Received,
    RequestChannel, Response, Server, ServerConfig, Unobserved,
};
use klamm_wire::header::RequestHeader;
use klamm_wire::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use klamm_wire::{Encoded, Listener, Offer, encode_request, encode_response};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// The name of the listener that tests use unless they have several.
pub(crate) const PLAIN: &str = "PLAINTEXT";

pub(crate) fn offer() -> Offer {
    Offer {
        listener: Listener::Broker,
        unstable: false,
        telemetry: false,
        apis: klamm_wire::ApiSet::ALL,
    }
}

/// A listener of this name and port on an address.
pub(crate) fn listener(name: &str, address: IpAddr, port: u16) -> ListenerConfig {
    ListenerConfig::plaintext(name, SocketAddr::new(address, port), offer())
}

pub(crate) fn loopback() -> ServerConfig {
    ServerConfig::new(vec![listener(PLAIN, [127, 0, 0, 1].into(), 0)])
}

pub(crate) type RealServer = Server<TcpNet, SystemClock, RealFile>;

/// A server on loopback, with whoever is told.
pub(crate) async fn start_observed(
    config: ServerConfig,
    observer: Arc<dyn Observer>,
) -> RealServer {
    let mut server = Server::open(TcpNet, SystemClock, config, observer).unwrap();
    server.start().await.unwrap();
    server
}

pub(crate) async fn start(config: ServerConfig) -> RealServer {
    start_observed(config, Arc::new(Unobserved)).await
}

/// Connects over loopback.
pub(crate) async fn connect(server: &RealServer) -> Client<TcpStream> {
    connect_to(server.address(PLAIN).unwrap()).await
}

pub(crate) async fn connect_to(address: SocketAddr) -> Client<TcpStream> {
    let stream = TcpNet.connect(address, SocketOptions::default()).await;
    Client::new(stream.unwrap())
}

/// A server and a client's host, simulated.
pub(crate) struct Simulated {
    pub(crate) net: SimNet,
    pub(crate) clock: SimClock,
    pub(crate) server: Server<SimHost, SimClock, SimFile>,
    pub(crate) channel: RequestChannel<SimFile>,
    pub(crate) told: Arc<Told>,
}

pub(crate) const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
pub(crate) const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

impl Simulated {
    /// Opens a server that has one listener, changed as `change` wants.
    pub(crate) fn open(change: impl FnOnce(&mut ServerConfig)) -> Self {
        let clock = SimClock::new();
        let net = SimNet::new(clock.clone());
        let mut config = ServerConfig::new(vec![listener(PLAIN, SERVER, 9092)]);
        change(&mut config);
        let told = Arc::new(Told::default());
        let observer = Arc::clone(&told) as Arc<dyn Observer>;
        let server = Server::open(net.host(SERVER), clock.clone(), config, observer).unwrap();
        Self {
            net,
            clock,
            channel: server.channel().clone(),
            server,
            told,
        }
    }

    /// As [`Self::open`], and starts it.
    pub(crate) async fn start(change: impl FnOnce(&mut ServerConfig)) -> Self {
        let mut simulated = Self::open(change);
        simulated.server.start().await.unwrap();
        simulated
    }

    pub(crate) async fn connect(&self) -> Client<SimStream> {
        self.connect_from(CLIENT, 9092).await
    }

    pub(crate) async fn connect_from(&self, host: IpAddr, port: u16) -> Client<SimStream> {
        let address = SocketAddr::new(SERVER, port);
        let host = self.net.host(host);
        let stream = host.connect(address, SocketOptions::default()).await;
        Client::new(stream.unwrap())
    }

    /// Lets everything happen that can without the clock moving.
    pub(crate) async fn settle(&self) {
        settle().await;
    }

    /// Moves the clock, stopping wherever somebody sleeps until.
    pub(crate) async fn pass(&self, time: Duration) {
        let until = self.clock.now() + time;
        settle().await;
        while let Some(next) = self.clock.next_deadline().filter(|next| *next <= until) {
            self.clock.advance_to(next);
            settle().await;
        }
        self.clock.advance_to(until);
        settle().await;
    }

    /// The next request, which must be there by now.
    pub(crate) async fn taken(&self) -> Received<SimFile> {
        self.settle().await;
        self.channel.try_recv().expect("a request has come")
    }

    pub(crate) fn live(&self) -> u32 {
        self.server.connections(PLAIN).unwrap()
    }
}

pub(crate) async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// What an observer was told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) opened: Mutex<Vec<ConnectionId>>,
    pub(crate) input_ended: Mutex<Vec<ConnectionId>>,
    pub(crate) closed: Mutex<Vec<ConnectionId>>,
    pub(crate) refused: Mutex<Vec<ConnectionId>>,
    /// Those that are open without being served.
    pub(crate) held: Mutex<Vec<ConnectionId>>,
    pub(crate) completed: Mutex<Vec<CompletedRequest>>,
}

impl Observer for Told {
    fn connection_opened(&self, context: &ConnectionContext) {
        self.opened.lock().push(context.id);
    }

    fn input_ended(&self, context: &ConnectionContext) {
        self.input_ended.lock().push(context.id);
    }

    fn connection_closed(&self, context: &ConnectionContext) {
        self.closed.lock().push(context.id);
    }

    fn connection_refused(&self, context: &ConnectionContext) {
        self.refused.lock().push(context.id);
    }

    fn connection_held(&self, context: &ConnectionContext) {
        self.held.lock().push(context.id);
    }

    fn held_connection_closed(&self, context: &ConnectionContext) {
        let mut held = self.held.lock();
        let position = held.iter().position(|it| *it == context.id);
        held.swap_remove(position.expect("it is told of what it was told of"));
    }

    fn request_completed(&self, _: &ConnectionContext, request: &CompletedRequest) {
        self.completed.lock().push(*request);
    }
}

/// One end of a connection.
pub(crate) struct Client<S> {
    pub(crate) stream: S,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Asks with this correlation id and payload.
    pub(crate) async fn ask(&mut self, correlation_id: i32, payload: &[u8]) {
        self.send(&request(correlation_id, payload)).await;
    }

    /// The next frame.
    pub(crate) async fn frame(&mut self) -> std::io::Result<Bytes> {
        let len = self.stream.read_u32().await?;
        let mut frame = vec![0; len as usize];
        self.stream.read_exact(&mut frame).await?;
        Ok(frame.into())
    }

    /// The next answer: correlation id and payload.
    pub(crate) async fn answer(&mut self) -> (i32, Bytes) {
        let frame = self.frame().await.unwrap();
        let (header, response) =
            klamm_wire::decode_response::<SaslAuthenticateRequest>(frame, 0).unwrap();
        (header.correlation_id.get(), response.auth_bytes)
    }

    /// Waits until the server closes, which sends nothing more.
    pub(crate) async fn closed(&mut self) {
        let mut rest = Vec::new();
        // A close with bytes unread is a reset.
        _ = self.stream.read_to_end(&mut rest).await;
        assert_eq!(rest, b"", "nothing more was expected");
    }
}

impl Client<SimStream> {
    /// Nothing has come, and the connection is open.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        settle().await;
        let mut byte = [0];
        tokio::select! {
            biased;
            _ = self.stream.read(&mut byte) => false,
            () = settle() => true,
        }
    }
}

/// A whole frame that carries a payload. `SaslAuthenticate` v0 serves as the carrier: one field of
/// bytes there, one back, and no handler here that would look at it.
pub(crate) fn request(correlation_id: i32, payload: &[u8]) -> Vec<u8> {
    request_of(correlation_id, Some("tester"), payload)
}

pub(crate) fn request_of(correlation_id: i32, client_id: Option<&str>, payload: &[u8]) -> Vec<u8> {
    let client_id = client_id.map(Into::into);
    let header = RequestHeader::of::<SaslAuthenticateRequest>(0, correlation_id.into(), client_id);
    let request = SaslAuthenticateRequest {
        auth_bytes: Bytes::copy_from_slice(payload),
        ..SaslAuthenticateRequest::default()
    };
    let encoded = encode_request(&header, &request).unwrap();
    encoded.into_bytes().unwrap().to_vec()
}

pub(crate) fn payload<F>(received: &Received<F>) -> Bytes {
    let request: SaslAuthenticateRequest = received.request.frame.decode().unwrap();
    request.auth_bytes
}

pub(crate) fn correlation_id<F>(received: &Received<F>) -> i32 {
    received.request.frame.header.correlation_id.get()
}

/// The answer to a request that carries this payload.
pub(crate) fn answer_to<F>(received: &Received<F>, payload: impl Into<Bytes>) -> Encoded {
    encoded_answer(correlation_id(received), payload)
}

pub(crate) fn encoded_answer(correlation_id: i32, payload: impl Into<Bytes>) -> Encoded {
    let response = SaslAuthenticateResponse {
        auth_bytes: payload.into(),
        ..SaslAuthenticateResponse::default()
    };
    encode_response(correlation_id.into(), &response, 0).unwrap()
}

/// Sends the payload back.
pub(crate) fn echo<F>(received: Received<F>) {
    let answer = answer_to(&received, payload(&received));
    received.responder.send(Response::new(answer));
}

/// A task that sends every payload back, until it is dropped.
pub(crate) fn spawn_echo<F: DiskFile>(channel: RequestChannel<F>) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            echo(channel.next().await);
        }
    })
}

pub(crate) fn backlog(backlog: u32) -> ListenOptions {
    ListenOptions {
        backlog,
        ..ListenOptions::default()
    }
}

/// Tries until it holds, for what other threads bring about; fails after ten seconds.
pub(crate) async fn eventually(mut holds: impl FnMut() -> bool) {
    let end = SystemClock.now() + Duration::from_secs(10);
    while !holds() {
        assert!(SystemClock.now() < end, "it did not come about");
        let soon = SystemClock.now() + Duration::from_millis(2);
        SystemClock.sleep_until(Some(soon)).await;
    }
}
