//! Links and hosts: how long things take, and what holds them up.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::{Connection, End, Wire};

impl Wire {
    pub(in crate::sim::net) fn latency(&self, from: IpAddr, to: IpAddr) -> Duration {
        let own = self.links.get(&(from, to)).and_then(|link| link.latency);
        match own {
            Some(latency) => latency,
            None if from == to => Duration::ZERO,
            None => self.latency,
        }
    }

    pub(in crate::sim::net) fn set_latency(&mut self, from: IpAddr, to: IpAddr, latency: Duration) {
        self.links.entry((from, to)).or_default().latency = Some(latency);
    }

    pub(in crate::sim::net) fn holds(&self, from: IpAddr, to: IpAddr) -> bool {
        let is_cut = self.links.get(&(from, to)).is_some_and(|link| link.is_cut);
        is_cut || self.down.contains(&from) || self.down.contains(&to)
    }

    pub(in crate::sim::net) fn cut(&mut self, from: IpAddr, to: IpAddr, now: Instant) {
        self.links.entry((from, to)).or_default().is_cut = true;
        self.hold_back(from, to, now);
    }

    pub(in crate::sim::net) fn heal(&mut self, from: IpAddr, to: IpAddr, now: Instant) {
        self.links.entry((from, to)).or_default().is_cut = false;
        self.let_go(from, to, now);
    }

    pub(in crate::sim::net) fn reset_after_bytes(
        &mut self,
        from: IpAddr,
        to: IpAddr,
        count: usize,
    ) {
        self.links.entry((from, to)).or_default().reset_after_bytes = Some(count);
    }

    /// The host goes without a word: what it sent stays under way, and its peers hear nothing.
    pub(in crate::sim::net) fn vanish(&mut self, host: IpAddr, now: Instant) {
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
    pub(in crate::sim::net) fn come_back(&mut self, host: IpAddr, now: Instant) {
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

    pub(in crate::sim::net) fn reset_all(&mut self, a: IpAddr, b: IpAddr, now: Instant) {
        let mut ends = self.ends(a, b);
        ends.extend(self.ends(b, a));
        for end in ends {
            self.reset(end, now);
        }
    }
}
