//! [`Harness`]: a [`NetworkClient`] whose network and time are a test's.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use klamm_io::Clock;
use klamm_io::sim::SimClock;
use klamm_primitives::BrokerId;
use klamm_wire::header::RequestHeader;
use klamm_wire::messages::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};
use klamm_wire::messages::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponseTopic,
};
use klamm_wire::{
    ApiKey, ApiSet, Encoded, Listener, Message, Offer, Request, RequestFrame, Versions,
    encode_response,
};

use crate::answer::Answer;
use crate::bootstrap::BootstrapAddress;
use crate::config::ClientConfig;
use crate::network_client::{Action, ConnectionId, Event, NetworkClient};
use crate::node::NodeId;
use crate::trouble::{Loss, LossKind};

/// A client, the time, and what it has asked for. Nothing happens by itself: what is written is
/// reported as written at once, everything else is up to the test.
#[derive(Debug)]
pub struct Harness {
    /// The client.
    pub client: NetworkClient,
    /// The time; moved by [`Self::advance`].
    pub now: Instant,
    /// Hosts that are to be resolved.
    pub resolving: VecDeque<(ConnectionId, String, u16)>,
    /// Connections that are to be made.
    pub connecting: VecDeque<(ConnectionId, SocketAddr)>,
    /// Requests that were written and not looked at yet.
    pub sent: VecDeque<Sent>,
    /// Answers for the guest that were not looked at yet.
    pub answers: VecDeque<Answer>,
    /// Connections that are to be closed.
    pub closed: VecDeque<ConnectionId>,
    /// What every node says that it takes.
    pub api_versions: ApiVersionsResponse,
    /// Whether what is written is reported as written.
    pub reports_written: bool,
    /// By port, which tells the node, the newest connection.
    connections: BTreeMap<NodeId, ConnectionId>,
}

/// A request that was written.
#[derive(Debug, Clone)]
pub struct Sent {
    /// On which connection.
    pub connection: ConnectionId,
    /// Header and body.
    pub frame: RequestFrame,
}

impl Sent {
    /// Which request it is.
    pub const fn key(&self) -> ApiKey {
        self.frame.key
    }

    /// Its version.
    pub fn version(&self) -> i16 {
        self.frame.version()
    }

    /// Its header.
    pub const fn header(&self) -> &RequestHeader {
        &self.frame.header
    }

    /// The request.
    ///
    /// # Panics
    /// If it is not `R`.
    pub fn decode<R: Request>(&self) -> R {
        self.frame
            .decode()
            .expect("what the client wrote can be read")
    }

    /// The frame that answers it, size not included.
    ///
    /// # Panics
    /// If the response cannot be written in the request's version.
    pub fn response<R: Request>(&self, response: &R::Response) -> Bytes {
        self.response_in::<R>(response, self.version())
    }

    /// As [`Self::response`], in another version than the request's.
    ///
    /// # Panics
    /// If the response cannot be written in that version.
    pub fn response_in<R: Request>(&self, response: &R::Response, version: i16) -> Bytes {
        let encoded = encode_response(self.header().correlation_id, response, version);
        let mut frame = whole(encoded.expect("the response can be written"));
        frame.advance(4);
        frame
    }
}

fn whole(frame: Encoded) -> Bytes {
    frame.into_bytes().expect("no gap")
}

/// All that this crate can say.
const OFFER: Offer = Offer {
    listener: Listener::Broker,
    unstable: true,
    telemetry: true,
    apis: ApiSet::ALL,
};

impl Harness {
    /// A client that knows one bootstrap address, `boot:9092`.
    pub fn new(config: ClientConfig) -> Self {
        Self::with_seed(config, 7)
    }

    /// As [`Self::new`], with another seed.
    ///
    /// # Panics
    /// Never: the address is legal.
    pub fn with_seed(mut config: ClientConfig, seed: u64) -> Self {
        if config.bootstrap.is_empty() {
            config.bootstrap = BootstrapAddress::parse_list("boot:9092").expect("legal");
        }
        let now = SimClock::new().now();
        Self {
            client: NetworkClient::new(config, seed, now),
            now,
            resolving: VecDeque::new(),
            connecting: VecDeque::new(),
            sent: VecDeque::new(),
            answers: VecDeque::new(),
            closed: VecDeque::new(),
            api_versions: ApiVersionsResponse {
                api_keys: OFFER.api_versions(),
                ..ApiVersionsResponse::default()
            },
            reports_written: true,
            connections: BTreeMap::new(),
        }
    }

    /// A client that knows a cluster of so many nodes, from 0 on, and has no connection to them.
    pub fn with_nodes(config: ClientConfig, count: i32) -> Self {
        let mut harness = Self::new(config);
        harness.bootstrap(&brokers(count), Vec::new());
        harness
    }

    /// Lets the client find the cluster by its bootstrap address, which is then forgotten.
    ///
    /// # Panics
    /// If it does not ask.
    pub fn bootstrap(
        &mut self,
        brokers: &[MetadataResponseBroker],
        topics: Vec<MetadataResponseTopic>,
    ) {
        let node = NodeId::bootstrap(0);
        self.tick();
        self.set_up(node);
        self.tick();
        self.answer_metadata(brokers, topics);
        self.client.close_node(node, self.now);
        self.tick();
        self.closed.clear();
    }

    /// Moves the time, and ticks.
    pub fn advance(&mut self, step: Duration) {
        self.now += step;
        self.tick();
    }

