//! [`ServerConfig`]: where to listen, and how much to take on.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use klamm_io::ListenOptions;
use klamm_wire::{Offer, SecurityProtocol};

use crate::context::ListenerName;

/// What a [`Server`](crate::Server) is opened with.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// At least one, each with a name of its own.
    pub listeners: Vec<ListenerConfig>,
    /// The largest request in bytes, its size field not counted (`socket.request.max.bytes`). A
    /// larger one closes its connection.
    pub request_bytes_max: usize,
    /// Requests that may wait for a handler (`queued.max.requests`); 0 counts as 1.
    pub queued_requests_max: usize,
    /// Bytes of requests that are being read, wait for a handler, or are with one
    /// (`queued.max.request.bytes`); no limit for `None`. Once so many are in use, nothing more is
    /// read until some are free; a single request may exceed what is left.
    pub queued_request_bytes_max: Option<usize>,
    /// Requests of one connection that may be unanswered at a time
    /// (`klamm.requests.per.connection`); 1 is what Apache Kafka does, 0 counts as 1.
    pub requests_per_connection: usize,
    /// How long a connection may go without traffic (`connections.max.idle.ms`); for ever with
    /// `None`.
    pub idle_max: Option<Duration>,
    /// How many connections there may be. Can be changed later.
    pub limits: ConnectionLimits,
}

impl ServerConfig {
    /// Apache Kafka's defaults for these listeners, with five requests a connection.
    pub fn new(listeners: Vec<ListenerConfig>) -> Self {
        Self {
            listeners,
            request_bytes_max: 104_857_600,
            queued_requests_max: 500,
            queued_request_bytes_max: None,
            requests_per_connection: 5,
            idle_max: Some(Duration::from_mins(10)),
            limits: ConnectionLimits::default(),
        }
    }
}

/// One address to listen on.
#[derive(Debug, Clone)]
pub struct ListenerConfig {
    /// Its name, such as `PLAINTEXT`.
    pub name: ListenerName,
    /// Where. Port 0 is bound to a free port when the server is opened; any other port when its
    /// listener starts, so that an open port means one that is served.
    pub address: SocketAddr,
    /// How connections are secured.
    pub security: SecurityProtocol,
    /// Which requests it takes, in which versions.
    pub offer: Offer,
    /// Whether brokers use it among themselves: its requests are privileged, and as long as there
    /// are other listeners its connections count for, but do not wait for, the broker-wide
    /// limits.
    pub inter_broker: bool,
    /// Backlog and buffers.
    pub options: ListenOptions,
    /// Its own `max.connections`.
    pub max_connections: u32,
    /// Its own `max.connection.creation.rate`, per second; no limit for `None`.
    pub max_connection_creation_rate: Option<NonZeroU32>,
}

impl ListenerConfig {
    /// A plaintext listener with a backlog of 50, the system's buffers and no limits of its own.
    pub fn plaintext(name: impl Into<ListenerName>, address: SocketAddr, offer: Offer) -> Self {
        Self {
            name: name.into(),
            address,
            security: SecurityProtocol::Plaintext,
            offer,
            inter_broker: false,
            options: ListenOptions::default(),
            max_connections: u32::MAX,
            max_connection_creation_rate: None,
        }
    }
}

/// How many connections there may be over all listeners, and how fast they may come.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionLimits {
    /// Live connections (`max.connections`). At the limit nobody is refused: the next waits until
    /// one closes.
    pub max_connections: u32,
    /// Live connections of one address (`max.connections.per.ip`). The one too many is closed at
    /// once.
    pub max_connections_per_ip: u32,
    /// Hosts, by name or address, to which another number applies
    /// (`max.connections.per.ip.overrides`).
    pub max_connections_per_ip_overrides: Vec<(String, u32)>,
    /// New connections per second (`max.connection.creation.rate`), no limit for `None`. Those
    /// above it wait.
    pub max_connection_creation_rate: Option<NonZeroU32>,
    /// New connections per second of one address (the default of the quota
    /// `connection_creation_rate`), no limit for `None`. One above it is not served, and is
    /// closed when it could have been.
    pub connection_creation_rate_per_ip: Option<NonZeroU32>,
    /// Addresses to which another such rate applies.
    pub connection_creation_rate_per_ip_overrides: Vec<(IpAddr, NonZeroU32)>,
}

impl Default for ConnectionLimits {
    /// No limit.
    fn default() -> Self {
        Self {
            max_connections: u32::MAX,
            max_connections_per_ip: u32::MAX,
            max_connections_per_ip_overrides: Vec::new(),
            max_connection_creation_rate: None,
            connection_creation_rate_per_ip: None,
            connection_creation_rate_per_ip_overrides: Vec::new(),
        }
    }
}
