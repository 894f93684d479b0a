//! A whole broker in this process, asked over its sockets by the least of all clients.

#[path = "../support/wire_client.rs"]
mod wire_client;

mod broker;
mod descriptors;
mod fetching;
mod full_disk;
mod leaving;
mod left_overs;
mod metadata;
mod producing;
mod starting;
mod topics;
