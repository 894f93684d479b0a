//! A whole broker, in this process or in one of its own, asked over its sockets by the least of all
//! clients.

#[path = "../support/wire_client.rs"]
mod wire_client;

mod broker;
mod descriptors;
mod fetching;
mod full_disk;
mod hints;
mod leaving;
mod left_overs;
mod messages;
mod metadata;
mod panics;
mod producing;
mod program;
mod starting;
mod stopping;
mod topics;
