//! [`Trouble`]: why a node could not be reached, or was lost.

use std::fmt;
use std::sync::Arc;

use klamm_io::{NetError, NetErrorKind};

use crate::node::NodeId;

/// Why a connection was not made, or is no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// What a program can tell apart.
    pub kind: LossKind,
    /// The same for people, with addresses and the system's own words.
    pub reason: Arc<str>,
}

/// What a program can tell apart of the ends of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LossKind {
    /// The resolver knows no address of the host, or did not answer.
    UnknownHost,
    /// Nobody listens at the address.
    Refused,
    /// The host or its network cannot be reached.
    Unreachable,
    /// The connection was not made within its time.
    NotInTime,
    /// It was not made for another reason, such as a want of descriptors.
    NotMade,
    /// It was made, and closed or reset by the other side, or broke.
    Broken,
    /// What the node says cannot be used: it speaks another protocol, as TLS would, answers what
    /// nobody asked, or does not tell its versions.
    Unusable,
    /// A request had no answer within its time.
    NoAnswer,
    /// One side refused who the other is.
    Authentication,
}

impl Loss {
    /// Of a kind, with a reason for people.
    pub fn new(kind: LossKind, reason: impl Into<Arc<str>>) -> Self {
        let reason = reason.into();
        Self { kind, reason }
    }
}

impl From<NetErrorKind> for LossKind {
    fn from(kind: NetErrorKind) -> Self {
        match kind {
            NetErrorKind::NoSuchHost => Self::UnknownHost,
            NetErrorKind::Refused => Self::Refused,
            NetErrorKind::Unreachable => Self::Unreachable,
            NetErrorKind::TimedOut => Self::NotInTime,
            NetErrorKind::AddressInUse
            | NetErrorKind::Denied
            | NetErrorKind::TooManyFiles
            | NetErrorKind::Failed => Self::NotMade,
        }
    }
}

impl From<&NetError> for Loss {
    fn from(error: &NetError) -> Self {
        Self::new(error.kind().into(), in_words(error))
    }
}

/// What last went wrong with the connection to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The node, one of the bootstrap list included.
    pub node: NodeId,
    /// Where the node is, as `host:port`; `None` if that is not known any more.
    pub address: Option<Arc<str>>,
    /// Why.
    pub loss: Loss,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Some(address) if self.node.is_bootstrap() => write!(f, "bootstrap server {address}")?,
            Some(address) => write!(f, "node {} at {address}", self.node)?,
            None => write!(f, "node {}", self.node)?,
        }
        write!(f, ": {}", self.loss.reason)
    }
}

/// An error with its causes.
pub(crate) fn in_words(error: &(dyn std::error::Error + 'static)) -> Arc<str> {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    words.into()
}
