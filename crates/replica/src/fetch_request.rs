//! What is asked of [`ReplicaManager::fetch`](crate::ReplicaManager::fetch), and what it answers.

use std::sync::Arc;
use std::time::Duration;

use klamm_io::{DiskFile, FileRange};
use klamm_log::{AbortedTransaction, EpochEnd};
use klamm_primitives::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, TopicId, TopicPartition};
use thiserror::Error;

use crate::NotServed;

/// Reads from some partitions, for a consumer or a follower.
#[derive(Debug, Clone)]
pub struct FetchRequest {
    /// Who asks.
    pub fetcher: Fetcher,
    /// How long to wait for `min_bytes`.
    pub max_wait: Duration,
    /// Answer as soon as so many bytes can be read, summed over the partitions.
    pub min_bytes: u32,
    /// So many bytes in all, used up partition by partition. The first batch that is found comes
    /// whole even if it is larger.
    pub max_bytes: u32,
    /// The partitions, in the order in which they are served and answered.
    pub partitions: Vec<FetchPartition>,
}

/// Who fetches, and so how far is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fetcher {
    /// A consumer, up to the high watermark.
    Consumer,
    /// A consumer of committed transactions, up to the last stable offset.
    CommittedConsumer,
    /// A follower, up to the log end. Its fetch offset tells what it has.
    Follower {
        /// Which.
        broker: BrokerId,
        /// Its epoch; `None` where the request does not say.
        broker_epoch: Option<BrokerEpoch>,
    },
}

/// One partition's part of a [`FetchRequest`].
#[derive(Debug, Clone)]
pub struct FetchPartition {
    /// Where from.
    pub partition: TopicPartition,
    /// The topic's id; `None` in versions that name topics by their names alone.
    pub topic_id: Option<TopicId>,
    /// The offset from which to read.
    pub fetch_offset: Offset,
    /// A follower's own log start offset; `None` from consumers.
    pub log_start_offset: Option<Offset>,
    /// So many bytes of this partition.
    pub max_bytes: u32,
    /// The leader epoch that the client knows.
    pub current_leader_epoch: Option<LeaderEpoch>,
    /// The leader epoch of the last record that the client has, by which it is told where its
    /// log and this one part ways.
    pub last_fetched_epoch: Option<LeaderEpoch>,
}

/// One partition's part of the answer. Stands at the place that the [`FetchPartition`] had in the
/// request.
#[derive(Debug)]
pub struct PartitionFetched<F: DiskFile> {
    /// Where from.
    pub partition: TopicPartition,
    /// What was found.
    pub result: Result<FetchedRecords<F>, FetchError>,
}

/// What a fetch found in one partition.
#[derive(Debug)]
pub struct FetchedRecords<F: DiskFile> {
    /// The high watermark.
    pub high_watermark: Offset,
    /// The last stable offset.
    pub last_stable_offset: Offset,
    /// The log start offset.
    pub log_start_offset: Offset,
    /// The aborted transactions within the records; there for
    /// [`Fetcher::CommittedConsumer`] alone, though it may be empty.
    pub aborted: Option<Vec<AbortedTransaction>>,
    /// The batches; `None` if there is none to be had. The last one may be cut, and the first
    /// one may begin before the fetch offset.
    pub records: Option<FileRange<F>>,
    /// Where the client's log and this one part ways, if they do: the end of the greatest leader
    /// epoch that both may have. There are no records then.
    pub diverging: Option<EpochEnd>,
}

/// A partition was not read.
#[derive(Debug, Clone, Error)]
pub enum FetchError {
    /// The partition is not served here.
    #[error(transparent)]
    NotServed(#[from] NotServed),
    /// The fetch offset is not one of the log's, or the last fetched epoch is above all that the
    /// leader knows. `OFFSET_OUT_OF_RANGE`.
    #[error("offset {offset} is not within {log_start} to {log_end}")]
    OffsetOutOfRange {
        /// What was asked for.
        offset: Offset,
        /// The log start offset.
        log_start: Offset,
        /// The log end offset.
        log_end: Offset,
    },
    /// A replica fetches that is not one of the partition's here, or a former incarnation of one.
    /// `NOT_LEADER_OR_FOLLOWER`, so that it looks for news. (RE-049)
    #[error("broker {broker} does not replicate the partition, or is an earlier incarnation")]
    NotAReplica {
        /// Which.
        broker: BrokerId,
    },
    /// The log could not be read. `KAFKA_STORAGE_ERROR`.
    #[error(transparent)]
    Read(#[from] Arc<klamm_log::ReadError>),
}

/// What [`ReplicaManager::fetch`](crate::ReplicaManager::fetch) has come to.
#[must_use]
pub enum FetchOutcome<F: DiskFile, W> {
    /// This is the answer.
    Done(Vec<PartitionFetched<F>>),
    /// It must wait; give it a ticket and pass both to
    /// [`ReplicaManager::wait_fetch`](crate::ReplicaManager::wait_fetch).
    Waits(W),
}
