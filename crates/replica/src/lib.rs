//! Replicas of partitions: leaders, in-sync sets, high watermarks, delayed produce and fetch.
//!
//! The crate knows neither API requests nor sockets.
