//! [`SimDisk`]: a disk in memory that knows what is durable.

mod content;
mod fault;
mod file;
#[cfg(test)]
mod random_calls;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::IoSlice;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::io::Errno;

use self::content::{Content, PAGE_LEN, Survival};
use self::fault::Effect;
pub use self::fault::Fault;
pub use self::file::{SimFile, SimLock};
use self::tree::{FileNode, NodeId, Tree};
use super::SimClock;
use super::random::Random;
use crate::Clock as _;
use crate::disk::{Disk, Entry, FileKind, Metadata, OpenMode, Space};
use crate::disk_error::{DiskError, DiskOperation};

/// What a disk without a capacity says it has.
const UNLIMITED_BYTES: u64 = 1 << 50;

/// No file is longer than what a signed 64-bit position reaches.
const LEN_MAX: u64 = i64::MAX.cast_unsigned();

/// A disk in memory that keeps what was written apart from what was synced.
///
/// The model is that of ext4 and XFS with their journals, at its most careless:
///
/// - Written bytes are in the cache. Until a sync of the file, a power cut takes or leaves each
///   512-byte sector of them on its own.
/// - Each change of a file's length is kept or lost in order; what made a file longer may be kept
///   by sectors, and reads as zeros where the bytes were lost (or, with
///   [`SimDisk::with_stale_sectors`], as what the device held there before).
/// - Names change atomically. Until a sync of the directory, each directory loses some last part
///   of its changes. A sync of a file does not keep its name.
/// - After a failed sync each unsynced sector or name is durable or not, by chance, while reads go
///   on as if nothing had happened; a later sync succeeds and changes nothing about that.
///
/// What is not modelled: contents that a sector had in between when it was written more than once
/// since the last sync, bytes that rot, hard and symbolic links, rights.
///
/// Paths are taken from the root of the disk, with or without a leading `/`. Clones are the same
/// disk. Chance is drawn from the seed.
///
/// ```
/// use std::path::Path;
/// use klamm_io::{Disk, DiskFile, OpenMode, sim::{Crash, SimDisk}};
///
/// let disk = SimDisk::new(1);
/// let path = Path::new("/data");
/// let file = disk.open(path, OpenMode::CreateNew)?;
/// file.write_all_at(b"kept", 0)?;
/// file.sync_data()?;
/// disk.sync_dir(Path::new("/"))?;
/// file.write_all_at(b"lost", 4)?;
///
/// let disk = disk.crash(Crash::PowerLossLosingAll);
/// let file = disk.open(path, OpenMode::Read)?;
/// assert_eq!(file.read_bytes_at(0, 100)?.as_ref(), b"kept");
/// # Ok::<(), klamm_io::DiskError>(())
/// ```
#[derive(Clone)]
pub struct SimDisk {
    /// Held for the length of a call; nothing is called under it but a fault's path predicate.
    state: Arc<Mutex<State>>,
}

struct State {
    tree: Tree,
    locked: BTreeSet<NodeId>,
    faults: Vec<Fault>,
    calls: BTreeMap<DiskOperation, u64>,
    bytes_read: u64,
    capacity_pages: Option<u64>,
    open_files: u64,
    open_files_max: Option<u64>,
    stale_sectors: bool,
    cannot_reserve: bool,
    power_is_off: bool,
    random: Random,
    clock: SimClock,
}

/// How a [`SimDisk`] comes to be opened anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The process was killed and the machine goes on: everything written is there, and what was
    /// not synced is still not durable. A clean stop looks the same to the disk.
    Kill,
    /// The power went and everything that was not durable is gone.
    PowerLossLosingAll,
    /// The power went; chance decides, by this seed, what survived of that which was not durable.
    PowerLoss {
        /// The same disk and the same seed give the same outcome.
        seed: u64,
    },
}

impl SimDisk {
    /// An empty disk without an end.
    pub fn new(seed: u64) -> Self {
        Self::with_clock(seed, SimClock::new())
    }

    /// An empty disk without an end that takes modification times from this clock.
    pub fn with_clock(seed: u64, clock: SimClock) -> Self {
        Self::from_state(State {
            tree: Tree::new(),
            locked: BTreeSet::new(),
            faults: Vec::new(),
            calls: BTreeMap::new(),
            bytes_read: 0,
            capacity_pages: None,
            open_files: 0,
            open_files_max: None,
            stale_sectors: false,
            cannot_reserve: false,
            power_is_off: false,
            random: Random::new(seed),
            clock,
        })
    }

