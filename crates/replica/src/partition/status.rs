//! [`PartitionStatus`]: what is told of a partition where somebody asks how it is.

use std::time::Instant;

use klamm_io::Disk;
use klamm_log::LogOffsets;
use klamm_primitives::{BrokerId, LeaderEpoch, Offset, TopicId};

use super::{Partition, Role};

/// What a partition is on this broker, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionStatus {
    /// The topic's id.
    pub topic_id: TopicId,
    /// The leader epoch that is known here.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch that is known here.
    pub partition_epoch: i32,
    /// The log's offsets; `None` if it cannot be used.
    pub offsets: Option<LogOffsets>,
    /// What this broker is to it.
    pub role: PartitionRole,
}

/// What a broker is to a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionRole {
    /// It leads.
    Leader {
        /// The in-sync set, as the controller has it.
        isr: Vec<BrokerId>,
        /// The other replicas.
        followers: Vec<FollowerStatus>,
        /// How many replicas are assigned, or will be after a reassignment.
        assigned: usize,
        /// `min.insync.replicas`, or the number of replicas if that is less.
        min_in_sync: usize,
    },
    /// It follows, if anybody leads.
    Follower {
        /// Whom.
        leader: Option<BrokerId>,
    },
    /// Its log cannot be used.
    Offline,
}

/// What a leader knows of one follower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerStatus {
    /// Which broker.
    pub broker: BrokerId,
    /// Up to where it has the records; [`Offset::UNKNOWN`] before its first fetch.
    pub log_end_offset: Offset,
    /// Its log start offset, likewise.
    pub log_start_offset: Offset,
    /// When it last had everything; `None` is never, since the leader was elected.
    pub caught_up_at: Option<Instant>,
}

impl PartitionRole {
    /// Whether this broker leads and fewer replicas are in sync than assigned. (RE-066)
    pub fn is_under_replicated(&self) -> bool {
        matches!(self, Self::Leader { isr, assigned, .. } if isr.len() < *assigned)
    }

    /// Whether this broker leads and one replica less would refuse `acks=-1`. (RE-066)
    pub fn is_at_min_isr(&self) -> bool {
        matches!(self, Self::Leader { isr, min_in_sync, .. } if isr.len() == *min_in_sync)
    }

    /// Whether this broker leads and refuses `acks=-1`. (RE-066)
    pub fn is_under_min_isr(&self) -> bool {
        matches!(self, Self::Leader { isr, min_in_sync, .. } if isr.len() < *min_in_sync)
    }
}

impl<D: Disk> Partition<D> {
    /// What it is now; `None` once it was removed.
    pub(crate) fn status(&self) -> Option<PartitionStatus> {
        let state = self.state.read();
        let (role, log) = match &state.role {
            Role::Leader { log, leadership } => {
                let followers = leadership.followers.iter().map(|it| {
                    let progress = *it.progress.lock();
                    FollowerStatus {
                        broker: it.broker,
                        log_end_offset: progress.log_end,
                        log_start_offset: progress.log_start,
                        caught_up_at: progress.caught_up_at(),
                    }
                });
                let of_topic = self.settings.load().min_in_sync_replicas;
                let role = PartitionRole::Leader {
                    isr: leadership.in_sync.committed().to_vec(),
                    followers: followers.collect(),
                    assigned: state.assigned,
                    min_in_sync: leadership.min_in_sync(of_topic),
                };
                (role, Some(log))
            }
            Role::Follower { log, leader } => {
                (PartitionRole::Follower { leader: *leader }, Some(log))
            }
            Role::Offline => (PartitionRole::Offline, None),
            Role::Removed => return None,
        };
        Some(PartitionStatus {
            topic_id: state.topic_id,
            leader_epoch: state.leader_epoch,
            partition_epoch: state.partition_epoch,
            offsets: log.map(|log| log.reader().offsets()),
            role,
        })
    }

    /// Whether it is led here and there are others whose progress has to be watched.
    pub(crate) fn is_led_with_followers(&self) -> bool {
        match &self.state.read().role {
            Role::Leader { leadership, .. } => !leadership.followers.is_empty(),
            _ => false,
        }
    }
}
