//! [`Snapshots`]: when a snapshot is taken, and by whom. (CO-010)

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_io::Disk;
use openraft::Raft;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tracing::warn;

use super::state_machine::{Shown, prepare_snapshot};
use super::{RaftOptions, Types};

/// How long after a snapshot that was not written, because the disk was full, say, the next one is
/// tried.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Takes snapshots of a node's image, one at a time. A snapshot that cannot be written leaves the
/// log longer, and does no other harm: it is tried again later on.
pub(super) struct Snapshots<D: Disk> {
    disk: D,
    directory: PathBuf,
    /// `metadata.log.max.record.bytes.between.snapshots`.
    bytes: u64,
    /// `metadata.log.max.snapshot.interval.ms`.
    interval: Option<Duration>,
    raft: Raft<Types>,
    shown: Arc<Shown>,
    /// Held for a look and a change.
    growth: Arc<Mutex<Growth>>,
    /// The one that is being taken, or was last.
    taking: Mutex<Option<JoinHandle<()>>>,
}

/// What has been written since the last snapshot.
struct Growth {
    bytes: u64,
    /// When the last one was taken, or the quorum opened.
    since: Instant,
    /// Nothing is tried before.
    not_before: Instant,
}

impl<D: Disk> Snapshots<D> {
    /// For a node in whose log so many bytes stand behind the snapshot.
    pub(super) fn new(
        disk: D,
        options: &RaftOptions,
        raft: Raft<Types>,
        shown: Arc<Shown>,
        grown: u64,
        now: Instant,
    ) -> Self {
        let growth = Growth {
            bytes: grown,
            since: now,
            not_before: now,
        };
        Self {
            disk,
            directory: options.directory.clone(),
            bytes: options.snapshot_bytes,
            interval: options.snapshot_interval,
            raft,
            shown,
            growth: Arc::new(Mutex::new(growth)),
            taking: Mutex::new(None),
        }
    }

    /// Begins to take a snapshot where enough has been written since the last one, or it is long
    /// enough ago. Called on the runtime; does not wait.
    pub(super) fn grown_by(&self, bytes: usize, now: Instant) {
        let mut taking = self.taking.lock();
        {
            let mut growth = self.growth.lock();
            growth.bytes += bytes as u64;
            let is_due = growth.bytes >= self.bytes
                || self.interval.is_some_and(|it| growth.since + it <= now);
            let is_busy = taking.as_ref().is_some_and(|it| !it.is_finished());
            if !is_due || is_busy || now < growth.not_before {
                return;
            }
        }
        let (disk, directory) = (self.disk.clone(), self.directory.clone());
        let (raft, shown) = (self.raft.clone(), Arc::clone(&self.shown));
        let growth = Arc::clone(&self.growth);
        *taking = Some(tokio::spawn(async move {
            let grown = growth.lock().bytes;
            if let Err(error) = prepare_snapshot(disk, directory, &shown).await {
                let error = &error as &dyn std::error::Error;
                warn!(
                    error,
                    "no snapshot of the metadata was written, trying again later"
                );
                growth.lock().not_before = now + RETRY_AFTER;
                return;
            }
            {
                let mut growth = growth.lock();
                growth.bytes -= grown;
                growth.since = now;
            }
            if let Err(error) = raft.trigger().snapshot().await {
                // It has stopped; that is told to whoever proposes next.
                warn!(%error, "the metadata log was not cut behind its snapshot");
            }
        }));
    }

    /// Waits for the one that is being taken.
    pub(super) async fn stop(&self) {
        let taking = self.taking.lock().take();
        if let Some(taking) = taking
            && let Err(error) = taking.await
        {
            warn!(%error, "the snapshot that was being taken did not end well");
        }
    }
}