    fn from_state(state: State) -> Self {
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// The same disk, which after a power cut may show what the device held before where a file
    /// became longer and its bytes were lost; otherwise these read as zeros.
    #[must_use]
    pub fn with_stale_sectors(self) -> Self {
        self.state.lock().stale_sectors = true;
        self
    }

    /// The same disk with a file system that cannot reserve space for what is not written.
    #[must_use]
    pub fn without_reserving(self) -> Self {
        self.state.lock().cannot_reserve = true;
        self
    }

    /// Gives the disk an end, or takes it away. Space goes by blocks of 4096 bytes; where files
    /// take more than this already, they keep it.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state.lock().capacity_pages = bytes.map(|bytes| bytes / PAGE_LEN as u64);
    }

    /// How many files are open. Each counts for as long as a clone of its handle is there.
    pub fn open_files(&self) -> u64 {
        self.state.lock().open_files
    }

    /// Lets so many files be open at most, or any number again. Where there are as many, none can be
    /// opened, and directories neither listed nor synced, for which a system opens them.
    pub fn set_open_files_max(&self, max: Option<u64>) {
        self.state.lock().open_files_max = max;
    }

    /// Adds something that is to go wrong. Of several faults that strike a call the one added
    /// first has its effect.
    pub fn inject(&self, fault: Fault) {
        self.state.lock().faults.push(fault);
    }

    /// Takes all faults away again. What they have done stays.
    pub fn clear_faults(&self) {
        self.state.lock().faults.clear();
    }

    /// The power goes: every later call fails, until [`SimDisk::crash`] gives the disk that is
    /// found when it is back.
    pub fn cut_power(&self) {
        self.state.lock().power_is_off = true;
    }

    /// Calls of this operation so far, failed ones too; so that a test can cut the power at each
    /// in turn.
    pub fn calls(&self, operation: DiskOperation) -> u64 {
        let state = self.state.lock();
        state.calls.get(&operation).copied().unwrap_or(0)
    }

    /// Bytes that were read from files so far, as often as they were read; so that a test can tell what
    /// something costs.
    pub fn bytes_read(&self) -> u64 {
        self.state.lock().bytes_read
    }

    /// The disk as the next process finds it, without handles, locks, faults and counts. This one
    /// stays as it is and apart, so that one run can be looked at after many crashes.
    #[must_use]
    pub fn crash(&self, crash: Crash) -> Self {
        let state = self.state.lock();
        let mut random = state.random.clone();
        let tree = match crash {
            Crash::Kill => state.tree.after_kill(),
            Crash::PowerLossLosingAll => state.tree.after_power_loss(&mut Survival::None),
            Crash::PowerLoss { seed } => {
                random = Random::new(seed);
                state.tree.after_power_loss(&mut Survival::Chance {
                    random: &mut random,
                    stale: state.stale_sectors,
                })
            }
        };
        Self::from_state(State {
            tree,
            locked: BTreeSet::new(),
            faults: Vec::new(),
            calls: BTreeMap::new(),
            bytes_read: 0,
            capacity_pages: state.capacity_pages,
            open_files: 0,
            open_files_max: state.open_files_max,
            stale_sectors: state.stale_sectors,
            cannot_reserve: state.cannot_reserve,
            power_is_off: false,
            random,
            clock: state.clock.clone(),
        })
    }

    /// Does one call: counts it, lets a fault strike it, and gives errors their names.
    fn call<T>(
        &self,
        operation: DiskOperation,
        path: &Path,
        perform: impl FnOnce(&mut State) -> Result<T, Errno>,
    ) -> Result<T, DiskError> {
        self.call_that_leaves_marks(operation, path, perform, |_, errno, _| errno)
    }

