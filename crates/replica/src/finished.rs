//! [`Finished`]: what has waited and is now to be answered.

use klamm_io::DiskFile;

use crate::{PartitionAppended, PartitionDeleted, PartitionFetched};

/// A request that waited and is done, with the ticket that it was given. Whoever gets it answers;
/// nobody else does.
#[derive(Debug)]
pub enum Finished<F: DiskFile, T> {
    /// An append.
    Produced {
        /// What the caller gave.
        ticket: T,
        /// In the order of the request.
        results: Vec<PartitionAppended>,
    },
    /// A fetch.
    Fetched {
        /// What the caller gave.
        ticket: T,
        /// In the order of the request.
        results: Vec<PartitionFetched<F>>,
    },
    /// A fetch of somebody who is gone: there is nobody to answer.
    Abandoned {
        /// What the caller gave.
        ticket: T,
    },
    /// A deletion of records.
    DeletedRecords {
        /// What the caller gave.
        ticket: T,
        /// In the order of the request.
        results: Vec<PartitionDeleted>,
    },
}
