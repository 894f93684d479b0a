//! [`Node`]: what all handlers of a broker share.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytestring::ByteString;
use klamm_controller::{BrokerImage, ControllerHandle, Endpoint, MetadataImage};
use klamm_io::{Clock, Disk};
use klamm_log::Now;
use klamm_primitives::{BrokerEpoch, BrokerId};
use klamm_replica::{Finished, FollowUp, ReplicaManager};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tracing::error;

use crate::applied_offset::AppliedOffset;
use crate::codec_pool::CodecPool;
use crate::fetch_sessions::FetchSessions;
use crate::handlers::Ticket;
use crate::hints::Hints;
use crate::producer_ids::ProducerIds;
use crate::settings::Settings;

/// What all handlers of a broker share. Everything in it is shared by itself; there is no lock
/// over it.
pub(crate) struct Node<D: Disk, C> {
    pub(crate) settings: Arc<Settings>,
    pub(crate) clock: C,
    pub(crate) replicas: ReplicaManager<D, Ticket<D::File>>,
    pub(crate) controller: ControllerHandle,
    /// The runtime on which requests wait for the controller.
    pub(crate) runtime: Handle,
    pub(crate) codecs: CodecPool,
    pub(crate) producer_ids: ProducerIds,
    pub(crate) fetch_sessions: FetchSessions,
    pub(crate) hints: Hints,
    /// The offset of the image that the replicas go by.
    pub(crate) applied: AppliedOffset,
    /// The newest image of the quorum, which the replicas may not go by yet.
    pub(crate) images: watch::Receiver<Arc<MetadataImage>>,
    epoch: AtomicI64,
}

/// What a [`Node`] is made of, beside what begins empty.
pub(crate) struct NodeParts<D: Disk, C> {
    pub(crate) settings: Arc<Settings>,
    pub(crate) clock: C,
    pub(crate) replicas: ReplicaManager<D, Ticket<D::File>>,
    pub(crate) controller: ControllerHandle,
    pub(crate) runtime: Handle,
    pub(crate) images: watch::Receiver<Arc<MetadataImage>>,
    pub(crate) random: fn() -> u128,
}

impl<D: Disk, C: Clock> Node<D, C> {
    pub(crate) fn new(parts: NodeParts<D, C>) -> Self {
        let session_slots = parts.settings.requests.fetch_sessions_max;
        Self {
            fetch_sessions: FetchSessions::new(session_slots, parts.random),
            settings: parts.settings,
            clock: parts.clock,
            replicas: parts.replicas,
            controller: parts.controller,
            runtime: parts.runtime,
            codecs: CodecPool::default(),
            producer_ids: ProducerIds::default(),
            hints: Hints::default(),
            applied: AppliedOffset::new(),
            images: parts.images,
            epoch: AtomicI64::new(BrokerEpoch::NONE.get()),
        }
    }

    /// This broker.
    pub(crate) fn id(&self) -> BrokerId {
        self.settings.node_id
    }

    /// The epoch of this broker's registration; none before it is registered.
    pub(crate) fn epoch(&self) -> BrokerEpoch {
        BrokerEpoch::new(self.epoch.load(Ordering::Acquire))
    }

    pub(crate) fn set_epoch(&self, epoch: BrokerEpoch) {
        self.epoch.store(epoch.get(), Ordering::Release);
    }

    /// The metadata that requests are answered by: those that the replicas go by, so that nobody
    /// is sent to a leader that does not know yet that it is one.
    pub(crate) fn image(&self) -> Arc<MetadataImage> {
        self.replicas.image()
    }

    /// The time, both ways.
    pub(crate) fn now(&self) -> Now {
        Now {
            instant: self.clock.now(),
            unix_ms: self.clock.unix_ms(),
        }
    }

    /// Waits until the replicas go by all that the quorum has agreed on up to now, or the broker
    /// stops.
    pub(crate) async fn caught_up(&self) {
        let newest = self.images.borrow().offset();
        self.applied.wait_for(newest).await;
    }

    /// Answers what waits for a connection that will not wait for long any more.
    pub(crate) fn hurry(&self, connection: u64) {
        let mut finished = Vec::new();
        self.replicas.hurry(connection, &mut finished);
        self.settle(finished);
    }

    /// Does what a change to partitions calls for: answers those who waited for it.
    pub(crate) fn follow_up(&self, what: FollowUp) {
        if what.is_empty() {
            return;
        }
        let mut finished = Vec::new();
        self.replicas.follow_up(what, &mut finished);
        self.settle(finished);
    }

    /// Answers those who waited and are done.
    pub(crate) fn settle(&self, finished: Vec<Finished<D::File, Ticket<D::File>>>) {
        for it in finished {
            match it {
                Finished::Produced {
                    ticket: Ticket::Produce(waiting),
                    results,
                } => waiting.answer(&self.image(), results),
                Finished::Fetched {
                    ticket: Ticket::Fetch(waiting),
                    results,
                } => waiting.answer(self, results),
                Finished::DeletedRecords {
                    ticket: Ticket::DeleteRecords(waiting),
                    results,
                } => waiting.answer(results),
                // Whoever asked is gone; dropped, its ticket closes the account.
                Finished::Abandoned { .. } => {}
                // Dropping the ticket closes the connection of whoever holds it.
                Finished::Produced { .. }
                | Finished::Fetched { .. }
                | Finished::DeletedRecords { .. } => {
                    error!("a request came back as one of another kind");
                }
            }
        }
    }
}

/// Where clients that came by a listener are told to find a broker; `None` if it is not up, or
/// not to be reached by that listener.
pub(crate) fn reachable<'a>(broker: &'a BrokerImage, listener: &str) -> Option<&'a Endpoint> {
    if broker.is_fenced {
        return None;
    }
    broker.endpoint(listener)
}

/// The leader of a partition and where it is, for who asked the wrong broker; `None` if there is
/// none, or none that can be reached.
pub(crate) struct CurrentLeader<'a> {
    pub(crate) id: BrokerId,
    pub(crate) epoch: klamm_primitives::LeaderEpoch,
    pub(crate) at: Option<(&'a BrokerImage, &'a Endpoint)>,
}

impl<'a> CurrentLeader<'a> {
    pub(crate) fn of(
        image: &'a MetadataImage,
        partition: &klamm_primitives::TopicPartition,
        listener: &str,
    ) -> Option<Self> {
        let known = image.partition(&partition.topic, partition.partition)?;
        let id = known.leader?;
        let broker = image.broker(id);
        Some(Self {
            id,
            epoch: known.leader_epoch,
            at: broker.and_then(|it| Some((&**it, reachable(it, listener)?))),
        })
    }

    /// Where it is, for an answer that tells of brokers once each and of these already; `None` if
    /// it tells of this one, or if it cannot be reached.
    pub(crate) fn endpoint_beside(
        &self,
        told: impl IntoIterator<Item = BrokerId>,
    ) -> Option<NodeAddress> {
        let (broker, endpoint) = self.at?;
        let is_told = told.into_iter().any(|it| it == self.id);
        (!is_told).then(|| NodeAddress {
            host: (&*endpoint.host).into(),
            port: endpoint.port.into(),
            rack: broker.rack.as_deref().map(Into::into),
        })
    }
}

/// Where clients find a broker.
pub(crate) struct NodeAddress {
    pub(crate) host: ByteString,
    pub(crate) port: i32,
    pub(crate) rack: Option<ByteString>,
}
