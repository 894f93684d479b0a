//! [`Durability`]: syncs of many logs by a few threads a directory, each for all that was appended
//! before it.
//!
//! An append never syncs. Whoever wants its records durable asks for a sync and goes on; while
//! a log is synced, all that is asked of it gathers for its next sync. So the number of syncs
//! follows from how fast the disk is, not from how many appends there are. Several logs are
//! synced at a time, because file systems commit in groups what is asked of them together.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use klamm_io::Disk;
use klamm_primitives::Offset;

use crate::directory::LogDirectory;
use crate::flush::FlushError;
use crate::log::Unavailable;
use crate::log_event::{DirectoryWork, LogEvent, OfflineReason};
use crate::manager::LogManager;
use crate::partition_log::PartitionLog;

/// Threads that sync one directory, unless told otherwise: so many syncs at a time can share a
/// commit of the file system's journal.
pub const SYNC_THREADS: usize = 16;

/// The threads that sync. Its owner must [stop](Durability::stop) it; dropped
/// without, the threads go on until the directories are let go.
#[must_use = "its threads are to be awaited"]
pub struct Durability<D: Disk> {
    manager: Arc<LogManager<D>>,
    threads: Vec<JoinHandle<()>>,
}

impl<D: Disk> Durability<D> {
    /// Starts so many threads for each directory that is online ([`SYNC_THREADS`] do well).
    ///
    /// # Errors
    /// If a thread cannot be had; those that were started end.
    pub fn start(manager: Arc<LogManager<D>>, threads_per_directory: usize) -> io::Result<Self> {
        let mut durability = Self {
            manager,
            threads: Vec::new(),
        };
        let manager = durability.manager.clone();
        for directory in manager.log_directories().iter().filter(|it| it.is_online()) {
            for _ in 0..threads_per_directory.max(1) {
                let builder = thread::Builder::new().name("klamm-log-sync".to_owned());
                let (manager, directory) = (manager.clone(), directory.clone());
                match builder.spawn(move || work(&manager, &directory)) {
                    Ok(thread) => durability.threads.push(thread),
                    Err(error) => {
                        durability.stop();
                        return Err(error);
                    }
                }
            }
        }
        Ok(durability)
    }

    /// Takes no more requests, does those that wait, and returns when the threads have ended.
    pub fn stop(self) {
        for directory in self.manager.log_directories() {
            directory.syncs().close();
        }
        for thread in self.threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

fn work<D: Disk>(manager: &LogManager<D>, directory: &Arc<LogDirectory<D>>) {
    while let Some(log) = directory.syncs().wait() {
        manager.sync(directory, &log);
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
            Ok(offset) => self.tell(LogEvent::Synced {
                log: log.clone(),
                offset,
            }),
            // It was deleted, or all is being stopped: whoever did that knows.
            Err(FlushError::Unavailable(Unavailable::Closed)) => {}
            Err(FlushError::Unavailable(Unavailable::Failed)) => {
                if directory.is_online() {
                    self.tell(LogEvent::LogFailed { log: log.clone() });
                }
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
        log.fail();
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
