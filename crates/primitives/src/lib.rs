//! The numbers and names that every layer of a Kafka-protocol log shares.
//!
//! Each is a type of its own, so that an offset is never taken for a leader epoch nor a
//! broker id for a partition index; arithmetic exists only where it means something. The
//! crate knows no message, file or socket.
//!
//! Read first: [`Offset`], [`TopicPartition`] and the module [`varint`].

mod epoch;
mod id;
mod murmur2;
mod number;
mod offset;
mod sequence;
mod topic_partition;
mod uuid;
pub mod varint;

pub use epoch::{BrokerEpoch, LeaderEpoch, ProducerEpoch};
pub use id::{BrokerId, CorrelationId, PartitionIndex, ProducerId};
pub use murmur2::{murmur2, partition_for_key};
pub use offset::Offset;
pub use sequence::Sequence;
pub use topic_partition::{ParseTopicPartitionError, TopicPartition};
pub use uuid::{ParseUuidError, TopicId, Uuid};

/// The examples of the README are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
