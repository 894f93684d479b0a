//! A producer of the Apache Kafka protocol: records in, batches out, each record's outcome told
//! exactly once.
//!
//! A record goes through eight short steps in the task that sends it and lies in its batch when
//! the call returns (the accumulator: a queue of batches for each partition, over a pool of
//! memory). The sender, a guest of the client's task, takes batches out when they are full or have
//! waited for long enough, sends one request for each broker, and settles, repeats, divides or
//! fails the batches by the answers. Producer id, epochs and sequences see to it that a batch that
//! is sent again is neither written twice nor overtaken.
//!
//! The crate does not know how sockets work, and does no transactions.
//!
//! Read first: [`Producer`], [`Record`] and [`Delivery`]; then [`ProducerConfig`].

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

#[cfg(feature = "testing")]
pub mod testing;

pub use config::{
    Acks, Batching, ConfigError, ConfigWarning, DeliveryRules, MetricsWindow, Partitioning,
    ProducerConfig, ProducerConfigBuilder, Strategy,
};
pub use delivery::Delivery;
pub use error::{DeliveryError, Failure, Field, Obstacle, SendError};
pub use interceptor::Interceptor;
pub use metrics::Metric;
pub use partitioner::{Choice, Partitioner, RoundRobin};
pub use producer::{BuildError, FlushError, Producer, ProducerBuilder};
pub use record::{InvalidRecord, Record, RecordHeader, RecordMetadata};
pub use serializer::{BytesSerializer, NumberSerializer, SerializeError, Serializer, Target};

/// The examples of the README are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
