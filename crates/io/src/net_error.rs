//! [`NetError`]: what failed on the way to a connection.

use std::fmt;
use std::io;

use rustix::io::Errno;
use thiserror::Error;

/// What was asked of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetOperation {
    /// Listening on an address.
    Bind,
    /// Taking the next connection that arrived at an address.
    Accept,
    /// Connecting to an address.
    Connect,
    /// Finding the addresses of a host.
    Resolve,
}

impl fmt::Display for NetOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bind => "listen on",
            Self::Accept => "accept a connection at",
            Self::Connect => "connect to",
            Self::Resolve => "resolve",
        })
    }
}

/// What a caller can tell apart and act upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetErrorKind {
    /// Nobody listens at the address.
    Refused,
    /// The host or its network cannot be reached.
    Unreachable,
    /// No answer came.
    TimedOut,
    /// Somebody listens on the address already.
    AddressInUse,
    /// The process has no right to do this.
    Denied,
    /// The process or the machine has no file descriptor left.
    TooManyFiles,
    /// The resolver knows no address of the host, or did not answer.
    NoSuchHost,
    /// Everything else.
    Failed,
}

impl NetErrorKind {
    fn of(operation: NetOperation, error: &io::Error) -> Self {
        if operation == NetOperation::Resolve {
            return Self::NoSuchHost;
        }
        if let Some(Errno::MFILE | Errno::NFILE) = Errno::from_io_error(error) {
            return Self::TooManyFiles;
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown => Self::Unreachable,
            io::ErrorKind::TimedOut => Self::TimedOut,
            io::ErrorKind::AddrInUse => Self::AddressInUse,
            io::ErrorKind::PermissionDenied => Self::Denied,
            _ => Self::Failed,
        }
    }
}

/// A failed call of a [`Net`](crate::Net) or [`Listener`](crate::Listener). What fails on a
/// connection that is open is an `io::Error` of its stream.
#[derive(Debug, Error)]
#[error("cannot {operation} {target}")]
pub struct NetError {
    kind: NetErrorKind,
    operation: NetOperation,
    target: String,
    source: io::Error,
}

impl NetError {
    /// Names what failed; the kind follows from `source`.
    pub fn new(operation: NetOperation, target: impl Into<String>, source: io::Error) -> Self {
        Self {
            kind: NetErrorKind::of(operation, &source),
            operation,
            target: target.into(),
            source,
        }
    }

    /// What a caller can act upon.
    pub const fn kind(&self) -> NetErrorKind {
        self.kind
    }

    /// What was asked.
    pub const fn operation(&self) -> NetOperation {
        self.operation
    }

    /// The address or the host that it was asked of.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The operating system's error, with its number where it has one.
    pub const fn io_error(&self) -> &io::Error {
        &self.source
    }
}
