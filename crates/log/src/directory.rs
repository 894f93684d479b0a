//! [`LogDirectory`]: one of the directories that partitions are in.
//!
//! | name | what it is |
//! |---|---|
//! | `.lock` | held while somebody uses the directory |
//! | `meta.properties` | whose it is |
//! | `.kafka_cleanshutdown` | there after a clean stop, until the next start |
//! | `…-offset-checkpoint` | an offset a partition |
//! | `<topic>-<partition>` | a partition |
//!
//! A directory that fails goes offline with its reason and stays so until the next start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use klamm_io::{Disk, DiskError, DiskErrorKind, Entry, FileKind, RangeWatcher};
use klamm_primitives::{BrokerId, TopicPartition, Uuid};
use parking_lot::Mutex;
use thiserror::Error;
use tracing::warn;

use crate::damage::Told;
use crate::directory_checkpoints::DirectoryCheckpoints;
use crate::disk_failure::DiskFailure;
use crate::log_event::{DirectoryWork, OfflineReason};
use crate::meta_properties::MetaProperties;
use crate::names::{DirectoryName, Fate};
use crate::open_files::OpenFiles;
use crate::small_file::SmallFileError;
use crate::sync_queue::SyncQueue;

const LOCK_NAME: &str = ".lock";

/// To whom log directories belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The cluster.
    pub cluster_id: String,
    /// The broker within it.
    pub node_id: BrokerId,
}

/// A log directory must not be used. Nothing in it was changed.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// Somebody else uses it, in this process or another.
    #[error("{path} is in use by another process", path = path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// It belongs to another cluster.
    #[error("{path} belongs to cluster {found}, this is {expected}", path = path.display())]
    OtherCluster {
        /// The directory.
        path: PathBuf,
        /// The cluster it belongs to.
        found: String,
        /// The cluster that asks.
        expected: String,
    },
    /// It belongs to another broker.
    #[error("{path} belongs to node {found}, this is {expected}", path = path.display())]
    OtherNode {
        /// The directory.
        path: PathBuf,
        /// The broker it belongs to.
        found: BrokerId,
        /// The broker that asks.
        expected: BrokerId,
    },
    /// It holds partitions and does not say whose they are.
    #[error("{path} holds `{name}` and no meta.properties that says whose it is", path = path.display())]
    Ownerless {
        /// The directory.
        path: PathBuf,
        /// One of the partitions' directories.
        name: String,
    },
    /// Its `meta.properties` makes no sense.
    #[error(transparent)]
    Damaged(SmallFileError),
    /// A directory in it is no partition's.
    #[error(
        "{path} is not a partition's directory: {todo}",
        path = path.display(),
        todo = todo(path)
    )]
    NotAPartition {
        /// What is in the way.
        path: PathBuf,
    },
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

fn todo(path: &Path) -> &'static str {
    if path.file_name().is_some_and(|it| it == "lost+found") {
        "the log directory is the root of a file system; use a directory below it as the log \
         directory, and move what is there into that"
    } else {
        "move it out of the log directory"
    }
}

impl From<SmallFileError> for ClaimError {
    fn from(error: SmallFileError) -> Self {
        match error {
            SmallFileError::Disk(error) => Self::Disk(error),
            damaged @ SmallFileError::Damaged { .. } => Self::Damaged(damaged),
        }
    }
}

/// What a directory holds.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) partitions: Vec<TopicPartition>,
    /// Directories that wait to be removed.
    pub(crate) doomed: Vec<PathBuf>,
    /// Copies of partitions that are on the move.
    future: Vec<PathBuf>,
}

/// A directory that nobody has taken yet, as it was found.
pub(crate) struct Surveyed {
    /// What names it for good, if it has been somebody's.
    pub(crate) id: Option<Uuid>,
    pub(crate) partitions: Vec<TopicPartition>,
}

