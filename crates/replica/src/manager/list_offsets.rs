//! Offsets by time.

use klamm_io::Disk;
use klamm_log::OffsetAndTime;
use klamm_primitives::TopicPartition;
use klamm_records::Codecs;

use super::ReplicaManager;
use crate::offset_query::{OffsetError, OffsetQuery};

impl<D: Disk, T> ReplicaManager<D, T> {
    /// Finds an offset of one partition by time; `None` if no record that the client may see is
    /// as late. The latest and earliest are told without the disk; others may block on it.
    ///
    /// # Errors
    /// [`OffsetError`]
    pub fn list_offsets(
        &self,
        partition: &TopicPartition,
        query: &OffsetQuery,
        codecs: &mut Codecs,
    ) -> Result<Option<OffsetAndTime>, OffsetError> {
        match self.hosted.load().get(partition) {
            Some(hosted) => hosted.list_offsets(query, codecs),
            None => Err(self.not_hosted(partition).into()),
        }
    }
}
