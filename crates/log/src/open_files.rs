//! [`OpenFiles`]: which files of segments are kept open, where there may be only so many.
//!
//! A file is opened when it is first needed, and stays open for the next time. Once there are as
//! many as there may be, another one is closed for each that is opened: one that has not been
//! used since it was last passed over, the oldest first, and none that wants a sync before all others. Readers that were given a file before
//! keep it until they are done.
//!
//! A file that was written to is synced before it is closed, whoever waits for that: an error of
//! writing it out is told to those who have it open, and might be told to nobody otherwise.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use klamm_io::{DiskError, DiskFile, DiskOperation};
use parking_lot::{MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// So many entries of files that are gone are worth looking for.
const GONE_MIN: usize = 64;

/// The files of segments that are open, of all logs that share this.
pub(crate) struct OpenFiles<F> {
    max: Option<usize>,
    count: AtomicUsize,
    /// Those that may be closed, the one to be looked at next in front. Held to take or put one.
    queue: Mutex<VecDeque<Weak<HeldFile<F>>>>,
}

/// The file of a segment that was needed at least once: open, or closed again.
///
/// Its locks come after those of its log: `synced` before `file`, and the book's queue last.
/// Whoever closes a file for others only tries its locks, for it may hold those of another log.
pub(crate) struct HeldFile<F> {
    book: Arc<OpenFiles<F>>,
    /// Held for reading while it is written to, so that nobody closes it meanwhile.
    file: RwLock<Option<F>>,
    /// Since it was passed over last.
    was_used: AtomicBool,
    /// Counts the writes that have ended, well or not.
    writes: AtomicU64,
    /// How many of them the last sync has made durable. Held during a sync: the system tells a failure
    /// to one of two only.
    synced: Mutex<u64>,
    /// A sync has failed. Changed while `synced` is held.
    has_failed: AtomicBool,
}

/// What came of closing a file.
enum Closed {
    Done,
    /// Somebody uses it, or it wants a sync. It may be closed later.
    NotNow,
    /// It is not open, or what it holds was lost in a sync.
    Never,
}

impl<F> OpenFiles<F> {
    /// Of which so many are kept open at most, or all.
    pub(crate) fn new(max: Option<usize>) -> Arc<Self> {
        Arc::new(Self {
            max,
            count: AtomicUsize::new(0),
            queue: Mutex::default(),
        })
    }
}

impl<F: DiskFile> OpenFiles<F> {
    /// A file that is not open yet.
    pub(crate) fn closed_file(self: &Arc<Self>) -> Arc<HeldFile<F>> {
        Arc::new(HeldFile {
            book: self.clone(),
            file: RwLock::new(None),
            was_used: AtomicBool::new(false),
            writes: AtomicU64::new(0),
            synced: Mutex::default(),
            has_failed: AtomicBool::new(false),
        })
    }

    /// Closes files until one more may be opened, or until all that are left are in use. Then there will
    /// be more than there may be, for nobody is refused a file here.
    fn make_room(&self) {
        let Some(max) = self.max else { return };
        while self.count.load(Ordering::Acquire) >= max && self.close_one() {}
    }

    /// Closes one that can be: if need be, after a sync of it, for which this blocks.
    fn close_one(&self) -> bool {
        // Those that were used are passed over once, and those that want a sync until no other is left:
        // to open a file again costs next to nothing beside a sync.
        [false, false, true].into_iter().any(|may_sync| {
            let waiting = self.queue.lock().len();
            (0..waiting).any(|_| self.close_next(may_sync))
        })
    }

    /// Closes the one to be looked at next, if it can be.
    fn close_next(&self, may_sync: bool) -> bool {
        let Some(next) = self.queue.lock().pop_front() else {
            return false;
        };
        let Some(held) = next.upgrade() else {
            return false;
        };
        let closed = held.close(may_sync);
        if let Closed::NotNow = closed {
            self.queue.lock().push_back(next);
        }
        matches!(closed, Closed::Done)
    }

    /// Counts a file that was opened.
    fn opened(&self, held: &Arc<HeldFile<F>>) {
        let count = self.count.fetch_add(1, Ordering::AcqRel) + 1;
        if self.max.is_none() {
            return;
        }
        let mut queue = self.queue.lock();
        queue.push_back(Arc::downgrade(held));
        // Segments that are gone leave theirs here until it is looked at, which may be never.
        if queue.len() > 2 * count.max(GONE_MIN) {
            queue.retain(|it| it.strong_count() > 0);
        }
    }
}

impl<F: DiskFile> HeldFile<F> {
    /// The file, which `open` opens if it is not. Whoever has it may read by it, also when it is
    /// closed for others.
    pub(crate) fn get(
        self: &Arc<Self>,
        open: impl FnOnce() -> Result<F, DiskError>,
    ) -> Result<F, DiskError> {
        Ok(self.opened(open)?.clone())
    }

    /// The file, if it is open.
    pub(crate) fn get_open(&self) -> Option<F> {
        self.file.read().clone()
    }

    /// Whether it is open.
    pub(crate) fn is_open(&self) -> bool {
        self.file.read().is_some()
    }

    /// Writes, with the file that `open` opens if it is not.
    ///
    /// # Errors
    /// Among others where an earlier sync has failed: its log may not have heard of it.
    pub(crate) fn write<T>(
        self: &Arc<Self>,
        open: impl FnOnce() -> Result<F, DiskError>,
        write: impl FnOnce(&F) -> Result<T, DiskError>,
    ) -> Result<T, DiskError> {
        let file = self.opened(open)?;
        if self.has_failed() {
            return Err(failed_before(file.path()));
        }
        let written = write(&file);
        // While it is still held, so that whoever closes it knows of it.
        self.writes.fetch_add(1, Ordering::AcqRel);
        written
    }

    fn opened(
        self: &Arc<Self>,
        open: impl FnOnce() -> Result<F, DiskError>,
    ) -> Result<MappedRwLockReadGuard<'_, F>, DiskError> {
        // Loaded first: who stores would take the line from all others who use the file.
        if !self.was_used.load(Ordering::Relaxed) {
            self.was_used.store(true, Ordering::Relaxed);
        }
        if let Some(file) = if_open(self.file.read()) {
            return Ok(file);
        }
        self.book.make_room();
        let mut slot = self.file.write();
        if slot.is_none() {
            *slot = Some(open()?);
            self.book.opened(self);
        }
        let file = RwLockWriteGuard::downgrade(slot);
        Ok(if_open(file).expect("it was opened above, and is held since"))
    }

    /// Acts while nobody opens the file or closes it, writes to it, or finds it open.
    pub(crate) fn exclusively<T>(&self, act: impl FnOnce() -> T) -> T {
        let _file = self.file.write();
        act()
    }

    /// Whether a sync has failed, so that nobody knows what is durable.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Whether something was written that no sync has made durable.
    pub(crate) fn owes_sync(&self) -> bool {
        let synced = self.synced.lock();
        self.writes.load(Ordering::Acquire) != *synced
    }

    /// Makes durable what was written before. Says whether there was anything to do it by: a file
    /// that is not open was synced when it was closed.
    ///
    /// # Errors
    /// Once a sync has failed each later one does: what it did not make durable no other will.
    pub(crate) fn sync(&self) -> Result<bool, DiskError> {
        let mut synced = self.synced.lock();
        let Some(file) = self.get_open() else {
            return Ok(false);
        };
        self.sync_by(&mut synced, &file)?;
        Ok(true)
    }

    fn sync_by(&self, synced: &mut u64, file: &F) -> Result<(), DiskError> {
        if self.has_failed() {
            return Err(failed_before(file.path()));
        }
        let writes = self.writes.load(Ordering::Acquire);
        let done = file.sync_data();
        if done.is_err() {
            self.has_failed.store(true, Ordering::Release);
        }
        done?;
        *synced = writes;
        Ok(())
    }

    /// Closes it, unless it is in use. Waits for nobody who may wait for the caller.
    fn close(&self, may_sync: bool) -> Closed {
        if self.was_used.swap(false, Ordering::Relaxed) {
            return Closed::NotNow;
        }
        let Some(mut synced) = self.synced.try_lock() else {
            return Closed::NotNow;
        };
        let file = match self.file.try_read() {
            Some(file) => file.clone(),
            None => return Closed::NotNow,
        };
        let Some(file) = file else {
            return Closed::Never;
        };
        let is_dirty = self.writes.load(Ordering::Acquire) != *synced;
        if is_dirty && !may_sync {
            return Closed::NotNow;
        }
        if is_dirty && self.sync_by(&mut synced, &file).is_err() {
            // Its log hears of it at its next write or sync.
            return Closed::Never;
        }
        let Some(mut slot) = self.file.try_write() else {
            return Closed::NotNow;
        };
        if self.writes.load(Ordering::Acquire) != *synced {
            return Closed::NotNow;
        }
        *slot = None;
        self.book.count.fetch_sub(1, Ordering::AcqRel);
        Closed::Done
    }
}

