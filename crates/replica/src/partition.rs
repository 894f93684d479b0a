//! [`Partition`]: one partition on this broker, whoever leads it.
//!
//! What it is and does is divided by subject: [`become_role`] takes what the metadata
//! says, [`append`] and [`read`] serve, [`isr`] keeps the in-sync set, [`required`] says when
//! records are safe.

mod append;
mod become_role;
mod delete_records;
mod isr;
mod offsets;
mod read;
mod required;
mod status;
mod synced;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::ArcSwap;
use klamm_io::Disk;
use klamm_log::PartitionLog;
use klamm_primitives::{BrokerId, LeaderEpoch, Offset, TopicId, TopicPartition};
use parking_lot::RwLock;

pub(crate) use self::append::{Awaits, StorageFailure, Terms};
pub(crate) use self::become_role::Became;
pub(crate) use self::read::{ReadMode, Readable, Seen, Wanted};
pub use self::status::{FollowerStatus, PartitionRole, PartitionStatus};
use crate::NotServed;
use crate::follow_up::PartitionKey;
use crate::leadership::{Leadership, Rules};
use crate::surroundings::Surroundings;
use crate::topic_settings::TopicSettings;

/// One partition on this broker.
///
/// Appends, fetches and look-ups hold `state` for reading, so that they never wait for each other
/// there; a change of role or in-sync set holds it for writing. Under it the log's lock may be
/// taken, and under that the lock of a follower's progress. None is held while operations that
/// wait are checked. (RE-110)
pub(crate) struct Partition<D: Disk> {
    key: PartitionKey,
    name: TopicPartition,
    around: Arc<Surroundings>,
    settings: ArcSwap<TopicSettings>,
    state: RwLock<State<D>>,
    /// Up to where the log was said to be durable, while this broker leads. Only rises in that
    /// time.
    synced: AtomicI64,
}

/// What the metadata says of a partition, and what is made of it here.
struct State<D: Disk> {
    topic_id: TopicId,
    /// How many replicas are assigned; while reassigning, how many will be.
    assigned: usize,
    leader_epoch: LeaderEpoch,
    partition_epoch: i32,
    role: Role<D>,
}

enum Role<D: Disk> {
    /// This broker leads.
    Leader {
        log: Arc<PartitionLog<D>>,
        leadership: Leadership,
    },
    /// Another broker leads, or none does.
    Follower {
        log: Arc<PartitionLog<D>>,
        leader: Option<BrokerId>,
    },
    /// The log cannot be used.
    Offline,
    /// It is not here any more; who still holds it finds that out.
    Removed,
}

impl<D: Disk> State<D> {
    /// The log and what the leader knows, for requests that only a leader answers. The leader
    /// epoch goes before the role. (RE-022, RE-023, RE-024)
    fn as_leader(
        &self,
        requested: Option<LeaderEpoch>,
    ) -> Result<(&Arc<PartitionLog<D>>, &Leadership), NotServed> {
        self.check_epoch(requested)?;
        match &self.role {
            Role::Leader { log, leadership } => Ok((log, leadership)),
            Role::Follower { .. } => Err(NotServed::NotLeader),
            Role::Offline => Err(NotServed::Offline),
            Role::Removed => Err(NotServed::UnknownPartition),
        }
    }

    /// The log, for requests that any replica answers.
    fn as_replica(
        &self,
        requested: Option<LeaderEpoch>,
    ) -> Result<&Arc<PartitionLog<D>>, NotServed> {
        self.check_epoch(requested)?;
        match &self.role {
            Role::Leader { log, .. } | Role::Follower { log, .. } => Ok(log),
            Role::Offline => Err(NotServed::Offline),
            Role::Removed => Err(NotServed::UnknownPartition),
        }
    }

    /// Whether it is of the topic with this id, as far as both ids are known: a topic that was made
    /// again under its name is another.
    fn is_of(&self, id: Option<TopicId>) -> bool {
        id.is_none_or(|id| id.is_zero() || self.topic_id.is_zero() || id == self.topic_id)
    }

    fn check_epoch(&self, requested: Option<LeaderEpoch>) -> Result<(), NotServed> {
        match self.role {
            Role::Leader { .. } | Role::Follower { .. } => {}
            Role::Offline => return Err(NotServed::Offline),
            Role::Removed => return Err(NotServed::UnknownPartition),
        }
        let current = self.leader_epoch;
        match requested.filter(|it| *it != LeaderEpoch::NONE) {
            Some(requested) if requested < current => {
                Err(NotServed::FencedLeaderEpoch { requested, current })
            }
            Some(requested) if requested > current => {
                Err(NotServed::UnknownLeaderEpoch { requested, current })
            }
            _ => Ok(()),
        }
    }
}

impl<D: Disk> Partition<D> {
    /// A partition of which nothing is known yet.
    pub(crate) fn new(
        key: PartitionKey,
        name: TopicPartition,
        topic_id: TopicId,
        around: Arc<Surroundings>,
        settings: Arc<TopicSettings>,
    ) -> Self {
        Self {
            key,
            name,
            around,
            settings: ArcSwap::new(settings),
            state: RwLock::new(State {
                topic_id,
                assigned: 0,
                leader_epoch: LeaderEpoch::NONE,
                partition_epoch: -1,
                role: Role::Offline,
            }),
            synced: AtomicI64::new(Offset::UNKNOWN.get()),
        }
    }

    pub(crate) fn key(&self) -> PartitionKey {
        self.key
    }

    pub(crate) fn name(&self) -> &TopicPartition {
        &self.name
    }

    pub(crate) fn topic_id(&self) -> TopicId {
        self.state.read().topic_id
    }

    /// Whether its log cannot be used.
    pub(crate) fn is_offline(&self) -> bool {
        matches!(self.state.read().role, Role::Offline)
    }

    /// From here on the topic's settings are these.
    pub(crate) fn set_settings(&self, settings: Arc<TopicSettings>) {
        let log = match &self.state.read().role {
            Role::Leader { log, .. } | Role::Follower { log, .. } => Some(log.clone()),
            Role::Offline | Role::Removed => None,
        };
        if let Some(log) = log {
            log.lock().set_config(settings.log.clone());
        }
        self.settings.store(settings);
    }

    /// Up to where the log is known to be durable.
    fn synced(&self) -> Offset {
        Offset::new(self.synced.load(Ordering::Acquire))
    }

    /// Says whether this is news.
    fn note_synced(&self, offset: Offset) -> bool {
        self.synced.fetch_max(offset.get(), Ordering::AcqRel) < offset.get()
    }
}

fn rules(settings: &TopicSettings, leadership: &Leadership) -> Rules {
    Rules {
        syncs_first: settings.syncs_before_acknowledgement(),
        min_in_sync: leadership.min_in_sync(settings.min_in_sync_replicas),
    }
}
