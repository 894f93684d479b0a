//! [`Event`] and [`Action`]: what goes into the core and what comes out.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use klamm_wire::Encoded;

use crate::answer::Answer;
use crate::trouble::Loss;

/// Names an attempt to connect, and the connection that comes of it; never used twice. What is
/// reported of one that has been given up is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(crate) u64);

impl ConnectionId {
    /// The number, for logs.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// What has happened.
///
/// Several that are known at once go in by the order of the variants, so that what has been
/// answered is never taken for lost or late.
#[derive(Debug, Clone)]
pub enum Event {
    /// The frame that was to be written has been handed to the operating system as a whole.
    Written(ConnectionId),
    /// A frame came: what stands behind the size.
    Received(ConnectionId, Bytes),
    /// The connection could not be made, or is no more.
    Disconnected(ConnectionId, Loss),
    /// The other side refused who we are, or we refused it. The reason is for people.
    AuthenticationFailed(ConnectionId, Arc<str>),
    /// The addresses of a host, at least one, as the resolver gave them.
    Resolved(ConnectionId, Vec<SocketAddr>),
    /// The connection is made, secured and logged in, as far as that is asked for.
    Connected(ConnectionId),
    /// Time has passed, or the guest has had its turn.
    Tick,
}

impl Event {
    /// The place of its variant: what is known at once is handled by rising stage.
    pub const fn stage(&self) -> u8 {
        match self {
            Self::Written(_) => 0,
            Self::Received(..) => 1,
            Self::Disconnected(..) | Self::AuthenticationFailed(..) => 2,
            Self::Resolved(..) | Self::Connected(_) => 3,
            Self::Tick => 4,
        }
    }
}

/// What is to be done.
#[derive(Debug)]
pub enum Action {
    /// Find the addresses of a host; then report `Resolved`, or `Disconnected`.
    Resolve {
        /// For the report.
        connection: ConnectionId,
        /// The host's name or address.
        host: Arc<str>,
        /// The port that goes with each address.
        port: u16,
    },
    /// Connect, then secure and log in; then report `Connected`, `Disconnected` or
    /// `AuthenticationFailed`.
    Connect {
        /// For the report.
        connection: ConnectionId,
        /// The host's name, against which its certificate is checked.
        host: Arc<str>,
        /// Where.
        address: SocketAddr,
    },
    /// Write a frame; then report `Written`. There is never a second one before that.
    Write {
        /// Where.
        connection: ConnectionId,
        /// The frame, size included. Its pieces are shared, and are let go when they are written
        /// or the connection is closed.
        frame: Encoded,
    },
    /// Close the connection, or give up making it. Nothing needs to be reported.
    Close(ConnectionId),
    /// Hand an answer to whoever asked.
    Answer(Answer),
}
