//! [`Backlog`]: the sender's side of the accumulator. Which nodes have something to send, and what
//! goes to one of them. (P5.2, P5.5)
//!
//! Only queues that have something are looked at: a thousand quiet partitions cost nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use klamm_client::{Cluster, NodeId};
use klamm_primitives::{LeaderEpoch, Sequence, TopicPartition};
use klamm_records::{CloseError, Codecs, ProducerStamp};

use crate::accumulator::{PartitionQueue, RecordAccumulator};
use crate::batch::Boxed;

/// Who leads a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leader {
    pub(crate) node: NodeId,
    pub(crate) epoch: Option<LeaderEpoch>,
}

/// Who leads which partition.
pub(crate) trait Leaders {
    /// The leader of a partition, if there is one.
    fn leader(&self, partition: &TopicPartition) -> Option<Leader>;
}

impl Leaders for Cluster {
    fn leader(&self, partition: &TopicPartition) -> Option<Leader> {
        let partition = self.partition(&partition.topic, partition.partition)?;
        Some(Leader {
            node: partition.leader?,
            epoch: partition.leader_epoch,
        })
    }
}

/// What may be taken out, beside what batches say of themselves: idempotence has rules.
pub(crate) trait DrainRules {
    /// Whether the batch at the head of a queue may be taken, with the mark that it has, if any.
    fn may_take(&self, partition: &TopicPartition, stamp: Option<ProducerStamp>) -> bool;

    /// The mark for a batch of so many records that is taken for the first time.
    fn stamp(&mut self, partition: &TopicPartition, record_count: u32) -> Option<ProducerStamp>;
}

/// No rules: not idempotent.
impl DrainRules for () {
    fn may_take(&self, _: &TopicPartition, _: Option<ProducerStamp>) -> bool {
        true
    }

    fn stamp(&mut self, _: &TopicPartition, _: u32) -> Option<ProducerStamp> {
        None
    }
}

/// What [`Backlog::look`] found.
#[derive(Default)]
pub(crate) struct Readiness {
    /// Nodes that have something to send now, by rising id.
    pub(crate) nodes: Vec<NodeId>,
    /// When to look again even if nothing happens.
    pub(crate) next_check: Option<Instant>,
    /// Topics that have something for a partition without a known leader.
    pub(crate) unknown_leaders: Vec<Arc<str>>,
    /// Batches whose delivery's time is over, taken out.
    pub(crate) expired: Vec<Boxed>,
}

impl Readiness {
    fn clear(&mut self) {
        self.nodes.clear();
        self.next_check = None;
        self.unknown_leaders.clear();
        self.expired.clear();
    }

    fn check_at(&mut self, at: Instant) {
        self.next_check = Some(self.next_check.map_or(at, |next| next.min(at)));
    }
}

/// A batch on its way into a request.
pub(crate) struct Drained {
    pub(crate) batch: Boxed,
    /// Its bytes, or why it has none.
    pub(crate) sealed: Result<Bytes, CloseError>,
}

/// A queue that had something when it was looked at last.
struct Active {
    queue: Arc<PartitionQueue>,
    leader: Option<Leader>,
}

/// The queues that have something, as the sender's task alone knows them.
pub(crate) struct Backlog {
    accumulator: Arc<RecordAccumulator>,
    active: Vec<Active>,
    /// Places in `active` by the node that leads them, as of the last look.
    by_node: HashMap<NodeId, Vec<usize>>,
    /// At which of a node's partitions the next drain begins, so that none starves.
    drain_from: HashMap<NodeId, usize>,
}

impl Backlog {
    pub(crate) fn new(accumulator: Arc<RecordAccumulator>) -> Self {
        Self {
            accumulator,
            active: Vec::new(),
            by_node: HashMap::new(),
            drain_from: HashMap::new(),
        }
    }

