//! The conformance suites: what every side of a seam must do, real or simulated.
//!
//! Each panics at the first thing that is not so. Behind the feature `testing`, so that other
//! implementations can be held to them.

mod clock;
mod disk;
mod net;

pub use clock::check_clock;
pub use disk::check_disk;
pub use net::check_net;
