//! The check of in-sync sets from time to time, and the controller's answers.

use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use klamm_io::Disk;

use super::ReplicaManager;
use crate::follow_up::{FollowUp, PartitionKey};
use crate::isr_proposal::{IsrAnswer, IsrProposal};
use crate::partition::Partition;

/// Which partitions are looked at, and when. (RE-053)
///
/// Those alone that are led here and have followers: without any there is no check at all.
pub(super) struct IsrCheck<D: Disk> {
    interval: Duration,
    due: Instant,
    led: HashMap<PartitionKey, Arc<Partition<D>>>,
    /// To be woken when the first partition comes.
    waker: Option<Waker>,
}

impl<D: Disk> IsrCheck<D> {
    pub(super) fn new(interval: Duration, now: Instant) -> Self {
        Self {
            interval,
            due: now + interval,
            led: HashMap::new(),
            waker: None,
        }
    }

    /// When there is something to look at.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        (!self.led.is_empty()).then_some(self.due)
    }

    /// As [`IsrCheck::next_deadline`], to be woken when there is one, or an earlier one.
    pub(super) fn watch_next_deadline(&mut self, waker: &Waker) -> Option<Instant> {
        self.waker = Some(waker.clone());
        self.next_deadline()
    }

    /// A partition has changed: it is looked at from here on, or no longer.
    pub(super) fn partition_changed(&mut self, partition: &Arc<Partition<D>>, now: Instant) {
        if !partition.is_led_with_followers() {
            self.led.remove(&partition.key());
            return;
        }
        if self.led.is_empty() {
            self.due = now + self.interval;
            if let Some(waker) = self.waker.take() {
                waker.wake();
            }
        }
        self.led.insert(partition.key(), Arc::clone(partition));
    }

    pub(super) fn partition_gone(&mut self, key: PartitionKey) {
        self.led.remove(&key);
    }

    /// Those to be looked at now, in a fixed order; none before it is time.
    fn take_due(&mut self, now: Instant) -> Vec<Arc<Partition<D>>> {
        if self.next_deadline().is_none_or(|due| now < due) {
            return Vec::new();
        }
        self.due = now + self.interval;
        let mut led: Vec<_> = self.led.values().cloned().collect();
        led.sort_unstable_by_key(|it| it.key());
        led
    }
}

impl<D: Disk, T> ReplicaManager<D, T> {
    /// Looks for members of in-sync sets that are out of sync, if it is time.
    pub(super) fn check_isr(&self, now: Instant) -> FollowUp {
        let due = self.isr_check.lock().take_due(now);
        let mut then = FollowUp::default();
        for partition in due {
            then.propose(partition.propose_shrinking(now));
        }
        then
    }

    /// The controller has answered a proposal that the [`IsrProposer`](crate::IsrProposer) was
    /// given. (RE-061)
    pub fn isr_answered(
        &self,
        proposal: &IsrProposal,
        answer: IsrAnswer,
        now: Instant,
    ) -> FollowUp {
        let mut then = FollowUp::default();
        if let Some(partition) = self.hosted.load().get(&proposal.partition) {
            let checks = partition.isr_answered(proposal, answer, now);
            then.check(partition.key(), checks);
        }
        then
    }
}
