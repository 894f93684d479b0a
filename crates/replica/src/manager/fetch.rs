//! Reading from several partitions at once. (B3)

use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_io::Disk;

use super::ReplicaManager;
use crate::delayed_fetch::{FetchWait, Waiting};
use crate::fetch_request::{FetchOutcome, FetchRequest, PartitionFetched};
use crate::follow_up::FollowUp;
use crate::partition::{ReadMode, Wanted};
use crate::read_budget::ReadBudget;

impl<D: Disk, T> ReplicaManager<D, T> {
    /// Reads, up to where the fetcher may see. No record passes through here: the answer holds
    /// ranges of files. What a follower asks for also tells how far it is.
    ///
    /// Answered at once if no wait is asked for, there is nothing to read from, there are enough
    /// bytes, or there is something that the client should know at once. (RE-078)
    pub fn fetch(
        &self,
        request: FetchRequest,
        now: Instant,
    ) -> (FetchOutcome<D::File, FetchWait<D>>, FollowUp) {
        let hosted = self.hosted.load();
        let mut then = FollowUp::default();
        let mut budget = ReadBudget::new(request.max_bytes, self.files_in_answer_max);
        let mut results = Vec::with_capacity(request.partitions.len());
        let mut seen = Vec::with_capacity(request.partitions.len());
        let mut bytes = 0_u64;
        let mut at_once = request.max_wait == Duration::ZERO || request.partitions.is_empty();
        for wanted in &request.partitions {
            let result = match hosted.get(&wanted.partition) {
                None => Err(self.not_hosted(&wanted.partition).into()),
                Some(partition) => {
                    let wanted = Wanted {
                        request: wanted,
                        fetcher: request.fetcher,
                        limit: budget.limit(wanted.max_bytes),
                        mode: ReadMode::Arrival,
                    };
                    match partition.read(&wanted, now) {
                        Ok((found, noted)) => {
                            then.check(partition.key(), noted.checks);
                            then.propose(noted.proposal);
                            seen.push((Arc::clone(partition), found.seen));
                            Ok(found.records)
                        }
                        Err(error) => {
                            if let Some(failure) = partition.failure_of(&error) {
                                self.report(partition, failure, &mut then);
                            }
                            Err(error)
                        }
                    }
                }
            };
            match &result {
                Ok(found) => {
                    budget.spend(found);
                    bytes += found.records.as_ref().map_or(0, |range| range.len as u64);
                    at_once |= found.diverging.is_some();
                }
                Err(_) => at_once = true,
            }
            results.push(PartitionFetched {
                partition: wanted.partition.clone(),
                result,
            });
        }
        if at_once || budget.is_spent() || bytes >= u64::from(request.min_bytes) {
            return (FetchOutcome::Done(results), then);
        }
        let waiting = request.partitions.into_iter().zip(seen);
        let wait = FetchWait {
            fetcher: request.fetcher,
            min_bytes: request.min_bytes,
            max_bytes: request.max_bytes,
            max_files: self.files_in_answer_max,
            since: now,
            deadline: now.checked_add(request.max_wait),
            partitions: waiting
                .map(|(request, (partition, seen))| Waiting {
                    request,
                    partition,
                    seen,
                })
                .collect(),
        };
        (FetchOutcome::Waits(wait), then)
    }
}
