//! [`ControllerHandle`]: how requests get to the controller of this node.

use std::time::Instant;

use klamm_primitives::{BrokerEpoch, Offset, TopicPartition};
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use tokio::sync::{mpsc, oneshot};

use crate::core::{Core, Decide};
use crate::deciders::{
    AllocateProducerIds, AlterConfigError, AlterConfigs, AlterPartition, AlterPartitionError,
    AlteredPartition, CreatePartitions, CreatePartitionsError, CreateTopicError, CreateTopics,
    CreatedTopic, DeleteTopicError, DeleteTopics, DeletedTopic, ElectLeaderError, ElectLeaders,
    Heartbeat, HeartbeatAnswer, HeartbeatError, PartitionRefused, ProducerIdBlock,
    ProducerIdsError, ReassignError, ReassignPartitions, RegisterBroker, RegisterBrokerError,
    ReplaceConfigs, UnregisterBroker, UnregisterBrokerError,
};
use crate::error::ControllerError;
use crate::image::MetadataImage;

/// Takes requests to the controller of this node, from any task; a clone leads to the same one.
///
/// Every method waits for room in the controller's queue, for its turn, and until what was decided
/// is committed and shows in this node's image. A future may be dropped at any time; the request
/// may be carried out all the same. A `deadline` that has passed when the request's turn comes
/// makes it [`ControllerError::TimedOut`], without effect; `None` is no deadline (CO-004).
///
/// All fail with a [`ControllerError`] where the controller of this node is not the active one.
#[derive(Debug, Clone)]
pub struct ControllerHandle {
    turns: mpsc::Sender<Box<dyn Turn>>,
}

/// One entry for each item of a request, in its order.
type Each<T, E> = Result<Vec<Result<T, E>>, ControllerError>;

impl ControllerHandle {
    /// A handle, and what comes out of its queue of this length.
    pub(crate) fn new(queue_len: usize) -> (Self, mpsc::Receiver<Box<dyn Turn>>) {
        let (turns, received) = mpsc::channel(queue_len);
        (Self { turns }, received)
    }

    /// Registers a broker, fenced. Returns its broker epoch.
    ///
    /// # Errors
    /// By variant; the registration is as it was. (CO-011 to CO-015)
    pub async fn register_broker(
        &self,
        request: RegisterBroker,
        deadline: Option<Instant>,
    ) -> Result<BrokerEpoch, RegisterBrokerError> {
        self.ask(request, deadline).await?
    }

    /// Takes a broker out of the cluster.
    ///
    /// # Errors
    /// By variant. (CO-016)
    pub async fn unregister_broker(
        &self,
        request: UnregisterBroker,
        deadline: Option<Instant>,
    ) -> Result<(), UnregisterBrokerError> {
        self.ask(request, deadline).await?
    }

    /// Takes a broker's heartbeat, and fences, unfences or begins to shut down by it.
    ///
    /// # Errors
    /// By variant. (CO-020 to CO-034)
    pub async fn heartbeat(
        &self,
        request: Heartbeat,
        deadline: Option<Instant>,
    ) -> Result<HeartbeatAnswer, HeartbeatError> {
        self.ask(request, deadline).await?
    }

    /// Creates topics. One result for each, in their order.
    ///
    /// # Errors
    /// [`ControllerError`] for all of them; by topic see [`CreateTopicError`]. (CO-035 to CO-045)
    pub async fn create_topics(
        &self,
        request: CreateTopics,
        deadline: Option<Instant>,
    ) -> Each<CreatedTopic, CreateTopicError> {
        self.ask(request, deadline).await
    }

    /// Deletes topics. One result for each, in their order.
    ///
    /// # Errors
    /// [`ControllerError`] for all of them; by topic see [`DeleteTopicError`]. (CO-046, CO-047)
    pub async fn delete_topics(
        &self,
        request: DeleteTopics,
        deadline: Option<Instant>,
    ) -> Each<DeletedTopic, DeleteTopicError> {
        self.ask(request, deadline).await
    }

    /// Adds partitions to topics. One result for each topic, in their order.
    ///
    /// # Errors
    /// [`ControllerError`] for all of them; by topic see [`CreatePartitionsError`]. (CO-048 to
    /// CO-050)
    pub async fn create_partitions(
        &self,
        request: CreatePartitions,
        deadline: Option<Instant>,
    ) -> Each<(), CreatePartitionsError> {
        self.ask(request, deadline).await
    }

    /// Elects leaders. One result for each partition that was asked for, in their order, or for
    /// each that an election was needed for.
    ///
    /// # Errors
    /// [`ControllerError`] for all of them; by partition see [`ElectLeaderError`]. (CO-065 to
    /// CO-070)
    pub async fn elect_leaders(
        &self,
        request: ElectLeaders,
        deadline: Option<Instant>,
    ) -> Result<Vec<(TopicPartition, Result<(), ElectLeaderError>)>, ControllerError> {
        self.ask(request, deadline).await
    }

