//! A producer: partitioner, record accumulator, buffer pool and sender.
//!
//! The crate does not know how sockets work.
