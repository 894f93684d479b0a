//! What a [`LogManager`](super::LogManager) is told when it is made.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use klamm_io::Disk;
use klamm_primitives::TopicId;

use crate::directory::Owner;
use crate::log_event::LogEvent;

/// The settings of a [`LogManager`](super::LogManager), under the names that brokers have for
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagerOptions {
    /// `log.dirs`.
    pub directories: Vec<PathBuf>,
    /// `cluster.id` and `node.id`: what the directories must belong to.
    pub owner: Owner,
    /// `num.recovery.threads.per.data.dir`: so many logs of a directory are opened at a time.
    pub recovery_threads_per_directory: usize,
    /// `log.retention.check.interval.ms`.
    pub retention_check_interval: Duration,
    /// `log.flush.scheduler.interval.ms`: how often logs are looked at whose `flush.ms` may have
    /// passed; `None` is never.
    pub flush_check_interval: Option<Duration>,
    /// `log.flush.offset.checkpoint.interval.ms`.
    pub recovery_point_interval: Duration,
    /// `log.flush.start.offset.checkpoint.interval.ms`.
    pub log_start_interval: Duration,
    /// `replica.high.watermark.checkpoint.interval.ms`. Recovery points that syncs have raised are
    /// written with it.
    pub high_watermark_interval: Duration,
    /// `producer.id.expiration.check.interval.ms`.
    pub producer_expiry_interval: Duration,
    /// `log.segment.delete.delay.ms`: after so long the directories of deleted partitions that
    /// are found at the start are removed.
    pub file_delete_delay: Duration,
    /// `log.cleaner.enable`: logs with `compact` in their policy are somebody else's to compact
    /// and to let old segments go of; then only those go here that lie before the log start.
    pub has_cleaner: bool,
    /// So many files of segments are kept open, over all partitions; for each more that is needed
    /// another is closed, the one that was used least of late, once it is synced. `None` is without
    /// bound. Files that are open for a moment come on top: of indexes, snapshots and directories, and
    /// those that are just being read.
    pub open_files_max: Option<usize>,
    /// Topics that the cluster has deleted. Of two directories of one partition the one of such a topic
    /// is left out: it was deleted while its log directory was offline, and made anew in another.
    pub deleted_topics: HashSet<TopicId>,
}

impl ManagerOptions {
    /// Apache Kafka's defaults.
    pub fn new(owner: Owner, directories: Vec<PathBuf>) -> Self {
        Self {
            directories,
            owner,
            recovery_threads_per_directory: 2,
            retention_check_interval: Duration::from_mins(5),
            flush_check_interval: None,
            recovery_point_interval: Duration::from_mins(1),
            log_start_interval: Duration::from_mins(1),
            high_watermark_interval: Duration::from_secs(5),
            producer_expiry_interval: Duration::from_mins(10),
            file_delete_delay: Duration::from_mins(1),
            has_cleaner: true,
            open_files_max: None,
            deleted_topics: HashSet::new(),
        }
    }
}

/// What a [`LogManager`](super::LogManager) is connected to.
pub struct Wiring<D: Disk> {
    /// Random numbers, for the ids of directories and the names of deleted ones.
    pub random: Box<dyn FnMut() -> u128 + Send>,
    /// Receives what happens while nobody calls. Called without locks, from any thread; must
    /// neither block nor panic.
    pub events: Box<dyn Fn(LogEvent<D>) + Send + Sync>,
}

/// The time, both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Monotonic, for what comes due.
    pub instant: Instant,
    /// Unix time in milliseconds, for the age of records.
    pub unix_ms: i64,
}
