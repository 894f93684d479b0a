//! [`PartitionLog`]: the log of one partition, as many threads share it.

use std::ops::DerefMut;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use klamm_io::Disk;
use klamm_primitives::{TopicId, TopicPartition};
use parking_lot::Mutex;
use tracing::info;

use crate::config::LogConfig;
use crate::directory::LogDirectory;
use crate::log::Log;
use crate::open::{Listening, OpenError, OpenOptions, Opening};
use crate::partition_metadata;
use crate::read::LogReader;
use crate::sync_queue::SyncTurn;

/// The log of one partition under its lock, a reader of it that needs none, and what the
/// [`LogManager`](crate::LogManager) knows besides.
///
/// Still usable by whoever holds it after the partition was deleted or its directory has failed;
/// the log then refuses changes.
pub struct PartitionLog<D: Disk> {
    partition: TopicPartition,
    /// Held for copying alone.
    topic_id: Mutex<Option<TopicId>>,
    directory: Arc<LogDirectory<D>>,
    /// Held for the length of one change to the log. Nothing of the manager is locked under it
    /// and it is taken under the manager's own locks only where partitions come and go.
    log: Mutex<Log<D>>,
    reader: LogReader<D>,
    /// Locked under the directory's queue alone.
    pub(crate) sync_turn: Mutex<SyncTurn>,
    /// When records without a sync were first seen by the pass that looks after `flush.ms`; its
    /// lock is taken by that pass alone.
    pub(crate) unflushed_since: Mutex<Option<Instant>>,
}

impl<D: Disk> LogDirectory<D> {
    /// Opens the log of a partition whose files are here.
    pub(crate) fn open_log(
        self: &Arc<Self>,
        partition: &TopicPartition,
        config: LogConfig,
        options: &OpenOptions,
        listening: Listening<'_>,
    ) -> Result<(Arc<PartitionLog<D>>, Opening), OpenError> {
        let (disk, path) = (self.disk().clone(), self.path_of(partition));
        let topic_id = partition_metadata::read(&disk, &path)?;
        let files = self.open_files().clone();
        let (log, opening) = Log::open_telling(disk, files, path, config, options, listening)?;
        if opening.segments_recovered > 0 {
            let (segments, log_end_offset) = (opening.segments_recovered, log.log_end_offset());
            info!(%partition, segments, %log_end_offset, "log recovered");
        }
        let log = PartitionLog::new(partition.clone(), topic_id, self.clone(), log);
        Ok((Arc::new(log), opening))
    }
}

impl<D: Disk> PartitionLog<D> {
    pub(crate) fn new(
        partition: TopicPartition,
        topic_id: Option<TopicId>,
        directory: Arc<LogDirectory<D>>,
        log: Log<D>,
    ) -> Self {
        let reader = log.reader();
        // Nobody has set another one: the log is new here.
        _ = reader.shared.watcher.set(directory.clone());
        Self {
            partition,
            topic_id: Mutex::new(topic_id),
            directory,
            reader,
            log: Mutex::new(log),
            sync_turn: Mutex::default(),
            unflushed_since: Mutex::new(None),
        }
    }

    /// Which partition it is.
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// The id of the topic; `None` in directories of Kafka before 2.8, until somebody
    /// [creates](crate::LogManager::create) the partition with one.
    pub fn topic_id(&self) -> Option<TopicId> {
        *self.topic_id.lock()
    }

    pub(crate) fn set_topic_id(&self, id: TopicId) {
        *self.topic_id.lock() = Some(id);
    }

    /// The log directory that the partition is in.
    pub fn log_directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn directory(&self) -> &Arc<LogDirectory<D>> {
        &self.directory
    }

    /// The log, for whoever changes it; waits for others who do. Reading needs no lock: see
    /// [`PartitionLog::reader`].
    pub fn lock(&self) -> impl DerefMut<Target = Log<D>> + '_ {
        self.log.lock()
    }

    /// Reads the log, also while it is being changed.
    pub fn reader(&self) -> &LogReader<D> {
        &self.reader
    }

    /// Bytes of all segments' batches.
    pub fn size(&self) -> u64 {
        let segments = self.reader.shared.segments.read();
        segments.values().map(|it| u64::from(it.size())).sum()
    }

    /// Asks for a sync of everything that was appended before this call. Never waits for the
    /// disk; [`LogEvent::Synced`](crate::LogEvent::Synced) tells when it is done, provided that a
    /// [`Durability`](crate::Durability) runs. A partition that waits already is not queued
    /// twice. Without effect once the directory has failed.
    pub fn request_sync(self: &Arc<Self>) {
        self.directory.syncs().push(self);
    }
}
