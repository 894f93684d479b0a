//! A log broker that speaks Apache Kafka's protocol.
//!
//! Here all the other crates meet: settings are read, the parts are connected, and each request is
//! turned into calls of what stands below and back into an answer. The only place where errors
//! become the protocol's error codes is here, too.
//!
//! What a partition, a quorum or a connection does is not known here.
//!
//! Read first: [`Settings`](settings::Settings), then [`Broker`], then the handler of an API.

mod machine;
pub mod settings;
mod start_error;

mod codec_pool;
mod producer_ids;
mod topic_configs;

mod node;

mod call;
mod error_code;
mod fetch_sessions;
mod hints;
mod layout;

mod handlers;

mod applied_offset;
mod broker;

pub use broker::Broker;
pub use machine::Machine;
pub use start_error::StartError;

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
