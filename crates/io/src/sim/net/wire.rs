//! [`Wire`]: the connections and links of a simulated network, as one state.
//!
//! Nothing here waits: a call does what can be done now, or says what it waits for, and whoever
//! is to be woken is noted in [`Wire::woken`] for the caller to wake when it has left the lock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};

/// What a connection keeps in each direction before the writer has to wait.
const BUFFER_BYTES: usize = 64 << 10;

/// Where a host begins to look for a free port.
const FIRST_FREE_PORT: u16 = 49_152;

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

impl Pipe {
    fn is_reset(&self) -> bool {
        matches!(self.items.back(), Some(item) if matches!(item.what, What::Reset))
    }

    /// When the other side sees the reset, where one is under way or there.
    fn reset_arrives(&self) -> Option<Instant> {
        let last = self.items.back().filter(|_| self.is_reset());
        last.and_then(|item| item.arrives)
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

    // Links and hosts.

    pub(super) fn latency(&self, from: IpAddr, to: IpAddr) -> Duration {
        let own = self.links.get(&(from, to)).and_then(|link| link.latency);
        match own {
            Some(latency) => latency,
            None if from == to => Duration::ZERO,
            None => self.latency,
        }
    }

    pub(super) fn set_latency(&mut self, from: IpAddr, to: IpAddr, latency: Duration) {
        self.links.entry((from, to)).or_default().latency = Some(latency);
    }

    pub(super) fn holds(&self, from: IpAddr, to: IpAddr) -> bool {
        let is_cut = self.links.get(&(from, to)).is_some_and(|link| link.is_cut);
        is_cut || self.down.contains(&from) || self.down.contains(&to)
    }

    pub(super) fn cut(&mut self, from: IpAddr, to: IpAddr, now: Instant) {
        self.links.entry((from, to)).or_default().is_cut = true;
        self.hold_back(from, to, now);
    }

    pub(super) fn heal(&mut self, from: IpAddr, to: IpAddr, now: Instant) {
        self.links.entry((from, to)).or_default().is_cut = false;
        self.let_go(from, to, now);
    }

    pub(super) fn reset_after_bytes(&mut self, from: IpAddr, to: IpAddr, count: usize) {
        self.links.entry((from, to)).or_default().reset_after_bytes = Some(count);
    }

    /// The host goes without a word: what it sent stays under way, and its peers hear nothing.
    pub(super) fn vanish(&mut self, host: IpAddr, now: Instant) {
        self.down.insert(host);
        self.listeners.retain(|address, queue| {
            if address.ip() == host {
                self.woken.extend(queue.acceptor.take());
            }
            address.ip() != host
        });
        for (from, to) in self.links_of(host) {
            self.hold_back(from, to, now);
        }
        for connection in self.connections.values_mut() {
            for side in 0..2 {
                if connection.addresses[side].ip() == host {
                    connection.is_closed[side] = true;
                    self.woken.extend(connection.pipes[1 - side].reader.take());
                    self.woken.extend(connection.pipes[side].writer.take());
                }
            }
        }
        self.connections.retain(|_, it| it.is_closed != [true; 2]);
    }

    /// The host is back, without any of its connections: who sends on one of them is told so.
    pub(super) fn come_back(&mut self, host: IpAddr, now: Instant) {
        self.down.remove(&host);
        for (from, to) in self.links_of(host) {
            self.let_go(from, to, now);
        }
    }

    /// The directions of open connections that begin or end at a host.
    fn links_of(&self, host: IpAddr) -> BTreeSet<(IpAddr, IpAddr)> {
        let of_connection = |connection: &Connection| {
            let [a, b] = connection.addresses.map(|address| address.ip());
            [(a, b), (b, a)]
        };
        self.connections
            .values()
            .flat_map(of_connection)
            .filter(|(from, to)| *from == host || *to == host)
            .collect()
    }

    /// What is under way from one host to another no longer arrives.
    fn hold_back(&mut self, from: IpAddr, to: IpAddr, now: Instant) {
        for end in self.ends(from, to) {
            for item in &mut self.pipe_mut(end).items {
                item.arrives = item.arrives.filter(|arrives| *arrives <= now);
            }
        }
    }

    /// What was held arrives after the latency of the link.
    fn let_go(&mut self, from: IpAddr, to: IpAddr, now: Instant) {
        if self.holds(from, to) {
            return;
        }
        let arrives = now + self.latency(from, to);
        for end in self.ends(from, to) {
            let receiver_is_closed = self.is_closed(end.other());
            let pipe = self.pipe_mut(end);
            for item in &mut pipe.items {
                item.arrives.get_or_insert(arrives);
            }
            let woken = [pipe.reader.take(), pipe.writer.take()];
            self.woken.extend(woken.into_iter().flatten());
            if receiver_is_closed && self.pipe_mut(end).len > 0 {
                self.discard(end, now);
            }
        }
    }

    /// The sides of open connections that send from one host to another.
    fn ends(&self, from: IpAddr, to: IpAddr) -> Vec<End> {
        let mut ends = Vec::new();
        for (id, connection) in &self.connections {
            for side in 0..2 {
                let ips = [side, 1 - side].map(|side| connection.addresses[side].ip());
                if ips == [from, to] {
                    ends.push(End {
                        connection: *id,
                        side,
                    });
                }
            }
        }
        ends
    }

    pub(super) fn reset_all(&mut self, a: IpAddr, b: IpAddr, now: Instant) {
        let mut ends = self.ends(a, b);
        ends.extend(self.ends(b, a));
        for end in ends {
            self.reset(end, now);
        }
    }

    // Listening and connecting.

    pub(super) fn listen(
        &mut self,
        host: IpAddr,
        wanted: SocketAddr,
        backlog: u32,
    ) -> io::Result<(ListenerId, SocketAddr)> {
        if self.down.contains(&host) {
            return Err(ErrorKind::NetworkDown.into());
        }
        if wanted.ip() != host && !wanted.ip().is_unspecified() {
            return Err(ErrorKind::AddrNotAvailable.into());
        }
        let port = match wanted.port() {
            0 => self.free_port(host),
            port => port,
        };
        let address = SocketAddr::new(host, port);
        if self.listeners.contains_key(&address) {
            return Err(ErrorKind::AddrInUse.into());
        }
        let listener = ListenerId(self.next_listener);
        self.next_listener += 1;
        self.listeners.insert(
            address,
            Queue {
                listener,
                backlog: usize::try_from(backlog).unwrap_or(usize::MAX).max(1),
                waiting: VecDeque::new(),
                acceptor: None,
            },
        );
        Ok((listener, address))
    }

    fn free_port(&mut self, host: IpAddr) -> u16 {
        let next = self.next_port.entry(host).or_insert(FIRST_FREE_PORT);
        loop {
            let port = *next;
            *next = next.checked_add(1).unwrap_or(FIRST_FREE_PORT);
            if !self.listeners.contains_key(&SocketAddr::new(host, port)) {
                return port;
            }
        }
    }

    pub(super) fn stop_listening(&mut self, id: ListenerId, address: SocketAddr, now: Instant) {
        if self.queue(id, address).is_none() {
            return;
        }
        for end in self
            .listeners
            .remove(&address)
            .into_iter()
            .flat_map(|it| it.waiting)
        {
            self.reset(end, now);
            self.close(end, now);
        }
    }

    /// `None` where the listener went down with its host.
    fn queue(&mut self, id: ListenerId, address: SocketAddr) -> Option<&mut Queue> {
        let queue = self.listeners.get_mut(&address)?;
        (queue.listener == id).then_some(queue)
    }

    /// A wish to connect arrives at an address. `Wait` where the listener has no room for it.
    pub(super) fn arrive(&mut self, from: IpAddr, to: SocketAddr) -> Progress<io::Result<End>> {
        if self.holds(from, to.ip()) {
            return Progress::Wait(None);
        }
        let client = SocketAddr::new(from, self.free_port(from));
        let Some(queue) = self.listeners.get_mut(&to) else {
            return Progress::Done(Err(ErrorKind::ConnectionRefused.into()));
        };
        if queue.waiting.len() >= queue.backlog {
            return Progress::Wait(None);
        }
        let connection = ConnectionId(self.next_connection);
        self.next_connection += 1;
        let [near, far] = [0, 1].map(|side| End { connection, side });
        queue.waiting.push_back(far);
        self.woken.extend(queue.acceptor.take());
        self.connections.insert(
            connection,
            Connection {
                addresses: [client, to],
                is_closed: [false; 2],
                pipes: Default::default(),
            },
        );
        Progress::Done(Ok(near))
    }

    pub(super) fn accept(
        &mut self,
        id: ListenerId,
        address: SocketAddr,
        context: &Context<'_>,
    ) -> Progress<io::Result<(End, SocketAddr)>> {
        let Some(queue) = self.queue(id, address) else {
            return Progress::Done(Err(ErrorKind::NetworkDown.into()));
        };
        let Some(end) = queue.waiting.pop_front() else {
            queue.acceptor = Some(context.waker().clone());
            return Progress::Wait(None);
        };
        let peer = self.connections[&end.connection].addresses[0];
        Progress::Done(Ok((end, peer)))
    }

    // An open connection. It stays in the map until both sides are closed.

    fn is_closed(&self, end: End) -> bool {
        let connection = self.connections.get(&end.connection);
        connection.is_none_or(|connection| connection.is_closed[end.side])
    }

    /// What this end has sent.
    fn pipe_mut(&mut self, end: End) -> &mut Pipe {
        let connection = self.connections.get_mut(&end.connection);
        &mut connection.expect("one side is open").pipes[end.side]
    }

    fn hosts(&self, end: End) -> (IpAddr, IpAddr) {
        let addresses = &self.connections[&end.connection].addresses;
        (addresses[end.side].ip(), addresses[1 - end.side].ip())
    }

    /// Reads what has arrived at this end; 0 bytes at the end of the stream.
    pub(super) fn read(
        &mut self,
        end: End,
        wanted: usize,
        now: Instant,
        context: &Context<'_>,
    ) -> Progress<io::Result<Bytes>> {
        if self.is_closed(end) {
            return Progress::Done(Err(ErrorKind::ConnectionReset.into()));
        }
        let wanted = wanted.min(self.segment_bytes_max);
        let pipe = self.pipe_mut(end.other());
        let arrives = pipe.items.front().and_then(|item| item.arrives);
        let front = match arrives {
            Some(arrives) if arrives <= now => pipe.items.front_mut(),
            _ => None,
        };
        let Some(front) = front else {
            pipe.reader = Some(context.waker().clone());
            return Progress::Wait(arrives);
        };
        match &mut front.what {
            What::Finish => Progress::Done(Ok(Bytes::new())),
            What::Reset => Progress::Done(Err(ErrorKind::ConnectionReset.into())),
            What::Bytes(bytes) => {
                let read = bytes.split_to(wanted.min(bytes.len()));
                if !bytes.has_remaining() {
                    pipe.items.pop_front();
                }
                pipe.len -= read.len();
                let writer = pipe.writer.take();
                self.woken.extend(writer);
                Progress::Done(Ok(read))
            }
        }
    }

    /// Sends some of the bytes, at least one, and says how many.
    pub(super) fn write(
        &mut self,
        end: End,
        bytes: &[u8],
        now: Instant,
        context: &Context<'_>,
    ) -> Progress<io::Result<usize>> {
        if self.is_closed(end) {
            return Progress::Done(Err(ErrorKind::ConnectionReset.into()));
        }
        let reset_arrives = self.pipe_mut(end.other()).reset_arrives();
        let has_arrived = reset_arrives.is_some_and(|arrives| arrives <= now);
        if has_arrived || self.pipe_mut(end).is_reset() {
            return Progress::Done(Err(ErrorKind::ConnectionReset.into()));
        }
        if self.pipe_mut(end).is_finished {
            return Progress::Done(Err(ErrorKind::BrokenPipe.into()));
        }
        let segment_bytes_max = self.segment_bytes_max;
        let (from, to) = self.hosts(end);
        let pipe = self.pipe_mut(end);
        let room = BUFFER_BYTES - pipe.len;
        if room == 0 {
            pipe.writer = Some(context.waker().clone());
            return Progress::Wait(reset_arrives);
        }
        let mut count = bytes.len().min(room).min(segment_bytes_max);
        let link = self.links.entry((from, to)).or_default();
        let mut breaks = false;
        if let Some(left) = &mut link.reset_after_bytes {
            count = count.min(*left);
            *left -= count;
            breaks = *left == 0;
        }
        if breaks {
            link.reset_after_bytes = None;
        }
        self.send(
            end,
            What::Bytes(Bytes::copy_from_slice(&bytes[..count])),
            now,
        );
        if self.is_closed(end.other()) && !self.holds(from, to) {
            self.discard(end, now);
        }
        if breaks {
            self.reset(end, now);
            self.reset(end.other(), now);
        }
        if count == 0 {
            return Progress::Done(Err(ErrorKind::ConnectionReset.into()));
        }
        Progress::Done(Ok(count))
    }

    /// This end sends no more; it may still read.
    pub(super) fn finish(&mut self, end: End, now: Instant) {
        if !self.is_closed(end) && !self.pipe_mut(end).is_finished {
            self.send(end, What::Finish, now);
        }
    }

    /// This end is dropped. The other reads what was sent, then the end of the stream, or a reset
    /// where bytes for this end were never read.
    pub(super) fn close(&mut self, end: End, now: Instant) {
        if self.is_closed(end) {
            return;
        }
        let unread = self.pipe_mut(end.other()).items.front();
        match unread.map(|item| (&item.what, item.arrives)) {
            Some((What::Bytes(_), Some(arrives))) if arrives <= now => {
                self.send(end, What::Reset, now);
            }
            Some((What::Bytes(_), Some(arrives))) => {
                self.finish(end, now);
                self.send(end, What::Reset, arrives);
            }
            // What a cut link holds is answered when it is let go.
            _ => self.finish(end, now),
        }
        if let Some(connection) = self.connections.get_mut(&end.connection) {
            connection.is_closed[end.side] = true;
            if connection.is_closed == [true; 2] {
                self.connections.remove(&end.connection);
            }
        }
    }

    /// The connection is gone for the other side of `end`, after what has been sent.
    fn reset(&mut self, end: End, now: Instant) {
        if self.connections.contains_key(&end.connection) {
            self.send(end, What::Reset, now);
        }
    }

    /// What `end` sends meets a closed side, and a reset comes back. The bytes stay where they
    /// are, so that a writer that has filled its buffer waits for the reset.
    fn discard(&mut self, end: End, now: Instant) {
        let (from, to) = self.hosts(end);
        let there = self.latency(from, to);
        self.send(end.other(), What::Reset, now + there);
    }

    /// Puts something on the way from this end.
    fn send(&mut self, end: End, what: What, now: Instant) {
        let (from, to) = self.hosts(end);
        let arrives = (!self.holds(from, to)).then(|| now + self.latency(from, to));
        let pipe = self.pipe_mut(end);
        if pipe.is_reset() {
            return;
        }
        match &what {
            What::Bytes(bytes) if bytes.is_empty() => return,
            What::Bytes(bytes) => pipe.len += bytes.len(),
            What::Finish | What::Reset => pipe.is_finished = true,
        }
        // A link that became faster lets nothing overtake.
        let after = pipe.items.back().and_then(|item| item.arrives);
        pipe.items.push_back(Item {
            arrives: arrives.max(after.filter(|_| arrives.is_some())),
            what,
        });
        let reader = pipe.reader.take();
        // The other side's writer learns of a reset, and when it arrives.
        let writer = self.pipe_mut(end.other()).writer.take();
        self.woken.extend(reader.into_iter().chain(writer));
    }
}
