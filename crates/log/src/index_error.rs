//! [`IndexError`]: why an index did not take an entry, or is not to be believed.

use std::path::PathBuf;

use klamm_io::DiskError;
use klamm_primitives::Offset;
use thiserror::Error;

/// An index refused an entry, or holds what cannot be right. Indexes are made from the log, so
/// a damaged one costs a rebuild and no record.
#[derive(Debug, Error)]
pub enum IndexError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The entry does not lie behind the last one.
    #[error("{path}: entry for offset {offset} does not follow {last}", path = path.display())]
    NotRising {
        /// The index.
        path: PathBuf,
        /// The refused entry's offset.
        offset: Offset,
        /// The last entry's offset.
        last: Offset,
    },
    /// The offset does not lie within 2^31 - 1 of the segment's base offset.
    #[error("{path}: offset {offset} is out of reach of base offset {base}", path = path.display())]
    OutOfReach {
        /// The index.
        path: PathBuf,
        /// The refused entry's offset.
        offset: Offset,
        /// The segment's base offset.
        base: Offset,
    },
    /// No room is left; the log must roll first.
    #[error("{path}: the index is full", path = path.display())]
    Full {
        /// The index.
        path: PathBuf,
    },
    /// The file is not what it should be.
    #[error("{path}: damaged index: {what}", path = path.display())]
    Damaged {
        /// The index.
        path: PathBuf,
        /// What gave it away.
        what: String,
    },
}
