//! Making many partitions at once, with few waits for the disk.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::{Disk, DiskError, DiskFile};
use klamm_primitives::TopicPartition;
use parking_lot::Mutex;
use tracing::{debug, warn};

use super::create::{CreateError, MakeError, NewPartition, open_made};
use super::doomed::remove_directory;
use super::{Changing, LogManager};
use crate::directory::LogDirectory;
use crate::disk_failure::DiskFailure;
use crate::log_event::{DirectoryWork, LogEvent, OfflineReason};
use crate::names::{DirectoryName, Fate};
use crate::partition_log::PartitionLog;
use crate::partition_metadata;
use crate::workers::on_threads;

/// So many threads write what is made, and sync it: a disk takes several syncs at a time.
const WRITING_THREADS: usize = 8;

/// So many partitions are written before the first of them is synced. Their files stay open
/// meanwhile.
const WRITTEN_TOGETHER: usize = 64;

impl<D: Disk> LogManager<D> {
    /// As [`LogManager::create`] for each of them, in their order, and as durable. Each directory is
    /// synced once for all that it gets, and the files of the partitions by several threads. A
    /// directory in which it fails goes offline, and the others get what it was to get. Where only
    /// a name is taken, or the disk is full, they are made one by one.
    ///
    /// # Errors
    /// [`CreateError`] by partition; nothing is left of that one.
    pub fn create_many(
        &self,
        partitions: &[NewPartition<'_>],
        now_ms: i64,
    ) -> Vec<Result<Arc<PartitionLog<D>>, CreateError>> {
        let mut events = Vec::new();
        let created: Vec<_> = {
            let mut changing = self.changing.lock();
            let mut made = self.make_together(&mut changing, partitions, now_ms, &mut events);
            let each = partitions.iter().zip(&mut made);
            each.map(|(new, made)| match made.take() {
                Some(log) if self.insert(&log) => Some(Ok(log)),
                _ => match self.get(new.partition) {
                    Some(log) => Some(self.confirm(log, new.topic_id, &mut events)),
                    None if self.is_to_be_opened(new.partition) => None,
                    None => Some(self.create_new(&mut changing, new, now_ms, &mut events)),
                },
            })
            .collect()
        };
        for event in events {
            self.tell(event);
        }
        // What has to be recovered is, without the lock.
        let each = partitions.iter().zip(created);
        each.map(|(new, created)| {
            created.unwrap_or_else(|| self.create(new.partition, new.topic_id, new.config, now_ms))
        })
        .collect()
    }

    /// Makes those that are missing; `None` for those that are there, and that were not made.
    fn make_together(
        &self,
        changing: &mut Changing,
        partitions: &[NewPartition<'_>],
        now_ms: i64,
        events: &mut Vec<LogEvent<D>>,
    ) -> Vec<Option<Arc<PartitionLog<D>>>> {
        let mut made = vec![None; partitions.len()];
        let directories: Vec<_> = self.online_directories().collect();
        let mut counts: Vec<_> = directories.iter().map(|it| it.partition_count()).collect();
        let mut shares = vec![Vec::new(); directories.len()];
        for (index, new) in partitions.iter().enumerate() {
            let is_there = self.get(new.partition).is_some() || self.is_unavailable(new.partition);
            // Among equals the one that was given first.
            let fewest = (0..counts.len()).min_by_key(|place| counts[*place]);
            if let (false, Some(place)) = (is_there, fewest) {
                counts[place] += 1;
                shares[place].push(index);
            }
        }
        for (directory, share) in directories.into_iter().zip(shares) {
            if share.len() < 2 {
                continue;
            }
            let new = share.iter().map(|index| &partitions[*index]);
            let together = Together::new(directory, new, changing);
            match self.make_all(&together, now_ms) {
                Ok(logs) => {
                    for (index, log) in share.into_iter().zip(logs) {
                        made[index] = Some(log);
                    }
                }
                // Above all a sync that failed: what it has lost, no other one would tell.
                Err(MakeError::Open(error)) if error.takes_directory_offline() => {
                    _ = together.undo(&mut Vec::new());
                    let reason = OfflineReason::new(DirectoryWork::Creating, error);
                    events.extend(self.take_offline(directory, reason));
                }
                Err(error) => {
                    debug!(%error, "partitions are made one by one");
                    let mut kept = Vec::new();
                    match together.undo(&mut kept) {
                        Err(MakeError::Open(error)) => {
                            let reason = OfflineReason::new(DirectoryWork::Creating, error);
                            events.extend(self.take_offline(directory, reason));
                        }
                        Err(error) => {
                            warn!(%error, "names of partitions may come back after a power cut");
                        }
                        Ok(()) => {}
                    }
                    for partition in kept {
                        self.keep_for_later(directory, partition);
                    }
                }
            }
        }
        made
    }

    fn make_all(
        &self,
        together: &Together<'_, D>,
        now_ms: i64,
    ) -> Result<Vec<Arc<PartitionLog<D>>>, MakeError> {
        let directory = together.directory;
        let mut all = together.making.iter();
        if all.any(|it| directory.checkpoints().may_remember(it.new.partition)) {
            self.write_all_checkpoints(directory)?;
        }
        together.write()?;
        together.name()?;
        let making = together.making.iter();
        making
            .map(|it| open_made(directory, it.new, &it.path, now_ms))
            .collect()
    }
}

/// Partitions that are made in one directory.
struct Together<'a, D: Disk> {
    directory: &'a Arc<LogDirectory<D>>,
    making: Vec<Making<'a>>,
    /// How many of them have their names.
    named: Cell<usize>,
}

/// One of them. It gets its name last, so that a crash leaves none without a topic id, but at most
/// one that the next start removes.
struct Making<'a> {
    new: &'a NewPartition<'a>,
    nameless: PathBuf,
    path: PathBuf,
}