/// One of the directories that partitions are in.
pub(crate) struct LogDirectory<D: Disk> {
    disk: D,
    open_files: Arc<OpenFiles<D::File>>,
    path: PathBuf,
    id: Option<Uuid>,
    /// Held for a change of state alone; nothing else is locked under it.
    hold: Mutex<Hold<D>>,
    /// Partitions in it, by which the next one finds its place. Changed by whoever makes and
    /// deletes partitions, one at a time.
    partition_count: AtomicUsize,
    checkpoints: DirectoryCheckpoints<D>,
    syncs: SyncQueue<D>,
    /// What whoever reads files of this directory has found, until somebody acts on it. Held for
    /// copying alone.
    unread: Mutex<Option<OfflineReason>>,
    /// What could not be read although the disk is fine.
    told: Told,
    /// Whether a log was synced since the recovery points were written last.
    has_synced: AtomicBool,
}

/// Whether a directory is in use.
enum Hold<D: Disk> {
    Online(D::Lock),
    /// The lock stays, if it was ever taken: what had begun before may still write.
    Offline(OfflineReason, Option<D::Lock>),
    Released,
}

impl<D: Disk> LogDirectory<D> {
    /// Takes a directory: makes it where it is missing, locks it, and sees that it belongs to
    /// `owner`. One that belongs to nobody and holds no partition is the owner's from here on.
    ///
    /// # Errors
    /// [`ClaimError`]; the directory is not locked then. [`ClaimError::Disk`] alone says that
    /// the directory has failed.
    pub(crate) fn claim(
        disk: D,
        open_files: Arc<OpenFiles<D::File>>,
        path: PathBuf,
        owner: &Owner,
        random: &mut dyn FnMut() -> u128,
    ) -> Result<Self, ClaimError> {
        create_durably(&disk, &path)?;
        let lock = match disk.try_lock(&path.join(LOCK_NAME)) {
            Err(error) if error.kind() == DiskErrorKind::Locked => {
                return Err(ClaimError::InUse { path });
            }
            lock => lock?,
        };
        let id = Self::see_to_owner(&disk, &path, owner, random)?;
        let hold = Hold::Online(lock);
        Ok(Self::new(disk, open_files, path, Some(id), hold))
    }

    /// A directory that could not be taken.
    pub(crate) fn offline(
        disk: D,
        open_files: Arc<OpenFiles<D::File>>,
        path: PathBuf,
        reason: OfflineReason,
    ) -> Self {
        let hold = Hold::Offline(reason, None);
        let directory = Self::new(disk, open_files, path, None, hold);
        directory.syncs.abandon();
        directory
    }

    fn new(
        disk: D,
        open_files: Arc<OpenFiles<D::File>>,
        path: PathBuf,
        id: Option<Uuid>,
        hold: Hold<D>,
    ) -> Self {
        Self {
            checkpoints: DirectoryCheckpoints::new(disk.clone(), path.clone()),
            disk,
            open_files,
            path,
            id,
            hold: Mutex::new(hold),
            partition_count: AtomicUsize::new(0),
            syncs: SyncQueue::new(),
            unread: Mutex::new(None),
            told: Told::default(),
            has_synced: AtomicBool::new(false),
        }
    }

