//! [`StartError`]: why a server does not serve.

use std::error::Error;

use klamm_io::NetError;
use klamm_wire::SecurityProtocol;
use thiserror::Error;

use crate::context::ListenerName;

/// Why a [`Server`](crate::Server) could not be opened or started, or limits not be changed.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no listener.
    #[error("no listener is configured")]
    NoListener,
    /// Two listeners have one name.
    #[error("two listeners are called {name}")]
    SameName {
        /// The name.
        name: ListenerName,
    },
    /// A listener asks for security that this crate cannot give.
    #[error("listener {listener}: {security} is not supported")]
    Security {
        /// The listener.
        listener: ListenerName,
        /// What it asks for.
        security: SecurityProtocol,
    },
    /// A listener cannot listen; the cause names the address.
    #[error("listener {listener} cannot be opened")]
    Bind {
        /// The listener.
        listener: ListenerName,
        /// Why.
        source: NetError,
    },
    /// What a listener waited for failed.
    #[error("listener {listener} may not start")]
    MayNotStart {
        /// The listener.
        listener: ListenerName,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A host of `max.connections.per.ip.overrides` has no address. The limits are as they were.
    #[error("{host}, which has a connection limit of its own, cannot be resolved")]
    Override {
        /// The host.
        host: String,
        /// Why.
        source: NetError,
    },
    /// The server was started before, or has been stopped.
    #[error("the server was started before")]
    StartedBefore,
}
