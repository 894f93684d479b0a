//! The simulated sides: a [`SimClock`] moved by hand, a [`SimDisk`] that can lose power, a
//! [`SimNet`] whose links can be cut.
//!
//! All of it lives in memory and in one process, does nothing by itself, and draws whatever it
//! leaves to chance from the seed it was given: the same calls in the same order have the same
//! outcome.

mod clock;
mod disk;
mod net;
mod random;

pub use clock::{SimClock, SimSleep};
pub use disk::{Crash, Fault, SimDisk, SimFile, SimLock};
pub use net::{SimHost, SimListener, SimNet, SimStream};
