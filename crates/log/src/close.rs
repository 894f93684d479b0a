//! Closing a log, and giving its directory up.

use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::Disk;
use klamm_primitives::TopicPartition;

use crate::flush::FlushError;
use crate::log::{ChangeError, Condition, Log};
use crate::names::{DirectoryName, Fate};
use crate::segment::SegmentError;

impl<D: Disk> Log<D> {
    /// Writes what is only in memory, cuts the files to what they hold, and syncs everything:
    /// the next opening finds all as it is and reads no segment. Blocks. Closing twice is
    /// harmless; readers read on.
    ///
    /// # Errors
    /// The log is closed all the same, and not clean: the next opening must recover it.
    pub fn close(&mut self) -> Result<(), ChangeError> {
        match self.condition {
            Condition::Closed => Ok(()),
            Condition::Failed => {
                self.condition = Condition::Closed;
                Err(crate::log::Unavailable::Failed.into())
            }
            Condition::Open => {
                let closed = self.try_close();
                self.condition = Condition::Closed;
                closed
            }
        }
    }

    fn try_close(&mut self) -> Result<(), ChangeError> {
        let end_offset = self.log_end_offset();
        self.snapshots
            .write(end_offset, &self.producers.to_snapshot())?;
        if !self.active.is_idle() {
            self.active.seal()?;
            self.active.segment.sync_all()?;
            self.syncs.made_a_name();
        } else if self.snapshots.has_unsynced() {
            self.syncs.made_a_name();
        }
        match self.flush() {
            Ok(()) => Ok(()),
            Err(FlushError::Unavailable(error)) => Err(error.into()),
            Err(FlushError::Disk(error)) => Err(error.into()),
        }
    }

    /// Gives the directory the name of one that waits to be removed, and closes the log. The name
    /// is free at once for a partition that is made anew. `unique` is random. Returns the new
    /// path.
    ///
    /// # Errors
    /// [`ChangeError::Disk`]: the directory has its name still, and the log is closed.
    pub fn rename_for_deletion(
        &mut self,
        partition: &TopicPartition,
        unique: u128,
    ) -> Result<PathBuf, ChangeError> {
        self.condition = Condition::Closed;
        let name = DirectoryName::fated(partition, unique, Fate::Delete).to_string();
        let parent = self.directory.parent().unwrap_or(&self.directory);
        let renamed = parent.join(name);
        self.disk
            .rename(&self.directory, &renamed)
            .map_err(SegmentError::from)?;
        self.disk.sync_dir(parent)?;
        self.directory.clone_from(&renamed);
        // Readers must not open what comes to have the old name.
        for segment in self.shared.segments.write().values_mut() {
            *segment = Arc::new(segment.moved_to(renamed.clone()));
        }
        self.snapshots.set_directory(renamed.clone());
        Ok(renamed)
    }
}
