//! Starting: taking the directories, and opening what they hold.

use std::collections::HashSet;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::Disk;
use klamm_primitives::{BrokerEpoch, TopicPartition, Uuid};
use parking_lot::{Mutex, RwLock};
use thiserror::Error;
use tracing::{error, info, warn};

use super::doomed::{Doomed, DoomedQueue};
use super::doubles::settle_doubles;
use super::load::{Load, PrepareError, Progress, Surroundings, options_of};
use super::missing::{MissingPartition, missing};
use super::unserved::{LateOpenings, Unserved};
use super::upkeep::Schedule;
use super::{Changing, LogManager, ManagerOptions, Now, Wiring};
use crate::clean_shutdown::CleanShutdown;
use crate::cleaner::Cleanings;
use crate::config::LogConfig;
use crate::directory::{ClaimError, LogDirectory};
use crate::disk_failure::DiskFailure;
use crate::log_event::{DirectoryWork, OfflineReason};
use crate::open::{OpenError, Opening};
use crate::open_files::OpenFiles;
use crate::workers::on_threads;

/// A started [`LogManager`], and what the start has found.
pub struct Opened<D: Disk> {
    /// All logs that could be opened.
    pub manager: LogManager<D>,
    /// Those that were read through, and what was cut.
    pub recovered: Vec<(TopicPartition, Opening)>,
    /// Partitions that could not be opened though their disk is well. Their files are as they
    /// were, and they cannot be made anew. Where only room, descriptors or memory were wanting,
    /// [`LogManager::create`] opens them once there are some.
    pub unopened: Vec<(TopicPartition, OpenError)>,
    /// Directories that have failed.
    pub offline: Vec<(PathBuf, OfflineReason)>,
    /// Partitions that had records by a checkpoint, and of which nothing is there.
    pub missing: Vec<MissingPartition>,
    /// The broker epoch of the last run, if it stopped well in every directory.
    pub broker_epoch: BrokerEpoch,
}

/// Nothing was started, and all directories were let go. Marks of a clean stop are where they were,
/// unless a log had to be changed that was not as a clean stop leaves one, or the disk refuses them.
#[derive(Debug, Error)]
pub enum StartError {
    /// A directory must not be used as it is.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// Two names are of one directory.
    #[error(
        "{first} and {second} are one directory: give it once",
        first = first.display(),
        second = second.display()
    )]
    SameDirectory {
        /// One name.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// Two directories have one id: one is a copy of the other.
    #[error("{first} and {second} both have directory id {id}", first = first.display(), second = second.display())]
    SameId {
        /// The id.
        id: Uuid,
        /// One directory.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A partition is in two directories, and has had records in both, or belongs to two topics of
    /// which neither is known as deleted.
    #[error(
        "a partition is in {first} and in {second}: move the one away that is not to be used",
        first = first.display(),
        second = second.display()
    )]
    Twice {
        /// One of its directories.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// No directory is left that works.
    #[error("no log directory can be used{}", Reasons(offline))]
    NoDirectory {
        /// Those that were given, and why not.
        offline: Vec<(PathBuf, OfflineReason)>,
    },
}

struct Reasons<'a>(&'a [(PathBuf, OfflineReason)]);

impl std::fmt::Display for Reasons<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (path, reason) in self.0 {
            write!(f, "; {}: {reason}", path.display())?;
        }
        Ok(())
    }
}

