//! [`Net`]: what listeners and clients ask of the network.

use std::future::Future;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::NetError;

/// A machine's way to the network: it listens, connects and finds addresses.
///
/// Streams send at once what is written (no delay to fill segments) and probe a peer that has
/// long been silent. Used through generics, so that the real side is called directly. A clone is
/// the same machine.
pub trait Net: Clone + Send + Sync + 'static {
    /// A connection. Dropping it closes it, both ways.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// A bound address where connections arrive.
    type Listener: Listener<Stream = Self::Stream>;

    /// Begins to listen. Port 0 takes any free port; an address still held by connections of a
    /// former listener is free. On the real side, to be called within a runtime.
    ///
    /// # Errors
    /// By kind: `AddressInUse`, `Denied`, `TooManyFiles`, `Failed` (not an address of this
    /// machine).
    fn bind(&self, address: SocketAddr, options: ListenOptions)
    -> Result<Self::Listener, NetError>;

    /// Whether an address could be listened on now, without doing so: for who wants to know early
    /// what [`Net::bind`] would say, and must not let anybody in yet.
    ///
    /// # Errors
    /// As [`Net::bind`].
    fn check_free(&self, address: SocketAddr) -> Result<(), NetError>;

    /// Connects. Without an answer it takes as long as the operating system lets it; whoever
    /// wants less drops the future.
    ///
    /// # Errors
    /// `Refused`, `Unreachable`, `TimedOut`, `TooManyFiles`, `Failed`.
    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> impl Future<Output = Result<Self::Stream, NetError>> + Send;

    /// All addresses of a host, at least one, in the order in which the resolver gives them. A
    /// host that is an address already is taken as it is.
    ///
    /// # Errors
    /// `NoSuchHost`.
    fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> impl Future<Output = Result<Vec<SocketAddr>, NetError>> + Send;
}

/// A bound address where connections arrive. Dropping it stops listening; connections that wait
/// to be accepted are reset, those accepted go on.
pub trait Listener: Send + 'static {
    /// What arrives.
    type Stream;

    /// The address that was bound, with the port that was given for port 0.
    fn local_address(&self) -> SocketAddr;

    /// The next connection and the address of its peer. The future may be dropped: no connection
    /// is lost by it.
    ///
    /// # Errors
    /// `TooManyFiles`, where it helps to wait until some are closed; `Failed`, which concerns
    /// one connection. Listening goes on after either.
    fn accept(
        &mut self,
    ) -> impl Future<Output = Result<(Self::Stream, SocketAddr), NetError>> + Send;
}

/// The operating system's buffers for a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Bytes for what is sent, or the system's choice.
    pub send_buffer_bytes: Option<u32>,
    /// Bytes for what is received, or the system's choice.
    pub receive_buffer_bytes: Option<u32>,
}

/// How to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenOptions {
    /// Connections that may wait to be accepted.
    pub backlog: u32,
    /// For each accepted connection.
    pub socket: SocketOptions,
}

impl Default for ListenOptions {
    /// A backlog of 50, as Apache Kafka's `socket.listen.backlog.size`; the system's buffers.
    fn default() -> Self {
        Self {
            backlog: 50,
            socket: SocketOptions::default(),
        }
    }
}
