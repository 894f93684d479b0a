//! The controller's decisions, against an image in memory and a clock that stands still.

mod alter_partition;
mod configs;
mod elections;
mod fixture;
mod heartbeats;
mod image;
mod placement;
mod producer_ids;
mod reassignment;
mod registration;
mod requests;
mod sessions;
mod topics;
