//! [`Machine`]: what a broker runs on.

use std::hash::{BuildHasher, Hasher, RandomState};

use klamm_io::{RealDisk, SystemClock, TcpNet};
use rustix::io::Errno;
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
    /// How many files the process has open, connections among them; `None` where nobody counts
    /// them.
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
            open_files: open_descriptors,
            random: random_u128,
        }
    }
}

/// How many descriptors are in use, as the system has it for this process: Linux tells it in place
/// of a size since version 6.2; before, they are counted one by one.
fn open_descriptors() -> Option<u64> {
    const DIRECTORY: &str = "/proc/self/fd";
    // Where nothing tells, the system's own refusal is left.
    let count = std::fs::metadata(DIRECTORY).ok()?.len();
    if count > 0 {
        return Some(count);
    }
    match std::fs::read_dir(DIRECTORY) {
        // One of them is the directory itself.
        Ok(listed) => u64::try_from(listed.count()).ok()?.checked_sub(1),
        Err(error) => where_unlisted(&error),
    }
}

/// How many descriptors are in use where the list of them cannot be opened: more than there may be,
/// if none was free to look with. Any other error says nothing about them: to a program with
/// capabilities of its own, for one, the list belongs to root.
fn where_unlisted(error: &std::io::Error) -> Option<u64> {
    let errno = Errno::from_io_error(error)?;
    matches!(errno, Errno::MFILE | Errno::NFILE).then_some(u64::MAX)
}

/// A random number by way of the standard library's hash keys, which come from the operating
/// system.
fn random_u128() -> u128 {
    let half = || RandomState::new().build_hasher().finish();
    (u128::from(half()) << 64) | u128::from(half())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Others run in this process, too: so many files that they do not count.
    #[test]
    fn files_that_are_open_are_counted_also_when_one_below_them_was_closed() {
        let first = std::fs::File::open("/dev/null").unwrap();
        let files: Vec<_> = (0..200)
            .map(|_| std::fs::File::open("/dev/null").unwrap())
            .collect();
        drop(first);
        let open = open_descriptors().unwrap();
        assert!(open >= 200, "{open}");
        drop(files);
        let left = open_descriptors().unwrap();
        assert!(left + 100 < open, "{left} of {open}");
    }

    #[test]
    fn only_a_lack_of_descriptors_says_that_all_are_in_use() {
        let count = |errno: Errno| where_unlisted(&errno.into());
        assert_eq!([Errno::MFILE, Errno::NFILE].map(count), [Some(u64::MAX); 2]);
        assert_eq!([Errno::ACCESS, Errno::NOENT].map(count), [None; 2]);
        let no_errno = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        assert_eq!(where_unlisted(&no_errno), None);
    }
}
