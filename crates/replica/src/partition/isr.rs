//! The in-sync set: who should come in, who has to leave, and what the controller says. (B5.2)

use std::time::Instant;

use klamm_io::Disk;
use klamm_primitives::BrokerId;

use super::{Partition, Role, State, rules};
use crate::follow_up::Checks;
use crate::in_sync::InSync;
use crate::isr_proposal::{IsrAnswer, IsrMember, IsrProposal};

impl<D: Disk> Partition<D> {
    /// Asks for a follower to come into the set, if it still may.
    pub(super) fn propose_growth(&self, broker: BrokerId) -> Option<IsrProposal> {
        let mut state = self.state.write();
        let Role::Leader { log, leadership } = &mut state.role else {
            return None;
        };
        let high_watermark = log.reader().offsets().high_watermark;
        let follower = leadership.follower(broker)?;
        if !leadership.may_come_in(follower, high_watermark, &self.around) {
            return None;
        }
        let wider = leadership.in_sync.grow(broker)?;
        self.proposal(&state, &wider)
    }

    /// Asks for those to leave the set that are out of sync. Takes the lock for writing only if
    /// there are any. (RE-052, RE-111)
    pub(crate) fn propose_shrinking(&self, now: Instant) -> Option<IsrProposal> {
        {
            let state = self.state.read();
            let (log, leadership) = state.as_leader(None).ok()?;
            let log_end = log.reader().offsets().log_end;
            let leaves = |id: &BrokerId| leadership.has_to_leave(*id, log_end, &self.around, now);
            let in_sync = &leadership.in_sync;
            if in_sync.is_pending() || !in_sync.committed().iter().any(leaves) {
                return None;
            }
        }
        let mut state = self.state.write();
        let Role::Leader { log, leadership } = &mut state.role else {
            return None;
        };
        let log_end = log.reader().offsets().log_end;
        let committed = leadership.in_sync.committed();
        let leaving: Vec<_> = committed
            .iter()
            .copied()
            .filter(|id| leadership.has_to_leave(*id, log_end, &self.around, now))
            .collect();
        let smaller = leadership.in_sync.shrink(|id| leaving.contains(&id))?;
        self.proposal(&state, &smaller)
    }

    /// Who is proposed, each by its epoch. (RE-060)
    fn proposal(&self, state: &State<D>, isr: &[BrokerId]) -> Option<IsrProposal> {
        let (_, leadership) = state.as_leader(None).ok()?;
        let member = |broker: &BrokerId| IsrMember {
            broker: *broker,
            broker_epoch: leadership.broker_epoch(*broker, &self.around),
        };
        Some(IsrProposal {
            partition: self.name.clone(),
            topic_id: state.topic_id,
            leader_epoch: state.leader_epoch,
            partition_epoch: state.partition_epoch,
            isr: isr.iter().map(member).collect(),
        })
    }

    /// The controller has answered. An answer to what is over by now changes nothing. (RE-061)
    pub(crate) fn isr_answered(
        &self,
        proposal: &IsrProposal,
        answer: IsrAnswer,
        now: Instant,
    ) -> Checks {
        let mut state = self.state.write();
        let is_current = state.leader_epoch == proposal.leader_epoch
            && state.partition_epoch == proposal.partition_epoch;
        if !is_current {
            return Checks::NONE;
        }
        let state = &mut *state;
        let Role::Leader { log, leadership } = &mut state.role else {
            return Checks::NONE;
        };
        match answer {
            IsrAnswer::Accepted {
                leader_epoch,
                partition_epoch,
                isr,
            } => {
                if leader_epoch != state.leader_epoch || partition_epoch < state.partition_epoch {
                    return Checks::NONE;
                }
                state.partition_epoch = partition_epoch;
                leadership.in_sync = InSync::new(isr);
            }
            IsrAnswer::TryLater => leadership.in_sync.give_up(),
            IsrAnswer::Superseded => return Checks::NONE,
        }
        let rules = rules(&self.settings.load(), leadership);
        let moved = leadership.raise_high_watermark(&mut log.lock(), rules, &self.around, now);
        // A set of another size may settle what waits without moving the mark.
        Checks::PRODUCE.and(Checks::if_high_watermark(moved))
    }
}
