//! [`ConnectionContext`]: whose request it is and how it came.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use bytestring::ByteString;
use klamm_wire::{Offer, SecurityProtocol};
use parking_lot::Mutex;

/// The name of a listener, such as `PLAINTEXT` or `INTERNAL`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListenerName(Arc<str>);

impl ListenerName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ListenerName {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl From<String> for ListenerName {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for ListenerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// In whose name a connection asks. Displayed as `User:ANONYMOUS`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    /// What it names, mostly `User`.
    pub kind: ByteString,
    /// The name.
    pub name: ByteString,
}

impl Principal {
    /// Whoever did not log in.
    pub const fn anonymous() -> Self {
        Self {
            kind: ByteString::from_static("User"),
            name: ByteString::from_static("ANONYMOUS"),
        }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.name)
    }
}

/// What the client at the other end says it is, in ApiVersions from v3 on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientSoftware {
    /// Such as `librdkafka`.
    pub name: ByteString,
    /// Such as `2.8.0`.
    pub version: ByteString,
}

impl ClientSoftware {
    /// What stands for a client that did not say: `unknown`, twice.
    pub const fn unknown() -> Self {
        Self {
            name: ByteString::from_static("unknown"),
            version: ByteString::from_static("unknown"),
        }
    }
}

/// Tells a connection from every other one that its server has or had.
///
/// The index alone does so; the rest is for people. Displayed as
/// `127.0.0.1:9092-127.0.0.1:51034-0-17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId {
    /// Where it was accepted.
    pub local: SocketAddr,
    /// Where it comes from.
    pub peer: SocketAddr,
    /// The number of its listener, in the order of the configuration.
    pub listener: usize,
    /// Rises with each connection of the server and is never used again.
    pub index: u64,
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            local,
            peer,
            listener,
            index,
        } = self;
        write!(f, "{local}-{peer}-{listener}-{index}")
    }
}

/// Whose requests come over a connection, and how; shared by all of them.
#[derive(Debug)]
pub struct ConnectionContext {
    /// The connection.
    pub id: ConnectionId,
    /// The listener that accepted it.
    pub listener: ListenerName,
    /// How it is secured.
    pub security: SecurityProtocol,
    /// Which requests its listener takes; what ApiVersions is answered from.
    pub offer: Offer,
    /// In whose name it asks.
    pub principal: Principal,
    /// Whether it came by the listener that brokers use among themselves.
    pub privileged: bool,
    /// Held for a look or a change only. Nobody else is called under it.
    software: Mutex<ClientSoftware>,
}

impl ConnectionContext {
    /// A connection whose client has not said yet what it is. The server makes these; others do
    /// for tests of their handlers.
    pub fn new(
        id: ConnectionId,
        listener: ListenerName,
        security: SecurityProtocol,
        offer: Offer,
    ) -> Self {
        Self {
            id,
            listener,
            security,
            offer,
            principal: Principal::anonymous(),
            privileged: false,
            software: Mutex::new(ClientSoftware::unknown()),
        }
    }

    /// The address of the peer.
    pub const fn peer(&self) -> SocketAddr {
        self.id.peer
    }

    /// What the client said it is; [`ClientSoftware::unknown`] until then.
    pub fn client_software(&self) -> ClientSoftware {
        self.software.lock().clone()
    }

    /// Keeps what the client said it is, for all later requests of the connection. Called by
    /// whoever answers ApiVersions, with names that it has checked, before it answers.
    pub fn set_client_software(&self, software: ClientSoftware) {
        *self.software.lock() = software;
    }
}
