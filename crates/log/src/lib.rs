//! The storage of partitions: append-only logs of record batches, in files that are Apache Kafka's
//! byte for byte.
//!
//! A [`Log`] is one partition in one directory. It is cut into segments, each a file of batches
//! with sparse indexes by offset and by time beside it, and knows besides its records the leader
//! epochs they were written in, the producers that wrote them and the transactions they belong
//! to. One owner changes it through `&mut`; any number of [`LogReader`]s read meanwhile and never
//! wait. A read yields no bytes but a range of a file, which goes to a socket without passing
//! through here. A [`LogManager`] keeps the logs of one or more directories: it opens and recovers
//! them, makes and deletes partitions, writes checkpoints, and lets go of a directory that fails.
//!
//! An append is in the page cache when it returns, and durable once a [`Flush`] has run; several
//! logs' flushes are gathered in one place ([`Durability`]). After a crash a log is read through
//! from the recovery point on and cut behind its last whole and good batch. Records that were
//! flushed are never cut, and what was cut is told.
//!
//! The crate knows neither requests nor replicas: who leads, which replicas are in sync and how
//! far the high watermark is, others decide; the log keeps it as a bound. It asks no clock, it is
//! told the time. All calls may block on the disk; none is async.
//!
//! Read first: [`Log`], then [`LogReader`], then [`LogManager`].

mod names;
mod small_file;

mod clean_shutdown;
mod meta_properties;
mod offset_checkpoint;
mod partition_metadata;

mod entry_file;
mod entry_stream;
mod index_error;
mod indexer;
mod offset_index;
mod time_index;
mod transaction_index;

mod leader_epochs;
mod producer_state;

mod config;
mod damage;
mod scan;
mod segment;

mod append;
mod bounds;
mod close;
mod flush;
mod leap;
mod log;
mod offset_for_timestamp;
mod open;
mod open_files;
mod read;
mod recover;
mod recovery;
mod replay;
mod retention;
mod roll;
mod truncate;

mod check;
mod dump;

mod cleaner;

mod compaction;
mod directory;
mod directory_checkpoints;
mod disk_failure;
mod durability;
mod housekeeping;
mod log_event;
mod manager;
mod partition_log;
mod stop_signal;
mod sync_queue;
mod workers;

pub use append::{AppendError, Appended, MarkerError};
pub use bounds::{PastLogEnd, Place};
pub use check::{Depth, Fault, Problem, Report, SegmentSummary, check};
pub use clean_shutdown::CleanShutdown;
pub use cleaner::{
    CleanError, Cleanable, Cleaned, CleanerOffsets, Cleaning, CleaningCounts, Cleanings, Running,
    Swapped, Uncleanable, filthiest,
};
pub use config::{CleanupPolicy, ConfigError, LogConfig};
pub use disk_failure::DiskFailure;
pub use dump::{DumpError, Sound, dump};
pub use flush::{Flush, FlushError};
pub use index_error::IndexError;
pub use leader_epochs::{EpochEnd, EpochStart};
pub use leap::Contradiction;
pub use log::{ChangeError, Log, Unavailable};
pub use meta_properties::MetaProperties;
pub use offset_checkpoint::Checkpoint;
pub use offset_for_timestamp::{OffsetAndTime, TimeTarget};
pub use open::{OpenError, OpenOptions, Opening};
pub use producer_state::{ProducerStateError, SequenceFacts, SnapshotError};
pub use read::{Isolation, LogOffsets, LogReader, Read, ReadError, ReadLimit};
pub use recover::{Cut, Saved};
pub use retention::{RetentionReason, RetiredFiles};
pub use scan::{BatchFault, ScanError};
pub use segment::SegmentError;
pub use small_file::SmallFileError;
pub use transaction_index::AbortedTransaction;

pub use compaction::{Compaction, CompactionOptions};
pub use directory::{ClaimError, Owner};
pub use durability::{Durability, SYNC_THREADS};
pub use housekeeping::Housekeeping;
pub use log_event::{DirectoryOffline, DirectoryWork, LogEvent, OfflineReason};
pub use manager::{
    Compacted, CompactionOutcome, CreateError, CutError, CutTo, DeleteError, DirectoryStatus,
    LogManager, ManagerOptions, MissingPartition, NewPartition, Now, Opened, Progress, StartError,
    Stopped, Wiring,
};
pub use partition_log::PartitionLog;

/// The examples of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
