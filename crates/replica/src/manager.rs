//! [`ReplicaManager`]: the partitions of a broker, by name, and the requests that wait for them.
//!
//! A thin map. What a partition does is in [`Partition`]; each operation over several of them has
//! a file of its own beneath this one.

mod append;
mod apply;
mod delete_records;
mod fetch;
mod isr;
mod list_offsets;
mod log_events;
mod offset_for_leader_epoch;
mod retries;
mod taking;
mod waiting;

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use hashbrown::HashMap;
use klamm_controller::MetadataImage;
use klamm_io::Disk;
use klamm_log::LogManager;
use klamm_primitives::{BrokerId, TopicPartition};
use parking_lot::Mutex;
use tracing::error;

pub use self::append::is_internal_topic;
pub use self::apply::{Applied, NotTaken};
use self::isr::IsrCheck;
use self::taking::Taking;
use self::waiting::Parked;
pub use self::waiting::Waiting;
use crate::NotServed;
use crate::follow_up::FollowUp;
use crate::isr_proposal::IsrProposer;
use crate::partition::{Partition, PartitionStatus, StorageFailure};
use crate::surroundings::Surroundings;
use crate::topic_settings::TopicSettingsSource;

/// What a [`ReplicaManager`] is told when it is made, under the names that brokers have for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaOptions {
    /// `node.id`
    pub broker: BrokerId,
    /// `replica.lag.time.max.ms`: a follower that has not had everything for longer is out of
    /// sync. Looked at every half of it.
    pub lag_max: Duration,
    /// Seeds the hashes of the tables of what waits.
    pub hash_seed: u64,
    /// A log directory that this broker had is not there. A partition that has been led before and
    /// has no log may have it in that one, so it is offline instead of beginning anew, empty.
    pub has_lost_directory: bool,
}

impl ReplicaOptions {
    /// Apache Kafka's defaults.
    pub const fn new(broker: BrokerId) -> Self {
        Self {
            broker,
            lag_max: Duration::from_secs(30),
            hash_seed: 0,
            has_lost_directory: false,
        }
    }
}

/// What a [`ReplicaManager`] is connected to.
pub struct ReplicaWiring<D: Disk> {
    /// The logs. Their events go to [`ReplicaManager::handle_log_event`].
    pub logs: Arc<LogManager<D>>,
    /// Tells the settings of topics.
    pub settings: Box<dyn TopicSettingsSource>,
    /// Takes proposals of other in-sync sets to the controller.
    pub proposer: Box<dyn IsrProposer>,
}

/// The partitions of a broker: appends, fetches and look-ups, who leads, who is in sync, and the
/// requests that wait. `T` is the caller's ticket: what it needs to answer a request that waited.
///
/// Shared by all threads behind an `Arc`. Calls block on the disk where appends and look-ups do;
/// none is async, and none calls back. A call returns its own answer, and a [`FollowUp`] to be
/// [done](ReplicaManager::follow_up) once that answer is on its way.
///
/// Locks: the map is read without one. Whoever takes over metadata holds that of the turn, before
/// any partition's; see the partition for the rest. None is held while operations that wait are
/// asked.
pub struct ReplicaManager<D: Disk, T> {
    logs: Arc<LogManager<D>>,
    settings: Box<dyn TopicSettingsSource>,
    proposer: Box<dyn IsrProposer>,
    around: Arc<Surroundings>,
    hosted: ArcSwap<Hosted<D>>,
    image: ArcSwap<MetadataImage>,
    taking: Taking,
    isr_check: Mutex<IsrCheck<D>>,
    parked: Parked<D, T>,
}

/// The partitions that have, or should have, a log here. Replaced as a whole when some come or
/// go, which is seldom, so that looking one up is as cheap as can be.
pub(crate) type Hosted<D> = HashMap<TopicPartition, Arc<Partition<D>>>;

impl<D: Disk, T> ReplicaManager<D, T> {
    /// A manager that hosts nothing yet; `image` is where [`ReplicaManager::apply`] begins from,
    /// as a rule the empty one. Its time begins at `now`.
    pub fn new(
        options: &ReplicaOptions,
        wiring: ReplicaWiring<D>,
        image: Arc<MetadataImage>,
        now: Instant,
    ) -> Self {
        let around = Surroundings::new(options.broker, options.lag_max);
        around.learn(&image);
        Self {
            logs: wiring.logs,
            settings: wiring.settings,
            proposer: wiring.proposer,
            around: Arc::new(around),
            hosted: ArcSwap::default(),
            image: ArcSwap::new(image),
            taking: Taking::new(options.has_lost_directory),
            isr_check: Mutex::new(IsrCheck::new(options.lag_max / 2, now)),
            parked: Parked::new(options.hash_seed, now),
        }
    }

    /// Takes no more partitions from here on: an image that is being taken over ends where it is,
    /// with those that it has brought so far, and a log that is being recovered for it or by a
    /// [retry](ReplicaManager::retry) behind the segment that is just read. For the end of the broker,
    /// which is not to wait until thousands of partitions are made.
    pub fn stop_taking(&self) {
        self.taking.stop();
        self.logs.end_late_openings();
    }

    /// What a partition is here and now; `None` if it is not.
    pub fn status(&self, partition: &TopicPartition) -> Option<PartitionStatus> {
        self.hosted.load().get(partition)?.status()
    }

    /// Whether a partition should be here and its log cannot be used, for good or for now. Cheap: it
    /// is asked for each partition that clients are told of.
    pub fn is_offline(&self, partition: &TopicPartition) -> bool {
        let hosted = self.hosted.load();
        hosted.get(partition).is_some_and(|it| it.is_offline())
    }

    /// How many partitions are hosted, also those whose logs cannot be used.
    pub fn partition_count(&self) -> usize {
        self.hosted.load().len()
    }

    /// The metadata that was taken over last.
    pub fn image(&self) -> Arc<MetadataImage> {
        self.image.load_full()
    }

    /// Why a partition that is not hosted is not. (RE-001)
    fn not_hosted(&self, partition: &TopicPartition) -> NotServed {
        let image = self.image.load();
        match image.partition(&partition.topic, partition.partition) {
            Some(_) => NotServed::NotLeader,
            None => NotServed::UnknownPartition,
        }
    }

    /// Takes note that a log has failed under a change. Called without any lock.
    fn report(&self, partition: &Partition<D>, failure: StorageFailure<D>, then: &mut FollowUp) {
        then.check(
            partition.key(),
            partition.go_offline(|log| Arc::ptr_eq(log, &failure.log)),
        );
        let name = partition.name();
        if failure.is_the_disks {
            self.logs.report_failure(&failure.log, failure.error);
        } else {
            error!(partition = %name, error = &failure.error as &dyn Error, "log failed");
        }
    }
}
