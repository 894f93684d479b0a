//! [`DelayedDeleteRecords`]: deletions that wait until all living replicas have made them.

use std::sync::Arc;
use std::time::Instant;

use klamm_io::Disk;
use klamm_primitives::Offset;
use klamm_purgatory::DelayedOperation;

use crate::delete_records_request::{DeleteRecordsError, PartitionDeleted};
use crate::finished::Finished;
use crate::follow_up::PartitionKey;
use crate::partition::Partition;

/// A deletion that must wait, without a ticket yet.
#[must_use = "a client waits for an answer"]
pub struct DeleteRecordsWait<D: Disk> {
    pub(crate) deadline: Option<Instant>,
    /// What has become of each partition's part so far.
    pub(crate) results: Vec<PartitionDeleted>,
    /// Those of them that not all replicas have made.
    pub(crate) awaited: Vec<AwaitedDeletion<D>>,
}

/// One partition's part that not all replicas have made.
pub(crate) struct AwaitedDeletion<D: Disk> {
    /// Its place among the results.
    pub(crate) index: usize,
    pub(crate) partition: Arc<Partition<D>>,
    /// What the low watermark has to reach.
    pub(crate) required: Offset,
}

impl<D: Disk> DeleteRecordsWait<D> {
    pub(crate) fn keys(&self) -> Vec<PartitionKey> {
        self.awaited.iter().map(|it| it.partition.key()).collect()
    }

    /// Settles what can be. Says whether nothing is left to wait for. (PU-061)
    fn settle(&mut self) -> bool {
        let results = &mut self.results;
        self.awaited.retain(|it| {
            let low_watermark = it.partition.low_watermark();
            let is_over = low_watermark
                .as_ref()
                .map_or(true, |low| *low >= it.required);
            if is_over {
                results[it.index].result = low_watermark.map_err(Into::into);
            }
            !is_over
        });
        self.awaited.is_empty()
    }
}

/// A [`DeleteRecordsWait`] with its ticket, in the purgatory.
pub(crate) struct DelayedDeleteRecords<D: Disk, T> {
    ticket: Option<T>,
    wait: DeleteRecordsWait<D>,
}

impl<D: Disk, T> DelayedDeleteRecords<D, T> {
    pub(crate) fn new(wait: DeleteRecordsWait<D>, ticket: T) -> Self {
        Self {
            ticket: Some(ticket),
            wait,
        }
    }

    fn finish(&mut self) -> Finished<D::File, T> {
        Finished::DeletedRecords {
            ticket: self.ticket.take().expect("it finishes once"),
            results: std::mem::take(&mut self.wait.results),
        }
    }
}

impl<D: Disk, T> DelayedOperation for DelayedDeleteRecords<D, T> {
    type Done = Finished<D::File, T>;

    fn try_complete(&mut self) -> Option<Self::Done> {
        self.wait.settle().then(|| self.finish())
    }

    fn expire(&mut self) -> Self::Done {
        self.wait.settle();
        for it in self.wait.awaited.drain(..) {
            self.wait.results[it.index].result = Err(DeleteRecordsError::TimedOut);
        }
        self.finish()
    }
}
