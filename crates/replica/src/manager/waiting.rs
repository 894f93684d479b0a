//! Requests that wait: how they begin to, what ends it, and when their time is up.

use std::task::Waker;
use std::time::Instant;

use klamm_io::Disk;
use klamm_purgatory::{DelayedOperation, Purgatory, PurgatoryConfig};

use super::ReplicaManager;
use crate::delayed_delete_records::{DelayedDeleteRecords, DeleteRecordsWait};
use crate::delayed_fetch::{DelayedFetch, FetchWait};
use crate::delayed_produce::{DelayedProduce, ProduceWait};
use crate::finished::Finished;
use crate::follow_up::{FollowUp, PartitionKey};
use crate::ticket::Ticket;

/// Those who waited and are done, to be answered by the caller.
type AllFinished<D, T> = Vec<Finished<<D as Disk>::File, T>>;

/// Requests that wait, by what they are.
pub(super) struct Parked<D: Disk, T> {
    produces: Purgatory<PartitionKey, DelayedProduce<D, T>>,
    fetches: Purgatory<PartitionKey, DelayedFetch<D, T>>,
    deletions: Purgatory<PartitionKey, DelayedDeleteRecords<D, T>>,
}

impl<D: Disk, T> Parked<D, T> {
    pub(super) fn new(hash_seed: u64, now: Instant) -> Self {
        let seeded = PurgatoryConfig {
            hash_seed,
            ..PurgatoryConfig::default()
        };
        // Deletions are few, and what they leave behind is not worth keeping. (PU-028)
        let for_deletions = PurgatoryConfig {
            purge_interval: 1,
            ..seeded
        };
        let differs_in_numbers = "it differs from the default in numbers that may be any";
        Self {
            produces: Purgatory::new(now, seeded).expect(differs_in_numbers),
            fetches: Purgatory::new(now, seeded).expect(differs_in_numbers),
            deletions: Purgatory::new(now, for_deletions).expect(differs_in_numbers),
        }
    }
}

impl<D: Disk, T: Ticket> ReplicaManager<D, T> {
    /// Lets an append wait. If it became safe meanwhile, it is in `finished` at once. (B2.5)
    pub fn wait_produce(&self, wait: ProduceWait<D>, ticket: T, finished: &mut AllFinished<D, T>) {
        let (keys, deadline) = (wait.keys(), wait.deadline);
        let operation = DelayedProduce::new(wait, ticket);
        enter(&self.parked.produces, operation, &keys, deadline, finished);
    }

    /// Lets a fetch wait. If enough came meanwhile, it is in `finished` at once. (B3.2)
    pub fn wait_fetch(&self, wait: FetchWait<D>, ticket: T, finished: &mut AllFinished<D, T>) {
        let (mut keys, deadline) = (wait.keys(), wait.deadline);
        keys.extend(ticket.reader().map(PartitionKey::of_reader));
        let operation = DelayedFetch::new(wait, ticket);
        enter(&self.parked.fetches, operation, &keys, deadline, finished);
    }

    /// Lets a deletion of records wait. If the replicas have followed meanwhile, it is in
    /// `finished` at once.
    pub fn wait_delete_records(
        &self,
        wait: DeleteRecordsWait<D>,
        ticket: T,
        finished: &mut AllFinished<D, T>,
    ) {
        let (keys, deadline) = (wait.keys(), wait.deadline);
        let operation = DelayedDeleteRecords::new(wait, ticket);
        enter(&self.parked.deletions, operation, &keys, deadline, finished);
    }

    /// Asks the fetches of somebody again whose [`Patience`](crate::Patience) has changed, which
    /// must be told by their tickets before this is called.
    pub fn hurry(&self, reader: u64, finished: &mut AllFinished<D, T>) {
        self.parked
            .fetches
            .check(&PartitionKey::of_reader(reader), finished);
    }

    /// Does what a call has left to do: looks who is ready by now and hands them back, and gives
    /// proposals to the proposer. Call it without locks.
    pub fn follow_up(&self, what: FollowUp, finished: &mut AllFinished<D, T>) {
        let (checks, proposals) = what.into_parts();
        for (key, checks) in checks {
            if checks.produce {
                self.parked.produces.check(&key, finished);
            }
            if checks.fetch {
                self.parked.fetches.check(&key, finished);
            }
            if checks.delete_records {
                self.parked.deletions.check(&key, finished);
            }
        }
        for proposal in proposals {
            self.proposer.propose(proposal);
        }
    }

    /// Does what is due by `now`: hands those back whose time is up, and looks at the in-sync
    /// sets. Never blocks on the disk but for what expired fetches read.
    pub fn advance(&self, now: Instant, finished: &mut AllFinished<D, T>) {
        self.parked.produces.advance(now, finished);
        self.parked.fetches.advance(now, finished);
        self.parked.deletions.advance(now, finished);
        let then = self.check_isr(now);
        self.follow_up(then, finished);
    }

    /// When [`ReplicaManager::advance`] next has something to do; `None` if nothing waits and no
    /// partition that is led here has followers.
    pub fn next_deadline(&self) -> Option<Instant> {
        earliest([
            self.parked.produces.next_deadline(),
            self.parked.fetches.next_deadline(),
            self.parked.deletions.next_deadline(),
            self.isr_check.lock().next_deadline(),
        ])
    }

    /// As [`ReplicaManager::next_deadline`], and wakes `waker` when it becomes earlier. There is
    /// one waker; the last one given counts. It may be woken for nothing.
    pub fn watch_next_deadline(&self, waker: &Waker) -> Option<Instant> {
        earliest([
            self.parked.produces.watch_next_deadline(waker),
            self.parked.fetches.watch_next_deadline(waker),
            self.parked.deletions.watch_next_deadline(waker),
            self.isr_check.lock().watch_next_deadline(waker),
        ])
    }

    /// When [`ReplicaManager::retry`] next has something to do; `None` if no partition is to be
    /// tried again.
    pub fn next_retry(&self) -> Option<Instant> {
        self.taking.retries.lock().next_deadline()
    }

    /// As [`ReplicaManager::next_retry`], and wakes `waker` when there is one, or an earlier one.
    /// There is one waker, beside that of [`ReplicaManager::watch_next_deadline`]; the last one given
    /// counts.
    pub fn watch_next_retry(&self, waker: &Waker) -> Option<Instant> {
        self.taking.retries.lock().watch_next_deadline(waker)
    }

    /// How many appends, fetches and deletions of records wait.
    pub fn waiting(&self) -> Waiting {
        Waiting {
            produces: self.parked.produces.delayed(),
            fetches: self.parked.fetches.delayed(),
            deletions: self.parked.deletions.delayed(),
        }
    }
}

/// How many requests wait, by what they wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Appends that are not safe yet.
    pub produces: usize,
    /// Fetches that have found too little.
    pub fetches: usize,
    /// Deletions that not all replicas have made.
    pub deletions: usize,
}

fn enter<Op: DelayedOperation>(
    purgatory: &Purgatory<PartitionKey, Op>,
    operation: Op,
    keys: &[PartitionKey],
    deadline: Option<Instant>,
    finished: &mut Vec<Op::Done>,
) {
    let entered = purgatory.try_complete_else_watch(operation, keys, deadline);
    let done = entered.unwrap_or_else(|_| unreachable!("who waits has something to wait for"));
    finished.extend(done);
}

fn earliest(deadlines: [Option<Instant>; 4]) -> Option<Instant> {
    deadlines.into_iter().flatten().min()
}
