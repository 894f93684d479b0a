//! [`Health`]: which log directories have failed, and whether the broker can go on.

use klamm_log::DirectoryOffline;
use klamm_primitives::Uuid;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

/// Which log directories have failed since the start, and whether the broker can go on.
pub(super) struct Health {
    /// How many directories there are.
    directories: usize,
    /// Held for a look or an addition. A directory whose id is not known has none here.
    failed: Mutex<Vec<Option<Uuid>>>,
    /// Told when another one has failed.
    changed: Notify,
    is_lost: watch::Sender<bool>,
}

impl Health {
    pub(super) fn new(directories: usize) -> Self {
        Self {
            directories,
            failed: Mutex::new(Vec::new()),
            changed: Notify::new(),
            is_lost: watch::Sender::new(false),
        }
    }

    /// A directory could not be used from the beginning. Who asks for its id is told by the
    /// registration, which leaves it out.
    pub(super) fn directory_was_offline(&self) {
        self.failed.lock().push(None);
    }

    /// A directory has failed, which is told once of each. Without any that works there is
    /// nothing left to do.
    pub(super) fn directory_failed(&self, offline: &DirectoryOffline) {
        let count = {
            let mut failed = self.failed.lock();
            failed.push(offline.id);
            failed.len()
        };
        self.changed.notify_one();
        if count >= self.directories {
            self.is_lost.send_replace(true);
        }
    }

    /// The ids of the directories that have failed.
    pub(super) fn failed(&self) -> Vec<Uuid> {
        self.failed.lock().iter().copied().flatten().collect()
    }

    /// Waits until another directory has failed.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until no directory is left that works.
    pub(super) async fn lost(&self) {
        let mut is_lost = self.is_lost.subscribe();
        // The sender is ours, so there is no error.
        _ = is_lost.wait_for(|it| *it).await;
    }
}
