//! The storage of partitions.

mod clean_shutdown;
mod entry_file;
mod index_error;
mod leader_epochs;
mod meta_properties;
mod names;
mod offset_checkpoint;
mod offset_index;
mod partition_metadata;
mod producer_state;
mod small_file;
mod time_index;
mod transaction_index;

pub use clean_shutdown::CleanShutdown;
pub use index_error::IndexError;
pub use leader_epochs::{EpochEnd, EpochStart};
pub use meta_properties::MetaProperties;
pub use offset_checkpoint::Checkpoint;
pub use producer_state::{ProducerStateError, SequenceFacts};
pub use small_file::SmallFileError;
pub use transaction_index::AbortedTransaction;
