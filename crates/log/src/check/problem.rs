//! [`Problem`]: one thing that is wrong in a partition's directory, and where.

use std::fmt;
use std::path::PathBuf;

use klamm_primitives::{LeaderEpoch, Offset, ProducerId};
use thiserror::Error;

use crate::producer_state::SnapshotError;

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// Where in it, in bytes.
    pub position: Option<u64>,
    /// The offset that it is about.
    pub offset: Option<Offset>,
    /// What is wrong.
    pub fault: Fault,
}

impl Problem {
    pub(super) fn of_file(path: PathBuf, fault: Fault) -> Self {
        Self {
            path,
            position: None,
            offset: None,
            fault,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(position) = self.position {
            write!(f, ", byte {position}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", offset {offset}")?;
        }
        write!(f, ": {}", self.fault)
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// What stands there is no batch, or none that belongs there.
    #[error("{0}")]
    Batch(String),
    /// The bytes from the first one that is no whole batch to the end of the file.
    #[error("{count} bytes behind the last whole batch")]
    BytesBehind {
        /// How many there are.
        count: u64,
    },
    /// A file is larger than a segment can be; nothing of it was looked at.
    #[error("{len} bytes are more than a segment can have")]
    TooLarge {
        /// Its bytes.
        len: u64,
    },
    /// The records of a batch cannot be read, though its checksum is right.
    #[error("its records cannot be read: {0}")]
    Records(String),
    /// The offsets of a batch's records do not follow one another. In a compacted log they need
    /// not, so this is told only of batches that have all their records.
    #[error("record {found} where {expected} should follow")]
    RecordOffset {
        /// The offset that was found.
        found: Offset,
        /// The offset that should be there.
        expected: Offset,
    },
    /// A batch's largest timestamp is not that of its records.
    #[error("max timestamp {stored}, but that of the records is {computed}")]
    MaxTimestamp {
        /// What the header says.
        stored: i64,
        /// What the records say.
        computed: i64,
    },
    /// A batch has an older leader epoch than the one before it.
    #[error("leader epoch {epoch} behind {former}")]
    EpochFalls {
        /// The batch's.
        epoch: LeaderEpoch,
        /// The one of the batch before.
        former: LeaderEpoch,
    },
    /// A batch's leader epoch is not the one that the list of epochs has for its offset.
    #[error("leader epoch {epoch}, and leader-epoch-checkpoint has {listed:?} for it")]
    EpochDiffers {
        /// The batch's.
        epoch: LeaderEpoch,
        /// That of the list.
        listed: Option<LeaderEpoch>,
    },
    /// The length of an index is not one of whole entries.
    #[error("{count} bytes behind the last whole entry")]
    OddLength {
        /// Bytes that are too many.
        count: u64,
    },
    /// An index entry does not lie behind the one before it.
    #[error("the entry does not rise above the one before it")]
    NotRising,
    /// An offset index entry points where no batch begins.
    #[error("no batch begins at byte {position} of the log")]
    NoBatchAt {
        /// Where it points.
        position: u64,
    },
    /// An offset index entry points at a batch with another last offset.
    #[error("the batch at byte {position} of the log ends with offset {last}")]
    OtherLastOffset {
        /// Where it points.
        position: u64,
        /// The last offset of the batch there.
        last: Offset,
    },
    /// A time index entry names an offset that is no batch's last one.
    #[error("no batch ends with this offset")]
    NoBatchEnds,
    /// A time index entry has another timestamp than its batch.
    #[error("timestamp {entry}, but that of the batch is {batch}")]
    OtherTimestamp {
        /// The entry's.
        entry: i64,
        /// The largest of the batch.
        batch: i64,
    },
    /// Something stands behind the zeros with which an index ends.
    #[error("bytes that are not zero behind the unused end of the index")]
    BehindZeros,
    /// A transaction index entry has a version that is not known.
    #[error("version {0} of a transaction index entry")]
    TransactionVersion(i16),
    /// A transaction index entry names an offset that is not that of its producer's abort marker.
    #[error("no marker of producer {0} has this offset")]
    NoMarker(ProducerId),
    /// An index without the log that it is of.
    #[error("an index without its .log file")]
    NoLog,
    /// A producer snapshot is damaged.
    #[error(transparent)]
    Snapshot(SnapshotError),
    /// A small file of text is damaged.
    #[error("{0}")]
    SmallFile(String),
}
