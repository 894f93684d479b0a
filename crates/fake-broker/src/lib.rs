//! For tests: a small cluster of scripted brokers, in memory.
//!
//! [`ClusterModel`] is a function from requests to answers. It serves ApiVersions, Metadata, Produce
//! and `InitProducerId` from what it knows of the cluster: topics, leaders, logs, and the state of
//! idempotent producers, which it checks as strictly as a real broker. A [`Fault`] makes it
//! misbehave: drop, delay, fail partitions, close in mid-frame, throttle. What it stored and what it
//! acknowledged can be looked at. It owns no socket, clock or entropy, so a simulation runs it in one
//! thread; [`FakeCluster`] lets it listen at one address a node, on the real network or on a
//! simulated one.
//!
//! It knows no client of ours: what it is sent are frames.
//!
//! Read first: [`ClusterModel`], [`Fault`] and [`FakeCluster`].

mod fault;
mod model;
mod partition;

mod answers;
mod serve;

mod cluster;
mod node;

pub use cluster::{FakeCluster, Place};
pub use fault::{Fault, RequestFacts, Rule};
pub use model::{Acknowledgement, ClusterModel, ClusterOptions, SeenBatch, SeenRequest};
pub use partition::{StoredBatch, StoredRecord};
pub use serve::Reply;

/// The examples of the README are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
