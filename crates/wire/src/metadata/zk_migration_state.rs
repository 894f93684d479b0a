//! `ZkMigrationStateRecord` (type 21): how far a migration from `ZooKeeper` has come.
//!
//! Since 4.0 there are no such migrations; the record is still found in the logs of clusters
//! that went through one, and of those that never had to.

use crate::prelude::*;

/// Sets the state of the migration.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(21), versions = 0..=0, flexible = 0..)]
pub struct ZkMigrationStateRecord {
    /// 0 none, 1 migration, 2 before it, 3 after it. Kafka 3.4 meant 1 and 2 the other way
    /// round, but wrote neither of the states that could be mixed up.
    pub zk_migration_state: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