    fn see_to_owner(
        disk: &D,
        path: &Path,
        owner: &Owner,
        random: &mut dyn FnMut() -> u128,
    ) -> Result<Uuid, ClaimError> {
        let found = MetaProperties::read(disk, path)?;
        match &found {
            None => refuse_partitions(disk, path)?,
            Some(found) => check_owner(found, path, owner)?,
        }
        let id = found.as_ref().and_then(|it| it.directory_id);
        let id = id.unwrap_or_else(|| Uuid::from_random(random()));
        let wanted = MetaProperties {
            cluster_id: Some(owner.cluster_id.clone()),
            node_id: Some(owner.node_id),
            directory_id: Some(id),
        };
        if found.as_ref() != Some(&wanted) {
            wanted.write(disk, path)?;
        }
        Ok(id)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What names it for good; `None` if it could not be taken.
    pub(crate) fn id(&self) -> Option<Uuid> {
        self.id
    }

    pub(crate) fn disk(&self) -> &D {
        &self.disk
    }

    /// What keeps segments' files open, here and in the other directories.
    pub(crate) fn open_files(&self) -> &Arc<OpenFiles<D::File>> {
        &self.open_files
    }

    pub(crate) fn checkpoints(&self) -> &DirectoryCheckpoints<D> {
        &self.checkpoints
    }

    pub(crate) fn syncs(&self) -> &SyncQueue<D> {
        &self.syncs
    }

    pub(crate) fn partition_count(&self) -> usize {
        self.partition_count.load(Ordering::Relaxed)
    }

    pub(crate) fn partition_came(&self) {
        self.partition_count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn partition_went(&self) {
        self.partition_count.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn is_online(&self) -> bool {
        matches!(*self.hold.lock(), Hold::Online(_))
    }

    /// Why it is offline, if it is.
    pub(crate) fn offline_reason(&self) -> Option<OfflineReason> {
        match &*self.hold.lock() {
            Hold::Offline(reason, _) => Some(reason.clone()),
            Hold::Online(_) | Hold::Released => None,
        }
    }

    /// Gives the directory up for this reason. Says whether it was online; if not, the first
    /// reason stays.
    pub(crate) fn go_offline(&self, reason: OfflineReason) -> bool {
        {
            let mut hold = self.hold.lock();
            match std::mem::replace(&mut *hold, Hold::Released) {
                Hold::Online(lock) => *hold = Hold::Offline(reason, Some(lock)),
                former => {
                    *hold = former;
                    return false;
                }
            }
        }
        self.syncs.abandon();
        true
    }

    /// Notes that records have become durable, which the recovery points on disk do not say yet.
    pub(crate) fn note_synced(&self) {
        self.has_synced.store(true, Ordering::Release);
    }

    /// Whether any have since this was last asked.
    pub(crate) fn take_synced(&self) -> bool {
        self.has_synced.swap(false, Ordering::AcqRel)
    }

    /// Why the directory should go offline, if somebody who read of it says so; once.
    pub(crate) fn take_unread(&self) -> Option<OfflineReason> {
        self.unread.lock().take()
    }

    /// How much was told of what could not be read although the disk is fine.
    #[cfg(test)]
    pub(crate) fn told_len(&self) -> usize {
        self.told.len()
    }

    /// Lets the lock go at the end of the work.
    pub(crate) fn release(&self) {
        self.syncs.abandon();
        *self.hold.lock() = Hold::Released;
    }

    /// Where a partition's directory is.
    pub(crate) fn path_of(&self, partition: &TopicPartition) -> PathBuf {
        self.path.join(partition.to_string())
    }

    /// Looks through the names.
    ///
    /// # Errors
    /// [`ClaimError::NotAPartition`], [`ClaimError::Disk`].
    pub(crate) fn contents(&self) -> Result<Contents, ClaimError> {
        let contents = contents(&self.disk, &self.path)?;
        for path in &contents.future {
            warn!(path = %path.display(), "copy of a partition on the move, left alone");
        }
        Ok(contents)
    }
}

/// Sees whether `owner` may take a directory, without changing anything; `None` where there is
/// none, or none that can be read, which is its own trouble.
///
/// # Errors
/// [`ClaimError`], but for a disk that refuses for other reasons than a shortage.
pub(crate) fn survey<D: Disk>(
    disk: &D,
    path: &Path,
    owner: &Owner,
) -> Result<Option<Surveyed>, ClaimError> {
    match survey_readable(disk, path, owner) {
        Err(ClaimError::Disk(error)) if !error.is_shortage() => Ok(None),
        surveyed => surveyed.map(Some),
    }
}

fn survey_readable<D: Disk>(disk: &D, path: &Path, owner: &Owner) -> Result<Surveyed, ClaimError> {
    let contents = contents(disk, path)?;
    let lock = path.join(LOCK_NAME);
    // Where nobody has locked it yet, trying to would make the file.
    if disk.metadata(&lock).is_ok() {
        match disk.try_lock(&lock) {
            Err(error) if error.kind() == DiskErrorKind::Locked => {
                let path = path.to_owned();
                return Err(ClaimError::InUse { path });
            }
            locked => drop(locked?),
        }
    }
    let found = MetaProperties::read(disk, path)?;
    match &found {
        None => refuse_partitions(disk, path)?,
        Some(found) => check_owner(found, path, owner)?,
    }
    Ok(Surveyed {
        id: found.and_then(|it| it.directory_id),
        partitions: contents.partitions,
    })
}

fn contents<D: Disk>(disk: &D, path: &Path) -> Result<Contents, ClaimError> {
    let mut contents = Contents::default();
    for entry in disk.list(path)? {
        if entry.kind != FileKind::Directory {
            continue;
        }
        let path = path.join(&entry.name);
        match directory_name(&entry) {
            None => return Err(ClaimError::NotAPartition { path }),
            Some(DirectoryName::Partition(partition)) => contents.partitions.push(partition),
            Some(DirectoryName::Reserved) => {}
            Some(DirectoryName::Fated { fate, .. }) => match fate {
                Fate::Delete | Fate::Stray => contents.doomed.push(path),
                Fate::Future => contents.future.push(path),
            },
        }
    }
    Ok(contents)
}

impl<D: Disk> RangeWatcher for LogDirectory<D> {
    /// Called where records are sent, so that it only leaves word: housekeeping acts on it.
    fn range_not_read(&self, error: &DiskError) {
        let what = format!("{error}: {}", error.io_error());
        if error.takes_directory_offline() {
            let source = io::Error::other(what);
            let reason = OfflineReason::new(DirectoryWork::Using, source);
            self.unread.lock().get_or_insert(reason);
        } else {
            self.told.tell_once(what, |error| {
                warn!(error, "records that were promised cannot be read");
            });
        }
    }
}

/// Makes a directory and those above it that are missing, so that a power cut leaves them there.
fn create_durably<D: Disk>(disk: &D, path: &Path) -> Result<(), DiskError> {
    let mut parents = Vec::new();
    for ancestor in path.ancestors() {
        match disk.metadata(ancestor) {
            Err(error) if error.kind() == DiskErrorKind::NotFound => {
                parents.extend(ancestor.parent());
            }
            found => {
                found?;
                break;
            }
        }
    }
    disk.create_dir_all(path)?;
    for parent in parents {
        // Of a relative path the first part is in the current directory.
        let here = Path::new(".");
        let parent = if parent.as_os_str().is_empty() {
            here
        } else {
            parent
        };
        disk.sync_dir(parent)?;
    }
    Ok(())
}

fn directory_name(entry: &Entry) -> Option<DirectoryName> {
    DirectoryName::parse(entry.name.to_str()?).ok()
}

/// A directory without `meta.properties` may be taken if it holds no partition.
fn refuse_partitions<D: Disk>(disk: &D, path: &Path) -> Result<(), ClaimError> {
    for entry in disk.list(path)? {
        if let (FileKind::Directory, Some(DirectoryName::Partition(partition))) =
            (entry.kind, directory_name(&entry))
        {
            return Err(ClaimError::Ownerless {
                path: path.to_owned(),
                name: partition.to_string(),
            });
        }
    }
    Ok(())
}

fn check_owner(found: &MetaProperties, path: &Path, owner: &Owner) -> Result<(), ClaimError> {
    let path = || path.to_owned();
    match &found.cluster_id {
        Some(cluster_id) if *cluster_id != owner.cluster_id => {
            return Err(ClaimError::OtherCluster {
                path: path(),
                found: cluster_id.clone(),
                expected: owner.cluster_id.clone(),
            });
        }
        _ => {}
    }
    match found.node_id {
        Some(node_id) if node_id != owner.node_id => Err(ClaimError::OtherNode {
            path: path(),
            found: node_id,
            expected: owner.node_id,
        }),
        _ => Ok(()),
    }
}

impl OfflineReason {
    pub(crate) fn new(
        work: DirectoryWork,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self {
            work,
            source: Arc::new(error),
        }
    }
}

impl DiskFailure for ClaimError {
    fn disk_error(&self) -> Option<&DiskError> {
        match self {
            Self::Disk(error) => Some(error),
            _ => None,
        }
    }
}
