//! What the metadata says a partition is: led here, led elsewhere, or gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use klamm_controller::PartitionImage;
use klamm_io::Disk;
use klamm_log::{ChangeError, PartitionLog};
use klamm_primitives::{BrokerId, Offset};

use super::{Partition, Role, State, rules};
use crate::follow_up::Checks;
use crate::leadership::Leadership;

/// What became of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Became {
    /// The image is not newer than what is known. (RE-004, RE-009)
    Ignored,
    /// It is led here.
    Leader {
        /// By a leader epoch that was not known. (RE-002, RE-003)
        is_new: bool,
    },
    /// It is led elsewhere.
    Follower {
        /// By a leader epoch that was not known, so that fetching begins anew. (RE-005, RE-010)
        is_new: bool,
        /// By whom, if by anybody. (RE-016)
        leader: Option<BrokerId>,
    },
}

impl<D: Disk> Partition<D> {
    /// Takes the role that the image gives it, over a log that is there.
    ///
    /// # Errors
    /// If the beginning of a leader epoch could not be written; the partition is offline then.
    pub(crate) fn become_role(
        &self,
        image: &PartitionImage,
        log: &Arc<PartitionLog<D>>,
        now: Instant,
    ) -> (Result<Became, ChangeError>, Checks) {
        let mut state = self.state.write();
        let is_usable = !matches!(state.role, Role::Offline);
        let is_known = image.partition_epoch == state.partition_epoch
            && image.leader_epoch == state.leader_epoch;
        let is_old = image.partition_epoch < state.partition_epoch
            || image.leader_epoch < state.leader_epoch;
        if matches!(state.role, Role::Removed) || is_old || (is_usable && is_known) {
            return (Ok(Became::Ignored), Checks::NONE);
        }
        let is_new = image.leader_epoch > state.leader_epoch;
        let became = if image.leader == Some(self.around.local) {
            self.lead(&mut state, image, log, now)
        } else {
            Ok(self.follow(&mut state, image, log, is_new))
        };
        match became {
            Ok((became, checks)) => {
                state.leader_epoch = image.leader_epoch;
                state.partition_epoch = image.partition_epoch;
                state.assigned = image.replicas.len() - image.removing.len();
                (Ok(became), checks)
            }
            Err(error) => {
                state.role = Role::Offline;
                (Err(error), Checks::ALL)
            }
        }
    }

    fn lead(
        &self,
        state: &mut State<D>,
        image: &PartitionImage,
        log: &Arc<PartitionLog<D>>,
        now: Instant,
    ) -> Result<(Became, Checks), ChangeError> {
        let is_new = image.leader_epoch > state.leader_epoch;
        let settings = self.settings.load();
        // Images may be left out. Where leader epochs are missing between, another may have led
        // and the followers have been cut: what was known of them may be more than they have.
        let is_next = image.leader_epoch.get() <= state.leader_epoch.get().saturating_add(1);
        let before = match &mut state.role {
            Role::Leader { leadership, .. } if is_next => Some(leadership),
            _ => None,
        };
        let leads_already = before.is_some();
        match before {
            Some(leadership) if !is_new => leadership.update(image, self.around.local),
            before => {
                let epoch_start = {
                    let mut log = log.lock();
                    log.begin_epoch(image.leader_epoch)?;
                    log.log_end_offset()
                };
                let before = before.map(|it| &*it);
                let leadership =
                    Leadership::begin(image, self.around.local, epoch_start, before, now);
                state.role = Role::Leader {
                    log: log.clone(),
                    leadership,
                };
            }
        }
        let Role::Leader { leadership, .. } = &state.role else {
            unreachable!("it was set above, or it was found");
        };
        let rules = rules(&settings, leadership);
        let (moved, unsynced) = {
            let mut log = log.lock();
            if !leads_already {
                let synced = log.recovery_point().get();
                self.synced.store(synced, Ordering::Release);
            }
            let moved = leadership.raise_high_watermark(&mut log, rules, &self.around, now);
            (moved, log.unflushed_records() > 0)
        };
        if rules.syncs_first && unsynced {
            log.request_sync();
        }
        // A smaller set may complete what waits without moving the mark, and those are to be
        // told who know an older leader epoch.
        let checks = if leads_already && !is_new {
            Checks::PRODUCE.and(Checks::if_high_watermark(moved))
        } else {
            Checks::ALL
        };
        Ok((Became::Leader { is_new }, checks))
    }

    fn follow(
        &self,
        state: &mut State<D>,
        image: &PartitionImage,
        log: &Arc<PartitionLog<D>>,
        is_new: bool,
    ) -> (Became, Checks) {
        // Nobody who waits for the former leader is helped by waiting longer. (RE-013, RE-014)
        let checks = match state.role {
            Role::Follower { .. } if !is_new => Checks::NONE,
            _ => Checks::ALL,
        };
        let leader = image.leader;
        state.role = Role::Follower {
            log: log.clone(),
            leader,
        };
        self.synced.store(Offset::UNKNOWN.get(), Ordering::Release);
        (Became::Follower { is_new, leader }, checks)
    }

    /// It is not placed here any more. Who waits for it is answered. (RE-012, RE-013)
    pub(crate) fn remove(&self) -> Checks {
        self.state.write().role = Role::Removed;
        Checks::ALL
    }

    /// Its log cannot be used any more, if it has the one that `is_it` means.
    pub(crate) fn go_offline(&self, is_it: impl Fn(&Arc<PartitionLog<D>>) -> bool) -> Checks {
        let mut state = self.state.write();
        match &state.role {
            Role::Leader { log, .. } | Role::Follower { log, .. } if is_it(log) => {}
            _ => return Checks::NONE,
        }
        state.role = Role::Offline;
        Checks::ALL
    }
}
