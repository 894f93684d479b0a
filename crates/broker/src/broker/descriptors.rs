//! [`Descriptors`]: how the files that a process may have open are shared out.
//!
//! Connections and the files of partitions are taken from one supply. Neither may take more than
//! three quarters of it, so a quarter is left for the other, whoever comes first; what is between
//! goes to who needs it.

use std::sync::Arc;

use klamm_io::{Clock, Disk};
use klamm_replica::FileBudget;

use super::connections::Connections;

/// How many files, connections among them, may be open at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptors {
    max: u64,
}

impl Descriptors {
    pub(super) const fn new(max: u64) -> Self {
        Self { max }
    }

    /// How many connections there may be, at least one. At this number the next one waits to be
    /// accepted, while a log that cannot open a file fails.
    pub(super) fn connections_max(self) -> u64 {
        self.three_quarters().max(1)
    }

    /// Whether no partition is to be made where so many files are open, so many of them
    /// connections.
    const fn are_spent_for_partitions(self, open: u64, connections: u64) -> bool {
        open.saturating_sub(connections) >= self.three_quarters() || open >= self.max
    }

    const fn three_quarters(self) -> u64 {
        self.max - self.max / 4
    }
}

/// What partitions may take of them.
pub(super) struct OfPartitions<D: Disk, C> {
    pub(super) descriptors: Descriptors,
    /// How many files the process has open.
    pub(super) open: fn() -> Option<u64>,
    pub(super) connections: Arc<Connections<D, C>>,
}

impl<D: Disk, C: Clock> FileBudget for OfPartitions<D, C> {
    fn is_spent(&self) -> bool {
        (self.open)().is_some_and(|open| {
            let connections = self.connections.open();
            let descriptors = self.descriptors;
            descriptors.are_spent_for_partitions(open, connections)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What partitions can still open beside so many connections and files that they have.
    fn room_for_partitions(descriptors: Descriptors, connections: u64) -> u64 {
        let spent =
            |files: &u64| descriptors.are_spent_for_partitions(files + connections, connections);
        (0..=u64::MAX).find(spent).unwrap()
    }

    #[test]
    fn a_quarter_is_left_for_each_whoever_comes_first() {
        for max in [1, 4, 7, 1_024, 1_048_576] {
            let descriptors = Descriptors::new(max);
            let quarter = max / 4;
            let connections = descriptors.connections_max();
            assert!(
                room_for_partitions(descriptors, connections) >= quarter,
                "{max}"
            );
            assert!(
                max - room_for_partitions(descriptors, 0) >= quarter,
                "{max}"
            );
        }
    }

    #[test]
    fn what_one_leaves_the_other_may_take() {
        let descriptors = Descriptors::new(1_024);
        assert_eq!(descriptors.connections_max(), 768);
        let room = |connections| room_for_partitions(descriptors, connections);
        assert_eq!([0, 256, 512, 768].map(room), [768, 768, 512, 256]);
        assert_eq!(Descriptors::new(0).connections_max(), 1);
    }
}
