//! Syncing: what is durable, and the work of making more of it so.
//!
//! An append never syncs. Whoever syncs takes the work out of the log as a [`Flush`], does it
//! without the log's lock, and tells the log what came of it; so one worker can gather the syncs
//! of many logs, and appends go on meanwhile.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use klamm_io::{Disk, DiskError, DiskErrorKind, DiskFile, DiskOperation, OpenMode};
use klamm_primitives::Offset;

use crate::disk_failure::DiskFailure;
use crate::log::{Condition, Log, Unavailable};
use crate::segment::Segment;

/// Files to sync, so that a log is durable up to an offset.
#[must_use = "nothing is synced before it runs"]
pub struct Flush<D: Disk> {
    disk: D,
    directory: PathBuf,
    /// Oldest first. All but the last are done with.
    segments: Vec<Arc<Segment<D>>>,
    /// Producer snapshots that were written since the last flush.
    snapshots: Vec<(Offset, PathBuf)>,
    syncs: Arc<Syncs>,
    /// How often the log had been cut when it was taken out.
    cuts: u64,
    up_to: Offset,
}

impl<D: Disk> Flush<D> {
    /// Up to where the log is durable once this has run: the log end offset when it was taken
    /// out.
    pub fn up_to(&self) -> Offset {
        self.up_to
    }

    /// Syncs. Blocks, without any lock of the log. A directory that was deleted meanwhile is no
    /// error.
    ///
    /// # Errors
    /// Where no descriptor is left ([`DiskErrorKind::TooManyFiles`]), or memory or room for anything
    /// but a sync ([`DiskErrorKind::NoMemory`], [`DiskErrorKind::Full`]), no sync has failed: hand it
    /// back by [`Log::put_off`], and another flush may do it all.
    /// After any other what is durable is unknown, and must not be tried again: tell the log by
    /// [`Log::fail`].
    pub fn run(&self) -> Result<(), DiskError> {
        // Another flush of this log may have been under way when a sync failed. What that sync
        // did not make durable no later one will.
        if self.syncs.has_failed.load(Ordering::Acquire) {
            let source = std::io::Error::other("an earlier sync of this log has failed");
            return Err(DiskError::new(DiskOperation::Sync, &self.directory, source));
        }
        let ran = self.sync();
        if ran.as_ref().is_err_and(|error| !is_put_off(error)) {
            self.syncs.has_failed.store(true, Ordering::Release);
        }
        ran
    }

    fn sync(&self) -> Result<(), DiskError> {
        if let Some((last, done)) = self.segments.split_last() {
            for segment in done {
                segment.sync_all()?;
            }
            // The indexes of the last segment are rebuilt after a crash, so they cost no sync
            // here.
            last.sync_log()?;
        }
        for (_, path) in &self.snapshots {
            sync_file(&self.disk, path)?;
        }
        self.syncs.sync_names(&self.disk, &self.directory)
    }
}

/// Whether a flush was given up before a sync could fail. No sync wants for descriptors, so that
/// these were wanting to open a file or a directory; but it may want for memory or room. What a flush
/// writes is index entries alone, and those that find no room wait in memory.
pub(crate) fn is_put_off(error: &DiskError) -> bool {
    let is_sync = matches!(
        error.operation(),
        DiskOperation::Sync | DiskOperation::SyncDir
    );
    error.kind() == DiskErrorKind::TooManyFiles || !is_sync && error.may_pass()
}

/// What the flushes of one log have to know of each other.
#[derive(Debug, Default)]
pub(crate) struct Syncs {
    has_failed: AtomicBool,
    /// Counts the names that came into the directory.
    names_made: AtomicU64,
    /// How many of them are durable.
    names_durable: AtomicU64,
}

impl Syncs {
    /// Notes that a name was made, or may have been.
    pub(crate) fn made_a_name(&self) {
        self.names_made.fetch_add(1, Ordering::AcqRel);
    }

    fn names_are_durable(&self) -> bool {
        let durable = self.names_durable.load(Ordering::Acquire);
        durable >= self.names_made.load(Ordering::Acquire)
    }

    /// Notes that somebody else has synced the directory since the last name was made.
    fn names_were_synced(&self) {
        let made = self.names_made.load(Ordering::Acquire);
        self.names_durable.fetch_max(made, Ordering::AcqRel);
    }

