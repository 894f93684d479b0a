//! [`DelayedProduce`]: appends that wait until they are safe. (B2.4 to B2.7)

use std::sync::Arc;
use std::time::Instant;

use klamm_io::Disk;
use klamm_purgatory::DelayedOperation;

use crate::append_request::{AppendError, PartitionAppended};
use crate::finished::Finished;
use crate::follow_up::PartitionKey;
use crate::partition::{Awaits, Partition};

/// An append that must wait, without a ticket yet.
#[must_use = "the records are in the log; their producer waits for an answer"]
pub struct ProduceWait<D: Disk> {
    pub(crate) deadline: Option<Instant>,
    /// What has become of each partition's part so far.
    pub(crate) results: Vec<PartitionAppended>,
    /// Those of them that are not safe yet.
    pub(crate) awaited: Vec<Awaited<D>>,
}

/// One partition's part that is not safe yet.
pub(crate) struct Awaited<D: Disk> {
    /// Its place among the results.
    pub(crate) index: usize,
    pub(crate) partition: Arc<Partition<D>>,
    pub(crate) awaits: Awaits,
}

impl<D: Disk> ProduceWait<D> {
    pub(crate) fn keys(&self) -> Vec<PartitionKey> {
        self.awaited.iter().map(|it| it.partition.key()).collect()
    }

    /// Settles what can be. Says whether nothing is left to wait for. (PU-049, PU-050)
    fn settle(&mut self) -> bool {
        let results = &mut self.results;
        self.awaited.retain(|it| {
            let outcome = it.partition.outcome_of(&it.awaits);
            let is_over = outcome.is_some();
            if let Some(Err(error)) = outcome {
                results[it.index].result = Err(error);
            }
            !is_over
        });
        self.awaited.is_empty()
    }
}

/// A [`ProduceWait`] with its ticket, in the purgatory.
pub(crate) struct DelayedProduce<D: Disk, T> {
    ticket: Option<T>,
    wait: ProduceWait<D>,
}

impl<D: Disk, T> DelayedProduce<D, T> {
    pub(crate) fn new(wait: ProduceWait<D>, ticket: T) -> Self {
        Self {
            ticket: Some(ticket),
            wait,
        }
    }

    fn finish(&mut self) -> Finished<D::File, T> {
        Finished::Produced {
            ticket: self.ticket.take().expect("it finishes once"),
            results: std::mem::take(&mut self.wait.results),
        }
    }
}

impl<D: Disk, T> DelayedOperation for DelayedProduce<D, T> {
    type Done = Finished<D::File, T>;

    fn try_complete(&mut self) -> Option<Self::Done> {
        self.wait.settle().then(|| self.finish())
    }

    /// What became safe just now is told so; the rest is late. (PU-048)
    fn expire(&mut self) -> Self::Done {
        self.wait.settle();
        for it in self.wait.awaited.drain(..) {
            self.wait.results[it.index].result = Err(AppendError::TimedOut);
        }
        self.finish()
    }
}
