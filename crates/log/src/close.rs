//! Closing a log, and giving its directory up.

use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::{Disk, DiskErrorKind};
use klamm_primitives::{Offset, TopicPartition};

use crate::disk_failure::DiskFailure as _;
use crate::flush::FlushError;
use crate::log::{ChangeError, Condition, Log};
use crate::names::{DirectoryName, Fate};
use crate::segment::SegmentError;
use crate::truncate::last_segment;

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

    /// As [`Log::close`], but where it fails for want of a descriptor the log is as open as before.
    /// Says whether it is closed: others that are being closed may leave some.
    pub(crate) fn close_unless_short(&mut self) -> Result<bool, ChangeError> {
        if self.condition != Condition::Open {
            return self.close().map(|()| true);
        }
        match self.try_close() {
            Err(error) if self.condition == Condition::Open && wants_descriptor(&error) => {
                Ok(false)
            }
            closed => {
                self.condition = Condition::Closed;
                closed.map(|()| true)
            }
        }
    }

    /// Whether the segment that is appended to has its file open.
    pub(crate) fn holds_file(&self) -> bool {
        self.active.segment.holds_file()
    }

    /// What is written needs a descriptor at a time, and there may be none left in the process. So
    /// the file that is appended to is synced and closed first: this log needs no other's then.
    fn try_close(&mut self) -> Result<(), ChangeError> {
        let is_empty = self.segment_count() == 1 && self.active.segment.size() == 0;
        let snapshot = self.producers.to_snapshot();
        let nobody_is_known = snapshot.is_empty() && self.snapshots.is_empty();
        // The next opening makes such a log as well as it finds it.
        let is_nothing = is_empty && nobody_is_known && self.log_end_offset() == Offset::ZERO;
        let is_untouched = self.active.is_idle() && !self.active.segment.owes_sync();
        if !is_untouched {
            self.active.segment.cut_off_reserved()?;
            self.active.segment.sync_log()?;
            self.let_go_of_active();
            self.active.seal_indexes()?;
            self.active.segment.sync_all()?;
            self.syncs.made_a_name();
        }
        if self.config.keeps_producer_snapshots && !(is_empty && nobody_is_known) {
            self.snapshots.write(self.log_end_offset(), &snapshot)?;
        }
        if self.snapshots.has_unsynced() {
            self.syncs.made_a_name();
        }
        if !is_nothing {
            match self.flush() {
                Ok(()) => {}
                Err(FlushError::Unavailable(error)) => return Err(error.into()),
                Err(FlushError::Disk(error)) => return Err(error.into()),
            }
        }
        // Whoever read an idle log has opened the file of this one, which the log itself has, too.
        if self.active.segment.is_open() {
            self.let_go_of_active();
        }
        let mut segments = self.shared.segments.write();
        for segment in segments.values_mut().filter(|it| it.is_open()) {
            *segment = Arc::new(segment.let_go());
        }
        Ok(())
    }

    /// Closes the files of the segment that is appended to. Readers read on.
    fn let_go_of_active(&mut self) {
        let active = Arc::new(self.active.segment.let_go());
        let mut segments = self.shared.segments.write();
        segments.insert(active.base_offset(), active.clone());
        self.active.segment = active;
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
        let parent = self
            .directory
            .parent()
            .unwrap_or(&self.directory)
            .to_owned();
        let renamed = parent.join(name);
        if self.directory != renamed {
            self.disk
                .rename(&self.directory, &renamed)
                .map_err(SegmentError::from)?;
            self.directory.clone_from(&renamed);
            // Readers must not open what comes to have the old name.
            for segment in self.shared.segments.write().values_mut() {
                segment.give_up_name();
                *segment = Arc::new(segment.moved_to(renamed.clone()));
            }
            // So that a process without descriptors has one to make the name durable by.
            self.active.segment = last_segment(&self.shared);
            self.snapshots.set_directory(renamed.clone());
        }
        self.disk.sync_dir(&parent)?;
        Ok(renamed)
    }
}

/// Whether nothing but a descriptor was wanting. No sync wants for one, so that none has failed.
fn wants_descriptor(error: &ChangeError) -> bool {
    let disk_error = error.disk_error();
    disk_error.is_some_and(|it| it.kind() == DiskErrorKind::TooManyFiles)
}
