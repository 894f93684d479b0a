//! Deleting the oldest records, here and on the followers.

use std::sync::Arc;

use klamm_io::Disk;
use klamm_log::{ChangeError, Unavailable};
use klamm_primitives::Offset;

use super::{Partition, StorageFailure};
use crate::NotServed;
use crate::delete_records_request::DeleteRecordsError;
use crate::follow_up::Checks;
use crate::leadership::Leadership;

/// A deletion that was refused, and what has to be done about the log, if anything.
pub(crate) struct NotDeleted<D: Disk> {
    pub(crate) error: DeleteRecordsError,
    pub(crate) failure: Option<StorageFailure<D>>,
}

impl<D: Disk, E: Into<DeleteRecordsError>> From<E> for NotDeleted<D> {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            failure: None,
        }
    }
}

impl<D: Disk> Partition<D> {
    /// Raises the log start offset; `None` is to the high watermark. Returns what was to be
    /// reached, and the low watermark. (RE-090, RE-091)
    ///
    /// # Errors
    /// [`DeleteRecordsError`]; nothing was deleted.
    pub(crate) fn delete_records(
        &self,
        before: Option<Offset>,
    ) -> Result<(Offset, Offset, Checks), NotDeleted<D>> {
        let state = self.state.read();
        let (log, leadership) = state.as_leader(None)?;
        if !self.settings.load().log.cleanup_policy.delete {
            return Err(DeleteRecordsError::PolicyViolation.into());
        }
        let raised = {
            let mut log = log.lock();
            let high_watermark = log.high_watermark();
            let offset = before.unwrap_or(high_watermark);
            if offset < Offset::ZERO || offset > high_watermark {
                return Err(DeleteRecordsError::OffsetOutOfRange {
                    offset,
                    high_watermark,
                }
                .into());
            }
            log.raise_log_start(offset).map(|moved| (offset, moved))
        };
        match raised {
            Ok((offset, moved)) => {
                let low = self.low_watermark_of(leadership, log.reader().offsets().log_start);
                let checks = if moved {
                    Checks::DELETE_RECORDS
                } else {
                    Checks::NONE
                };
                Ok((offset, low, checks))
            }
            Err(ChangeError::Unavailable(Unavailable::Failed)) => Err(NotServed::Offline.into()),
            Err(ChangeError::Unavailable(Unavailable::Closed)) => Err(NotServed::NotLeader.into()),
            Err(error) => {
                let (error, has_failed) = (Arc::new(error), log.lock().is_failed());
                Err(NotDeleted {
                    failure: has_failed.then(|| StorageFailure::of(log, error.clone())),
                    error: error.into(),
                })
            }
        }
    }

    /// The smallest log start offset of the replicas that live. (RE-091)
    ///
    /// # Errors
    /// [`NotServed`]
    pub(crate) fn low_watermark(&self) -> Result<Offset, NotServed> {
        let state = self.state.read();
        let (log, leadership) = state.as_leader(None)?;
        Ok(self.low_watermark_of(leadership, log.reader().offsets().log_start))
    }

    fn low_watermark_of(&self, leadership: &Leadership, log_start: Offset) -> Offset {
        let living = leadership
            .followers
            .iter()
            .filter(|it| self.around.is_alive(it.broker));
        living.fold(log_start, |least, it| {
            least.min(it.progress.lock().log_start)
        })
    }
}