    /// As [`Self::advance`], in milliseconds.
    pub fn advance_ms(&mut self, ms: u64) {
        self.advance(Duration::from_millis(ms));
    }

    /// Handles a tick.
    pub fn tick(&mut self) {
        self.event(Event::Tick);
    }

    /// Handles an event, and sorts what is to be done.
    ///
    /// # Panics
    /// If the client writes what is no request.
    pub fn event(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        let mut actions = Vec::new();
        while let Some(event) = events.pop_front() {
            self.client.handle(self.now, event, &mut actions);
            for action in actions.drain(..) {
                match action {
                    Action::Resolve {
                        connection,
                        host,
                        port,
                    } => (self.resolving).push_back((connection, host.to_string(), port)),
                    Action::Connect {
                        connection,
                        address,
                        ..
                    } => self.connecting.push_back((connection, address)),
                    Action::Write { connection, frame } => {
                        let mut frame = whole(frame);
                        frame.advance(4);
                        let frame = RequestFrame::parse(frame, &OFFER).expect("a request");
                        self.sent.push_back(Sent { connection, frame });
                        if self.reports_written {
                            events.push_back(Event::Written(connection));
                        }
                    }
                    Action::Close(connection) => self.closed.push_back(connection),
                    Action::Answer(answer) => self.answers.push_back(answer),
                }
            }
        }
    }

    /// Makes the connection that the client is starting, up to where it asks for versions; starts
    /// it if need be. Returns it.
    ///
    /// # Panics
    /// If the client does not start one.
    pub fn connect(&mut self, node: NodeId) -> ConnectionId {
        if self.resolving.is_empty() && self.connecting.is_empty() {
            assert!(!self.client.ready(node, self.now));
            self.tick();
        }
        if let Some((connection, host, port)) = self.resolving.pop_front() {
            let last = host.bytes().last().unwrap_or(b'0');
            let address = SocketAddr::from(([10, 0, 0, last], port));
            self.event(Event::Resolved(connection, vec![address]));
        }
        let (connection, _) = self.connecting.pop_front().expect("an attempt to connect");
        self.connections.insert(node, connection);
        self.event(Event::Connected(connection));
        connection
    }

    /// As [`Self::connect`], and tells the client what the node takes, so that it is ready.
    ///
    /// # Panics
    /// If the client does not ask.
    pub fn set_up(&mut self, node: NodeId) -> ConnectionId {
        let connection = self.connect(node);
        let sent = self.sent.pop_back().expect("a question for versions");
        assert_eq!(sent.connection, connection);
        let response = self.api_versions.clone();
        self.respond::<ApiVersionsRequest>(&sent, &response);
        connection
    }

    /// The newest connection of a node.
    ///
    /// # Panics
    /// If there never was one.
    pub fn connection(&self, node: NodeId) -> ConnectionId {
        self.connections[&node]
    }

    /// The answer to a request comes in.
    pub fn respond<R: Request>(&mut self, sent: &Sent, response: &R::Response) {
        let frame = sent.response::<R>(response);
        self.event(Event::Received(sent.connection, frame));
    }

    /// The answer to the metadata request that was sent last.
    ///
    /// # Panics
    /// If there is none.
    pub fn answer_metadata(
        &mut self,
        brokers: &[MetadataResponseBroker],
        topics: Vec<MetadataResponseTopic>,
    ) -> MetadataRequest {
        let at = self
            .sent
            .iter()
            .position(|sent| sent.key() == ApiKey::Metadata);
        let sent = at.and_then(|at| self.sent.remove(at));
        let sent = sent.expect("a metadata request");
        let response = MetadataResponse {
            brokers: brokers.to_vec(),
            topics,
            controller_id: BrokerId::new(0),
            ..MetadataResponse::default()
        };
        self.respond::<MetadataRequest>(&sent, &response);
        sent.decode()
    }

    /// The connection of a node is lost.
    pub fn lose(&mut self, node: NodeId) {
        let connection = self.connection(node);
        self.event(Event::Disconnected(
            connection,
            Loss::new(LossKind::Broken, "reset"),
        ));
    }

    /// The next request that was sent.
    ///
    /// # Panics
    /// If there is none.
    pub fn next_sent(&mut self) -> Sent {
        self.sent.pop_front().expect("a request")
    }

    /// The next answer for the guest.
    ///
    /// # Panics
    /// If there is none.
    pub fn next_answer(&mut self) -> Answer {
        self.answers.pop_front().expect("an answer")
    }

    /// Lets every node list these versions of a request, or none of it.
    pub fn list(&mut self, key: ApiKey, versions: Option<Versions>) {
        let number = key.number();
        let keys = &mut self.api_versions.api_keys;
        keys.retain(|entry| entry.api_key != number);
        keys.extend(versions.map(|versions| ApiVersion::new(key, versions)));
    }
}

/// So many brokers, from id 0 on, at `nodeN:9092`.
pub fn brokers(count: i32) -> Vec<MetadataResponseBroker> {
    let broker = |id| MetadataResponseBroker {
        node_id: BrokerId::new(id),
        host: format!("node{id}").into(),
        port: 9092,
        ..MetadataResponseBroker::default()
    };
    (0..count).map(broker).collect()
}

/// The body of a response, to compare with what came in.
///
/// # Panics
/// If it cannot be written in that version.
pub fn body<M: Message>(message: &M, version: i16) -> Bytes {
    whole(message.encode(version).expect("it can be written"))
}
