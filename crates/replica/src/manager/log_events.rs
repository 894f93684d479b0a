//! What happens to logs while nobody calls them: syncs, and failures.

use std::sync::Arc;
use std::time::Instant;

use klamm_io::Disk;
use klamm_log::{LogEvent, PartitionLog};

use super::ReplicaManager;
use crate::follow_up::FollowUp;

impl<D: Disk, T> ReplicaManager<D, T> {
    /// Takes an event of the [`LogManager`](klamm_log::LogManager) over: what is durable now may
    /// be acknowledged, and what is lost is told to those who wait for it.
    ///
    /// May wait for an append to the same log. It is called for every sync, so whoever receives
    /// the events does well to call it right there. (B4.5)
    pub fn handle_log_event(&self, event: &LogEvent<D>, now: Instant) -> FollowUp {
        let hosted = self.hosted.load();
        let mut then = FollowUp::default();
        match event {
            LogEvent::Synced { log, offset } => {
                if let Some(partition) = hosted.get(log.partition()) {
                    then.check(partition.key(), partition.on_synced(log, *offset, now));
                }
            }
            LogEvent::LogFailed { log } => {
                if let Some(partition) = hosted.get(log.partition()) {
                    then.check(
                        partition.key(),
                        partition.go_offline(|own| Arc::ptr_eq(own, log)),
                    );
                }
            }
            LogEvent::DirectoryOffline(offline) => {
                for name in &offline.partitions {
                    if let Some(partition) = hosted.get(name) {
                        let is_there =
                            |log: &Arc<PartitionLog<D>>| log.log_directory() == offline.path;
                        then.check(partition.key(), partition.go_offline(is_there));
                    }
                }
            }
        }
        then
    }
}
