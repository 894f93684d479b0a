//! Appending to several partitions at once. (B2.2 to B2.4)

use std::sync::Arc;

use klamm_io::Disk;
use klamm_log::Now;
use klamm_records::Codecs;

use super::ReplicaManager;
use crate::acks::Acks;
use crate::append_request::{AppendError, AppendOutcome, AppendRequest, Origin, PartitionAppended};
use crate::delayed_produce::{Awaited, ProduceWait};
use crate::follow_up::FollowUp;
use crate::partition::Terms;

/// Topics that the cluster keeps for itself.
const INTERNAL_TOPICS: [&str; 3] = [
    "__consumer_offsets",
    "__transaction_state",
    "__share_group_state",
];

/// Whether a topic is one that the cluster keeps for itself, so that clients do not write to it.
/// (RE-039)
pub fn is_internal_topic(name: &str) -> bool {
    name.starts_with("__") && INTERNAL_TOPICS.contains(&name)
}

impl<D: Disk, T> ReplicaManager<D, T> {
    /// Appends as the leader of each partition; one that fails does not hold up the others.
    ///
    /// `codecs` is scratch space, one for each thread that calls. Blocks on the disk, but never
    /// for a sync: where records must be durable, or on other replicas, before they are
    /// acknowledged, the outcome is one that waits.
    pub fn append(
        &self,
        request: AppendRequest,
        codecs: &mut Codecs,
        now: Now,
    ) -> (AppendOutcome<ProduceWait<D>>, FollowUp) {
        let Some(acks) = Acks::from_number(request.acks) else {
            return refuse_acks(request);
        };
        let terms = Terms {
            acks,
            origin: request.origin,
            zstd_allowed: request.zstd_allowed,
        };
        let hosted = self.hosted.load();
        let mut then = FollowUp::with_capacity(request.entries.len());
        let mut results = Vec::with_capacity(request.entries.len());
        let mut awaited = Vec::new();
        for (index, entry) in request.entries.into_iter().enumerate() {
            let name = entry.partition;
            let is_closed = request.origin == Origin::Client && is_internal_topic(&name.topic);
            let result = match hosted.get(&name) {
                _ if is_closed => Err(AppendError::InternalTopic),
                None => Err(self.not_hosted(&name).into()),
                Some(partition) => {
                    match partition.append(entry.topic_id, entry.records, terms, codecs, now) {
                        Ok((done, checks)) => {
                            then.check(partition.key(), checks);
                            awaited.extend(done.awaits.map(|awaits| Awaited {
                                index,
                                partition: Arc::clone(partition),
                                awaits,
                            }));
                            Ok(done.records)
                        }
                        Err(refused) => {
                            if let Some(failure) = refused.failure {
                                self.report(partition, failure, &mut then);
                            }
                            Err(refused.error)
                        }
                    }
                }
            };
            results.push(PartitionAppended {
                partition: name,
                result,
            });
        }
        if awaited.is_empty() {
            return (AppendOutcome::Done(results), then);
        }
        let wait = ProduceWait {
            deadline: now.instant.checked_add(request.timeout),
            results,
            awaited,
        };
        (AppendOutcome::Waits(wait), then)
    }
}

fn refuse_acks<D: Disk>(request: AppendRequest) -> (AppendOutcome<ProduceWait<D>>, FollowUp) {
    let acks = request.acks;
    let refuse = |entry: crate::AppendEntry| PartitionAppended {
        partition: entry.partition,
        result: Err(AppendError::InvalidRequiredAcks { acks }),
    };
    let results = request.entries.into_iter().map(refuse).collect();
    (AppendOutcome::Done(results), FollowUp::default())
}
