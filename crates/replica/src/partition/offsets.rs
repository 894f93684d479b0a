//! Offsets by time and by leader epoch.

use std::sync::Arc;

use klamm_io::Disk;
use klamm_log::{EpochEnd, Isolation, OffsetAndTime, TimeTarget};
use klamm_primitives::LeaderEpoch;
use klamm_records::Codecs;

use super::{Partition, Role};
use crate::NotServed;
use crate::offset_query::{OffsetError, OffsetQuery, OffsetTarget};

impl<D: Disk> Partition<D> {
    /// An offset by time; `None` if no visible record is as late.
    ///
    /// The disk is read without the partition's lock.
    ///
    /// # Errors
    /// [`OffsetError`]
    pub(crate) fn list_offsets(
        &self,
        query: &OffsetQuery,
        codecs: &mut Codecs,
    ) -> Result<Option<OffsetAndTime>, OffsetError> {
        let (log, epoch_start) = {
            let state = self.state.read();
            let log = if query.from_any_replica {
                state.as_replica(query.current_leader_epoch)?
            } else {
                state.as_leader(query.current_leader_epoch)?.0
            };
            let epoch_start = match &state.role {
                Role::Leader { leadership, .. } => Some(leadership.epoch_start),
                _ => None,
            };
            (log.clone(), epoch_start)
        };
        let offsets = log.reader().offsets();
        let visible_end = match query.isolation {
            Isolation::LogEnd => offsets.log_end,
            Isolation::HighWatermark => offsets.high_watermark,
            Isolation::Committed => offsets.last_stable,
        };
        let target = match query.target {
            OffsetTarget::Latest => TimeTarget::Latest(query.isolation),
            OffsetTarget::Earliest => TimeTarget::Earliest,
            OffsetTarget::MaxTimestamp => TimeTarget::MaxTimestamp,
            OffsetTarget::AtOrAfter(timestamp_ms) => TimeTarget::AtOrAfter(timestamp_ms),
        };
        let found = log
            .reader()
            .offset_for_timestamp(target, codecs)
            .map_err(Arc::new)?;
        let is_certain = match query.target {
            OffsetTarget::Earliest => true,
            OffsetTarget::Latest => false,
            OffsetTarget::MaxTimestamp | OffsetTarget::AtOrAfter(_) => {
                found.is_some_and(|it| it.offset < visible_end)
            }
        };
        if is_certain {
            return Ok(found);
        }
        if let Some(epoch_start) = epoch_start.filter(|it| *it > visible_end) {
            return Err(OffsetError::NotAvailable {
                epoch_start,
                visible_end,
            });
        }
        // What was found lies beyond the client's sight, but for the end of that sight.
        Ok(found.filter(|_| query.target == OffsetTarget::Latest))
    }

    /// Where a leader epoch ended; `None` if that is not known. (RE-026)
    ///
    /// # Errors
    /// [`NotServed`]
    pub(crate) fn offset_for_leader_epoch(
        &self,
        current: Option<LeaderEpoch>,
        epoch: LeaderEpoch,
    ) -> Result<Option<EpochEnd>, NotServed> {
        let state = self.state.read();
        let (log, _) = state.as_leader(current)?;
        Ok(log.reader().end_of_epoch(epoch))
    }
}
