//! [`Machine`]: what a broker runs on.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::AsRawFd as _;

use klamm_io::{RealDisk, SystemClock, TcpNet};
use rustix::io::fcntl_dupfd_cloexec;
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
    /// How many files the process has open, as far as that can be told at no cost: not more than
    /// there are, and as many as there are where none was closed; `None` where nobody counts them.
    pub open_files: fn() -> Option<u64>,
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
            open_files: lowest_free_descriptor,
            random: random_u128,
        }
    }
}

/// The lowest number of a descriptor that is free: so many are in use below it. It is had by taking
/// it for a moment.
fn lowest_free_descriptor() -> Option<u64> {
    match fcntl_dupfd_cloexec(std::io::stderr(), 0) {
        Ok(descriptor) => u64::try_from(descriptor.as_raw_fd()).ok(),
        // None is free, or none at all can be had: it would be another error that told why.
        Err(_) => Some(u64::MAX),
    }
}

/// A random number by way of the standard library's hash keys, which come from the operating
/// system.
fn random_u128() -> u128 {
    let half = || RandomState::new().build_hasher().finish();
    (u128::from(half()) << 64) | u128::from(half())
}
