//! The server side of sockets: listeners, connections and the request channel.
//!
//! The crate knows frames and request headers, not what a request means.
