//! [`FollowUp`]: what a change to partitions calls for, once every lock is left.

use crate::IsrProposal;

/// Names a partition to the purgatories, or somebody who waits there. Never given out twice, so
/// that what waits for a partition that was deleted is not found by one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PartitionKey(pub(crate) u64);

impl PartitionKey {
    /// Above all numbers of partitions, which are counted from 0.
    const READERS: u64 = 1 << 63;

    /// The key of somebody who waits.
    pub(crate) const fn of_reader(reader: u64) -> Self {
        Self(reader | Self::READERS)
    }
}

/// Which waiting operations of a partition may have become ready. (PU-062)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Checks {
    pub(crate) produce: bool,
    pub(crate) fetch: bool,
    pub(crate) delete_records: bool,
}

impl Checks {
    /// Nothing has changed.
    pub(crate) const NONE: Self = Self {
        produce: false,
        fetch: false,
        delete_records: false,
    };

    /// The log end has moved.
    pub(crate) const FETCH: Self = Self {
        fetch: true,
        ..Self::NONE
    };

    /// What is synced has moved.
    pub(crate) const PRODUCE: Self = Self {
        produce: true,
        ..Self::NONE
    };

    /// A follower's log start has moved.
    pub(crate) const DELETE_RECORDS: Self = Self {
        delete_records: true,
        ..Self::NONE
    };

    /// The high watermark has moved. Deletions of records do not look at it once they wait.
    const HIGH_WATERMARK: Self = Self {
        produce: true,
        fetch: true,
        ..Self::NONE
    };

    /// Who leads has changed, or the partition cannot be used any more.
    pub(crate) const ALL: Self = Self {
        produce: true,
        fetch: true,
        delete_records: true,
    };

    /// Those for which it counts that the high watermark has moved, if it has.
    pub(crate) const fn if_high_watermark(moved: bool) -> Self {
        if moved {
            Self::HIGH_WATERMARK
        } else {
            Self::NONE
        }
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            produce: self.produce || other.produce,
            fetch: self.fetch || other.fetch,
            delete_records: self.delete_records || other.delete_records,
        }
    }
}

/// What a call has left to do: other requests that may be ready by now, and what to ask the
/// controller for. Hand it to [`ReplicaManager::follow_up`](crate::ReplicaManager::follow_up),
/// after the own answer is on its way; dropped, requests would wait for the next change.
#[derive(Debug, Default)]
#[must_use = "others may wait for what has changed"]
pub struct FollowUp {
    checks: Vec<(PartitionKey, Checks)>,
    proposals: Vec<IsrProposal>,
}

impl FollowUp {
    /// With room for so many partitions.
    pub(crate) fn with_capacity(partitions: usize) -> Self {
        Self {
            checks: Vec::with_capacity(partitions),
            proposals: Vec::new(),
        }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.proposals.is_empty()
    }

    /// Takes what another call has left to do along.
    pub fn join(&mut self, other: Self) {
        self.checks.extend(other.checks);
        self.proposals.extend(other.proposals);
    }

    pub(crate) fn check(&mut self, key: PartitionKey, checks: Checks) {
        if checks != Checks::NONE {
            self.checks.push((key, checks));
        }
    }

    pub(crate) fn propose(&mut self, proposal: Option<IsrProposal>) {
        self.proposals.extend(proposal);
    }

    pub(crate) fn into_parts(self) -> (Vec<(PartitionKey, Checks)>, Vec<IsrProposal>) {
        (self.checks, self.proposals)
    }
}
