//! The storage of partitions.

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
mod scan;
mod segment;

mod append;
mod bounds;
mod close;
mod flush;
mod log;
mod offset_for_timestamp;
mod open;
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

mod directory;
mod directory_checkpoints;
mod disk_failure;
mod durability;
mod housekeeping;
mod log_event;
mod manager;
mod partition_log;
mod sync_queue;
mod workers;

pub use append::{AppendError, Appended, MarkerError};
pub use bounds::{PastLogEnd, Place};
pub use check::{Depth, Fault, Problem, Report, SegmentSummary, check};
pub use clean_shutdown::CleanShutdown;
pub use cleaner::{
    CleanError, Cleanable, Cleaned, CleanerOffsets, Cleaning, CleaningCounts, Cleanings, Running,
    Swapped, filthiest,
};
pub use config::{CleanupPolicy, ConfigError, LogConfig};
pub use dump::{DumpError, Sound, dump};
pub use flush::{Flush, FlushError};
pub use index_error::IndexError;
pub use leader_epochs::{EpochEnd, EpochStart};
pub use log::{ChangeError, Log, Unavailable};
pub use meta_properties::MetaProperties;
pub use offset_checkpoint::Checkpoint;
pub use offset_for_timestamp::{OffsetAndTime, TimeTarget};
pub use open::{OpenError, OpenOptions, Opening};
pub use producer_state::{ProducerStateError, SequenceFacts, SnapshotError};
pub use read::{Isolation, LogOffsets, LogReader, Read, ReadError, ReadLimit};
pub use recover::Cut;
pub use retention::{RetentionReason, RetiredFiles};
pub use scan::{BatchFault, ScanError};
pub use segment::SegmentError;
pub use small_file::SmallFileError;
pub use transaction_index::AbortedTransaction;

pub use directory::{ClaimError, Owner};
pub use durability::{Durability, SYNC_THREADS};
pub use housekeeping::Housekeeping;
pub use log_event::{DirectoryOffline, DirectoryWork, LogEvent, OfflineReason};
pub use manager::{
    CreateError, DeleteError, DirectoryStatus, LogManager, ManagerOptions, Now, Opened, Progress,
    StartError, Stopped, Wiring,
};
pub use partition_log::PartitionLog;
