//! [`InFlight`]: the batches of one produce request that has not been answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_client::NetworkClient;
use klamm_primitives::{PartitionIndex, Sequence, TopicId, TopicPartition};
use klamm_records::ProducerStamp;

use crate::batch::{Batch, Boxed};
use crate::error::{Failure, Obstacle};
use crate::sender::Sender;

/// The batches of one produce request. Their memory stays theirs until the request is answered:
/// the network may still hold it. (P7.6, C070)
pub(super) struct InFlight {
    /// In the order of the request; a batch that was answered is taken out.
    batches: Vec<Option<Boxed>>,
    /// When the oldest batch without an outcome was begun.
    oldest: Option<Instant>,
    /// Ids of the topics, where the answer names topics by them.
    topic_ids: Vec<(TopicId, Arc<str>)>,
    /// Where the next answer is looked for first: brokers answer in the order of the request.
    next: usize,
}

impl InFlight {
    pub(super) fn new(batches: Vec<Boxed>, topic_ids: Vec<(TopicId, Arc<str>)>) -> Self {
        let mut in_flight = Self {
            batches: batches.into_iter().map(Some).collect(),
            oldest: None,
            topic_ids,
            next: 0,
        };
        in_flight.find_oldest();
        in_flight
    }

    fn find_oldest(&mut self) {
        let open = self
            .batches
            .iter()
            .flatten()
            .filter(|batch| !batch.is_done());
        self.oldest = open.map(|batch| batch.created()).min();
    }

    pub(super) fn batches_mut(&mut self) -> impl Iterator<Item = &mut Batch> {
        self.batches.iter_mut().flatten().map(|batch| &mut **batch)
    }

    /// Those that were not answered one by one.
    pub(super) fn into_batches(self) -> Vec<Boxed> {
        self.batches.into_iter().flatten().collect()
    }

    /// Takes out the batch of a partition.
    pub(super) fn take(&mut self, topic: &str, partition: PartitionIndex) -> Option<Boxed> {
        let is_it = |batch: &Option<Boxed>| {
            batch.as_ref().is_some_and(|batch| {
                let name = batch.partition();
                name.partition == partition && *name.topic == *topic
            })
        };
        let at = match self.batches.get(self.next) {
            Some(batch) if is_it(batch) => self.next,
            _ => self.batches.iter().position(is_it)?,
        };
        self.next = at + 1;
        self.batches[at].take()
    }

    /// The name of a topic that the answer names by its id.
    pub(super) fn topic_name(&self, id: TopicId) -> Option<&Arc<str>> {
        let known = self.topic_ids.iter().find(|(known, _)| *known == id);
        known.map(|(_, name)| name)
    }

    /// Gives batches of a partition another mark.
    pub(super) fn restamp(
        &mut self,
        partition: &TopicPartition,
        new: impl Fn(Sequence) -> Option<ProducerStamp>,
    ) {
        for batch in self
            .batches_mut()
            .filter(|batch| batch.partition() == partition)
        {
            if let Some(stamp) = batch.stamp().and_then(|stamp| new(stamp.base_sequence)) {
                batch.set_stamp(stamp);
            }
        }
    }

    fn expires_at(&self, delivery_timeout: Duration) -> Option<Instant> {
        self.oldest.map(|oldest| oldest + delivery_timeout)
    }
}

impl Sender {
    /// Fails batches that are out and whose time is over. (P5.6, PR-082)
    pub(super) fn expire_in_flight(&mut self, now: Instant, client: &NetworkClient) {
        let timeout = self.rules.delivery_timeout;
        let is_due =
            |in_flight: &InFlight| in_flight.expires_at(timeout).is_some_and(|at| at <= now);
        if !self.in_flight.values().any(is_due) {
            return;
        }
        let mut in_flight = std::mem::take(&mut self.in_flight);
        for request in in_flight.values_mut().filter(|request| is_due(request)) {
            for batch in request.batches_mut() {
                if !batch.is_done() && batch.is_expired(now, timeout) {
                    self.expire(batch, now, client);
                }
            }
            request.find_oldest();
        }
        self.in_flight = in_flight;
    }

    /// Fails a batch that was taken out of its queue because its time is over.
    pub(super) fn expire_queued(&mut self, mut batch: Boxed, now: Instant, client: &NetworkClient) {
        self.expire(&mut batch, now, client);
        batch.release();
    }

    /// Fails a batch whose time is over. If it was ever sent it may have been written, so its
    /// sequences are not given to others. (PR-109)
    fn expire(&mut self, batch: &mut Batch, now: Instant, client: &NetworkClient) {
        let failure = Failure::Expired {
            record_count: batch.record_count(),
            partition: batch.partition().to_string().into(),
            age: batch.age(now),
            sent: batch.was_sent(),
            last: self.obstacle(batch, client),
        };
        if let (Some(idempotence), Some(stamp)) = (&mut self.idempotence, batch.stamp()) {
            idempotence.given_up(batch.partition(), stamp.base_sequence);
        }
        self.fail_batch(now, batch, failure);
    }

    /// What stands in a batch's way, as far as that is known.
    fn obstacle(&self, batch: &Batch, client: &NetworkClient) -> Option<Obstacle> {
        let name = batch.partition();
        let known = self.cluster.partition(&name.topic, name.partition);
        let leader = known.and_then(|partition| partition.leader);
        let trouble = match leader {
            Some(node) => client.trouble(node).cloned(),
            // Somebody would have to tell who leads.
            None => client.metadata().last_trouble(),
        };
        trouble
            .map(Obstacle::Connection)
            .or_else(|| batch.last_code().map(Obstacle::Answer))
            .or_else(|| leader.is_none().then_some(Obstacle::NoLeader))
    }

    pub(super) fn next_in_flight_expiry(&self) -> Option<Instant> {
        let timeout = self.rules.delivery_timeout;
        let requests = self.in_flight.values();
        requests
            .filter_map(|request| request.expires_at(timeout))
            .min()
    }
}
