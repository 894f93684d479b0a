//! [`Durability`]: syncs of many logs by a few threads a directory, each for all that was appended
//! before it.
//!
//! An append never syncs. Whoever wants its records durable asks for a sync and goes on; while
//! a log is synced, all that is asked of it gathers for its next sync. So the number of syncs
//! follows from how fast the disk is, not from how many appends there are. Several logs are
//! synced at a time, because file systems commit in groups what is asked of them together.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use klamm_io::Disk;
use klamm_primitives::Offset;
use parking_lot::Mutex;
use tracing::warn;

use crate::directory::LogDirectory;
use crate::flush::{FlushError, is_put_off};
use crate::log::Unavailable;
use crate::log_event::{DirectoryWork, LogEvent, OfflineReason};
use crate::manager::LogManager;
use crate::partition_log::PartitionLog;

/// Threads that sync one directory at most, unless told otherwise: so many syncs at a time can share
/// a commit of the file system's journal, and fewer leave partitions waiting for the next.
pub const SYNC_THREADS: usize = 64;

/// The threads that sync: one a directory, and more once partitions wait for one. Its owner must
/// [stop](Durability::stop) it; dropped without, the threads go on until the directories are let
/// go.
#[must_use = "its threads are to be awaited"]
pub struct Durability<D: Disk> {
    pool: Arc<Pool<D>>,
}

struct Pool<D: Disk> {
    manager: Arc<LogManager<D>>,
    threads_per_directory_max: usize,
    /// Held while a thread is started; nothing else is locked under it.
    threads: Mutex<Threads>,
}

#[derive(Default)]
struct Threads {
    handles: Vec<JoinHandle<()>>,
    /// How many there are for each directory.
    counts: HashMap<PathBuf, usize>,
}

impl<D: Disk> Durability<D> {
    /// Starts a thread for each directory that is online, which will start others up to so many
    /// when they are needed ([`SYNC_THREADS`] do well).
    ///
    /// # Errors
    /// If a thread cannot be had; those that were started end.
    pub fn start(manager: Arc<LogManager<D>>, threads_per_directory: usize) -> io::Result<Self> {
        let durability = Self {
            pool: Arc::new(Pool {
                manager,
                threads_per_directory_max: threads_per_directory.max(1),
                threads: Mutex::default(),
            }),
        };
        let directories = durability.pool.manager.log_directories();
        for directory in directories.iter().filter(|it| it.is_online()) {
            if let Err(error) = durability.pool.add_thread(directory) {
                durability.stop();
                return Err(error);
            }
        }
        Ok(durability)
    }

    /// Takes no more requests, does those that wait, and returns when the threads have ended.
    pub fn stop(self) {
        for directory in self.pool.manager.log_directories() {
            directory.syncs().close();
        }
        // A thread that starts another one has put it here before it ends itself.
        let next = || self.pool.threads.lock().handles.pop();
        while let Some(thread) = next() {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl<D: Disk> Pool<D> {
    /// Starts one more thread for a directory, unless it has all that it may.
    fn add_thread(self: &Arc<Self>, directory: &Arc<LogDirectory<D>>) -> io::Result<()> {
        let mut threads = self.threads.lock();
        let count = threads.counts.entry(directory.path().to_owned());
        let count = count.or_default();
        if *count >= self.threads_per_directory_max {
            return Ok(());
        }
        let builder = thread::Builder::new().name("klamm-log-sync".to_owned());
        let (pool, of) = (self.clone(), directory.clone());
        let thread = builder.spawn(move || pool.work(&of))?;
        *count += 1;
        threads.handles.push(thread);
        Ok(())
    }

    fn work(self: &Arc<Self>, directory: &Arc<LogDirectory<D>>) {
        let mut is_alone = false;
        while let Some(turn) = directory.syncs().wait() {
            if turn.needs_help && !is_alone {
                // Nobody is worse off without; from here on this thread asks for no other.
                is_alone = self.add_thread(directory).is_err();
            }
            self.manager.sync(directory, &turn.log);
        }
    }
}

impl<D: Disk> LogManager<D> {
    /// Does the syncs that were asked for up to now, of all directories, and tells what is
    /// durable. For those who have no [`Durability`] and drive it by themselves. Blocks.
    pub fn sync_requested(&self) {
        for directory in self.log_directories() {
            for _ in 0..directory.syncs().len() {
                let Some(log) = directory.syncs().pop() else {
                    break;
                };
                self.sync(directory, &log);
            }
        }
    }

    /// Syncs one log, and tells what has come of it. A failure takes the directory offline.
    fn sync(&self, directory: &Arc<LogDirectory<D>>, log: &Arc<PartitionLog<D>>) {
        match sync(log) {
            Ok(offset) => {
                directory.note_synced();
                self.tell(LogEvent::Synced {
                    log: log.clone(),
                    offset,
                });
            }
            // It was deleted, or all is being stopped: whoever did that knows.
            Err(FlushError::Unavailable(Unavailable::Closed)) => {}
            Err(FlushError::Unavailable(Unavailable::Failed)) => {
                if directory.is_online() {
                    self.tell(LogEvent::LogFailed { log: log.clone() });
                }
            }
            Err(FlushError::Disk(error)) if is_put_off(&error) => {
                // Whoever waits for it does not ask again: housekeeping does.
                directory.syncs().put_off(log);
                let partition = log.partition();
                warn!(%partition, error = &error as &dyn Error, "not synced now");
            }
            Err(FlushError::Disk(error)) => {
                let reason = OfflineReason::new(DirectoryWork::Syncing, error);
                if let Some(event) = self.take_offline(directory, reason) {
                    self.tell(event);
                }
            }
        }
        // Only now may another thread sync it, so that what is told of one log is in order.
        directory.syncs().done(log);
    }
}

/// Syncs one log, without its lock. Returns up to where it is durable.
fn sync<D: Disk>(log: &PartitionLog<D>) -> Result<Offset, FlushError> {
    let flush = {
        let mut log = log.lock();
        match log.begin_flush()? {
            Some(flush) => flush,
            None => return Ok(log.recovery_point()),
        }
    };
    let ran = flush.run();
    let mut log = log.lock();
    if let Err(error) = ran {
        log.not_flushed(&flush, &error);
        return Err(error.into());
    }
    // Another sync of this log may have failed meanwhile, and this one have passed over what
    // that one lost.
    if log.is_failed() {
        return Err(Unavailable::Failed.into());
    }
    log.flushed(&flush);
    Ok(log.recovery_point())
}
