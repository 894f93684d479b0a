//! The client side of sockets: connections to brokers, requests in flight, metadata.
//!
//! The crate knows nothing of producing or consuming.
