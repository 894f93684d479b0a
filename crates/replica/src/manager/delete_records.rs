//! Deleting the oldest records of several partitions at once.

use std::sync::Arc;
use std::time::Instant;

use klamm_io::Disk;

use super::ReplicaManager;
use crate::delayed_delete_records::{AwaitedDeletion, DeleteRecordsWait};
use crate::delete_records_request::{DeleteRecordsOutcome, DeleteRecordsRequest, PartitionDeleted};
use crate::follow_up::FollowUp;

impl<D: Disk, T> ReplicaManager<D, T> {
    /// Raises the log start offset of each partition as its leader, and waits until the living
    /// replicas have followed. Blocks on the disk. (RE-090, RE-091)
    pub fn delete_records(
        &self,
        request: DeleteRecordsRequest,
        now: Instant,
    ) -> (DeleteRecordsOutcome<DeleteRecordsWait<D>>, FollowUp) {
        let hosted = self.hosted.load();
        let mut then = FollowUp::default();
        let mut results = Vec::with_capacity(request.entries.len());
        let mut awaited = Vec::new();
        for (index, (name, before)) in request.entries.into_iter().enumerate() {
            let result = match hosted.get(&name) {
                None => Err(self.not_hosted(&name).into()),
                Some(partition) => match partition.delete_records(before) {
                    Ok((required, low_watermark, checks)) => {
                        then.check(partition.key(), checks);
                        if low_watermark < required {
                            awaited.push(AwaitedDeletion {
                                index,
                                partition: Arc::clone(partition),
                                required,
                            });
                        }
                        Ok(low_watermark)
                    }
                    Err(refused) => {
                        if let Some(failure) = refused.failure {
                            self.report(partition, failure, &mut then);
                        }
                        Err(refused.error)
                    }
                },
            };
            results.push(PartitionDeleted {
                partition: name,
                result,
            });
        }
        if awaited.is_empty() {
            return (DeleteRecordsOutcome::Done(results), then);
        }
        let wait = DeleteRecordsWait {
            deadline: now.checked_add(request.timeout),
            results,
            awaited,
        };
        (DeleteRecordsOutcome::Waits(wait), then)
    }
}
