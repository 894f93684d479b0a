//! The server side of sockets: listeners, connections and the request channel.
//!
//! A [`Server`] accepts connections within their limits, cuts what they send into requests, and
//! puts those on the bounded [`RequestChannel`]. Handlers take them from there, on threads of a
//! [`HandlerPool`] or wherever else, and answer through the [`Responder`] that came with each.
//! Answers leave a connection in the order of its requests; where they hold ranges of files, the
//! bytes go from the file to the socket without being held in memory as a whole.
//!
//! The crate knows frames and request headers. It does not know what a request means, who may
//! send it, or what a file range holds.
//!
//! What decides is synchronous and without sockets: the order of a connection's requests
//! (`pipeline`), the bounded queue (`request_queue`), the counts of connections (`quotas`). What
//! moves bytes is one task a connection and one a listener, and the handler that has just answered
//! (`seat`). Requests that their handler calls quick are handled where they were read (`inline`).
//!
//! Read first: [`ServerConfig`], [`Received`], [`Responder`].

mod config;
mod context;
mod request;
mod responder;
mod response;

mod pipeline;

mod line;
mod request_memory;
mod request_queue;

mod mailbox;
mod request_channel;

mod after_panic;
mod handler;
mod handler_pool;
mod inline;
mod observer;

mod chair;
mod complaints;
mod connection;
mod end;
mod file_buffers;
mod frame_buffers;
mod frame_reader;
mod linger;
mod outgoing;
mod seat;
mod sync;
mod transport;

mod acceptor;
mod address_rates;
mod creation_rate;
mod members;
mod quotas;
mod slots;

mod server;
mod start_error;

pub use config::{ConnectionLimits, ListenerConfig, ServerConfig};
pub use context::{ClientSoftware, ConnectionContext, ConnectionId, ListenerName, Principal};
pub use handler::Handler;
pub use handler_pool::HandlerPool;
pub use observer::{CompletedRequest, Observer, Unobserved};
pub use request::{Received, Request};
pub use request_channel::RequestChannel;
pub use responder::{Parked, ParkedResponder, Peer, Responder};
pub use response::{FilesMismatch, Response};
pub use server::{MayStart, Server};
pub use start_error::StartError;

/// The example of the README is a test, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
