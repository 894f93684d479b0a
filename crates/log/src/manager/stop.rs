//! Stopping, so that the next start finds everything as it is.

use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use klamm_io::{Disk, DiskError};
use klamm_primitives::BrokerEpoch;
use parking_lot::Mutex;
use tracing::{error, info};

use super::{LogManager, known_offsets};
use crate::clean_shutdown::CleanShutdown;
use crate::directory::LogDirectory;
use crate::durability::SYNC_THREADS;
use crate::log::ChangeError;
use crate::partition_log::PartitionLog;
use crate::workers::on_threads;

/// What stopping has come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stopped {
    /// Directories whose logs the next start has to recover: they are offline, a log in them did
    /// not close well, or was not opened at all.
    pub unclean: Vec<PathBuf>,
}

impl<D: Disk> LogManager<D> {
    /// Closes all logs, [many at a time](SYNC_THREADS), writes the checkpoints, and marks each
    /// directory whose logs all closed well; the next start opens those without reading them
    /// through. Lets the directories go. `broker_epoch` is kept in the mark.
    ///
    /// Stop [`Durability`](crate::Durability) and [`Housekeeping`](crate::Housekeeping) first.
    /// A partition that is just being recovered by [`LogManager::create`] is left where its recovery
    /// is, and its directory without a mark. From here on nothing is found; logs that somebody still
    /// has refuse changes. Stopping twice is harmless. Without it, dropping the manager is a crash.
    pub fn stop(&self, broker_epoch: BrokerEpoch) -> Stopped {
        self.late.end();
        let _changing = self.changing.lock();
        let logs = std::mem::take(&mut *self.logs.write());
        let mut by_directory: HashMap<_, Vec<_>> = HashMap::new();
        for log in logs.into_values() {
            let directory = Arc::as_ptr(log.directory());
            by_directory.entry(directory).or_default().push(log);
        }
        let closings: Vec<_> = self
            .online_directories()
            .map(|directory| {
                let logs = by_directory.remove(&Arc::as_ptr(directory));
                Closing::new(directory.clone(), logs.unwrap_or_default())
            })
            .collect();
        for work in [Closing::close_holding, Closing::close_others] {
            on_threads(&closings, threads(&closings), work);
        }
        closings.iter().for_each(Closing::close_put_off);

        let mut stopped = Stopped::default();
        for directory in &self.directories {
            let closing = closings
                .iter()
                .find(|it| Arc::ptr_eq(&it.directory, directory));
            let is_clean = closing.is_some_and(|it| self.mark(it, broker_epoch));
            if !is_clean {
                stopped.unclean.push(directory.path().to_owned());
            }
            directory.release();
        }
        info!(unclean = stopped.unclean.len(), "logs closed");
        stopped
    }

    /// Writes the checkpoints, and the mark if all logs closed well. Says whether it did.
    fn mark(&self, closing: &Closing<D>, broker_epoch: BrokerEpoch) -> bool {
        let directory = &closing.directory;
        let has_unopened = {
            let unavailable = self.unavailable.lock();
            unavailable
                .values()
                .any(|it| it.path.parent() == Some(directory.path()))
        };
        let write = || -> Result<bool, DiskError> {
            directory
                .checkpoints()
                .write_all(&known_offsets(&closing.logs))?;
            let all_well = !closing.has_failed.load(Ordering::Relaxed) && !has_unopened;
            if all_well {
                CleanShutdown { broker_epoch }.write(directory.disk(), directory.path())?;
            }
            Ok(all_well)
        };
        write().unwrap_or_else(|error| {
            error!(
                error = &error as &dyn Error,
                "log directory not marked as stopped well"
            );
            false
        })
    }
}

/// So many close the logs of a directory: closing one that was appended to is waiting for syncs, and
/// a file system commits those together that are asked for at one time.
fn threads<D: Disk>(closings: &[Closing<D>]) -> usize {
    let most = closings.iter().map(|it| it.logs.len()).max();
    most.unwrap_or(0).min(SYNC_THREADS)
}

/// The logs of one directory, being closed.
struct Closing<D: Disk> {
    directory: Arc<LogDirectory<D>>,
    /// First those that are appended to.
    logs: Vec<Arc<PartitionLog<D>>>,
    /// How many are.
    holding: usize,
    next: AtomicUsize,
    /// Those that a descriptor was wanting for. Held to add one.
    put_off: Mutex<Vec<Arc<PartitionLog<D>>>>,
    has_failed: AtomicBool,
}

impl<D: Disk> Closing<D> {
    /// Those that are appended to come first: they have a file open, which they can do without, and
    /// the process may have none left for the others.
    fn new(directory: Arc<LogDirectory<D>>, mut logs: Vec<Arc<PartitionLog<D>>>) -> Self {
        logs.sort_by_cached_key(|log| !log.lock().holds_file());
        Self {
            directory,
            holding: logs.iter().filter(|log| log.lock().holds_file()).count(),
            logs,
            next: AtomicUsize::new(0),
            put_off: Mutex::default(),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Closes those that have a file open.
    fn close_holding(&self) {
        self.close_up_to(self.holding);
    }

    /// Closes the others.
    fn close_others(&self) {
        self.close_up_to(self.logs.len());
    }

    fn close_up_to(&self, end: usize) {
        let take = |next: usize| (next < end).then_some(next + 1);
        while let Ok(taken) = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
        {
            let log = &self.logs[taken];
            match log.lock().close_unless_short() {
                Ok(true) => {}
                Ok(false) => self.put_off.lock().push(log.clone()),
                Err(error) => self.has_not_closed(log, &error),
            }
        }
    }

    /// Closes those that were put off, one at a time: those before them have left their descriptors.
    fn close_put_off(&self) {
        for log in std::mem::take(&mut *self.put_off.lock()) {
            if let Err(error) = log.lock().close() {
                self.has_not_closed(&log, &error);
            }
        }
    }

    fn has_not_closed(&self, log: &PartitionLog<D>, error: &ChangeError) {
        let partition = log.partition();
        error!(%partition, error = error as &dyn Error, "log not closed well");
        self.has_failed.store(true, Ordering::Relaxed);
    }
}
