//! The partitions of a broker: who leads, which replicas are in sync, how far the high watermark
//! is, and the requests that wait for any of that.
//!
//! A [`ReplicaManager`] follows the cluster's metadata: of each partition that is placed on this
//! broker it keeps the role, and the log, which is `klamm-log`'s. The leader appends what clients
//! produce, serves fetches, and learns from the fetches of followers how far they are; from that
//! follow the in-sync set, which only the controller changes, and the high watermark, up to which
//! consumers see. Requests that cannot be answered yet wait in a purgatory.
//!
//! What decides is synchronous and is told the time. Nothing calls back and no lock is held while
//! others are looked after: a call returns its own answer, and beside it a [`FollowUp`], which
//! hands back those who waited as [`Finished`], each with the ticket that the caller gave it.
//!
//! Records are not copied here and not read back: what came with a request is written from there,
//! and what is fetched is a range of a file.
//!
//! The crate knows neither API requests nor sockets, nor error codes.
//!
//! Read first: [`ReplicaManager`], [`AppendRequest`] and [`FetchRequest`].

mod not_served;
mod topic_settings;

mod append_request;
mod delete_records_request;
mod fetch_request;
mod finished;
mod follow_up;
mod isr_proposal;
mod offset_query;
mod ticket;

mod acks;
mod high_watermark;
mod in_sync;
mod leadership;
mod progress;
mod read_budget;
mod surroundings;

mod partition;

mod delayed_delete_records;
mod delayed_fetch;
mod delayed_produce;

mod manager;

pub use append_request::{
    AppendEntry, AppendError, AppendOutcome, AppendRequest, AppendedRecords, Origin,
    PartitionAppended,
};
pub use delayed_delete_records::DeleteRecordsWait;
pub use delayed_fetch::FetchWait;
pub use delayed_produce::ProduceWait;
pub use delete_records_request::{
    DeleteRecordsError, DeleteRecordsOutcome, DeleteRecordsRequest, PartitionDeleted,
};
pub use fetch_request::{
    FetchError, FetchOutcome, FetchPartition, FetchRequest, FetchedRecords, Fetcher,
    PartitionFetched,
};
pub use finished::Finished;
pub use follow_up::FollowUp;
pub use isr_proposal::{IsrAnswer, IsrMember, IsrProposal, IsrProposer};
pub use manager::{
    Applied, NotTaken, ReplicaManager, ReplicaOptions, ReplicaWiring, Waiting, is_internal_topic,
};
pub use not_served::NotServed;
pub use offset_query::{OffsetError, OffsetQuery, OffsetTarget};
pub use partition::{FollowerStatus, PartitionRole, PartitionStatus};
pub use ticket::{Patience, Ticket};
pub use topic_settings::{TopicSettings, TopicSettingsSource};

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