    fn sync_names<D: Disk>(&self, disk: &D, directory: &Path) -> Result<(), DiskError> {
        let made = self.names_made.load(Ordering::Acquire);
        if self.names_durable.load(Ordering::Acquire) >= made {
            return Ok(());
        }
        or_gone(disk.sync_dir(directory))?;
        self.names_durable.fetch_max(made, Ordering::AcqRel);
        Ok(())
    }
}

/// Makes a file durable that nobody has open. One that is not there is fine.
pub(crate) fn sync_file<D: Disk>(disk: &D, path: &Path) -> Result<(), DiskError> {
    let file = disk.open(path, OpenMode::ReadWrite);
    or_gone(file.and_then(|file| file.sync_data()))
}

fn or_gone(result: Result<(), DiskError>) -> Result<(), DiskError> {
    match result {
        Err(error) if error.kind() != DiskErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl<D: Disk> Log<D> {
    /// How many records are not known to be durable.
    pub fn unflushed_records(&self) -> u64 {
        let unflushed = self.log_end_offset() - self.recovery_point;
        u64::try_from(unflushed).unwrap_or(0)
    }

    /// Whether `flush.messages` asks for a sync.
    pub(crate) fn flush_is_due(&self) -> bool {
        let limit = self.config.flush_records;
        limit.is_some_and(|limit| self.unflushed_records() >= limit)
    }

    /// Notes that the caller has synced the log's directory since the log was opened or changed last,
    /// for a file of its own: the names in it are durable, and no flush need see to that.
    pub fn note_directory_synced(&mut self) {
        self.syncs.names_were_synced();
    }

    /// Takes out the work of making everything durable that is in the log now; `None` if it is.
    ///
    /// # Errors
    /// [`Unavailable`]: a log that failed is not synced again.
    pub fn begin_flush(&mut self) -> Result<Option<Flush<D>>, Unavailable> {
        self.check_available()?;
        let up_to = self.log_end_offset();
        if up_to <= self.recovery_point && self.syncs.names_are_durable() {
            return Ok(None);
        }
        // From the segment on that holds the last synced record: it may have been rolled since,
        // and its indexes then wait to be synced.
        let segments = self.shared.segments.read();
        let first = segments.range(..self.recovery_point).next_back();
        let first = first.map_or(Offset::ZERO, |it| *it.0);
        let segments = segments.range(first..).map(|it| it.1.clone()).collect();
        Ok(Some(Flush {
            disk: self.disk.clone(),
            directory: self.directory.clone(),
            segments,
            snapshots: self.snapshots.take_unsynced(),
            syncs: self.syncs.clone(),
            cuts: self.cuts(),
            up_to,
        }))
    }

    /// Notes that a flush has run well: everything below [`Flush::up_to`] is durable. Never goes
    /// back. A log that has failed takes no notice, and neither does one that was cut since: the
    /// offsets may stand for other records by now.
    pub fn flushed(&mut self, flush: &Flush<D>) {
        if self.condition == Condition::Failed || self.cuts() != flush.cuts {
            return;
        }
        self.recovery_point = self.recovery_point.max(flush.up_to);
    }

    /// Takes back a flush that could not be done for want of something before any sync failed: the
    /// next one will do its work as well.
    pub fn put_off(&mut self, flush: &Flush<D>) {
        let snapshots = flush.snapshots.iter().map(|it| it.0);
        self.snapshots.not_synced(snapshots);
    }

    fn cuts(&self) -> u64 {
        self.shared.bounds.lock().cuts
    }

    /// Syncs here and now. Blocks.
    ///
    /// # Errors
    /// [`FlushError`]; after one of the disk the log has failed, unless it could only not be done
    /// for want of descriptors, memory or room.
    pub fn flush(&mut self) -> Result<(), FlushError> {
        let Some(flush) = self.begin_flush()? else {
            return Ok(());
        };
        match flush.run() {
            Ok(()) => {
                self.flushed(&flush);
                Ok(())
            }
            Err(error) => {
                self.not_flushed(&flush, &error);
                Err(error.into())
            }
        }
    }

    /// Takes note of what a flush that did not do its work means.
    pub(crate) fn not_flushed(&mut self, flush: &Flush<D>, error: &DiskError) {
        if is_put_off(error) {
            self.put_off(flush);
        } else {
            self.fail();
        }
    }
}

/// A log could not be synced.
#[derive(Debug, thiserror::Error)]
pub enum FlushError {
    /// The log takes no changes.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The disk refused. The log has failed, unless no descriptor or memory was left to open a file.
    #[error(transparent)]
    Disk(#[from] DiskError),
}
