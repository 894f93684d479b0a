//! [`Answer`]: what became of a request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use klamm_wire::{ApiKey, DecodeError, EncodeError, Message, Request, Versions};
use thiserror::Error;

use crate::node::NodeId;

/// Names a request of this client; never used twice. It is not the correlation id, which wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub(crate) u64);

/// How a request is to be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// How long to wait for the answer; `request.timeout.ms` if `None`.
    pub timeout: Option<Duration>,
    /// The server will not answer, as to a Produce request with `acks` 0: the request is done
    /// when its bytes are written, with an empty answer.
    pub no_response: bool,
    /// The versions that will do, if not all that are known here: the version is the highest of
    /// these that the node takes.
    pub versions: Option<Versions>,
}

/// The node takes no request now, so nothing was sent or kept.
/// [`ready`](crate::NetworkClient::ready) says when it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("node {node} is not ready for a request")]
pub struct NotReady {
    /// The node.
    pub node: NodeId,
}

/// What became of a request. Each request that was sent has exactly one, unless its node was
/// forgotten by [`close_node`](crate::NetworkClient::close_node).
#[derive(Debug, Clone)]
pub struct Answer {
    /// The request.
    pub id: RequestId,
    /// Whom it was sent to.
    pub node: NodeId,
    /// Which request it was.
    pub key: ApiKey,
    /// The version in which it was sent, and in which the answer is to be read; -1 if no version
    /// would do.
    pub version: i16,
    /// When it was handed over.
    pub sent_at: Instant,
    /// When the outcome was known.
    pub received_at: Instant,
    /// The body of the answer, header taken off; empty if none was expected.
    pub outcome: Result<Bytes, Failure>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Failure {
    /// The connection was lost. Whether the server has seen the request is not known.
    #[error("the connection was lost before the answer came")]
    Disconnected,
    /// This request, or an older one of the same connection, had no answer within its time; the
    /// connection was closed. Whether the server has seen the request is not known.
    #[error("no answer came within the request's time, so the connection was closed")]
    TimedOut,
    /// The node takes no version of the request that would do. Nothing was sent.
    #[error("the node takes no usable version of {key}: it has {theirs:?}, wanted are {wanted:?}")]
    UnsupportedVersion {
        /// The request.
        key: ApiKey,
        /// What would have done; `None` if no released version is known here.
        wanted: Option<Versions>,
        /// What the node takes; `None` if it does not list the request.
        theirs: Option<Versions>,
    },
    /// The version that the node takes cannot say what the request says. Nothing was sent.
    #[error("the request cannot be written in the version that the node takes")]
    Unencodable(#[source] EncodeError),
    /// The node refused who we are.
    #[error("authentication failed: {0}")]
    Authentication(Arc<str>),
    /// The client was closed.
    #[error("the client is closed")]
    Closed,
}

impl Failure {
    /// Whether the connection is gone, so that the server may or may not have seen the request.
    pub const fn is_disconnect(&self) -> bool {
        matches!(
            self,
            Self::Disconnected | Self::TimedOut | Self::Authentication(_) | Self::Closed
        )
    }
}

/// Why there is no response in an [`Answer`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AnswerError {
    /// No answer came.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The answer is not what its version should be.
    #[error("the answer cannot be read")]
    Malformed(#[from] DecodeError),
}

impl Answer {
    /// Reads the response.
    ///
    /// # Errors
    /// [`AnswerError::Failed`] if none came, [`AnswerError::Malformed`] if it is not one.
    ///
    /// # Panics
    /// If the request was another than `R`: the caller has looked at `key`.
    pub fn decode<R: Request>(&self) -> Result<R::Response, AnswerError> {
        assert_eq!(self.key, R::KEY, "the answer is of another request");
        match &self.outcome {
            Ok(body) => Ok(R::Response::decode(&mut body.clone(), self.version)?),
            Err(failure) => Err(failure.clone().into()),
        }
    }

    /// From the request's being handed over to its outcome.
    pub fn latency(&self) -> Duration {
        self.received_at.saturating_duration_since(self.sent_at)
    }
}
