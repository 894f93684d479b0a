//! [`IsrProposer`]: how a leader asks the controller for another in-sync set, and is answered.

use klamm_primitives::{BrokerEpoch, BrokerId, LeaderEpoch, TopicId, TopicPartition};

/// Another in-sync set for a partition that is led here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsrProposal {
    /// Which partition.
    pub partition: TopicPartition,
    /// Its topic's id.
    pub topic_id: TopicId,
    /// The epoch in which this broker leads.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch that the proposal builds on.
    pub partition_epoch: i32,
    /// The members it should have.
    pub isr: Vec<IsrMember>,
}

/// A member of a proposed in-sync set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IsrMember {
    /// Which broker.
    pub broker: BrokerId,
    /// The epoch by which it fetched; [`BrokerEpoch::NONE`] if it has not.
    pub broker_epoch: BrokerEpoch,
}

/// Takes proposals to the controller.
pub trait IsrProposer: Send + Sync {
    /// Takes a proposal along and returns at once; called without any lock. What comes of it goes
    /// to [`ReplicaManager::isr_answered`](crate::ReplicaManager::isr_answered). Until then, or
    /// until the metadata brings news of the partition, no other proposal for it is made; one
    /// that finds an earlier one unanswered may be answered by [`IsrAnswer::TryLater`].
    fn propose(&self, proposal: IsrProposal);
}

/// What the controller says to a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IsrAnswer {
    /// This is the in-sync set now.
    Accepted {
        /// The leader epoch that it holds for.
        leader_epoch: LeaderEpoch,
        /// The new partition epoch.
        partition_epoch: i32,
        /// The members.
        isr: Vec<BrokerId>,
    },
    /// Nothing was changed, and the same may be proposed again: it was not sent, or a member is
    /// not eligible by now (`INELIGIBLE_REPLICA`, `OPERATION_NOT_ATTEMPTED`).
    TryLater,
    /// The controller knows a newer state, which this broker will hear of: a leader or partition
    /// epoch is over, or the topic gone. Nothing is proposed before that.
    Superseded,
}