    /// Looks at all queues that have something. `leaders_changed` says that leaders may be others
    /// than at the last look.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        leaders: &impl Leaders,
        leaders_changed: bool,
        found: &mut Readiness,
    ) {
        found.clear();
        let new = std::mem::take(&mut *self.accumulator.listed.lock());
        self.active.extend(new.into_iter().map(|queue| Active {
            leader: leaders.leader(queue.name()),
            queue,
        }));
        self.by_node.values_mut().for_each(Vec::clear);
        let hurried = self.accumulator.is_hurried();
        let mut at = 0;
        while at < self.active.len() {
            let active = &mut self.active[at];
            if leaders_changed || active.leader.is_none() {
                active.leader = leaders.leader(active.queue.name());
            }
            if look_at(&self.accumulator, active, hurried, now, found) {
                if let Some(leader) = active.leader {
                    self.by_node.entry(leader.node).or_default().push(at);
                }
                at += 1;
            } else {
                self.active.swap_remove(at);
            }
        }
        found.nodes.sort_unstable();
        found.nodes.dedup();
        found.unknown_leaders.dedup();
    }

    /// Takes out what goes to one node in one request: one batch of each of its partitions at
    /// most, up to `size_max` bytes but for the first. Batches are closed; with `mute`, their
    /// partitions rest until they are [unmuted](Self::unmute).
    pub(crate) fn drain(
        &mut self,
        node: NodeId,
        now: Instant,
        size_max: usize,
        mute: bool,
        rules: &mut impl DrainRules,
        codecs: &mut Codecs,
    ) -> Vec<Drained> {
        let mut drained = Vec::new();
        let Some(places) = self.by_node.get(&node).filter(|places| !places.is_empty()) else {
            return drained;
        };
        let from = self.drain_from.entry(node).or_insert(0);
        let start = *from % places.len();
        let mut size = 0;
        for step in 0..places.len() {
            let place = (start + step) % places.len();
            let active = &self.active[places[place]];
            let batch = {
                let mut state = active.queue.lock();
                let Some(head) = state.batches.front() else {
                    continue;
                };
                let epoch = active.leader.and_then(|leader| leader.epoch);
                if state.muted
                    || head.backs_off_until(epoch, now).is_some()
                    || !rules.may_take(active.queue.name(), head.stamp())
                {
                    continue;
                }
                if !drained.is_empty() && size + head.size() > size_max {
                    // The next request begins here.
                    *from = place;
                    return drained;
                }
                let batch = state.batches.pop_front();
                state.muted = mute;
                active.queue.count(&state);
                batch
            };
            let Some(mut batch) = batch else { continue };
            if batch.stamp().is_none()
                && let Some(stamp) = rules.stamp(batch.partition(), batch.record_count())
            {
                batch.set_stamp(stamp);
            }
            let is_new = !batch.was_sent();
            batch.sent_to(active.leader.and_then(|leader| leader.epoch));
            let sealed = batch.seal(codecs);
            if is_new && let Some(ratio) = batch.compression_ratio() {
                let topic = self.accumulator.topic(&batch.partition().topic);
                topic.observe(self.accumulator.rules.compression.codec(), ratio);
            }
            size += batch.size();
            drained.push(Drained { batch, sealed });
        }
        *from = start + 1;
        drained
    }

    /// Puts a batch back into its queue, to be sent again.
    pub(crate) fn put_back(&self, batch: Boxed) {
        let queue = self.queue_of(batch.partition());
        if queue.put_back(batch) {
            self.accumulator.list(queue);
        }
    }

    /// Puts the parts of a divided batch into the place of the whole, in their order.
    pub(crate) fn put_parts_back(&self, parts: Vec<Boxed>) {
        for part in parts.into_iter().rev() {
            self.put_back(part);
        }
    }

    /// Lets batches of a partition be taken out again.
    pub(crate) fn unmute(&self, partition: &TopicPartition) {
        self.queue_of(partition).lock().muted = false;
    }

    /// Gives batches of a partition that wait to be sent again another mark, by the sequence that
    /// they have.
    pub(crate) fn restamp(
        &self,
        partition: &TopicPartition,
        new: impl Fn(Sequence) -> Option<ProducerStamp>,
    ) {
        let queue = self.queue_of(partition);
        let mut state = queue.lock();
        for batch in &mut state.batches {
            if let Some(stamp) = batch.stamp().and_then(|stamp| new(stamp.base_sequence)) {
                batch.set_stamp(stamp);
            }
        }
    }

    /// Takes out everything, in the order of each partition.
    pub(crate) fn take_all(&mut self) -> Vec<Boxed> {
        let new = std::mem::take(&mut *self.accumulator.listed.lock());
        let active = std::mem::take(&mut self.active);
        self.by_node.clear();
        let queues = active.into_iter().map(|active| active.queue).chain(new);
        let mut taken = Vec::new();
        for queue in queues {
            let mut state = queue.lock();
            state.listed = false;
            taken.extend(state.batches.drain(..));
            queue.count(&state);
        }
        taken
    }

    /// Whether no queue has anything.
    pub(crate) fn is_empty(&self) -> bool {
        let has_none = |queue: &PartitionQueue| queue.lock().batches.is_empty();
        self.active.iter().all(|active| has_none(&active.queue))
            && self
                .accumulator
                .listed
                .lock()
                .iter()
                .all(|queue| has_none(queue))
    }

    fn queue_of(&self, partition: &TopicPartition) -> Arc<PartitionQueue> {
        let topic = self.accumulator.topic(&partition.topic);
        self.accumulator.queue(&topic, partition.partition)
    }
}

/// Looks at one queue: takes out what has expired, and notes whether there is something to send or
/// when there will be. Returns whether the queue has anything.
fn look_at(
    accumulator: &RecordAccumulator,
    active: &Active,
    hurried: bool,
    now: Instant,
    found: &mut Readiness,
) -> bool {
    let rules = &accumulator.rules;
    let mut state = active.queue.lock();
    while let Some(head) = state.batches.front()
        && head.is_expired(now, rules.delivery_timeout)
    {
        found.expired.extend(state.batches.pop_front());
        active.queue.count(&state);
    }
    let Some(head) = state.batches.front() else {
        state.listed = false;
        return false;
    };
    found.check_at(head.created() + rules.delivery_timeout);
    if state.muted {
        return true;
    }
    let Some(leader) = active.leader else {
        found
            .unknown_leaders
            .push(Arc::clone(&active.queue.name().topic));
        return true;
    };
    if let Some(until) = head.backs_off_until(leader.epoch, now) {
        found.check_at(until);
        return true;
    }
    let is_retried = head.attempts() > 0;
    let is_full = state.batches.len() > 1 || !head.is_open();
    let lingers_until = head.created() + rules.linger;
    if hurried || is_retried || is_full || lingers_until <= now {
        found.nodes.push(leader.node);
    } else {
        found.check_at(lingers_until);
    }
    true
}
