//! [`Durability`]: syncs of many logs by one thread a directory, each for all that was appended
//! before it.
//!
//! An append never syncs. Whoever wants its records durable asks for a sync and goes on; while
//! one round of syncs runs, all that is asked for gathers for the next. So the number of syncs
//! follows from how fast the disk is, not from how many appends there are.

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

/// The threads that sync: one a directory. Its owner must [stop](Durability::stop) it; dropped
/// without, the threads go on until the directories are let go.
#[must_use = "its threads are to be awaited"]
pub struct Durability<D: Disk> {
    manager: Arc<LogManager<D>>,
    threads: Vec<JoinHandle<()>>,
}

impl<D: Disk> Durability<D> {
    /// Starts a thread for each directory that is online.
    ///
    /// # Errors
    /// If a thread cannot be had; those that were started end.
    pub fn start(manager: Arc<LogManager<D>>) -> io::Result<Self> {
        let mut durability = Self {
            manager,
            threads: Vec::new(),
        };
        let manager = durability.manager.clone();
        for directory in manager.log_directories().iter().filter(|it| it.is_online()) {
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
    let mut round = Vec::new();
    while directory.syncs().wait(&mut round) {
        manager.sync_all_of(directory, &mut round);
    }
}

impl<D: Disk> LogManager<D> {
    /// Does one round of the syncs that were asked for, of all directories, and tells what is
    /// durable. For those who have no [`Durability`] and drive it by themselves. Blocks.
    pub fn sync_requested(&self) {
        let mut round = Vec::new();
        for directory in self.log_directories() {
            directory.syncs().take(&mut round);
            self.sync_all_of(directory, &mut round);
        }
    }

    /// Syncs one log after the other, and tells of each as soon as it is durable. The first
    /// failure ends the round and takes the directory offline.
    fn sync_all_of(&self, directory: &Arc<LogDirectory<D>>, round: &mut Vec<Arc<PartitionLog<D>>>) {
        for log in round.drain(..) {
            match sync(&log) {
                Ok(offset) => self.tell(LogEvent::Synced { log, offset }),
                // It was deleted, or all is being stopped: whoever did that knows.
                Err(FlushError::Unavailable(Unavailable::Closed)) => {}
                Err(FlushError::Unavailable(Unavailable::Failed)) => {
                    self.tell(LogEvent::LogFailed { log });
                }
                Err(FlushError::Disk(error)) => {
                    let reason = OfflineReason::new(DirectoryWork::Syncing, error);
                    if let Some(event) = self.take_offline(directory, reason) {
                        self.tell(event);
                    }
                    break;
                }
            }
        }
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
    log.flushed(flush.up_to());
    Ok(log.recovery_point())
}
