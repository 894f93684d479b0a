//! [`ProducerConfig`]: all that can be set, with Kafka's names, defaults and ranges.
//!
//! A configuration comes out of [`ProducerConfigBuilder`], by name ([`set`]) or by typed methods;
//! what it says holds together. Times and sizes have their units in their types.
//!
//! [`set`]: ProducerConfigBuilder::set

use std::time::Duration;

use klamm_client::ClientConfig;
use klamm_records::Compression;

mod builder;
mod by_name;
mod error;
#[cfg(test)]
mod tests;
mod value;

pub use builder::ProducerConfigBuilder;
pub use error::{ConfigError, ConfigWarning};

/// What a producer is built with.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProducerConfig {
    /// How records become batches.
    pub batching: Batching,
    /// How batches are sent, and sent again.
    pub delivery: DeliveryRules,
    /// How partitions are chosen.
    pub partitioning: Partitioning,
    /// How brokers are found, connected to and waited for. An empty client id is replaced by one
    /// that is made up when the producer is built.
    pub client: ClientConfig,
    /// How metrics are averaged.
    pub metrics: MetricsWindow,
    warnings: Vec<ConfigWarning>,
}

/// How records become batches, and how much memory they take.
#[derive(Debug, Clone, PartialEq)]
pub struct Batching {
    /// `batch.size` (16384): bytes of a batch, its header included; one record may be larger. 0
    /// is used as 1.
    pub batch_size: usize,
    /// `linger.ms` (5): how long a batch that is not full waits for company.
    pub linger: Duration,
    /// `buffer.memory` (32 MiB): bytes of all batches that are not acknowledged.
    pub buffer_memory: u64,
    /// `max.block.ms` (60 000): how long a call waits for metadata and memory.
    pub max_block: Duration,
    /// `max.request.size` (1 MiB): the most that one record can take, and a request's batches.
    pub max_request_size: usize,
    /// `compression.type` (`none`) with the level set for it.
    pub compression: Compression,
}

/// When batches are acknowledged, and when given up. Waits between attempts and for answers are
/// the client's.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliveryRules {
    /// `acks` (`all`): who has to have a record before it is acknowledged.
    pub acks: Acks,
    /// `retries` (2147483647): attempts after the first.
    pub retries: u32,
    /// `delivery.timeout.ms` (120 000): from a batch's first record to its outcome.
    pub delivery_timeout: Duration,
    /// `enable.idempotence` (true, where the rest allows it): no record twice, none out of order.
    pub idempotence: bool,
}

/// `acks`: who has to have a record before it is acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Acks {
    /// Nobody: nothing is awaited, and offsets are unknown.
    None,
    /// The leader.
    Leader,
    /// All in-sync replicas.
    #[default]
    All,
}

impl Acks {
    /// The number that requests carry.
    pub const fn wire(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Leader => 1,
            Self::All => -1,
        }
    }
}

/// How partitions are chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Partitioning {
    /// `partitioner.class` (built in).
    pub strategy: Strategy,
    /// `partitioner.ignore.keys` (false): the built-in choice takes keyed records for keyless.
    pub ignore_keys: bool,
    /// `partitioner.adaptive.partitioning.enable` (true): the built-in choice prefers partitions
    /// with shorter queues.
    pub adaptive: bool,
    /// `partitioner.availability.timeout.ms` (0, off): the built-in choice leaves out partitions
    /// whose node has taken nothing for so long.
    pub availability_timeout: Duration,
}

/// Who chooses partitions. A partitioner of one's own is given to the producer's builder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    /// By key; without one, one partition until a batch's worth has gone there, then another.
    #[default]
    BuiltIn,
    /// Each partition in turn, whatever the key.
    RoundRobin,
}

/// How metrics are averaged.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricsWindow {
    /// `metrics.num.samples` (2): windows that are kept.
    pub samples: usize,
    /// `metrics.sample.window.ms` (30 000): the length of one.
    pub window: Duration,
}

impl ProducerConfig {
    /// Starts from the defaults.
    pub fn builder() -> ProducerConfigBuilder {
        ProducerConfigBuilder::default()
    }

    /// Takes names and values as a properties file gives them; later ones win.
    ///
    /// # Errors
    /// Any of [`ConfigError`], which names the setting.
    pub fn from_properties<'a>(
        properties: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ConfigError> {
        let mut builder = Self::builder();
        for (name, value) in properties {
            builder = builder.set(name, value)?;
        }
        builder.build()
    }

    /// What is odd and was let pass; logged once when a producer is built.
    pub fn warnings(&self) -> &[ConfigWarning] {
        &self.warnings
    }
}

impl Default for Batching {
    fn default() -> Self {
        Self {
            batch_size: 16 * 1024,
            linger: Duration::from_millis(5),
            buffer_memory: 32 * 1024 * 1024,
            max_block: Duration::from_mins(1),
            max_request_size: 1024 * 1024,
            compression: Compression::None,
        }
    }
}

impl Default for DeliveryRules {
    fn default() -> Self {
        Self {
            acks: Acks::All,
            retries: i32::MAX.cast_unsigned(),
            delivery_timeout: Duration::from_mins(2),
            idempotence: true,
        }
    }
}

impl Default for Partitioning {
    fn default() -> Self {
        Self {
            strategy: Strategy::BuiltIn,
            ignore_keys: false,
            adaptive: true,
            availability_timeout: Duration::ZERO,
        }
    }
}

impl Default for MetricsWindow {
    fn default() -> Self {
        Self {
            samples: 2,
            window: Duration::from_secs(30),
        }
    }
}
