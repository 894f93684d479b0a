//! What goes over a connection. It stays in the map until both sides are closed.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::task::Context;
use std::time::Instant;

use bytes::{Buf, Bytes};

use super::{End, Item, Pipe, Progress, What, Wire};

/// What a connection keeps in each direction before the writer has to wait.
const BUFFER_BYTES: usize = 64 << 10;

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
    pub(super) fn is_closed(&self, end: End) -> bool {
        let connection = self.connections.get(&end.connection);
        connection.is_none_or(|connection| connection.is_closed[end.side])
    }

    /// What this end has sent.
    pub(super) fn pipe_mut(&mut self, end: End) -> &mut Pipe {
        let connection = self.connections.get_mut(&end.connection);
        &mut connection.expect("one side is open").pipes[end.side]
    }

    fn hosts(&self, end: End) -> (IpAddr, IpAddr) {
        let addresses = &self.connections[&end.connection].addresses;
        (addresses[end.side].ip(), addresses[1 - end.side].ip())
    }

    /// Reads what has arrived at this end; 0 bytes at the end of the stream.
    pub(in crate::sim::net) fn read(
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
    pub(in crate::sim::net) fn write(
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
    pub(in crate::sim::net) fn finish(&mut self, end: End, now: Instant) {
        if !self.is_closed(end) && !self.pipe_mut(end).is_finished {
            self.send(end, What::Finish, now);
        }
    }

    /// This end is dropped. The other reads what was sent, then the end of the stream, or a reset
    /// where bytes for this end were never read.
    pub(in crate::sim::net) fn close(&mut self, end: End, now: Instant) {
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
    pub(super) fn reset(&mut self, end: End, now: Instant) {
        if self.connections.contains_key(&end.connection) {
            self.send(end, What::Reset, now);
        }
    }

    /// What `end` sends meets a closed side, and a reset comes back. The bytes stay where they
    /// are, so that a writer that has filled its buffer waits for the reset.
    pub(super) fn discard(&mut self, end: End, now: Instant) {
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
