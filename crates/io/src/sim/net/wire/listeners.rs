//! Listening, and how connections come about.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::task::Context;
use std::time::Instant;

use super::{Connection, ConnectionId, End, ListenerId, Progress, Queue, Wire};

/// Where a host begins to look for a free port.
const FIRST_FREE_PORT: u16 = 49_152;

impl Wire {
    pub(in crate::sim::net) fn listen(
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

    pub(in crate::sim::net) fn stop_listening(
        &mut self,
        id: ListenerId,
        address: SocketAddr,
        now: Instant,
    ) {
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
    pub(in crate::sim::net) fn arrive(
        &mut self,
        from: IpAddr,
        to: SocketAddr,
    ) -> Progress<io::Result<End>> {
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

    pub(in crate::sim::net) fn accept(
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
}
