//! [`Leadership`]: what the leader of a partition knows and a follower does not.

use std::time::Instant;

use klamm_controller::PartitionImage;
use klamm_io::Disk;
use klamm_log::Log;
use klamm_primitives::{BrokerEpoch, BrokerId, LeaderEpoch, Offset};
use parking_lot::Mutex;

use crate::high_watermark::{Reach, high_watermark};
use crate::in_sync::InSync;
use crate::progress::Progress;
use crate::surroundings::Surroundings;

/// The in-sync set and the followers of a partition that is led here.
///
/// It lives under the partition's lock: changes of the set are made under the lock for writing,
/// a follower's progress under the one for reading and its own, which is held for copying alone.
pub(crate) struct Leadership {
    pub(crate) in_sync: InSync,
    /// One for each assigned replica but this one. (RE-006)
    pub(crate) followers: Vec<Follower>,
    /// Where the log ended when the present leader epoch began.
    pub(crate) epoch_start: Offset,
    /// The leader epoch from which on this broker leads without a break.
    pub(crate) leads_since: LeaderEpoch,
}

/// One of the other replicas.
pub(crate) struct Follower {
    pub(crate) broker: BrokerId,
    pub(crate) progress: Mutex<Progress>,
}

/// What a leader goes by when it looks at the high watermark.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// The leader counts with what it has synced.
    pub(crate) syncs_first: bool,
    /// The least number of replicas in sync, the topic's or all there are.
    pub(crate) min_in_sync: usize,
}

impl Leadership {
    /// At the start of a leader epoch. `before` is the leadership that goes on, if this broker
    /// led already. (RE-002, RE-003, RE-047, RE-050)
    pub(crate) fn begin(
        image: &PartitionImage,
        local: BrokerId,
        epoch_start: Offset,
        before: Option<&Self>,
        now: Instant,
    ) -> Self {
        let follower = |broker: &BrokerId| {
            let in_sync = image.isr.contains(broker);
            let known = before.and_then(|it| it.follower(*broker));
            let progress = match known {
                Some(known) => known.progress.lock().at_reelection(in_sync, now),
                None => Progress::at_election(in_sync, now),
            };
            Follower {
                broker: *broker,
                progress: Mutex::new(progress),
            }
        };
        let others = image.replicas.iter().filter(|it| **it != local);
        Self {
            in_sync: InSync::new(image.isr.clone()),
            followers: others.map(follower).collect(),
            epoch_start,
            leads_since: before.map_or(image.leader_epoch, |it| it.leads_since),
        }
    }

    /// The same leader epoch goes on with another set or other replicas. (RE-003)
    pub(crate) fn update(&mut self, image: &PartitionImage, local: BrokerId) {
        let mut known = std::mem::take(&mut self.followers);
        let others = image.replicas.iter().filter(|it| **it != local);
        self.followers = others
            .map(|broker| {
                let at = known.iter().position(|it| it.broker == *broker);
                at.map_or_else(|| Follower::new(*broker), |at| known.swap_remove(at))
            })
            .collect();
        self.in_sync = InSync::new(image.isr.clone());
    }

    /// One of the followers.
    pub(crate) fn follower(&self, broker: BrokerId) -> Option<&Follower> {
        self.followers.iter().find(|it| it.broker == broker)
    }

    /// How many replicas must be in sync, where the topic asks for so many. (RE-034)
    pub(crate) fn min_in_sync(&self, of_topic: usize) -> usize {
        of_topic.min(self.followers.len() + 1)
    }

    /// Raises the high watermark as far as the replicas allow. Says whether it moved.
    ///
    /// Those count that are in the ISR, or on their way into it, and those that have caught up
    /// and will be: else the mark would fall back when they come in. It stays where it is while
    /// too few replicas are in sync. (RE-056, RE-068, RE-070)
    pub(crate) fn raise_high_watermark<D: Disk>(
        &self,
        log: &mut Log<D>,
        rules: Rules,
        around: &Surroundings,
        now: Instant,
    ) -> bool {
        if self.in_sync.committed().len() < rules.min_in_sync {
            return false;
        }
        let log_end = log.log_end();
        let own = if rules.syncs_first {
            log.recovery_point().min(log_end.offset)
        } else {
            log_end.offset
        };
        let own = Reach {
            offset: own,
            place: Some(log_end),
        };
        let followers = self.followers.iter().filter_map(|it| {
            let progress = *it.progress.lock();
            let counts = self.in_sync.must_have(it.broker)
                || (progress.is_caught_up(log_end.offset, around.lag_max, now)
                    && around.is_eligible(it.broker, progress.broker_epoch));
            counts.then(|| Reach {
                offset: progress.log_end,
                place: progress.place(),
            })
        });
        let to = high_watermark(own, followers);
        // It cannot be past the log end, where the own reach ends.
        matches!(log.raise_high_watermark(to.offset, to.place), Ok(Some(_)))
    }

    /// Whether a follower may come into the ISR: it has all that consumers may have seen and has
    /// been fetching in this leader epoch's log, and its broker is fit for it. (RE-059)
    pub(crate) fn may_come_in(
        &self,
        follower: &Follower,
        high_watermark: Offset,
        around: &Surroundings,
    ) -> bool {
        if self.in_sync.is_pending() || self.in_sync.committed().contains(&follower.broker) {
            return false;
        }
        let progress = *follower.progress.lock();
        progress.log_end >= high_watermark
            && progress.log_end >= self.epoch_start
            && around.is_eligible(follower.broker, progress.broker_epoch)
    }

    /// Whether a member of the ISR has to leave it. (RE-052, RE-054)
    pub(crate) fn has_to_leave(
        &self,
        member: BrokerId,
        log_end: Offset,
        around: &Surroundings,
        now: Instant,
    ) -> bool {
        if member == around.local {
            return false;
        }
        // A member that is not assigned has nothing to show.
        self.follower(member).is_none_or(|it| {
            let progress = *it.progress.lock();
            !progress.is_caught_up(log_end, around.lag_max, now)
        })
    }

    /// The epoch by which a replica takes part: this broker's own, or that of its last fetch.
    pub(crate) fn broker_epoch(&self, broker: BrokerId, around: &Surroundings) -> BrokerEpoch {
        if broker == around.local {
            return around.local_epoch();
        }
        self.follower(broker)
            .map_or(BrokerEpoch::NONE, |it| it.progress.lock().broker_epoch)
    }
}

impl Follower {
    fn new(broker: BrokerId) -> Self {
        Self {
            broker,
            progress: Mutex::new(Progress::UNKNOWN),
        }
    }
}
