//! [`Connection`]: one socket, from the look-up of its host to its end.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use klamm_io::{Net, NetError};
use klamm_wire::{Encoded, FrameCodec};
use tokio_util::codec::Decoder;
use tokio_util::io::poll_read_buf;

use super::outbound::{Outbound, Refused};
use super::ready_set::ConnectionWaker;
use crate::network_client::{ConnectionId, Event};
use crate::trouble::{Loss, LossKind, in_words};

type Boxed<T> = Pin<Box<dyn Future<Output = Result<T, NetError>> + Send>>;

/// A read asks for this much.
const READ_BYTES: usize = 16 << 10;

/// What one connection may bring in a turn before the others have theirs.
const TURN_BYTES: usize = 64 << 10;

/// One socket, or what is to become one.
pub(super) struct Connection<N: Net> {
    id: ConnectionId,
    waker: Arc<ConnectionWaker>,
    state: State<N>,
    codec: FrameCodec,
}

enum State<N: Net> {
    Resolving(Boxed<Vec<SocketAddr>>),
    /// Resolved; where to connect to is for others to say.
    Waiting,
    Connecting(Boxed<N::Stream>),
    Open(Box<Open<N::Stream>>),
    Ended,
}

struct Open<S> {
    stream: S,
    inbound: BytesMut,
    outbound: Outbound,
}

/// What a turn has brought: bytes that were moved, whole frames or not.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) sent: usize,
    pub(super) received: usize,
    /// The connection is no more.
    pub(super) has_ended: bool,
}

impl<N: Net> Connection<N> {
    /// A connection of which nothing is known yet. Frames of up to `frame_bytes_max` are taken.
    pub(super) fn new(
        id: ConnectionId,
        waker: Arc<ConnectionWaker>,
        frame_bytes_max: usize,
    ) -> Self {
        Self {
            id,
            waker,
            state: State::Waiting,
            codec: FrameCodec::new(frame_bytes_max),
        }
    }

    pub(super) fn resolve(&mut self, resolving: Boxed<Vec<SocketAddr>>) {
        self.state = State::Resolving(resolving);
    }

    pub(super) fn connect(&mut self, connecting: Boxed<N::Stream>) {
        self.state = State::Connecting(connecting);
    }

    /// Begins to write a frame.
    pub(super) fn write(&mut self, frame: Encoded) -> Result<(), Refused> {
        match &mut self.state {
            State::Open(open) => open.outbound.start(frame),
            // The loss is reported already.
            _ => Ok(()),
        }
    }

    /// Goes as far as it can without waiting, or until the others should have their turn.
    pub(super) fn poll(&mut self, events: &mut Vec<Event>) -> Moved {
        self.waker.taken();
        let waker = Waker::from(self.waker.clone());
        let mut context = Context::from_waker(&waker);
        let mut moved = Moved::default();
        if let Some(loss) = self.go_on(&mut context, events, &mut moved) {
            self.state = State::Ended;
            moved.has_ended = true;
            events.push(Event::Disconnected(self.id, loss));
        }
        moved
    }

    /// As [`Self::poll`]; yields why if the connection has ended.
    fn go_on(
        &mut self,
        context: &mut Context<'_>,
        events: &mut Vec<Event>,
        moved: &mut Moved,
    ) -> Option<Loss> {
        match &mut self.state {
            State::Resolving(resolving) => match resolving.as_mut().poll(context) {
                Poll::Pending => None,
                Poll::Ready(Ok(addresses)) => {
                    self.state = State::Waiting;
                    events.push(Event::Resolved(self.id, addresses));
                    None
                }
                Poll::Ready(Err(error)) => Some(Loss::from(&error)),
            },
            State::Connecting(connecting) => match connecting.as_mut().poll(context) {
                Poll::Pending => None,
                Poll::Ready(Ok(stream)) => {
                    self.state = State::Open(Box::new(Open {
                        stream,
                        inbound: BytesMut::new(),
                        outbound: Outbound::default(),
                    }));
                    events.push(Event::Connected(self.id));
                    // The socket learns whom to wake.
                    self.go_on(context, events, moved)
                }
                Poll::Ready(Err(error)) => Some(Loss::from(&error)),
            },
            State::Open(open) => {
                let written = open.write(self.id, context, events, moved);
                written.or_else(|| open.read(self.id, self.codec, context, events, moved))
            }
            State::Waiting | State::Ended => None,
        }
    }
}

