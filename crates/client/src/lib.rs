//! The client side of sockets: connections to brokers, requests in flight, metadata.
//!
//! [`NetworkClient`] is a core: events and the time go in, actions and answers come out; it owns
//! no socket and asks no clock. [`ClientTask`] is the short loop around it that owns the sockets.
//! On the same task runs a [`Guest`], which decides what is sent: the sender of a producer, or
//! [`Requests`], a handle for everybody who wants to send a request and await its response.
//! What is known of the cluster is published as an immutable [`Cluster`].
//!
//! The crate does not know what producing or consuming is.
//!
//! Read first: [`NetworkClient`], [`Guest`] and [`Cluster`].

mod answer;
mod backoff;
mod bootstrap;
mod cluster;
mod config;
mod guest;
mod metadata;
mod network_client;
mod node;
mod requests;
mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod trouble;

pub use answer::{Answer, AnswerError, Failure, NotReady, RequestId, SendOptions};
pub use bootstrap::{BootstrapAddress, BootstrapError, resolvable};
pub use cluster::{Cluster, Partition, Topic};
pub use config::{ClientConfig, ConfigError, ConfigWarning, RecoveryStrategy};
pub use guest::Guest;
pub use metadata::{LeaderChange, Metadata, MetadataError, TopicError};
pub use network_client::{
    Action, ConnectionId, Event, FinalizedFeatures, LeastLoaded, NetworkClient, NoNodes,
    NodeVersions, Stats,
};
pub use node::{Node, NodeId};
pub use requests::{RequestFailure, Requests, RequestsGuest, Target};
pub use task::{ClientHandle, ClientTask};
pub use trouble::{Loss, LossKind, Trouble};

/// The examples of the README are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
