//! When an append that waits is safe. (B2.6)

use klamm_io::Disk;

use super::Partition;
use super::append::Awaits;
use crate::NotServed;
use crate::append_request::AppendError;

impl<D: Disk> Partition<D> {
    /// What has become of an append that waits; `None` if it has to go on waiting.
    ///
    /// It is over, too, if this broker has not led without a break since: the records may have
    /// been cut off, and others have their offsets. (PU-049, RE-013, RE-115)
    pub(crate) fn outcome_of(&self, awaits: &Awaits) -> Option<Result<(), AppendError>> {
        let state = self.state.read();
        let (log, leadership) = match state.as_leader(None) {
            Ok(found) => found,
            Err(error) => return Some(Err(error.into())),
        };
        if leadership.leads_since > awaits.leader_epoch {
            return Some(Err(NotServed::NotLeader.into()));
        }
        if !awaits.all_replicas {
            return (self.synced() >= awaits.required).then_some(Ok(()));
        }
        if log.reader().offsets().high_watermark < awaits.required {
            return None;
        }
        let in_sync = leadership.in_sync.must_have_count();
        let min_in_sync = leadership.min_in_sync(self.settings.load().min_in_sync_replicas);
        Some(if in_sync >= min_in_sync {
            Ok(())
        } else {
            Err(AppendError::NotEnoughReplicasAfterAppend {
                in_sync,
                min_in_sync,
            })
        })
    }
}
