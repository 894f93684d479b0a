//! The network layer as its peers see it: over loopback sockets and over simulated ones.

mod accepting;
mod connections;
mod finishing;
mod framing;
mod handlers;
mod identity;
mod limits;
mod ordering;
mod quick;
mod sending;
mod support;
