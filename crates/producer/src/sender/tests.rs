//! The sender with the client's core and a fake cluster, in one thread, by a clock that is moved.

mod avoiding;
mod backoff;
mod basics;
mod batches;
mod idempotence;
mod simulation;
mod world;
