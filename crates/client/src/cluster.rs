//! [`Cluster`]: what a client knows of the cluster at one moment.
//!
//! A snapshot is never changed; a newer one takes its place. Topics that an update does not touch
//! are shared between the two.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use klamm_primitives::{LeaderEpoch, PartitionIndex, TopicId, TopicPartition};
use klamm_wire::ErrorCode;

use crate::node::{Node, NodeId};

/// Topics by name. A producer looks into it for each record, so it has a fast hash; names are the
/// application's, and nobody gains by making them collide.
pub(crate) type Topics = HashMap<Arc<str>, Arc<Topic>, FixedState>;

/// Nodes, topics and who leads which partition, at one moment. (P6.7)
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_field_names,
    reason = "the field's word: the protocol's cluster id"
)]
pub struct Cluster {
    version: u64,
    is_bootstrap: bool,
    cluster_id: Option<Arc<str>>,
    controller: Option<NodeId>,
    nodes: BTreeMap<NodeId, Node>,
    topics: Topics,
    names: HashMap<TopicId, Arc<str>>,
    led_by: HashMap<NodeId, Vec<TopicPartition>>,
    invalid_topics: Vec<Arc<str>>,
    unauthorized_topics: Vec<Arc<str>>,
    topic_errors: BTreeMap<Arc<str>, ErrorCode>,
}

/// A topic, in a [`Cluster`].
#[derive(Debug)]
pub struct Topic {
    name: Arc<str>,
    id: TopicId,
    is_internal: bool,
    /// By rising index.
    partitions: Vec<Partition>,
    /// Places in `partitions` of those that have a leader, and their indices.
    available: Vec<usize>,
    available_indices: Vec<PartitionIndex>,
    last_use: Arc<LastUse>,
}

/// A partition, in a [`Topic`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its index.
    pub index: PartitionIndex,
    /// The leader, if there is one and its address is known.
    pub leader: Option<NodeId>,
    /// The leader's epoch, if the broker said it and can be relied upon.
    pub leader_epoch: Option<LeaderEpoch>,
    /// All replicas, the preferred leader first.
    pub replicas: Vec<NodeId>,
    /// The in-sync replicas.
    pub isr: Vec<NodeId>,
    /// The replicas that are down.
    pub offline_replicas: Vec<NodeId>,
}

/// When a topic was used last, noted by whoever uses it, without a lock.
#[derive(Debug)]
pub(crate) struct LastUse {
    origin: Instant,
    /// Since `origin`.
    ms: AtomicU64,
}

/// How far a noted use may lie behind; what is used often then costs a read only.
const USE_GRAIN_MS: u64 = 250;

impl LastUse {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            origin: now,
            ms: AtomicU64::new(0),
        }
    }

    /// Notes a use. A use that lies less than [`USE_GRAIN_MS`] after the noted one changes nothing.
    pub(crate) fn touch(&self, now: Instant) {
        let ms = u64::try_from(now.saturating_duration_since(self.origin).as_millis())
            .unwrap_or(u64::MAX);
        // Relaxed: the number stands for nothing but itself.
        if ms >= self.ms.load(Ordering::Relaxed).saturating_add(USE_GRAIN_MS) {
            self.ms.fetch_max(ms, Ordering::Relaxed);
        }
    }

    pub(crate) fn at(&self) -> Instant {
        self.origin + Duration::from_millis(self.ms.load(Ordering::Relaxed))
    }
}

impl Topic {
    /// Builds a topic; partitions come in any order.
    pub(crate) fn new(
        name: Arc<str>,
        id: TopicId,
        is_internal: bool,
        mut partitions: Vec<Partition>,
        last_use: Arc<LastUse>,
    ) -> Self {
        partitions.sort_by_key(|partition| partition.index);
        partitions.dedup_by_key(|partition| partition.index);
        let available: Vec<usize> = (0..partitions.len())
            .filter(|at| partitions[*at].leader.is_some())
            .collect();
        let available_indices = available.iter().map(|at| partitions[*at].index).collect();
        Self {
            name,
            id,
            is_internal,
            partitions,
            available,
            available_indices,
            last_use,
        }
    }

    /// The name.
    pub const fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The id; all zero if the brokers gave none.
    pub const fn id(&self) -> TopicId {
        self.id
    }

    /// Whether the cluster keeps its own data in it.
    pub const fn is_internal(&self) -> bool {
        self.is_internal
    }

    /// All partitions, by rising index.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// The partitions that have a leader, by rising index.
    pub fn available(&self) -> impl ExactSizeIterator<Item = &Partition> {
        self.available.iter().map(|at| &self.partitions[*at])
    }

    /// The indices of the partitions that have a leader, rising.
    pub fn available_indices(&self) -> &[PartitionIndex] {
        &self.available_indices
    }

    /// The partition with this index.
    pub fn partition(&self, index: PartitionIndex) -> Option<&Partition> {
        // Where no partition is missing, the index is the place.
        let place = usize::try_from(index.get()).ok()?;
        match self.partitions.get(place) {
            Some(partition) if partition.index == index => Some(partition),
            _ => {
                let key = |partition: &Partition| partition.index;
                let at = self.partitions.binary_search_by_key(&index, key).ok()?;
                self.partitions.get(at)
            }
        }
    }

    /// Notes that the topic is in use, so that the client goes on asking for it
    /// (`metadata.max.idle.ms`). Cheap enough for every record; exact to a quarter of a second.
    pub fn touch(&self, now: Instant) {
        self.last_use.touch(now);
    }

    pub(crate) const fn last_use(&self) -> &Arc<LastUse> {
        &self.last_use
    }
}

