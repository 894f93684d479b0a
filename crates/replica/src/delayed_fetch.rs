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
use crate::ticket::{Patience, Ticket};

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

impl<D: Disk, T: Ticket> DelayedOperation for DelayedFetch<D, T> {
    type Done = Finished<D::File, T>;

    fn try_complete(&mut self) -> Option<Self::Done> {
        let patience = self.ticket.as_ref().map(Ticket::patience);
        match patience? {
            Patience::Left => self.wait.is_ready().then(|| self.expire()),
            Patience::Over => Some(self.expire()),
            Patience::Gone => self
                .ticket
                .take()
                .map(|ticket| Finished::Abandoned { ticket }),
        }
    }

    fn expire(&mut self) -> Self::Done {
        Finished::Fetched {
            ticket: self.ticket.take().expect("it finishes once"),
            results: self.wait.read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use klamm_io::Clock as _;
    use klamm_io::sim::{SimClock, SimDisk};
    use klamm_purgatory::{Purgatory, PurgatoryConfig};

    use super::*;

    /// Somebody who waits, and whose patience a test changes.
    struct Reader(Rc<Cell<Patience>>);

    impl Ticket for Reader {
        fn patience(&self) -> Patience {
            self.0.get()
        }
    }

    #[test]
    fn whoever_has_no_patience_left_is_answered_or_let_go() {
        let now = SimClock::new().now();
        let fetches = Purgatory::new(now, PurgatoryConfig::default()).unwrap();
        for (patience, is_answered) in [(Patience::Over, true), (Patience::Gone, false)] {
            let own = Rc::new(Cell::new(Patience::Left));
            let wait = FetchWait::<SimDisk> {
                fetcher: Fetcher::Consumer,
                min_bytes: 1,
                max_bytes: 1,
                since: now,
                deadline: None,
                partitions: Vec::new(),
            };
            let operation = DelayedFetch::new(wait, Reader(Rc::clone(&own)));
            let key = PartitionKey::of_reader(7);
            let entered = fetches.try_complete_else_watch(operation, &[key], None);
            assert!(entered.unwrap().is_none());
            let mut finished = Vec::new();
            fetches.check(&key, &mut finished);
            assert!(finished.is_empty(), "it is patient");
            own.set(patience);
            fetches.check(&key, &mut finished);
            let [Finished::Fetched { .. } | Finished::Abandoned { .. }] = &finished[..] else {
                panic!("it is done");
            };
            let answered = matches!(finished[0], Finished::Fetched { .. });
            assert_eq!(answered, is_answered);
            assert_eq!(fetches.delayed(), 0);
        }
    }
}
