//! [`Storage`]: the log directories of a broker, and the threads that serve them.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use klamm_controller::{MetadataImage, cluster_of};
use klamm_io::{Clock, Disk};
use klamm_log::{
    Compaction, CompactionOptions, Durability, Housekeeping, LogEvent, LogManager, ManagerOptions,
    MissingPartition, Now, Owner, SYNC_THREADS, Wiring,
};
use klamm_primitives::{BrokerEpoch, BrokerId, TopicId, TopicPartition, Uuid};
use klamm_replica::TopicSettingsSource;
use tracing::field::display;
use tracing::{debug, error, info, warn};

use super::descriptors::Descriptors;
use super::health::Health;
use super::owner;
use crate::machine::Machine;
use crate::node::Node;
use crate::settings::Settings;
use crate::start_error::StartError;
use crate::topic_configs::TopicConfigs;

/// The directory of the metadata log, within that of the setting.
const METADATA_DIRECTORY: &str = "klamm-metadata";

/// The log directories of a broker, and the threads that serve them.
pub(super) struct Storage<D: Disk> {
    pub(super) logs: Arc<LogManager<D>>,
    durability: Durability<D>,
    housekeeping: Option<Housekeeping>,
    compaction: Option<Compaction>,
}

/// Where the events of logs go, once there is somebody who can make something of them.
pub(super) type EventReceiver<D, C> = Arc<OnceLock<Weak<Node<D, C>>>>;

impl<D: Disk> Storage<D> {
    /// Opens the logs, which may take long after a crash, and starts the threads. Blocks.
    ///
    /// # Errors
    /// [`StartError::Logs`], [`StartError::ForeignLogs`], [`StartError::Thread`].
    pub(super) fn open<N, C: Clock>(
        machine: &Machine<N, D, C>,
        settings: &Arc<Settings>,
        image: &MetadataImage,
        health: &Arc<Health>,
        receiver: &EventReceiver<D, C>,
    ) -> Result<Self, StartError> {
        let configs = TopicConfigs(Arc::clone(settings));
        let deleted_topics: HashSet<TopicId> = image.deleted_topics().collect();
        let opened = LogManager::open(
            &machine.disk,
            ManagerOptions {
                deleted_topics: deleted_topics.clone(),
                ..options(settings, image.cluster_id(), machine.open_files_max)
            },
            Wiring {
                random: Box::new(machine.random),
                events: events(health, receiver, machine.clock.clone()),
            },
            &|partition| configs.settings_of(image, &partition.topic).log,
            &|progress| {
                let directory = progress.directory.display();
                let (logs, segments) = (progress.logs_remaining, progress.segments_remaining);
                debug!(%directory, logs, segments, "logs and segments that are still to be read");
            },
            Now {
                instant: machine.clock.now(),
                unix_ms: machine.clock.unix_ms(),
            },
        )?;
        for _ in &opened.offline {
            health.directory_was_offline();
        }
        let logs = Arc::new(opened.manager);
        sort_out(&logs, image, &deleted_topics, settings, machine.clock.now())?;
        tell_missing(&opened.missing, image, settings.node_id);
        let durability = match Durability::start(Arc::clone(&logs), SYNC_THREADS) {
            Ok(durability) => durability,
            Err(error) => {
                logs.stop(BrokerEpoch::NONE);
                return Err(error.into());
            }
        };
        let mut storage = Self {
            durability,
            housekeeping: None,
            compaction: None,
            logs,
        };
        match storage.start_threads(&machine.clock, settings.logs.compaction) {
            Ok(()) => Ok(storage),
            Err(error) => {
                storage.stop(BrokerEpoch::NONE);
                Err(error.into())
            }
        }
    }

    fn start_threads<C: Clock>(
        &mut self,
        clock: &C,
        compaction: Option<CompactionOptions>,
    ) -> io::Result<()> {
        self.housekeeping = Some(Housekeeping::start(Arc::clone(&self.logs), clock.clone())?);
        if let Some(options) = compaction {
            self.compaction = Some(Compaction::start(&self.logs, clock, options)?);
        }
        Ok(())
    }

