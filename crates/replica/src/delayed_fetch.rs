//! [`DelayedFetch`]: fetches that wait for data. (B3.2)

use std::sync::Arc;
use std::time::Instant;

use klamm_io::Disk;
use klamm_purgatory::DelayedOperation;

use crate::fetch_request::{FetchPartition, Fetcher, PartitionFetched};
use crate::finished::Finished;
use crate::follow_up::PartitionKey;
use crate::partition::{Partition, ReadMode, Readable, Seen, Wanted};
use crate::read_budget::ReadBudget;

/// A fetch that found too little, without a ticket yet.
#[must_use = "a client waits for an answer"]
pub struct FetchWait<D: Disk> {
    pub(crate) fetcher: Fetcher,
    pub(crate) min_bytes: u32,
    pub(crate) max_bytes: u32,
    /// When it came, and until when it waits.
    pub(crate) since: Instant,
    pub(crate) deadline: Option<Instant>,
    pub(crate) partitions: Vec<Waiting<D>>,
}

/// One partition of a fetch that waits.
pub(crate) struct Waiting<D: Disk> {
    pub(crate) request: FetchPartition,
    pub(crate) partition: Arc<Partition<D>>,
    /// Where the reader stood.
    pub(crate) seen: Seen,
}

impl<D: Disk> FetchWait<D> {
    pub(crate) fn keys(&self) -> Vec<PartitionKey> {
        let keys = self.partitions.iter();
        keys.map(|it| it.partition.key()).collect()
    }

    /// Whether there is enough, or something that the client should know at once.
    fn is_ready(&self) -> bool {
        let mut bytes = 0_u64;
        for it in &self.partitions {
            match it.partition.readable(&it.request, self.fetcher, &it.seen) {
                Readable::AnswerNow => return true,
                Readable::Bytes(more) => bytes += more,
            }
        }
        bytes >= u64::from(self.min_bytes)
    }

    /// Reads anew: what was found before is too old. (PU-059)
    fn read(&mut self) -> Vec<PartitionFetched<D::File>> {
        let mut budget = ReadBudget::new(self.max_bytes);
        let partitions = std::mem::take(&mut self.partitions);
        let read = |it: Waiting<D>| {
            let wanted = Wanted {
                request: &it.request,
                fetcher: self.fetcher,
                limit: budget.limit(it.request.max_bytes),
                mode: ReadMode::AfterWaiting,
            };
            let result = it.partition.read(&wanted, self.since);
            let result = result.map(|(found, _)| found.records);
            if let Ok(records) = &result {
                budget.spend(records);
            }
            PartitionFetched {
                partition: it.request.partition,
                result,
            }
        };
        partitions.into_iter().map(read).collect()
    }
}

/// A [`FetchWait`] with its ticket, in the purgatory.
pub(crate) struct DelayedFetch<D: Disk, T> {
    ticket: Option<T>,
    wait: FetchWait<D>,
}

impl<D: Disk, T> DelayedFetch<D, T> {
    pub(crate) fn new(wait: FetchWait<D>, ticket: T) -> Self {
        Self {
            ticket: Some(ticket),
            wait,
        }
    }
}

impl<D: Disk, T> DelayedOperation for DelayedFetch<D, T> {
    type Done = Finished<D::File, T>;

    fn try_complete(&mut self) -> Option<Self::Done> {
        self.wait.is_ready().then(|| self.expire())
    }

    fn expire(&mut self) -> Self::Done {
        Finished::Fetched {
            ticket: self.ticket.take().expect("it finishes once"),
            results: self.wait.read(),
        }
    }
}
