//! [`ProducerConfigBuilder`]: gathers settings and sees that they go together.

use std::time::Duration;

use klamm_records::{Codec, Compression, Levels};

use crate::config::by_name::LINGER_MS_MAX;
use crate::config::error::{ConfigError, ConfigWarning};
use crate::config::value::INT_MAX;
use crate::config::{
    Acks, Batching, Connections, DeliveryRules, MetadataRules, MetricsWindow, Partitioning,
    ProducerConfig, Strategy,
};

/// With idempotence a broker remembers so many batches of a producer and partition.
const IN_FLIGHT_MAX_IDEMPOTENT: usize = 5;

/// Gathers settings. What is set later wins.
///
/// ```
/// use std::time::Duration;
/// use klamm_producer::{Acks, ProducerConfig};
///
/// let config = ProducerConfig::builder()
///     .bootstrap_servers(["127.0.0.1:9092"])
///     .linger(Duration::from_millis(20))
///     .set("compression.type", "lz4")?
///     .build()?;
/// assert!(config.delivery.idempotence);
/// # Ok::<(), klamm_producer::ConfigError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ProducerConfigBuilder {
    pub(super) client_id: Option<String>,
    pub(super) batching: Batching,
    pub(super) codec: Codec,
    pub(super) levels: Levels,
    pub(super) delivery: DeliveryRules,
    /// What the user said; the default depends on the rest.
    pub(super) idempotence: Option<bool>,
    pub(super) delivery_timeout: Option<Duration>,
    pub(super) reconnect_backoff: Option<Duration>,
    pub(super) reconnect_backoff_max: Option<Duration>,
    pub(super) partitioning: Partitioning,
    pub(super) metadata: MetadataRules,
    pub(super) connections: Connections,
    pub(super) metrics: MetricsWindow,
    pub(super) warnings: Vec<ConfigWarning>,
}

/// Makes typed setters, each with the name of the setting.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $kind:ty => $($place:ident).+;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, value: $kind) -> Self {
            self.$($place).+ = value.into();
            self
        }
    )*};
}

impl ProducerConfigBuilder {
    /// `bootstrap.servers`: each `host:port`.
    #[must_use]
    pub fn bootstrap_servers<S: Into<String>>(
        mut self,
        servers: impl IntoIterator<Item = S>,
    ) -> Self {
        self.connections.bootstrap_servers = servers.into_iter().map(Into::into).collect();
        self
    }