impl<'a, D: Disk> Together<'a, D> {
    fn new(
        directory: &'a Arc<LogDirectory<D>>,
        new: impl Iterator<Item = &'a NewPartition<'a>>,
        changing: &mut Changing,
    ) -> Self {
        let making = new.map(|new| {
            let name = DirectoryName::fated(new.partition, (changing.random)(), Fate::Delete);
            Making {
                new,
                nameless: directory.path().join(name.to_string()),
                path: directory.path_of(new.partition),
            }
        });
        Self {
            directory,
            making: making.collect(),
            named: Cell::new(0),
        }
    }

    /// Makes the directories and what is in them, durably.
    fn write(&self) -> Result<(), DiskError> {
        let disk = self.directory.disk();
        let share_len = self.making.len().div_ceil(WRITING_THREADS);
        let shares: Vec<_> = self.making.chunks(share_len).collect();
        let failed = Mutex::new(None);
        on_threads(&shares, 1, |share| {
            if let Err(error) = write_share(disk, share) {
                // One that fails says more than one that is full.
                let mut failed = failed.lock();
                if failed.is_none() || error.takes_directory_offline() {
                    *failed = Some(error);
                }
            }
        });
        failed.into_inner().map_or(Ok(()), Err)
    }

    /// Gives all of them their names.
    fn name(&self) -> Result<(), MakeError> {
        let disk = self.directory.disk();
        for it in &self.making {
            if disk.metadata(&it.path).is_ok() {
                return Err(MakeError::NameTaken(it.path.clone()));
            }
            disk.rename(&it.nameless, &it.path)?;
            self.named.set(self.named.get() + 1);
        }
        disk.sync_dir(self.directory.path())?;
        Ok(())
    }

    /// Removes what was made, under whichever name. That they have lost their names is durable then,
    /// and those that could not lose theirs for want of room are `kept`.
    fn undo(&self, kept: &mut Vec<&'a TopicPartition>) -> Result<(), MakeError> {
        let mut undone = Ok(());
        for it in &self.making[..self.named.get()] {
            match self.directory.take_back(&it.path, &it.nameless) {
                Ok(_) => {}
                Err(MakeError::NameKept(_)) => kept.push(it.new.partition),
                Err(error) => undone = Err(error),
            }
        }
        for it in &self.making {
            _ = remove_directory(self.directory.disk(), &it.nameless);
        }
        undone.and(self.directory.forget_names(self.named.get() > 0))
    }
}

fn write_share<D: Disk>(disk: &D, share: &[Making<'_>]) -> Result<(), DiskError> {
    for some in share.chunks(WRITTEN_TOGETHER) {
        let mut files = Vec::with_capacity(some.len());
        for it in some {
            disk.create_dir_all(&it.nameless)?;
            if let Some(id) = it.new.topic_id {
                files.push((partition_metadata::create(disk, &it.nameless, id)?, it));
            }
        }
        for (file, it) in files {
            file.sync_data()?;
            disk.sync_dir(&it.nameless)?;
        }
    }
    Ok(())
}
