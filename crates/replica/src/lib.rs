//! Replicas of partitions: leaders, in-sync sets, high watermarks, delayed produce and fetch.
//!
//! The crate knows neither API requests nor sockets.

mod not_served;
mod topic_settings;

mod append_request;
mod delete_records_request;
mod fetch_request;
mod finished;
mod offset_query;

mod isr_proposal;

pub use append_request::{
    AppendEntry, AppendError, AppendOutcome, AppendRequest, AppendedRecords, Origin,
    PartitionAppended,
};
pub use delete_records_request::{
    DeleteRecordsError, DeleteRecordsOutcome, DeleteRecordsRequest, PartitionDeleted,
};
pub use fetch_request::{
    FetchError, FetchOutcome, FetchPartition, FetchRequest, FetchedRecords, Fetcher,
    PartitionFetched,
};
pub use finished::Finished;
pub use isr_proposal::{IsrAnswer, IsrMember, IsrProposal, IsrProposer};
pub use not_served::NotServed;
pub use offset_query::{OffsetError, OffsetQuery, OffsetTarget};
pub use topic_settings::TopicSettings;