    /// Changes the ISR of partitions for their leader. One result for each, in their order.
    ///
    /// # Errors
    /// [`AlterPartitionError`] for all of them; by partition see [`PartitionRefused`]. (CO-071 to
    /// CO-077)
    pub async fn alter_partition(
        &self,
        request: AlterPartition,
        deadline: Option<Instant>,
    ) -> Result<Vec<Result<AlteredPartition, PartitionRefused>>, AlterPartitionError> {
        self.ask(request, deadline).await?
    }

    /// Moves replicas, or cancels that. One result for each partition, in their order.
    ///
    /// # Errors
    /// [`ControllerError`] for all of them; by partition see [`ReassignError`]. (CO-078 to CO-084)
    pub async fn reassign_partitions(
        &self,
        request: ReassignPartitions,
        deadline: Option<Instant>,
    ) -> Each<(), ReassignError> {
        self.ask(request, deadline).await
    }

    /// Hands a block of producer ids to a broker.
    ///
    /// # Errors
    /// By variant. (CO-085, CO-086)
    pub async fn allocate_producer_ids(
        &self,
        request: AllocateProducerIds,
        deadline: Option<Instant>,
    ) -> Result<ProducerIdBlock, ProducerIdsError> {
        self.ask(request, deadline).await?
    }

    /// Changes single settings. One result for each resource, in their order.
    ///
    /// # Errors
    /// [`ControllerError`] for all of them; by resource see [`AlterConfigError`]. (CO-056, CO-058)
    pub async fn alter_configs(
        &self,
        request: AlterConfigs,
        deadline: Option<Instant>,
    ) -> Each<(), AlterConfigError> {
        self.ask(request, deadline).await
    }

    /// Replaces all settings of resources. One result for each, in their order.
    ///
    /// # Errors
    /// As [`ControllerHandle::alter_configs`]. (CO-057, CO-058)
    pub async fn replace_configs(
        &self,
        request: ReplaceConfigs,
        deadline: Option<Instant>,
    ) -> Each<(), AlterConfigError> {
        self.ask(request, deadline).await
    }

    async fn ask<R: Decide>(
        &self,
        request: R,
        deadline: Option<Instant>,
    ) -> Result<R::Answer, ControllerError> {
        let (answer_to, answer) = oneshot::channel();
        let asked = Asked {
            request: Some(request),
            decided: None,
            deadline,
            answer_to,
        };
        let sent = self.turns.send(Box::new(asked)).await;
        sent.map_err(|_| ControllerError::Stopped)?;
        answer.await.map_err(|_| ControllerError::Stopped)?
    }
}

/// A request in the queue, whatever it asks for.
pub(crate) trait Turn: Send {
    /// Decides it, and returns the records; none where it is late.
    fn decide(&mut self, core: &mut Core, image: &MetadataImage, now: Instant) -> Vec<Record>;

    /// Whether its records must be the last ones at their offset.
    fn needs_offset(&self) -> bool;

    /// Answers: with what was decided, or why that did not come to be.
    fn answer(self: Box<Self>, outcome: Result<Offset, ControllerError>);
}

struct Asked<R: Decide> {
    /// Taken when it is decided.
    request: Option<R>,
    decided: Option<Result<R::Answer, ControllerError>>,
    deadline: Option<Instant>,
    answer_to: oneshot::Sender<Result<R::Answer, ControllerError>>,
}

impl<R: Decide> Turn for Asked<R> {
    fn decide(&mut self, core: &mut Core, image: &MetadataImage, now: Instant) -> Vec<Record> {
        let Some(request) = self.request.take() else {
            return Vec::new();
        };
        let is_late = self.deadline.is_some_and(|deadline| deadline <= now);
        if is_late && !request.is_empty() {
            self.decided = Some(Err(ControllerError::TimedOut));
            return Vec::new();
        }
        let decision = request.decide(core, image, now);
        self.decided = Some(Ok(decision.answer));
        decision.records
    }

    fn needs_offset(&self) -> bool {
        self.request.as_ref().is_some_and(Decide::needs_offset)
    }

    fn answer(self: Box<Self>, outcome: Result<Offset, ControllerError>) {
        let answer = match (outcome, self.decided) {
            (Ok(offset), Some(Ok(mut answer))) => {
                R::committed(&mut answer, offset);
                Ok(answer)
            }
            (Ok(_), Some(Err(late))) => Err(late),
            (Ok(_), None) => Err(ControllerError::Stopped),
            (Err(error), _) => Err(error),
        };
        // Whoever asked may have given up.
        _ = self.answer_to.send(answer);
    }
}
