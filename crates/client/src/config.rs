//! [`ClientConfig`]: the settings that every client shares.

mod parse;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytestring::ByteString;
use klamm_io::SocketOptions;

use crate::bootstrap::BootstrapAddress;

pub use self::parse::{ConfigError, ConfigWarning};

/// The settings of a [`NetworkClient`](crate::NetworkClient), those of Apache Kafka's clients.
/// [`ClientConfig::set`] takes them under their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientConfig {
    /// `bootstrap.servers`.
    pub bootstrap: Vec<BootstrapAddress>,
    /// `client.id`, which goes into each request's header.
    pub client_id: ByteString,
    /// `request.timeout.ms`, for requests that say nothing else.
    pub request_timeout: Duration,
    /// `max.in.flight.requests.per.connection`; at least 1.
    pub max_in_flight: usize,
    /// `reconnect.backoff.ms`.
    pub reconnect_backoff: Duration,
    /// `reconnect.backoff.max.ms`; below the former, it is the constant backoff.
    pub reconnect_backoff_max: Duration,
    /// `retry.backoff.ms`, between failed refreshes of the metadata.
    pub retry_backoff: Duration,
    /// `retry.backoff.max.ms`; below the former, it is the constant backoff.
    pub retry_backoff_max: Duration,
    /// `socket.connection.setup.timeout.ms`.
    pub setup_timeout: Duration,
    /// `socket.connection.setup.timeout.max.ms`; below the former, it is the constant time-out.
    pub setup_timeout_max: Duration,
    /// `connections.max.idle.ms`; `None` keeps idle connections.
    pub connections_max_idle: Option<Duration>,
    /// `send.buffer.bytes` and `receive.buffer.bytes`.
    pub socket: SocketOptions,
    /// `metadata.max.age.ms`.
    pub metadata_max_age: Duration,
    /// `metadata.max.idle.ms`; `None` keeps asking for every topic that was ever added.
    pub metadata_max_idle: Option<Duration>,
    /// `metadata.recovery.strategy`.
    pub recovery: RecoveryStrategy,
    /// `metadata.recovery.rebootstrap.trigger.ms`.
    pub rebootstrap_trigger: Duration,
    /// Whether asking for a topic's metadata may create it.
    pub allow_auto_topic_creation: bool,
    /// Whether the first request on a connection asks for the versions that the node takes.
    /// Without it, requests go out in the newest version that is allowed.
    pub discover_versions: bool,
    /// The greatest answer that is taken, in bytes.
    pub response_bytes_max: usize,
}

/// What to do when no known node can be reached (`metadata.recovery.strategy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryStrategy {
    /// Keep trying the nodes that are known.
    None,
    /// Start again from the bootstrap list.
    Rebootstrap,
}

/// Above any answer that a broker gives (`socket.request.max.bytes` is 100 MiB by default), and
/// below what a stranger's first bytes mean as a size: text or a TLS record is above 300 MiB.
const RESPONSE_BYTES_MAX: usize = 256 << 20;

impl Default for ClientConfig {
    /// Apache Kafka's defaults, and no bootstrap address.
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            bootstrap: Vec::new(),
            client_id: ByteString::new(),
            request_timeout: ms(30_000),
            max_in_flight: 5,
            reconnect_backoff: ms(50),
            reconnect_backoff_max: ms(1_000),
            retry_backoff: ms(100),
            retry_backoff_max: ms(1_000),
            setup_timeout: ms(10_000),
            setup_timeout_max: ms(30_000),
            connections_max_idle: Some(ms(540_000)),
            socket: SocketOptions {
                send_buffer_bytes: Some(128 << 10),
                receive_buffer_bytes: Some(32 << 10),
            },
            metadata_max_age: ms(300_000),
            metadata_max_idle: Some(ms(300_000)),
            recovery: RecoveryStrategy::Rebootstrap,
            rebootstrap_trigger: ms(300_000),
            allow_auto_topic_creation: true,
            discover_versions: true,
            response_bytes_max: RESPONSE_BYTES_MAX,
        }
    }
}