impl<S> Open<S>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    fn write(
        &mut self,
        id: ConnectionId,
        context: &mut Context<'_>,
        events: &mut Vec<Event>,
        moved: &mut Moved,
    ) -> Option<Loss> {
        if !self.outbound.is_writing() {
            return None;
        }
        match (self.outbound).poll_write(&mut self.stream, context, &mut moved.sent) {
            Poll::Pending => None,
            Poll::Ready(Ok(())) => {
                events.push(Event::Written(id));
                None
            }
            Poll::Ready(Err(error)) => Some(broken(&error)),
        }
    }

    fn read(
        &mut self,
        id: ConnectionId,
        mut codec: FrameCodec,
        context: &mut Context<'_>,
        events: &mut Vec<Event>,
        moved: &mut Moved,
    ) -> Option<Loss> {
        while moved.received < TURN_BYTES {
            self.inbound.reserve(READ_BYTES);
            let stream = Pin::new(&mut self.stream);
            match poll_read_buf(stream, context, &mut self.inbound) {
                Poll::Pending => return None,
                Poll::Ready(Ok(0)) => {
                    let ended = codec.decode_eof(&mut self.inbound);
                    return Some(match ended {
                        Ok(_) => Loss::new(LossKind::Broken, "closed by the node"),
                        Err(error) => broken(&error),
                    });
                }
                Poll::Ready(Ok(received)) => moved.received += received,
                Poll::Ready(Err(error)) => return Some(broken(&error)),
            }
            loop {
                match codec.decode(&mut self.inbound) {
                    Ok(Some(frame)) => events.push(Event::Received(id, frame)),
                    Ok(None) => break,
                    Err(error) => return Some(Loss::new(LossKind::Unusable, in_words(&error))),
                }
            }
        }
        // There may be more; the others go first.
        context.waker().wake_by_ref();
        None
    }
}

/// A connection that was made and broke.
fn broken(error: &(dyn std::error::Error + 'static)) -> Loss {
    Loss::new(LossKind::Broken, in_words(error))
}

#[cfg(test)]
mod tests {
    use klamm_io::sim::{SimClock, SimHost, SimNet};
    use klamm_io::{ListenOptions, Listener, SocketOptions};
    use tokio::io::AsyncWriteExt;

    use super::super::ready_set::ReadySet;
    use super::*;

    const ID: ConnectionId = ConnectionId(1);

    async fn connected() -> (Connection<SimHost>, klamm_io::sim::SimStream) {
        let net = SimNet::new(SimClock::new());
        let [here, there] = ["10.0.0.1", "10.0.0.2"].map(|ip| net.host(ip.parse().unwrap()));
        let address = "10.0.0.2:9092".parse().unwrap();
        let mut listener = there.bind(address, ListenOptions::default()).unwrap();
        let mut connection = Connection::new(ID, ReadySet::default().waker(ID), 1_000);
        let connecting = async move { here.connect(address, SocketOptions::default()).await };
        connection.connect(Box::pin(connecting));
        let mut events = Vec::new();
        connection.poll(&mut events);
        let (far, _) = listener.accept().await.unwrap();
        while events.is_empty() {
            connection.poll(&mut events);
        }
        assert!(matches!(events[..], [Event::Connected(ID)]));
        (connection, far)
    }

    fn frames(events: Vec<Event>) -> Vec<usize> {
        let size = |event| match event {
            Event::Received(ID, frame) => frame.len(),
            other => panic!("{other:?}"),
        };
        events.into_iter().map(size).collect()
    }

    #[tokio::test]
    async fn cl_086_a_frame_may_come_in_any_pieces() {
        let (mut connection, mut far) = connected().await;
        let mut received = 0;
        let mut events = Vec::new();
        for (piece, total) in [(&[0, 0, 0, 128][..], 4), (&[1; 64], 68), (&[2; 64], 132)] {
            assert!(events.is_empty());
            far.write_all(piece).await.unwrap();
            received += connection.poll(&mut events).received;
            assert_eq!(received, total);
        }
        assert_eq!(frames(events), [128]);
        // The size itself in pieces, bodies of length 0, several at once.
        let mut events = Vec::new();
        for piece in [
            &[0, 0][..],
            &[0, 0, 0, 0, 0],
            &[0, 0, 0, 0, 1, 9, 0, 0, 0, 2, 8],
        ] {
            far.write_all(piece).await.unwrap();
            connection.poll(&mut events);
        }
        assert_eq!(frames(events), [0, 0, 1]);
    }

    #[tokio::test]
    async fn the_end_of_the_stream_is_told_with_what_came_before() {
        let (mut connection, mut far) = connected().await;
        far.write_all(&[0, 0, 0, 1, 7, 0, 0, 0, 9, 1])
            .await
            .unwrap();
        drop(far);
        let mut events = Vec::new();
        let mut has_ended = false;
        while !has_ended {
            has_ended = connection.poll(&mut events).has_ended;
        }
        let Some(Event::Disconnected(ID, loss)) = events.pop() else {
            panic!("{events:?}");
        };
        assert_eq!(loss.kind, LossKind::Broken);
        let told = "ended after 5 bytes of a frame";
        assert!(loss.reason.contains(told), "{loss:?}");
        assert_eq!(frames(events), [1]);
        let mut events = Vec::new();
        assert!(!connection.poll(&mut events).has_ended, "it ends once");
        assert!(events.is_empty());
    }
}
