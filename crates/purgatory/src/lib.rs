//! Waiting for something to happen, or for time to run out: a hierarchical timing wheel, and a
//! purgatory of delayed operations on top of it.
//!
//! A server often has requests that it cannot answer yet: a long poll for data that has not come,
//! a write that others must confirm. Each waits for an event concerning one of a few *keys*, and
//! for no longer than its timeout. The purgatory keeps such [`DelayedOperation`]s, asks those
//! under a key when that key is *checked*, makes the late ones expire, and hands what has
//! finished back as values. However many threads check, expire and cancel at the same time, each
//! operation finishes exactly once and no check is missed.
//!
//! The three types to read first:
//!
//! - [`Purgatory`]: enter with [`try_complete_else_watch`](Purgatory::try_complete_else_watch),
//!   then [`check`](Purgatory::check) keys and [`advance`](Purgatory::advance) the time.
//! - [`Driver`]: the tokio task that advances a purgatory's time and gives what expired to a
//!   handler.
//! - [`TimingWheel`]: the timers alone, for those who need nothing else.
//!
//! # What it does not know
//!
//! What the operations do. What time it is: wheel and purgatory are told, by [`Instant`]s, and
//! never ask; only the driver waits, by a [`Clock`] that it is given. Threads: nothing here starts
//! one, and nothing calls back; what finished is returned to whoever made the call.
//!
//! [`Instant`]: std::time::Instant

mod alarm;
mod config;
#[cfg(not(loom))]
mod driver;
mod leftovers;
mod level;
mod list;
mod operation;
mod purgatory;
mod shard;
mod slab;
mod sync;
#[cfg(test)]
mod testing;
mod tick_wheel;
mod ticks;
mod timers;
mod timing_wheel;
mod watch_lists;

pub use config::{ConfigError, PurgatoryConfig, WheelConfig};
#[cfg(not(loom))]
pub use driver::{Clock, Driver, Shutdown, TokioClock};
pub use operation::DelayedOperation;
pub use purgatory::{Cancelled, NoKeys, Purgatory};
pub use timing_wheel::{TimerKey, TimingWheel};

/// The examples of the README are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
