//! [`End`]: why a connection ended, and what the log says about it.

use std::error::Error;
use std::io;

use klamm_io::DiskError;
use klamm_wire::{FrameError, RequestError};
use tracing::{debug, error, warn};

use crate::context::ConnectionContext;
use crate::response::FilesMismatch;

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum End {
    /// In order: the peer had sent all it wanted, or a request asked for it.
    Closed,
    /// The peer cannot be reached any more.
    PeerGone(io::Error),
    /// Nothing came or went for too long.
    Idle,
    /// The server stops.
    Stopped,
    /// A file that was to be sent cannot be read.
    File(DiskError),
    /// A response does not fit together.
    Mismatch(FilesMismatch),
    /// A panic, of which the panic hook has told, came upon it while a handler ran it.
    Broken,
}

impl End {
    /// Writes to the log what there is to say.
    pub(crate) fn log(&self, context: &ConnectionContext) {
        let (connection, listener) = (&context.id, &context.listener);
        match self {
            Self::Closed => debug!(%connection, %listener, "connection closed"),
            Self::Stopped => debug!(%connection, %listener, "connection closed, the server stops"),
            Self::Idle => debug!(%connection, %listener, "idle connection closed"),
            Self::PeerGone(error) => debug!(
                %connection, %listener, error = error as &dyn Error,
                "connection lost"
            ),
            Self::File(error) => error!(
                %connection, %listener, error = error as &dyn Error,
                "a file cannot be sent, its connection is closed"
            ),
            Self::Mismatch(mismatch) => error!(
                %connection, %listener, error = mismatch as &dyn Error,
                "a response does not fit together, its connection is closed"
            ),
            Self::Broken => {
                error!(%connection, %listener, "panic while answering, connection closed");
            }
        }
    }

    /// Tells of a stream that is none of frames; so many others were not told of.
    pub(crate) fn log_frame(error: &FrameError, context: &ConnectionContext, untold: u64) {
        let (connection, listener) = (&context.id, &context.listener);
        let error: &dyn Error = error;
        warn!(
            %connection, %listener, error, untold,
            "not a frame, its connection is closed"
        );
    }

    /// Tells of a request that this listener cannot take; so many others were not told of. (C007)
    pub(crate) fn log_request(error: &RequestError, context: &ConnectionContext, untold: u64) {
        let (connection, listener) = (&context.id, &context.listener);
        let client_id = match error {
            RequestError::UnsupportedVersion { header, .. }
            | RequestError::NotServed { header, .. }
            | RequestError::ApiVersionsUnknown { header } => header.client_id.as_deref(),
            RequestError::TooShort { .. }
            | RequestError::Header(_)
            | RequestError::UnknownKey { .. } => None,
        };
        let error: &dyn Error = error;
        warn!(
            %connection, %listener, client_id, error, untold,
            "not a request of ours, its connection is closed"
        );
    }
}