impl<F> Drop for HeldFile<F> {
    fn drop(&mut self) {
        if self.file.get_mut().is_some() {
            self.book.count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn if_open<F>(file: RwLockReadGuard<'_, Option<F>>) -> Option<MappedRwLockReadGuard<'_, F>> {
    RwLockReadGuard::try_map(file, Option::as_ref).ok()
}

/// What a sync did not make durable no later one will.
pub(crate) fn failed_before(path: &Path) -> DiskError {
    let source = std::io::Error::other("an earlier sync of this file has failed");
    DiskError::new(DiskOperation::Sync, path, source)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::thread;

    use klamm_io::sim::{Crash, SimDisk, SimFile};
    use klamm_io::{Disk as _, OpenMode, read_whole};

    use super::*;

    fn path(index: usize) -> PathBuf {
        format!("/{index}").into()
    }

    fn held_files(disk: &SimDisk, book: &Arc<OpenFiles<SimFile>>) -> Vec<Arc<HeldFile<SimFile>>> {
        let held = (0..6).map(|index| {
            disk.open(&path(index), OpenMode::CreateNew).unwrap();
            book.closed_file()
        });
        let held = held.collect();
        disk.sync_dir(Path::new("/")).unwrap();
        held
    }

    /// One is passed over while it is used, but not for ever.
    #[test]
    fn the_file_that_was_used_least_of_late_is_closed() {
        let disk = SimDisk::new(1);
        let book = OpenFiles::new(Some(3));
        let held = held_files(&disk, &book);
        let get = |index: usize| {
            let open = || disk.open(&path(index), OpenMode::ReadWrite);
            held[index].get(open).unwrap();
        };
        let open = || (0..6).filter(|it| held[*it].is_open()).collect::<Vec<_>>();
        for index in [0, 1, 2, 3] {
            get(index);
        }
        assert_eq!(open(), [1, 2, 3], "all were used, the oldest goes");
        get(1);
        get(4);
        assert_eq!(open(), [1, 3, 4]);
        assert_eq!(disk.open_files(), 3);
        drop(held);
        assert_eq!(book.count.load(Ordering::Relaxed), 0);
    }

    /// A sync would hold up who opens another file.
    #[test]
    fn one_that_wants_no_sync_is_closed_before_one_that_does() {
        let disk = SimDisk::new(1);
        let book = OpenFiles::new(Some(3));
        let held = held_files(&disk, &book);
        let open = |index: usize| disk.open(&path(index), OpenMode::ReadWrite);
        for index in [0, 1] {
            let write = |file: &SimFile| file.write_all_at(&[1], 0);
            held[index].write(|| open(index), write).unwrap();
        }
        for index in [2, 3, 4] {
            held[index].get(|| open(index)).unwrap();
            assert!(held[0].is_open() && held[1].is_open());
        }
        assert_eq!(disk.calls(DiskOperation::Sync), 0);
        assert_eq!(disk.open_files(), 3);
    }

    #[test]
    fn segments_that_are_gone_leave_nothing_behind() {
        let disk = SimDisk::new(1);
        let book = OpenFiles::new(Some(1 << 20));
        let stays = &held_files(&disk, &book)[0];
        let open = || disk.open(&path(0), OpenMode::ReadWrite);
        stays.get(open).unwrap();
        for _ in 0..10_000 {
            book.closed_file().get(open).unwrap();
        }
        assert!(book.queue.lock().len() <= 2 * GONE_MIN + 1);
        assert!(stays.is_open());
    }

    /// Whoever closes a file that others write to and sync at the time has made durable all that was
    /// written to it.
    #[test]
    fn no_write_is_missed_by_the_sync_before_a_close() {
        for round in 0..20 {
            let disk = SimDisk::new(round);
            let book = OpenFiles::new(Some(2));
            let held = held_files(&disk, &book);
            thread::scope(|scope| {
                for thread in 0..3 {
                    let (disk, held) = (&disk, &held);
                    scope.spawn(move || {
                        for turn in 0..100 {
                            let index = (turn * (thread + 1) + turn / 7) % held.len();
                            let open = || disk.open(&path(index), OpenMode::ReadWrite);
                            let at = (thread * 100 + turn) as u64;
                            let write = |file: &SimFile| file.write_all_at(&[1], at);
                            held[index].write(open, write).unwrap();
                            if turn % 10 == 0 {
                                held[index].sync().unwrap();
                            }
                        }
                    });
                }
            });
            let after = disk.crash(Crash::PowerLossLosingAll);
            let content = |disk, index| read_whole(disk, &path(index), 1 << 20).unwrap();
            let closed = (0..held.len()).filter(|index| !held[*index].is_open());
            let closed: Vec<_> = closed.collect();
            assert!(closed.len() >= 3, "{closed:?}");
            for index in closed {
                assert!(!held[index].owes_sync());
                assert_eq!(content(&after, index), content(&disk, index), "{index}");
            }
        }
    }
}