impl<D: Disk> LogManager<D> {
    /// Takes all directories and opens every log in them, several at a time. Returns when all are
    /// open; until then nobody is served. `config_of` tells a partition's settings; `progress`
    /// is called from several threads, after each log and each segment that was read through.
    ///
    /// A directory that the disk refuses is offline from the beginning, and a partition whose
    /// files make no sense is left out; the others are served. After a clean stop no segment is
    /// read. An interrupted start is not clean for the next one; a refused one is, and so is a directory
    /// that goes offline, if no log was changed.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn open(
        disk: &D,
        mut options: ManagerOptions,
        mut wiring: Wiring<D>,
        config_of: &(dyn Fn(&TopicPartition) -> LogConfig + Sync),
        progress: &(dyn Fn(&Progress<'_>) + Sync),
        now: Now,
    ) -> Result<Opened<D>, StartError> {
        refuse_twice(disk, &options.directories)?;
        let directories = claim_all(disk, &options, &mut wiring)?;
        let mut loads = Vec::new();
        let mut doomed = DoomedQueue::new();
        let mut doomed_paths = Vec::new();
        for directory in directories.iter().filter(|it| it.is_online()) {
            match Load::prepare(directory) {
                Ok((load, found)) => {
                    doomed_paths.extend_from_slice(&found);
                    for path in found {
                        let due = now.instant + options.file_delete_delay;
                        doomed.push(due, directory.clone(), Doomed::Directory(path));
                    }
                    loads.push(load);
                }
                Err(PrepareError::Claim(error)) => offline_or(directory, error)?,
                Err(PrepareError::Checkpoint(error)) => claiming_failed(directory, error),
            }
        }
        // Nobody asks for them later, and there may be very many.
        let deleted = std::mem::take(&mut options.deleted_topics);
        for (directory, path) in settle_doubles(&mut loads, &deleted, &mut wiring)? {
            let due = now.instant + options.file_delete_delay;
            doomed.push(due, directory, Doomed::Directory(path));
        }
        let missing = missing(&loads, &doomed_paths);
        let broker_epoch = common_epoch(&directories, &loads);
        for load in &loads {
            // Neither a mark nor a name is there of which a crash must leave something or nothing.
            if load.mark.is_none() && load.partitions.is_empty() {
                continue;
            }
            // Durable before the first change, so that a crash from here on is one.
            let removed = CleanShutdown::remove(load.directory.disk(), load.directory.path());
            if let Err(error) = removed {
                claiming_failed(&load.directory, error);
            }
        }
        let surroundings = Surroundings {
            config_of,
            progress,
            now_ms: now.unix_ms,
        };
        let threads = options.recovery_threads_per_directory;
        on_threads(&loads, threads, |load| load.work(&surroundings));
        for load in loads.iter().filter(|load| !load.directory.is_online()) {
            load.restore_mark();
        }

        let manager = Self {
            schedule: Mutex::new(Schedule::new(&options, now.instant)),
            options,
            directories,
            logs: RwLock::default(),
            unavailable: Mutex::default(),
            changing: Mutex::new(Changing {
                random: wiring.random,
            }),
            late: LateOpenings::default(),
            doomed: Mutex::new(doomed),
            cleanings: Cleanings::default(),
            events: wiring.events,
        };
        let mut opened = manager.gather(loads, broker_epoch, now.unix_ms)?;
        opened.missing = missing;
        Ok(opened)
    }

    /// Takes over what was loaded.
    fn gather(
        self,
        loads: Vec<Load<D>>,
        broker_epoch: BrokerEpoch,
        now_ms: i64,
    ) -> Result<Opened<D>, StartError> {
        let mut recovered = Vec::new();
        let mut unopened = Vec::new();
        for load in loads {
            let directory = &load.directory;
            let there: HashSet<_> = load.partitions.iter().collect();
            let mut failed = Vec::new();
            for (partition, loaded) in load.done.into_inner() {
                match loaded {
                    Ok((log, opening)) => {
                        if !self.insert(&log) {
                            let unserved = Unserved::for_good(directory, &partition);
                            let unserved = unserved.of_topic(log.topic_id());
                            let mut unavailable = self.unavailable.lock();
                            unavailable.insert(partition.clone(), unserved);
                        }
                        if opening.segments_recovered > 0 {
                            recovered.push((partition, opening));
                        }
                    }
                    Err(error) => failed.push((partition, error)),
                }
            }
            if !directory.is_online() {
                let mut unavailable = self.unavailable.lock();
                for it in &load.partitions {
                    let unserved = || Unserved::for_good(directory, it);
                    unavailable.entry(it.clone()).or_insert_with(unserved);
                }
                continue;
            }
            let names: Vec<_> = failed.iter().map(|it| &it.0).collect();
            let is_there = |it: &TopicPartition| there.contains(it);
            directory
                .checkpoints()
                .found(&load.former, is_there, &names);
            for (partition, error) in failed {
                let unserved = if error.may_pass() {
                    warn!(%partition, error = &error as &dyn Error, "log not opened yet");
                    let was_clean = load.mark.is_some();
                    let options = options_of(&partition, was_clean, &load.former, now_ms);
                    Unserved::for_now(directory, &partition, options)
                } else {
                    error!(%partition, error = &error as &dyn Error, "log not opened, left as it is");
                    Unserved::for_good(directory, &partition)
                };
                self.unavailable.lock().insert(partition.clone(), unserved);
                unopened.push((partition, error));
            }
        }
        let mut offline = Vec::new();
        for directory in &self.directories {
            if let Some(reason) = directory.offline_reason() {
                let path = directory.path();
                error!(path = %path.display(), error = &reason as &dyn Error, "log directory offline");
                offline.push((path.to_owned(), reason));
            }
        }
        if offline.len() == self.directories.len() {
            return Err(StartError::NoDirectory { offline });
        }
        info!(
            logs = self.len(),
            recovered = recovered.len(),
            "logs opened"
        );
        Ok(Opened {
            manager: self,
            recovered,
            unopened,
            offline,
            missing: Vec::new(),
            broker_epoch,
        })
    }
}

/// Refuses directories of which two are one, by whichever names.
///
/// # Errors
/// [`StartError::SameDirectory`].
pub(super) fn refuse_twice<D: Disk>(disk: &D, directories: &[PathBuf]) -> Result<(), StartError> {
    let mut known: Vec<(PathBuf, &PathBuf)> = Vec::new();
    for second in directories {
        // One that the disk refuses is its own trouble.
        let Ok(resolved) = disk.resolve(second) else {
            continue;
        };
        if let Some((_, first)) = known.iter().find(|(it, _)| *it == resolved) {
            return Err(StartError::SameDirectory {
                first: (*first).clone(),
                second: second.clone(),
            });
        }
        known.push((resolved, second));
    }
    Ok(())
}

fn claim_all<D: Disk>(
    disk: &D,
    options: &ManagerOptions,
    wiring: &mut Wiring<D>,
) -> Result<Vec<Arc<LogDirectory<D>>>, StartError> {
    let open_files = OpenFiles::new(options.open_files_max);
    let mut directories: Vec<Arc<LogDirectory<D>>> = Vec::new();
    for path in &options.directories {
        let (owner, random) = (&options.owner, &mut *wiring.random);
        let (disk, open_files) = (disk.clone(), open_files.clone());
        let at = path.clone();
        let claimed = LogDirectory::claim(disk.clone(), open_files.clone(), at, owner, random);
        let directory = match claimed {
            Ok(directory) => directory,
            Err(ClaimError::Disk(error)) if !error.is_shortage() => {
                let reason = OfflineReason::new(DirectoryWork::Claiming, error);
                LogDirectory::offline(disk, open_files, path.clone(), reason)
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(id) = directory.id()
            && let Some(first) = directories.iter().find(|it| it.id() == Some(id))
        {
            return Err(StartError::SameId {
                id,
                first: first.path().to_owned(),
                second: path.clone(),
            });
        }
        directories.push(Arc::new(directory));
    }
    Ok(directories)
}

/// A directory is offline, if that was the disk; otherwise the start ends.
fn offline_or<D: Disk>(
    directory: &Arc<LogDirectory<D>>,
    error: ClaimError,
) -> Result<(), StartError> {
    match error {
        ClaimError::Disk(error) if !error.is_shortage() => {
            claiming_failed(directory, error);
            Ok(())
        }
        error => Err(error.into()),
    }
}

fn claiming_failed<D: Disk>(
    directory: &Arc<LogDirectory<D>>,
    error: impl Error + Send + Sync + 'static,
) {
    directory.go_offline(OfflineReason::new(DirectoryWork::Claiming, error));
}

/// The broker epoch that every directory was stopped with.
fn common_epoch<D: Disk>(directories: &[Arc<LogDirectory<D>>], loads: &[Load<D>]) -> BrokerEpoch {
    let mut epochs = loads.iter().map(|load| load.mark.map(|it| it.broker_epoch));
    match epochs.next().flatten() {
        Some(first) if loads.len() == directories.len() && epochs.all(|it| it == Some(first)) => {
            first
        }
        _ => BrokerEpoch::NONE,
    }
}