/// What a [`Cluster`] is made of, before its look-up tables are.
#[derive(Debug, Default)]
pub(crate) struct ClusterParts {
    pub(crate) is_bootstrap: bool,
    pub(crate) cluster_id: Option<Arc<str>>,
    pub(crate) controller: Option<NodeId>,
    pub(crate) nodes: BTreeMap<NodeId, Node>,
    pub(crate) topics: Topics,
    pub(crate) invalid_topics: Vec<Arc<str>>,
    pub(crate) unauthorized_topics: Vec<Arc<str>>,
    pub(crate) topic_errors: BTreeMap<Arc<str>, ErrorCode>,
}

impl ClusterParts {
    /// Leaders whose address is not known are none. Topics that have such are built anew.
    pub(crate) fn drop_unknown_leaders(&mut self) {
        let Self { nodes, topics, .. } = self;
        let unknown = |partition: &Partition| {
            let leader = partition.leader;
            leader.is_some_and(|leader| !nodes.contains_key(&leader))
        };
        for topic in topics.values_mut() {
            if topic.partitions.iter().any(unknown) {
                let mut partitions = topic.partitions.clone();
                for partition in &mut partitions {
                    partition.leader = partition.leader.filter(|leader| nodes.contains_key(leader));
                }
                *topic = Arc::new(Topic::new(
                    topic.name.clone(),
                    topic.id,
                    topic.is_internal,
                    partitions,
                    topic.last_use.clone(),
                ));
            }
        }
    }

    pub(crate) fn build(self, version: u64) -> Cluster {
        let mut led_by: HashMap<NodeId, Vec<TopicPartition>> = HashMap::new();
        let mut names = HashMap::new();
        // By name, so that two clients with the same knowledge go in the same order.
        let mut topics: Vec<&Arc<Topic>> = self.topics.values().collect();
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        for topic in topics {
            if !topic.id.is_zero() {
                names.insert(topic.id, topic.name.clone());
            }
            for partition in &topic.partitions {
                if let Some(leader) = partition.leader {
                    let partition = TopicPartition::new(topic.name.clone(), partition.index);
                    led_by.entry(leader).or_default().push(partition);
                }
            }
        }
        Cluster {
            version,
            is_bootstrap: self.is_bootstrap,
            cluster_id: self.cluster_id,
            controller: self.controller,
            nodes: self.nodes,
            topics: self.topics,
            names,
            led_by,
            invalid_topics: self.invalid_topics,
            unauthorized_topics: self.unauthorized_topics,
            topic_errors: self.topic_errors,
        }
    }
}

impl Cluster {
    /// Counts the updates; 0 before the first answer.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Whether these are the addresses of the bootstrap list only.
    pub const fn is_bootstrap(&self) -> bool {
        self.is_bootstrap
    }

    /// The cluster's id, if it is known and has one.
    pub const fn cluster_id(&self) -> Option<&Arc<str>> {
        self.cluster_id.as_ref()
    }

    /// A node that takes what is meant for the controller.
    pub fn controller(&self) -> Option<&Node> {
        self.node(self.controller?)
    }

    /// All nodes that are up, by rising id.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &Node> {
        self.nodes.values()
    }

    /// The node with this id.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    /// The topics that are known, in no order.
    pub fn topics(&self) -> impl ExactSizeIterator<Item = &Arc<Topic>> {
        self.topics.values()
    }

    /// The topic with this name.
    pub fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(name)
    }

    /// The name of the topic with this id.
    pub fn topic_name(&self, id: TopicId) -> Option<&Arc<str>> {
        self.names.get(&id)
    }

    /// A partition of a topic.
    pub fn partition(&self, topic: &str, index: PartitionIndex) -> Option<&Partition> {
        self.topic(topic)?.partition(index)
    }

    /// The leader of a partition.
    pub fn leader(&self, topic: &str, index: PartitionIndex) -> Option<NodeId> {
        self.partition(topic, index)?.leader
    }

    /// The partitions that a node leads, by topic name and index.
    pub fn led_by(&self, node: NodeId) -> &[TopicPartition] {
        self.led_by.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The node with this id, if it is a replica of the partition that is up.
    pub fn node_if_online(&self, topic: &str, index: PartitionIndex, id: NodeId) -> Option<&Node> {
        let partition = self.partition(topic, index)?;
        let online = partition.replicas.contains(&id) && !partition.offline_replicas.contains(&id);
        if online { self.node(id) } else { None }
    }

    /// Topics whose names the last answer called invalid.
    pub fn invalid_topics(&self) -> &[Arc<str>] {
        &self.invalid_topics
    }

    /// Topics that, by the last answer, this client may not see.
    pub fn unauthorized_topics(&self) -> &[Arc<str>] {
        &self.unauthorized_topics
    }

    /// What the last answer that named a topic said in place of its partitions: that it is not
    /// known, say, or that nobody leads it yet.
    pub fn topic_error(&self, topic: &str) -> Option<ErrorCode> {
        self.topic_errors.get(topic).copied()
    }

    /// The parts again, to make the next snapshot of.
    pub(crate) fn to_parts(&self) -> ClusterParts {
        ClusterParts {
            is_bootstrap: self.is_bootstrap,
            cluster_id: self.cluster_id.clone(),
            controller: self.controller,
            nodes: self.nodes.clone(),
            topics: self.topics.clone(),
            invalid_topics: self.invalid_topics.clone(),
            unauthorized_topics: self.unauthorized_topics.clone(),
            topic_errors: self.topic_errors.clone(),
        }
    }
}