    /// The ids of the log directories that work.
    pub(super) fn directory_ids(&self) -> Vec<Uuid> {
        let directories = self.logs.directories();
        let online = directories.iter().filter(|it| it.offline.is_none());
        online.filter_map(|it| it.id).collect()
    }

    /// The log directories as they were given, each with its id, or with what is wrong with it.
    fn named_directories(&self) -> String {
        let directories = self.logs.directories();
        let named = directories.iter().map(|it| {
            let path = it.path.display();
            match (&it.offline, it.id) {
                (Some(_), _) | (None, None) => format!("{path} (offline)"),
                (None, Some(id)) => format!("{path} ({id})"),
            }
        });
        named.collect::<Vec<_>>().join(", ")
    }

    /// Whether a directory that this broker had when it registered last is not here now. One that
    /// was not mounted looks like a new one.
    pub(super) fn has_lost_directory(&self, broker: BrokerId, image: &MetadataImage) -> bool {
        let here = self.directory_ids();
        let had = image.broker(broker).map_or(&[][..], |it| &it.log_dirs);
        let lost: Vec<_> = had.iter().filter(|it| !here.contains(it)).collect();
        for directory in &lost {
            let given = self.named_directories();
            error!(%directory, given, "log directory of this broker is not here, its partitions are offline");
        }
        !lost.is_empty()
    }

    /// Ends the threads, closes the logs and lets the directories go. Blocks.
    pub(super) fn stop(self, epoch: BrokerEpoch) {
        self.durability.stop();
        if let Some(compaction) = self.compaction {
            compaction.stop();
        }
        if let Some(housekeeping) = self.housekeeping {
            housekeeping.stop();
        }
        let stopped = self.logs.stop(epoch);
        for path in stopped.unclean {
            let path = path.display();
            warn!(%path, "log directory not closed well, the next start reads it through");
        }
    }
}

fn options(settings: &Settings, cluster_id: &str, open_files_max: Option<u64>) -> ManagerOptions {
    let logs = &settings.logs;
    let owner = Owner {
        cluster_id: cluster_id.to_owned(),
        node_id: settings.node_id,
    };
    let defaults = settings.topics.with::<&str, &str>([]);
    let defaults = defaults.expect("the defaults have been checked");
    ManagerOptions {
        recovery_threads_per_directory: logs.recovery_threads_per_directory,
        retention_check_interval: logs.retention_check_interval,
        flush_check_interval: logs.flush_check_interval,
        recovery_point_interval: logs.recovery_point_interval,
        log_start_interval: logs.log_start_interval,
        high_watermark_interval: settings.replication.high_watermark_interval,
        file_delete_delay: defaults.log.file_delete_delay,
        has_cleaner: logs.compaction.is_some(),
        open_files_max: open_files_max.map(|max| Descriptors::new(max).segment_files_max()),
        ..ManagerOptions::new(owner, logs.directories.clone())
    }
}

/// Takes the events of logs to the replicas, right where they are told.
fn events<D: Disk, C: Clock>(
    health: &Arc<Health>,
    receiver: &EventReceiver<D, C>,
    clock: C,
) -> Box<dyn Fn(LogEvent<D>) + Send + Sync> {
    let (health, receiver) = (Arc::clone(health), Arc::clone(receiver));
    Box::new(move |event| {
        // Before there are replicas, nobody waits for anything.
        let node = receiver.get().and_then(Weak::upgrade);
        if let Some(node) = &node {
            node.follow_up(node.replicas.handle_log_event(&event, clock.now()));
        }
        if let LogEvent::DirectoryOffline(offline) = &event {
            health.directory_failed(offline);
        }
    })
}

/// What a log that is found is, by the metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// It is to be here.
    Placed,
    /// Its topic was deleted or its replica moved away, and the broker was stopped before the files
    /// were gone. Only the topic's id tells that: a log without one is never a left-over.
    LeftOver,
    /// A partition of this name is to be here, of a topic with another id; that of the log was never
    /// heard of. A bit may have flipped in `partition.metadata`.
    Mistaken,
    /// Nothing is known of it.
    Foreign,
}

