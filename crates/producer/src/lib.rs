//! A producer: partitioner, record accumulator, buffer pool and sender.
//!
//! The crate does not know how sockets work.

mod config;
mod error;
mod interceptor;
mod metrics;
mod producer;
mod record;
mod serializer;

mod completion;
mod delivery;

mod accumulator;
mod backoff;
mod batch;
mod buffer_pool;
mod partitioner;

mod idempotence;
mod lifecycle;
mod sender;
mod time;

#[cfg(test)]
mod fake_cluster;

pub use config::{
    Acks, Batching, ConfigError, ConfigWarning, DeliveryRules, MetricsWindow, Partitioning,
    ProducerConfig, ProducerConfigBuilder, Strategy,
};
pub use delivery::Delivery;
pub use error::{DeliveryError, Failure, Field, SendError};
pub use interceptor::Interceptor;
pub use metrics::Metric;
pub use partitioner::{Choice, Partitioner, RoundRobin};
pub use producer::{BuildError, FlushError, Producer, ProducerBuilder};
pub use record::{InvalidRecord, Record, RecordHeader, RecordMetadata};
pub use serializer::{BytesSerializer, NumberSerializer, SerializeError, Serializer, Target};
