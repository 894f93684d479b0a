//! Stopping, so that the next start finds everything as it is.

use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use klamm_io::{Disk, DiskError};
use klamm_primitives::BrokerEpoch;
use tracing::{error, info};

use super::{LogManager, known_offsets};
use crate::clean_shutdown::CleanShutdown;
use crate::directory::LogDirectory;
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
    /// Closes all logs, several at a time, writes the checkpoints, and marks each directory whose
    /// logs all closed well; the next start opens those without reading them through. Lets the
    /// directories go. `broker_epoch` is kept in the mark.
    ///
    /// Stop [`Durability`](crate::Durability) and [`Housekeeping`](crate::Housekeeping) first.
    /// A partition that is just being recovered by [`LogManager::create`] is left where its recovery
    /// is, and its directory without a mark. From here on nothing is found; logs that somebody still has refuse changes. Stopping twice
    /// is harmless. Without it, dropping the manager is a crash.
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
        on_threads(
            &closings,
            self.options.recovery_threads_per_directory,
            Closing::work,
        );

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

/// The logs of one directory, being closed.
struct Closing<D: Disk> {
    directory: Arc<LogDirectory<D>>,
    logs: Vec<Arc<PartitionLog<D>>>,
    next: AtomicUsize,
    has_failed: AtomicBool,
}

impl<D: Disk> Closing<D> {
    /// Those that are appended to come first: they have a file open, which they can do without, and
    /// the process may have none left for the others.
    fn new(directory: Arc<LogDirectory<D>>, mut logs: Vec<Arc<PartitionLog<D>>>) -> Self {
        logs.sort_by_cached_key(|log| !log.lock().holds_file());
        Self {
            directory,
            logs,
            next: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Closes logs until none is left.
    fn work(&self) {
        while let Some(log) = self.logs.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = log.lock().close() {
                let partition = log.partition();
                error!(%partition, error = &error as &dyn Error, "log not closed well");
                self.has_failed.store(true, Ordering::Relaxed);
            }
        }
    }
}
