//! [`Wire`]: the connections and links of a simulated network, as one state.
//!
//! Nothing here waits: a call does what can be done now, or says what it waits for, and whoever
//! is to be woken is noted in [`Wire::woken`] for the caller to wake when it has left the lock.

mod links;
mod listeners;
mod streams;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::task::Waker;
use std::time::{Duration, Instant};

use bytes::Bytes;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ConnectionId(u64);

/// Tells a listener from an earlier one at the same address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListenerId(u64);

/// One side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) connection: ConnectionId,
    side: usize,
}

/// Whether something was done or has to be waited for.
#[derive(Debug)]
pub(super) enum Progress<T> {
    Done(T),
    /// Wakes when something changes, and should look again at this instant.
    Wait(Option<Instant>),
}

pub(super) struct Wire {
    connections: BTreeMap<ConnectionId, Connection>,
    next_connection: u64,
    listeners: BTreeMap<SocketAddr, Queue>,
    next_listener: u64,
    links: BTreeMap<(IpAddr, IpAddr), Link>,
    /// Of links that were given none.
    pub(super) latency: Duration,
    down: BTreeSet<IpAddr>,
    pub(super) names: BTreeMap<String, Vec<IpAddr>>,
    next_port: BTreeMap<IpAddr, u16>,
    /// Bytes that one read or write moves at most.
    pub(super) segment_bytes_max: usize,
    pub(super) woken: Vec<Waker>,
}

/// From one host to another; the way back is another link.
#[derive(Debug, Default)]
struct Link {
    latency: Option<Duration>,
    is_cut: bool,
    /// Bytes after which the connection that carries them is reset.
    reset_after_bytes: Option<usize>,
}

/// Connections that wait to be accepted.
#[derive(Debug)]
struct Queue {
    listener: ListenerId,
    backlog: usize,
    waiting: VecDeque<End>,
    acceptor: Option<Waker>,
}

#[derive(Debug)]
struct Connection {
    addresses: [SocketAddr; 2],
    /// Whether that side was dropped, or went down with its host.
    is_closed: [bool; 2],
    /// What each side has sent.
    pipes: [Pipe; 2],
}

#[derive(Debug, Default)]
struct Pipe {
    items: VecDeque<Item>,
    /// Bytes in the items.
    len: usize,
    is_finished: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

#[derive(Debug)]
struct Item {
    /// When the other side sees it; `None` while the link holds it.
    arrives: Option<Instant>,
    what: What,
}

#[derive(Debug)]
enum What {
    Bytes(Bytes),
    /// No bytes will follow. Stays at the front when it is reached.
    Finish,
    /// The connection is gone. Stays at the front when it is reached, and is always last.
    Reset,
}

impl End {
    const fn other(self) -> Self {
        Self {
            connection: self.connection,
            side: 1 - self.side,
        }
    }
}

impl Wire {
    pub(super) fn new() -> Self {
        Self {
            connections: BTreeMap::new(),
            next_connection: 0,
            listeners: BTreeMap::new(),
            next_listener: 0,
            links: BTreeMap::new(),
            latency: Duration::ZERO,
            down: BTreeSet::new(),
            names: BTreeMap::new(),
            next_port: BTreeMap::new(),
            segment_bytes_max: usize::MAX,
            woken: Vec::new(),
        }
    }
}
