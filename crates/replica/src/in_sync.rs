//! [`InSync`]: the in-sync set that the controller knows, and the one that was asked for.

use klamm_primitives::BrokerId;

/// The in-sync replicas of a partition that is led here, the leader among them.
///
/// Only the controller changes the set. Until it has answered a proposal, what is the safe side
/// counts: for a set that should grow the wider one, and for one that should shrink the present
/// one. (RE-055, RE-056, RE-057)
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InSync {
    committed: Vec<BrokerId>,
    pending: Option<Pending>,
}

/// A proposal that has not been answered.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pending {
    Grow(BrokerId),
    Shrink,
}

impl InSync {
    /// As the controller has it.
    pub(crate) fn new(committed: Vec<BrokerId>) -> Self {
        Self {
            committed,
            pending: None,
        }
    }

    /// The set as the controller has it.
    pub(crate) fn committed(&self) -> &[BrokerId] {
        &self.committed
    }

    /// Whether an offset must be on this replica before it counts as replicated.
    pub(crate) fn must_have(&self, id: BrokerId) -> bool {
        self.pending == Some(Pending::Grow(id)) || self.committed.contains(&id)
    }

    /// How many replicas must have an offset before it counts as replicated.
    pub(crate) fn must_have_count(&self) -> usize {
        match self.pending {
            Some(Pending::Grow(_)) => self.committed.len() + 1,
            Some(Pending::Shrink) | None => self.committed.len(),
        }
    }

    /// Whether a proposal has not been answered; there is no second one then. (RE-058)
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// The wider set to ask for; `None` if there is nothing to ask for now.
    pub(crate) fn grow(&mut self, id: BrokerId) -> Option<Vec<BrokerId>> {
        if self.is_pending() || self.committed.contains(&id) {
            return None;
        }
        self.pending = Some(Pending::Grow(id));
        let mut wider = self.committed.clone();
        wider.push(id);
        Some(wider)
    }

    /// The smaller set to ask for; `None` if there is nothing to ask for now.
    pub(crate) fn shrink(&mut self, leaves: impl Fn(BrokerId) -> bool) -> Option<Vec<BrokerId>> {
        if self.is_pending() {
            return None;
        }
        let stay: Vec<_> = self
            .committed
            .iter()
            .copied()
            .filter(|id| !leaves(*id))
            .collect();
        if stay.len() == self.committed.len() {
            return None;
        }
        self.pending = Some(Pending::Shrink);
        Some(stay)
    }

    /// The controller has refused, and may be asked again.
    pub(crate) fn give_up(&mut self) {
        self.pending = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[i32]) -> Vec<BrokerId> {
        numbers.iter().copied().map(BrokerId::new).collect()
    }

    fn id(number: i32) -> BrokerId {
        BrokerId::new(number)
    }

    /// Covers RE-055, RE-056.
    #[test]
    fn while_growing_the_wider_set_must_have_the_data() {
        let mut in_sync = InSync::new(ids(&[1, 2]));
        assert_eq!(in_sync.grow(id(3)), Some(ids(&[1, 2, 3])));
        assert_eq!(in_sync.committed(), ids(&[1, 2]));
        assert!(in_sync.must_have(id(3)) && !in_sync.must_have(id(4)));
        assert_eq!(in_sync.must_have_count(), 3);
        in_sync.give_up();
        assert!(!in_sync.must_have(id(3)));
        assert_eq!(in_sync.must_have_count(), 2);
    }

    #[test]
    fn re_057_while_shrinking_nothing_shrinks() {
        let mut in_sync = InSync::new(ids(&[1, 2, 3]));
        let slow = |id: BrokerId| id.get() > 1;
        assert_eq!(in_sync.shrink(slow), Some(ids(&[1])));
        assert_eq!(in_sync.committed(), ids(&[1, 2, 3]));
        assert!(in_sync.must_have(id(3)));
        assert_eq!(in_sync.must_have_count(), 3);
    }

    #[test]
    fn re_058_there_is_one_proposal_at_a_time() {
        let mut in_sync = InSync::new(ids(&[1, 2]));
        assert_eq!(in_sync.grow(id(2)), None);
        assert_eq!(in_sync.shrink(|_| false), None);
        assert!(in_sync.grow(id(3)).is_some());
        assert_eq!(in_sync.grow(id(4)), None);
        assert_eq!(in_sync.shrink(|it| it == id(2)), None);
        in_sync.give_up();
        assert!(in_sync.shrink(|it| it == id(2)).is_some());
        assert_eq!(in_sync.grow(id(3)), None);
    }
}
