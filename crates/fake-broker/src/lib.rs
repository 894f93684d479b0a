//! For tests: a small cluster of scripted brokers, in memory.
//!
//! [`FakeCluster`] listens at one address a node, on the real network or on a simulated one. It
//! answers ApiVersions, Metadata, Produce and `InitProducerId` from a model of the cluster: topics,
//! leaders, logs, and the state of idempotent producers, which it checks as strictly as a real
//! broker. A [`Rule`] makes it misbehave: drop, delay, fail partitions, close in mid-frame,
//! throttle. What it stored and what it acknowledged can be looked at.
//!
//! It knows no client of ours: what it is sent comes over the wire.
//!
//! Read first: [`FakeCluster`], [`Fault`] and [`Rule`].

mod answers;
mod cluster;
mod fault;
mod model;
mod node;
mod partition;

pub use cluster::{ClusterOptions, FakeCluster, Place};
pub use fault::{Fault, RequestFacts, Rule};
pub use model::{Acknowledgement, SeenRequest};
pub use partition::{StoredBatch, StoredRecord};

/// The examples of the README are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
