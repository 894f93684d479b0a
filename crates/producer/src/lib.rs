//! A producer: partitioner, record accumulator, buffer pool and sender.
//!
//! The crate does not know how sockets work.

mod config;
mod error;
mod interceptor;
mod record;
mod serializer;

mod completion;
mod delivery;

mod partitioner;

mod backoff;
mod buffer_pool;

pub use config::{
    Acks, Batching, ConfigError, ConfigWarning, DeliveryRules, MetricsWindow, Partitioning,
    ProducerConfig, ProducerConfigBuilder, Strategy,
};
pub use delivery::Delivery;
pub use error::{DeliveryError, Failure, Field, SendError};
pub use interceptor::Interceptor;
pub use partitioner::{Choice, Partitioner, RoundRobin};
pub use record::{InvalidRecord, Record, RecordHeader, RecordMetadata};
pub use serializer::{BytesSerializer, NumberSerializer, SerializeError, Serializer, Target};