    /// As [`SimDisk::call`], for a call that a fault does not leave without effect: `fail` gets
    /// the fault's error and how many bytes of a write go before it, and gives the error.
    fn call_that_leaves_marks<T>(
        &self,
        operation: DiskOperation,
        path: &Path,
        perform: impl FnOnce(&mut State) -> Result<T, Errno>,
        fail: impl FnOnce(&mut State, Errno, usize) -> Errno,
    ) -> Result<T, DiskError> {
        let mut state = self.state.lock();
        let outcome = match state.begin(operation, path) {
            None => perform(&mut state),
            Some(Effect::Fail {
                errno,
                bytes_before,
            }) => Err(fail(&mut state, errno, bytes_before)),
            Some(Effect::CutPower) => {
                if !state.power_is_off && !is_sync(operation) {
                    _ = perform(&mut state);
                }
                state.power_is_off = true;
                Err(Errno::IO)
            }
        };
        outcome.map_err(|errno| DiskError::new(operation, path, errno.into()))
    }
}

const fn is_sync(operation: DiskOperation) -> bool {
    matches!(operation, DiskOperation::Sync | DiskOperation::SyncDir)
}

impl State {
    /// Counts a call and says what strikes it.
    fn begin(&mut self, operation: DiskOperation, path: &Path) -> Option<Effect> {
        if self.power_is_off {
            return Some(Effect::CutPower);
        }
        *self.calls.entry(operation).or_default() += 1;
        let mut effect = None;
        // Each fault counts the call, also when another one strikes it.
        for fault in &mut self.faults {
            if fault.strikes(operation, path) {
                effect = effect.or(Some(fault.effect));
            }
        }
        effect
    }

    fn used_pages(&self) -> u64 {
        self.tree
            .files()
            .map(|file| file.content.used_pages())
            .sum()
    }

    fn free_pages(&self) -> u64 {
        match self.capacity_pages {
            Some(capacity) => capacity.saturating_sub(self.used_pages()),
            None => UNLIMITED_BYTES / PAGE_LEN as u64,
        }
    }

    fn has_descriptor(&self) -> Result<(), Errno> {
        match self.open_files_max {
            Some(max) if self.open_files >= max => Err(Errno::MFILE),
            _ => Ok(()),
        }
    }

    fn open(&mut self, path: &Path, mode: OpenMode) -> Result<NodeId, Errno> {
        self.has_descriptor()?;
        let place = self.tree.place(path).map_err(|errno| match errno {
            // The root itself, which has no name.
            Errno::BUSY => Errno::ISDIR,
            other => other,
        })?;
        let now_ms = self.clock.unix_ms();
        let node = match (place.node, mode) {
            (Some(_), OpenMode::CreateNew) => return Err(Errno::EXIST),
            (Some(node), _) => node,
            (None, OpenMode::Read | OpenMode::ReadWrite) => return Err(Errno::NOENT),
            (None, _) => self.tree.create_file(place, now_ms),
        };
        let file = self.tree.file_mut(node)?;
        if mode == OpenMode::CreateOrTruncate && file.content.len() > 0 {
            file.content.set_len(0);
            file.content.modified_ms = now_ms;
        }
        Ok(node)
    }

    /// Changes the contents of a file; the closure gets the free pages too.
    fn change<T>(
        &mut self,
        node: NodeId,
        change: impl FnOnce(&mut Content, u64) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let free_pages = self.free_pages();
        let now_ms = self.clock.unix_ms();
        let content = &mut self.tree.file_mut(node)?.content;
        let done = change(content, free_pages)?;
        content.modified_ms = now_ms;
        Ok(done)
    }

    fn write(
        &mut self,
        node: NodeId,
        pieces: &[IoSlice<'_>],
        position: u64,
        len_max: usize,
    ) -> Result<(), Errno> {
        let len: usize = pieces.iter().map(|piece| piece.len()).sum();
        if len > 0
            && position
                .checked_add(len as u64)
                .is_none_or(|end| end > LEN_MAX)
        {
            return Err(Errno::FBIG);
        }
        let mut at = position;
        let mut left = len_max;
        for piece in pieces {
            let piece = &piece[..piece.len().min(left)];
            let written = self.change(node, |content, free| Ok(content.write(piece, at, free)))?;
            if written < piece.len() {
                return Err(Errno::NOSPC);
            }
            at += written as u64;
            left -= written;
        }
        Ok(())
    }

    fn metadata(&self, node: NodeId) -> Result<Metadata, Errno> {
        if self.tree.is_directory(node) {
            return Ok(Metadata {
                kind: FileKind::Directory,
                len: 0,
                modified_ms: self.clock.unix_ms(),
            });
        }
        let FileNode { content, .. } = self.tree.file(node)?;
        Ok(Metadata {
            kind: FileKind::File,
            len: content.len(),
            modified_ms: content.modified_ms,
        })
    }
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("SimDisk")
            .field("files", &state.tree.files().count())
            .field("used_bytes", &(state.used_pages() * PAGE_LEN as u64))
            .field("faults", &state.faults)
            .field("power_is_off", &state.power_is_off)
            .finish_non_exhaustive()
    }
}

