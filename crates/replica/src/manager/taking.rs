//! [`Taking`]: what the taking over of metadata goes by, beside the metadata.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use klamm_controller::PartitionImage;
use parking_lot::Mutex;

use super::retries::Retries;
use crate::follow_up::PartitionKey;

/// What the taking over of metadata goes by, beside the metadata.
pub(super) struct Taking {
    has_lost_directory: bool,
    is_stopping: AtomicBool,
    /// Held by the one who takes over.
    pub(super) turn: Mutex<()>,
    /// Held for a look or an addition.
    pub(super) retries: Mutex<Retries>,
    keys: AtomicU64,
}

impl Taking {
    pub(super) fn new(has_lost_directory: bool) -> Self {
        Self {
            has_lost_directory,
            is_stopping: AtomicBool::new(false),
            turn: Mutex::new(()),
            retries: Mutex::default(),
            keys: AtomicU64::new(0),
        }
    }

    /// No more partitions are taken.
    pub(super) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// The key of a partition that comes now; none has the same.
    pub(super) fn next_key(&self) -> PartitionKey {
        PartitionKey(self.keys.fetch_add(1, Ordering::Relaxed))
    }

    /// Whether the partition's log, if it is not here, may be in a directory that is missing: what
    /// is made has no change behind it; what was led before has.
    pub(super) fn may_be_lost(&self, image: &PartitionImage) -> bool {
        self.has_lost_directory && image.partition_epoch != 0
    }
}
