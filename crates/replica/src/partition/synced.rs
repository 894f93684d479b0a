//! What follows from a sync, where records count only once they are durable. (B4.5)

use std::sync::Arc;
use std::time::Instant;

use klamm_io::Disk;
use klamm_log::PartitionLog;
use klamm_primitives::Offset;

use super::{Partition, rules};
use crate::follow_up::Checks;

impl<D: Disk> Partition<D> {
    /// The log is durable up to `offset`. A log that is not this partition's any more is passed
    /// over.
    pub(crate) fn on_synced(
        &self,
        log: &Arc<PartitionLog<D>>,
        offset: Offset,
        now: Instant,
    ) -> Checks {
        let state = self.state.read();
        let Ok((own, leadership)) = state.as_leader(None) else {
            return Checks::NONE;
        };
        if !Arc::ptr_eq(own, log) || !self.note_synced(offset) {
            return Checks::NONE;
        }
        let rules = rules(&self.settings.load(), leadership);
        let moved = rules.syncs_first
            && leadership.raise_high_watermark(&mut log.lock(), rules, &self.around, now);
        Checks::PRODUCE.and(Checks::if_high_watermark(moved))
    }
}
