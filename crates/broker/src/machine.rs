//! [`Machine`]: what a broker runs on.

use std::hash::{BuildHasher, Hasher, RandomState};

use klamm_io::{RealDisk, SystemClock, TcpNet};
use rustix::process::{Resource, getrlimit};

/// What a broker runs on: the seams to the world, real or simulated.
#[derive(Debug, Clone)]
pub struct Machine<N, D, C> {
    /// The way to the network.
    pub net: N,
    /// The file system.
    pub disk: D,
    /// The time.
    pub clock: C,
    /// How many files, connections among them, the process may have open; `None` is without bound.
    pub open_files_max: Option<u64>,
    /// Random numbers, for ids and seeds: never for secrets.
    pub random: fn() -> u128,
}

impl Machine<TcpNet, RealDisk, SystemClock> {
    /// The machine that this process runs on.
    pub fn this() -> Self {
        Self {
            net: TcpNet,
            disk: RealDisk,
            clock: SystemClock,
            open_files_max: getrlimit(Resource::Nofile).current,
            random: random_u128,
        }
    }
}

/// A random number by way of the standard library's hash keys, which come from the operating
/// system.
fn random_u128() -> u128 {
    let half = || RandomState::new().build_hasher().finish();
    (u128::from(half()) << 64) | u128::from(half())
}