    /// `client.id`
    #[must_use]
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.client_id = Some(id.into()).filter(|id| !id.is_empty());
        self
    }

    /// `compression.type` and its level.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.codec = compression.codec();
        match compression {
            Compression::Gzip(level) => self.levels.gzip = level,
            Compression::Lz4(level) => self.levels.lz4 = level,
            Compression::Zstd(level) => self.levels.zstd = level,
            Compression::None | Compression::Snappy => {}
        }
        self
    }

    setters! {
        /// `batch.size`
        batch_size: usize => batching.batch_size;
        /// `linger.ms`
        linger: Duration => batching.linger;
        /// `buffer.memory`
        buffer_memory: u64 => batching.buffer_memory;
        /// `max.block.ms`
        max_block: Duration => batching.max_block;
        /// `max.request.size`
        max_request_size: usize => batching.max_request_size;
        /// `acks`
        acks: Acks => delivery.acks;
        /// `retries`
        retries: u32 => delivery.retries;
        /// `retry.backoff.ms`
        retry_backoff: Duration => delivery.retry_backoff;
        /// `retry.backoff.max.ms`
        retry_backoff_max: Duration => delivery.retry_backoff_max;
        /// `delivery.timeout.ms`
        delivery_timeout: Duration => delivery_timeout;
        /// `request.timeout.ms`
        request_timeout: Duration => delivery.request_timeout;
        /// `max.in.flight.requests.per.connection`
        max_in_flight: usize => delivery.max_in_flight;
        /// `enable.idempotence`
        idempotence: bool => idempotence;
        /// `partitioner.class`
        partitioner: Strategy => partitioning.strategy;
        /// `partitioner.ignore.keys`
        ignore_keys: bool => partitioning.ignore_keys;
        /// `partitioner.adaptive.partitioning.enable`
        adaptive_partitioning: bool => partitioning.adaptive;
        /// `partitioner.availability.timeout.ms`
        availability_timeout: Duration => partitioning.availability_timeout;
        /// `metadata.max.age.ms`
        metadata_max_age: Duration => metadata.max_age;
        /// `metadata.max.idle.ms`
        metadata_max_idle: Duration => metadata.max_idle;
        /// `reconnect.backoff.ms`
        reconnect_backoff: Duration => reconnect_backoff;
        /// `reconnect.backoff.max.ms`
        reconnect_backoff_max: Duration => reconnect_backoff_max;
        /// `connections.max.idle.ms`
        connections_max_idle: Duration => connections.max_idle;
    }

    /// Sees that all settings are in range and go together.
    ///
    /// # Errors
    /// [`ConfigError::Missing`] without bootstrap servers, [`ConfigError::Unreadable`] where one
    /// is no `host:port`, [`ConfigError::OutOfRange`], [`ConfigError::Conflict`].
    pub fn build(mut self) -> Result<ProducerConfig, ConfigError> {
        self.check_bootstrap()?;
        self.check_ranges()?;
        self.batching.batch_size = self.batching.batch_size.max(1);
        let linger_max = Duration::from_millis(LINGER_MS_MAX);
        self.batching.linger = self.batching.linger.min(linger_max);
        self.batching.compression = self.codec.at(&self.levels);
        self.settle_idempotence()?;
        self.settle_delivery_timeout()?;
        self.settle_reconnect_backoff();
        self.note_constant_waits();
        Ok(ProducerConfig {
            client_id: self.client_id,
            batching: self.batching,
            delivery: self.delivery,
            partitioning: self.partitioning,
            metadata: self.metadata,
            connections: self.connections,
            metrics: self.metrics,
            warnings: self.warnings,
        })
    }

    fn check_bootstrap(&self) -> Result<(), ConfigError> {
        let servers = &self.connections.bootstrap_servers;
        if servers.is_empty() {
            return Err(ConfigError::Missing {
                name: "bootstrap.servers",
                expected: "a list of host:port",
            });
        }
        let is_address = |server: &String| {
            server.rsplit_once(':').is_some_and(|(host, port)| {
                let bracketed = host.starts_with('[') && host.ends_with(']') && host.len() > 2;
                let plain = !host.is_empty() && !host.contains([':', '[', ']', '/']);
                (bracketed || plain) && port.parse::<u16>().is_ok()
            })
        };
        match servers.iter().find(|server| !is_address(server)) {
            None => Ok(()),
            Some(server) => Err(ConfigError::Unreadable {
                name: "bootstrap.servers".to_owned(),
                value: server.clone(),
                expected: "host:port, or [address]:port for IPv6".to_owned(),
            }),
        }
    }

    /// What the typed methods may have been given beyond Kafka's ranges.
    fn check_ranges(&self) -> Result<(), ConfigError> {
        let int_max = INT_MAX.unsigned_abs();
        let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let delivery = &self.delivery;
        let timeout = self.delivery_timeout.unwrap_or_default();
        let idle = millis(self.metadata.max_idle);
        let long_max = i64::MAX.unsigned_abs();
        for (name, value, least, most) in [
            ("batch.size", self.batching.batch_size as u64, 0, int_max),
            ("buffer.memory", self.batching.buffer_memory, 0, long_max),
            (
                "max.request.size",
                self.batching.max_request_size as u64,
                0,
                int_max,
            ),
            ("retries", delivery.retries.into(), 0, int_max),
            (
                "request.timeout.ms",
                millis(delivery.request_timeout),
                0,
                int_max,
            ),
            ("delivery.timeout.ms", millis(timeout), 0, int_max),
            (
                "max.in.flight.requests.per.connection",
                delivery.max_in_flight as u64,
                1,
                int_max,
            ),
            ("metadata.max.idle.ms", idle, 5_000, long_max),
        ] {
            if !(least..=most).contains(&value) {
                return Err(ConfigError::OutOfRange {
                    name: name.to_owned(),
                    value: value.to_string(),
                    expected: format!("{least} to {most}"),
                });
            }
        }
        Ok(())
    }

    fn settle_idempotence(&mut self) -> Result<(), ConfigError> {
        let delivery = &self.delivery;
        let against = [
            (
                delivery.acks != Acks::All,
                "acks",
                delivery.acks.wire().to_string(),
                "idempotence needs acks=all",
            ),
            (
                delivery.retries == 0,
                "retries",
                "0".to_owned(),
                "idempotence needs retries",
            ),
            (
                delivery.max_in_flight > IN_FLIGHT_MAX_IDEMPOTENT,
                "max.in.flight.requests.per.connection",
                delivery.max_in_flight.to_string(),
                "idempotence allows 5 at most",
            ),
        ];
        let against = against.into_iter().find(|(applies, ..)| *applies);
        self.delivery.idempotence = match (self.idempotence, against) {
            (Some(false), _) => false,
            (None | Some(true), None) => true,
            (Some(true), Some((_, other, other_value, rule))) => {
                return Err(ConfigError::Conflict {
                    name: "enable.idempotence",
                    value: "true".to_owned(),
                    other,
                    other_value,
                    rule,
                });
            }
            (None, Some((.., reason))) => {
                self.adjusted("enable.idempotence", "false".to_owned(), reason);
                false
            }
        };
        Ok(())
    }

    fn settle_delivery_timeout(&mut self) -> Result<(), ConfigError> {
        let int_max = Duration::from_millis(INT_MAX.unsigned_abs());
        let least = self.batching.linger + self.delivery.request_timeout;
        let least = least.min(int_max);
        match self.delivery_timeout {
            Some(timeout) if timeout < least => {
                return Err(ConfigError::Conflict {
                    name: "delivery.timeout.ms",
                    value: timeout.as_millis().to_string(),
                    other: "linger.ms + request.timeout.ms",
                    other_value: least.as_millis().to_string(),
                    rule: "it has to be at least as long",
                });
            }
            Some(timeout) => self.delivery.delivery_timeout = timeout,
            None if self.delivery.delivery_timeout < least => {
                self.delivery.delivery_timeout = least;
                let value = least.as_millis().to_string();
                let reason = "linger.ms + request.timeout.ms are as long";
                self.adjusted("delivery.timeout.ms", value, reason);
            }
            None => {}
        }
        Ok(())
    }

    fn settle_reconnect_backoff(&mut self) {
        let connections = &mut self.connections;
        match (self.reconnect_backoff, self.reconnect_backoff_max) {
            (None, None) => {}
            (Some(first), Some(most)) => {
                connections.reconnect_backoff = first;
                connections.reconnect_backoff_max = most;
            }
            (None, Some(most)) => connections.reconnect_backoff_max = most,
            (Some(first), None) => {
                connections.reconnect_backoff = first;
                connections.reconnect_backoff_max = first;
                let value = first.as_millis().to_string();
                let reason = "reconnect.backoff.ms alone was set, so the wait is constant";
                self.adjusted("reconnect.backoff.max.ms", value, reason);
            }
        }
    }

    fn note_constant_waits(&mut self) {
        let reason = "its maximum is smaller, so the wait is constant";
        let delivery = &self.delivery;
        if delivery.retry_backoff_max < delivery.retry_backoff {
            let value = delivery.retry_backoff_max.as_millis().to_string();
            self.adjusted("retry.backoff.ms", value, reason);
        }
        let connections = &self.connections;
        if connections.setup_timeout_max < connections.setup_timeout {
            let value = connections.setup_timeout_max.as_millis().to_string();
            self.adjusted("socket.connection.setup.timeout.ms", value, reason);
        }
    }

    fn adjusted(&mut self, name: &'static str, value: String, reason: &'static str) {
        self.warnings.push(ConfigWarning::Adjusted {
            name,
            value,
            reason,
        });
    }
}