impl Disk for SimDisk {
    type File = SimFile;
    type Lock = SimLock;

    fn open(&self, path: &Path, mode: OpenMode) -> Result<SimFile, DiskError> {
        let node = self.call(DiskOperation::Open, path, |state| {
            let node = state.open(path, mode)?;
            state.tree.file_mut(node)?.open_count += 1;
            state.open_files += 1;
            Ok(node)
        })?;
        Ok(SimFile::new(self.clone(), node, path, mode))
    }

    fn metadata(&self, path: &Path) -> Result<Metadata, DiskError> {
        self.call(DiskOperation::Metadata, path, |state| {
            state.metadata(state.tree.find(path)?)
        })
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        self.call(DiskOperation::CreateDir, path, |state| {
            let mut above = std::path::PathBuf::new();
            for component in path.components() {
                above.push(component);
                match state.tree.find(&above) {
                    Ok(node) if state.tree.is_directory(node) => {}
                    Ok(_) if above == path => return Err(Errno::EXIST),
                    Ok(_) => return Err(Errno::NOTDIR),
                    Err(Errno::NOENT) => {
                        let place = state.tree.place(&above)?;
                        state.tree.create_directory(place);
                    }
                    Err(errno) => return Err(errno),
                }
            }
            Ok(())
        })
    }

    fn list(&self, path: &Path) -> Result<Vec<Entry>, DiskError> {
        self.call(DiskOperation::List, path, |state| {
            state.has_descriptor()?;
            let tree = &state.tree;
            let entry = |(name, node): (&std::ffi::OsString, _)| Entry {
                name: name.clone(),
                kind: if tree.is_directory(node) {
                    FileKind::Directory
                } else {
                    FileKind::File
                },
            };
            Ok(tree.entries(tree.find(path)?)?.map(entry).collect())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.call(DiskOperation::Rename, from, |state| {
            state.tree.rename(from, to)
        })
        .map_err(|error| error.with_destination(to))
    }

    fn remove_file(&self, path: &Path) -> Result<(), DiskError> {
        self.call(DiskOperation::RemoveFile, path, |state| {
            state.tree.remove_file(path)
        })
    }

    fn remove_dir(&self, path: &Path) -> Result<(), DiskError> {
        self.call(DiskOperation::RemoveDir, path, |state| {
            state.tree.remove_directory(path)
        })
    }

    fn sync_dir(&self, path: &Path) -> Result<(), DiskError> {
        self.call_that_leaves_marks(
            DiskOperation::SyncDir,
            path,
            |state| {
                state.has_descriptor()?;
                let node = state.tree.find(path)?;
                state.tree.sync_directory(node)
            },
            |state, errno, _| {
                if let Ok(node) = state.tree.find(path) {
                    state.tree.fail_sync_directory(node, &mut state.random);
                }
                errno
            },
        )
    }

    fn try_lock(&self, path: &Path) -> Result<SimLock, DiskError> {
        let node = self.call(DiskOperation::Lock, path, |state| {
            let node = state.open(path, OpenMode::OpenOrCreate)?;
            if state.locked.insert(node) {
                Ok(node)
            } else {
                Err(Errno::AGAIN)
            }
        })?;
        Ok(SimLock::new(self.clone(), node))
    }

    /// There are no links.
    fn resolve(&self, path: &Path) -> Result<PathBuf, DiskError> {
        let mut resolved = PathBuf::from("/");
        for component in path.components() {
            match component {
                Component::ParentDir => _ = resolved.pop(),
                Component::Normal(name) => resolved.push(name),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        Ok(resolved)
    }

    fn space(&self, path: &Path) -> Result<Space, DiskError> {
        self.call(DiskOperation::Space, path, |state| {
            state.tree.find(path)?;
            let total_bytes = match state.capacity_pages {
                Some(pages) => pages * PAGE_LEN as u64,
                None => UNLIMITED_BYTES,
            };
            Ok(Space {
                total_bytes,
                available_bytes: state.free_pages() * PAGE_LEN as u64,
            })
        })
    }
}
