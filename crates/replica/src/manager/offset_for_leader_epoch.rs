//! Where leader epochs ended, for followers and consumers that compare their logs with the
//! leader's.

use klamm_io::Disk;
use klamm_log::EpochEnd;
use klamm_primitives::{LeaderEpoch, TopicPartition};

use super::ReplicaManager;
use crate::NotServed;

impl<D: Disk, T> ReplicaManager<D, T> {
    /// The greatest leader epoch of one partition at or below `epoch`, and where it ended; the
    /// log end for the present one; `None` if that is not known, which the protocol writes as
    /// -1 and -1. `current` is the leader epoch that the client knows. (RE-024, RE-026)
    ///
    /// # Errors
    /// [`NotServed`]
    pub fn offset_for_leader_epoch(
        &self,
        partition: &TopicPartition,
        current: Option<LeaderEpoch>,
        epoch: LeaderEpoch,
    ) -> Result<Option<EpochEnd>, NotServed> {
        match self.hosted.load().get(partition) {
            Some(hosted) => hosted.offset_for_leader_epoch(current, epoch),
            None => Err(self.not_hosted(partition)),
        }
    }
}
