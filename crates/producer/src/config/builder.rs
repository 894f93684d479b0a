//! [`ProducerConfigBuilder`]: gathers settings and sees that they go together.

use std::time::Duration;

use klamm_client::ClientConfig;
use klamm_records::{Codec, Compression, Levels};

use crate::config::by_name::LINGER_MS_MAX;
use crate::config::error::{ConfigError, ConfigWarning};
use crate::config::value::INT_MAX;
use crate::config::{
    Acks, Batching, DeliveryRules, MetricsWindow, Partitioning, ProducerConfig, Strategy,
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
///     .bootstrap_servers("127.0.0.1:9092")?
///     .linger(Duration::from_millis(20))
///     .set("compression.type", "lz4")?
///     .build()?;
/// assert!(config.delivery.idempotence);
/// # Ok::<(), klamm_producer::ConfigError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ProducerConfigBuilder {
    pub(super) batching: Batching,
    pub(super) codec: Codec,
    pub(super) levels: Levels,
    pub(super) delivery: DeliveryRules,
    /// What the user said; the default depends on the rest.
    pub(super) idempotence: Option<bool>,
    pub(super) delivery_timeout: Option<Duration>,
    pub(super) reconnect_backoff_set: bool,
    pub(super) reconnect_backoff_max_set: bool,
    pub(super) partitioning: Partitioning,
    pub(super) client: ClientConfig,
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
    /// `bootstrap.servers`: `host:port`, with commas between.
    ///
    /// # Errors
    /// [`ConfigError::Client`] for anything else.
    pub fn bootstrap_servers(self, servers: &str) -> Result<Self, ConfigError> {
        self.set("bootstrap.servers", servers)
    }

    /// `client.id`
    #[must_use]
    pub fn client_id(mut self, id: &str) -> Self {
        self.client.client_id = id.into();
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
        retry_backoff: Duration => client.retry_backoff;
        /// `retry.backoff.max.ms`
        retry_backoff_max: Duration => client.retry_backoff_max;
        /// `delivery.timeout.ms`
        delivery_timeout: Duration => delivery_timeout;
        /// `request.timeout.ms`
        request_timeout: Duration => client.request_timeout;
        /// `max.in.flight.requests.per.connection`
        max_in_flight: usize => client.max_in_flight;
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
        metadata_max_age: Duration => client.metadata_max_age;
        /// `metadata.max.idle.ms`
        metadata_max_idle: Duration => client.metadata_max_idle;
        /// `connections.max.idle.ms`
        connections_max_idle: Duration => client.connections_max_idle;
    }

    /// Sees that all settings are in range and go together.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`], [`ConfigError::Conflict`], and [`ConfigError::Client`], without
    /// bootstrap servers, too.
    pub fn build(mut self) -> Result<ProducerConfig, ConfigError> {
        self.check_ranges()?;
        self.batching.batch_size = self.batching.batch_size.max(1);
        let linger_max = Duration::from_millis(LINGER_MS_MAX);
        self.batching.linger = self.batching.linger.min(linger_max);
        self.batching.compression = self.codec.at(&self.levels);
        self.settle_idempotence()?;
        self.settle_delivery_timeout()?;
        self.settle_reconnect_backoff();
        let odd = self.client.check()?;
        self.warnings
            .extend(odd.into_iter().map(ConfigWarning::Client));
        Ok(ProducerConfig {
            batching: self.batching,
            delivery: self.delivery,
            partitioning: self.partitioning,
            client: self.client,
            metrics: self.metrics,
            warnings: self.warnings,
        })
    }

    /// What the typed methods may have been given beyond Kafka's ranges.
    fn check_ranges(&self) -> Result<(), ConfigError> {
        let int_max = INT_MAX.unsigned_abs();
        let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let delivery = &self.delivery;
        let timeout = self.delivery_timeout.unwrap_or_default();
        let idle = self.client.metadata_max_idle.map_or(5_000, millis);
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
                millis(self.client.request_timeout),
                0,
                int_max,
            ),
            ("delivery.timeout.ms", millis(timeout), 0, int_max),
            (
                "max.in.flight.requests.per.connection",
                self.client.max_in_flight as u64,
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
                self.client.max_in_flight > IN_FLIGHT_MAX_IDEMPOTENT,
                "max.in.flight.requests.per.connection",
                self.client.max_in_flight.to_string(),
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
        let least = self.batching.linger + self.client.request_timeout;
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

    /// One that was set alone is constant.
    fn settle_reconnect_backoff(&mut self) {
        if self.reconnect_backoff_set && !self.reconnect_backoff_max_set {
            let first = self.client.reconnect_backoff;
            self.client.reconnect_backoff_max = first;
            let value = first.as_millis().to_string();
            let reason = "reconnect.backoff.ms alone was set, so the wait is constant";
            self.adjusted("reconnect.backoff.max.ms", value, reason);
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