/// Deletes what is left of partitions that the cluster has deleted or moved away, and refuses what
/// it does not know: that is left as it is, and nothing is deleted then. A log whose topic's id alone
/// is unknown is left as it is as well, and costs its own partition. (RE-019)
fn sort_out<D: Disk>(
    logs: &LogManager<D>,
    image: &MetadataImage,
    deleted: &HashSet<TopicId>,
    settings: &Settings,
    now: Instant,
) -> Result<(), StartError> {
    let broker = settings.node_id;
    let (mut left_over, mut mistaken, mut foreign) = (Vec::new(), Vec::new(), Vec::new());
    for log in logs.all() {
        match found(log.partition(), log.topic_id(), image, deleted, broker) {
            Found::Placed => {}
            Found::LeftOver => left_over.push(log),
            Found::Mistaken => mistaken.push(log),
            Found::Foreign => foreign.push(log),
        }
    }
    foreign.sort_by(|a, b| a.partition().cmp(b.partition()));
    if let Some(log) = foreign.first() {
        let error = StartError::ForeignLogs {
            directory: log.log_directory().to_owned(),
            partition: log.partition().to_string(),
            others: foreign.len() - 1,
        };
        logs.stop(BrokerEpoch::NONE);
        return Err(error);
    }
    for log in mistaken {
        let (partition, directory) = (log.partition(), log.log_directory().display());
        let found = log.topic_id().map(display);
        let expected = image.topic(&partition.topic).map(|it| display(it.id));
        error!(%partition, %directory, found, expected,
            "partition.metadata names another topic than the one of this name, the partition is offline");
        logs.set_aside(partition);
    }
    for log in left_over {
        let (partition, directory) = (log.partition(), log.log_directory().display());
        match logs.delete(partition, now) {
            Ok(()) => info!(%partition, %directory, "deleted what was left of a partition"),
            Err(error) => warn!(%partition, %directory, %error, "left-over of a partition stays"),
        }
    }
    Ok(())
}

/// Tells of partitions that are to be here and whose directory somebody has removed: nothing else
/// shows that they had records.
fn tell_missing(missing: &[MissingPartition], image: &MetadataImage, broker: BrokerId) {
    for it in missing {
        let MissingPartition {
            partition,
            directory,
            recovery_point: offset,
        } = it;
        let topic = image.topic(&partition.topic);
        let placed = topic.and_then(|topic| topic.partition(partition.partition));
        if placed.is_some_and(|it| it.is_replica(broker)) {
            let directory = directory.display();
            error!(%partition, %directory, %offset,
                "directory of a partition is gone, it begins anew, empty");
        }
    }
}

fn found(
    partition: &TopicPartition,
    id: Option<TopicId>,
    image: &MetadataImage,
    deleted: &HashSet<TopicId>,
    broker: BrokerId,
) -> Found {
    let topic = image.topic(&partition.topic);
    let Some(topic) = topic.filter(|topic| id.is_none_or(|id| id == topic.id)) else {
        let was_deleted = id.is_some_and(|id| deleted.contains(&id));
        let namesake = topic.and_then(|topic| topic.partition(partition.partition));
        return if was_deleted {
            Found::LeftOver
        } else if namesake.is_some_and(|it| it.is_replica(broker)) {
            Found::Mistaken
        } else {
            Found::Foreign
        };
    };
    match topic.partition(partition.partition) {
        Some(known) if known.is_replica(broker) => Found::Placed,
        // A name alone does not tell that it was ever this topic's.
        Some(_) if id.is_some() => Found::LeftOver,
        Some(_) | None => Found::Foreign,
    }
}

