//! [`LogEvent`]: what happens to logs while nobody calls them.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::Disk;
use klamm_primitives::{Offset, TopicPartition, Uuid};
use thiserror::Error;

use crate::partition_log::PartitionLog;

/// What happened to a log or to a whole directory. Told to the receiver that a
/// [`LogManager`](crate::LogManager) was given, by whichever thread saw it, without any lock of
/// this crate; the receiver must not block.
pub enum LogEvent<D: Disk> {
    /// A sync that was [asked for](PartitionLog::request_sync) has been done. Those of one log are
    /// told in order.
    Synced {
        /// The log. A partition that was deleted and made anew has another one.
        log: Arc<PartitionLog<D>>,
        /// Everything below is durable.
        offset: Offset,
    },
    /// A log has failed by itself: nothing more of it becomes durable, and it takes no changes.
    /// Its directory goes on.
    LogFailed {
        /// The log.
        log: Arc<PartitionLog<D>>,
    },
    /// A directory has failed, and its partitions with it. What another thread has synced just
    /// before may be told of just after.
    DirectoryOffline(DirectoryOffline),
}

/// A directory has failed. Its partitions are gone from the manager, and their logs have failed.
#[derive(Debug, Clone)]
pub struct DirectoryOffline {
    /// Where it is.
    pub path: PathBuf,
    /// Its own id.
    pub id: Option<Uuid>,
    /// The partitions that it had.
    pub partitions: Vec<TopicPartition>,
    /// Why.
    pub reason: OfflineReason,
}

/// What was being done when a directory failed, and the error.
#[derive(Debug, Clone, Error)]
#[error("{work}: {source}")]
pub struct OfflineReason {
    /// What was being done.
    pub work: DirectoryWork,
    /// The error.
    #[source]
    pub source: Arc<dyn Error + Send + Sync>,
}

/// Work by which a failed directory shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DirectoryWork {
    /// Taking the directory, and reading what it holds.
    Claiming,
    /// Opening the logs that it holds.
    Opening,
    /// Making a partition.
    Creating,
    /// Deleting a partition or old segments, or removing files.
    Deleting,
    /// Syncing a log.
    Syncing,
    /// Compacting a log.
    Compacting,
    /// Cutting a log.
    Cutting,
    /// Writing checkpoints or the marker of a clean stop.
    Checkpointing,
    /// What the user of a log has [reported](crate::LogManager::report_failure).
    Using,
}

impl fmt::Display for DirectoryWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Claiming => "taking the directory",
            Self::Opening => "opening its logs",
            Self::Creating => "making a partition",
            Self::Deleting => "deleting",
            Self::Syncing => "syncing",
            Self::Compacting => "compacting a log",
            Self::Cutting => "cutting a log",
            Self::Checkpointing => "writing checkpoints",
            Self::Using => "using a log",
        })
    }
}
