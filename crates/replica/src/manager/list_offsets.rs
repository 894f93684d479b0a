//! Offsets by time.

use klamm_io::Disk;
use klamm_log::OffsetAndTime;
use klamm_primitives::TopicPartition;
use klamm_records::Codecs;

use super::ReplicaManager;
use crate::offset_query::{OffsetError, OffsetQuery};

impl<D: Disk, T> ReplicaManager<D, T> {
    /// Finds an offset of one partition by time; `None` if no record that the client may see is
    /// as late. The latest and earliest are told without the disk; others may block on it, and
    /// a disk that fails takes the log's directory offline.
    ///
    /// # Errors
    /// [`OffsetError`]
    pub fn list_offsets(
        &self,
        partition: &TopicPartition,
        query: &OffsetQuery,
        codecs: &mut Codecs,
    ) -> Result<Option<OffsetAndTime>, OffsetError> {
        let Some(hosted) = self.hosted.load().get(partition).cloned() else {
            return Err(self.not_hosted(partition).into());
        };
        let found = hosted.list_offsets(query, codecs);
        if let Err(OffsetError::Read(error)) = &found
            && let Some(failure) = hosted.read_failure(error)
        {
            // Those who wait get to know by the event.
            self.logs.report_failure(&failure.log, failure.error);
        }
        found
    }
}