/// The id of the cluster that the directories and the metadata log belong to; a new one if they
/// belong to none.
///
/// # Errors
/// [`StartError::Owner`], [`StartError::Quorum`], [`StartError::TwoClusters`].
pub(super) fn cluster_id<N, D: Disk, C>(
    machine: &Machine<N, D, C>,
    settings: &Settings,
) -> Result<String, StartError> {
    let logs = &settings.logs;
    let metadata = metadata_log(settings);
    let named = cluster_of(&machine.disk, &metadata).map_err(|source| StartError::Quorum {
        directory: metadata.clone(),
        source,
    })?;
    let mut found = named.map(|cluster| (&*metadata, cluster));
    for path in std::iter::once(&logs.metadata_directory).chain(&logs.directories) {
        let properties = owner::properties(&machine.disk, settings, path)?;
        let Some(cluster) = properties.and_then(|it| it.cluster_id) else {
            continue;
        };
        match &found {
            None => found = Some((path, cluster)),
            Some((_, same)) if *same == cluster => {}
            Some((other, other_cluster)) => {
                return Err(StartError::TwoClusters {
                    path: path.clone(),
                    cluster,
                    other: other.to_path_buf(),
                    other_cluster: other_cluster.clone(),
                });
            }
        }
    }
    match found {
        Some((_, id)) => Ok(id),
        None => Ok(Uuid::from_random((machine.random)()).to_string()),
    }
}

/// Where the metadata log is.
pub(super) fn metadata_log(settings: &Settings) -> PathBuf {
    settings.logs.metadata_directory.join(METADATA_DIRECTORY)
}

#[cfg(test)]
mod tests {
    use klamm_primitives::{Offset, PartitionIndex};
    use klamm_wire::metadata::partition::PartitionRecord;
    use klamm_wire::metadata::topic::{RemoveTopicRecord, TopicRecord};

    use super::*;

    const KNOWN: TopicId = TopicId::from_u128(7);
    const DELETED: TopicId = TopicId::from_u128(8);

    /// The topic `t` with partition 0 on broker 1 and partition 1 on broker 2; another one was
    /// deleted.
    fn image() -> MetadataImage {
        let topic = |name: &'static str, topic_id| TopicRecord {
            name: name.into(),
            topic_id,
            ..TopicRecord::default()
        };
        let partition = |index, broker: i32| PartitionRecord {
            partition_id: PartitionIndex::new(index),
            topic_id: KNOWN,
            replicas: vec![broker.into()],
            isr: vec![broker.into()],
            leader: broker.into(),
            ..PartitionRecord::default()
        };
        let deletion = RemoveTopicRecord {
            topic_id: DELETED,
            ..RemoveTopicRecord::default()
        };
        let records = [
            topic("t", KNOWN).into(),
            partition(0, 1).into(),
            partition(1, 2).into(),
            topic("gone", DELETED).into(),
            deletion.into(),
        ];
        let empty = MetadataImage::new("c");
        empty.apply(&records, Offset::ZERO).unwrap()
    }

    /// Covers RE-019: only what the cluster has deleted or moved away by its id is deleted.
    #[test]
    fn re_019_a_log_is_a_left_over_only_by_its_topics_id() {
        let image = image();
        let deleted = image.deleted_topics().collect();
        let stranger = Some(TopicId::from_u128(9));
        for (partition, id, expected) in [
            ("t-0", Some(KNOWN), Found::Placed),
            ("t-0", None, Found::Placed),
            ("t-1", Some(KNOWN), Found::LeftOver),
            ("t-1", None, Found::Foreign),
            ("t-2", Some(KNOWN), Found::Foreign),
            ("t-2", None, Found::Foreign),
            ("t-0", Some(DELETED), Found::LeftOver),
            ("t-0", stranger, Found::Mistaken),
            ("t-1", stranger, Found::Foreign),
            ("gone-0", Some(DELETED), Found::LeftOver),
            ("gone-0", None, Found::Foreign),
            ("gone-0", stranger, Found::Foreign),
        ] {
            let name = partition.parse().unwrap();
            let found = found(&name, id, &image, &deleted, BrokerId::new(1));
            assert_eq!(found, expected, "{partition} of {id:?}");
        }
    }
}
