//! [`ClusterModel`]: what all nodes of the cluster know together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use klamm_primitives::{
    BrokerId, Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicId, TopicPartition, Uuid,
};
use klamm_records::{BatchHeader, Codecs};
use klamm_wire::messages::init_producer_id::InitProducerIdRequest;
use klamm_wire::{ApiKey, Versions};

use crate::fault::{Fault, RequestFacts, Rule, Script};
use crate::partition::{PartitionLog, StoredBatch, StoredRecord};

/// How a cluster behaves while nothing goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterOptions {
    /// With how many partitions a topic is made that is asked for; `None`: not at all.
    pub auto_create_partitions: Option<usize>,
    /// The greatest batch that is taken, in bytes.
    pub batch_bytes_max: usize,
    /// Whether batches are checked in full and kept. Without it the cluster only counts, which
    /// costs next to nothing: for benches.
    pub keep_records: bool,
    /// Whether requests are kept, to be looked at.
    pub keep_requests: bool,
    /// Whether answers name topics and partitions in the reverse order of the request: nobody has
    /// promised that order.
    pub reverse_answers: bool,
}

impl Default for ClusterOptions {
    /// Topics are made with one partition; batches of up to 1 MiB, and everything is kept.
    fn default() -> Self {
        Self {
            auto_create_partitions: Some(1),
            batch_bytes_max: 1024 * 1024 + 12,
            keep_records: true,
            keep_requests: true,
            reverse_answers: false,
        }
    }
}

/// A success that a node answers, or means to when a fault is between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset of the batch's first record.
    pub base_offset: Offset,
    /// The batch's records.
    pub record_count: i32,
    /// The batch had been stored before.
    pub is_duplicate: bool,
}

/// A request that a node was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRequest {
    /// The node.
    pub node: BrokerId,
    /// Tells the cluster's connections apart.
    pub connection: u64,
    /// Which request it is.
    pub key: ApiKey,
    /// Its version.
    pub version: i16,
    /// What the client calls itself.
    pub client_id: Option<String>,
}

/// A batch of a produce request that a node has read, stored or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenBatch {
    /// The node.
    pub node: BrokerId,
    /// The version of the request.
    pub version: i16,
    /// The acknowledgements that it asks for.
    pub acks: i16,
    /// How long they may take, in milliseconds.
    pub timeout_ms: i32,
    /// The partition.
    pub partition: TopicPartition,
    /// The batch's header.
    pub header: BatchHeader,
}

/// A topic.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) id: TopicId,
    pub(crate) partitions: Vec<PartitionLog>,
}

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    /// Where clients are told to find it.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_up: bool,
    /// In place of what a current broker takes; `None`: not at all.
    pub(crate) versions: HashMap<ApiKey, Option<Versions>>,
    requests: u64,
}

/// A cluster of brokers as a function from requests to answers: topics, leaders, logs, the state
/// of idempotent producers, and the script of what goes wrong.
///
/// It has no socket and no clock, and nothing in it is left to chance: whoever has a request gives
/// it to [`serve`](Self::serve), and does as the [`Reply`](crate::Reply) says. So a simulation
/// drives it in one thread by its own time and seed; [`FakeCluster`](crate::FakeCluster) puts it
/// behind sockets.
#[derive(Debug)]
pub struct ClusterModel {
    pub(crate) options: ClusterOptions,
    pub(crate) nodes: BTreeMap<BrokerId, Node>,
    pub(crate) topics: BTreeMap<Arc<str>, Topic>,
    pub(crate) unauthorized: BTreeSet<String>,
    pub(crate) script: Script,
    pub(crate) seen: Vec<SeenRequest>,
    pub(crate) batches_seen: Vec<SeenBatch>,
    pub(crate) producer_ids_asked_for: Vec<InitProducerIdRequest>,
    pub(crate) acknowledged: Vec<Acknowledgement>,
    /// The current epoch of each producer id that was given out.
    pub(crate) producers: HashMap<ProducerId, ProducerEpoch>,
    /// The epoch that the next new producer id comes with.
    pub(crate) next_producer_epoch: ProducerEpoch,
    /// Records and bytes of them that were stored.
    pub(crate) stored: (u64, u64),
    pub(crate) codecs: Codecs,
    topics_made: u64,
}

/// What a topic's name may be made of, and how long it may be.
const TOPIC_LEN_MAX: usize = 249;

/// The cluster as a test sets it up and moves it.
impl ClusterModel {
    /// A cluster without nodes.
    pub fn new(options: ClusterOptions) -> Self {
        Self {
            options,
            nodes: BTreeMap::new(),
            topics: BTreeMap::new(),
            unauthorized: BTreeSet::new(),
            script: Script::default(),
            seen: Vec::new(),
            batches_seen: Vec::new(),
            producer_ids_asked_for: Vec::new(),
            acknowledged: Vec::new(),
            producers: HashMap::new(),
            next_producer_epoch: ProducerEpoch::new(0),
            stored: (0, 0),
            codecs: Codecs::default(),
            topics_made: 0,
        }
    }

    /// Adds a node, which clients are told to find at that host and port.
    pub fn add_node(&mut self, id: impl Into<BrokerId>, host: impl Into<String>, port: u16) {
        let node = Node {
            host: host.into(),
            port,
            is_up: true,
            versions: HashMap::new(),
            requests: 0,
        };
        self.nodes.insert(id.into(), node);
    }

    /// Whether metadata speak of a node. What it leads is without a leader while they do not.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn set_up(&mut self, node: impl Into<BrokerId>, is_up: bool) {
        self.node_mut(node.into()).is_up = is_up;
    }

    /// A node takes these versions of a request, or none of it, whatever a current broker takes.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn set_versions(
        &mut self,
        node: impl Into<BrokerId>,
        key: ApiKey,
        versions: Option<Versions>,
    ) {
        self.node_mut(node.into()).versions.insert(key, versions);
    }

    /// Makes a topic; its partitions are led by the nodes in turn.
    ///
    /// # Panics
    /// Without a node.
    pub fn create_topic(&mut self, name: &str, partition_count: usize) {
        self.topics_made += 1;
        let id = Uuid::from_random(u128::from(self.topics_made) << 64);
        let topic = Topic {
            id: TopicId::from(id),
            partitions: Vec::new(),
        };
        self.topics.insert(name.into(), topic);
        self.grow_topic(name, partition_count);
    }

    /// A topic has so many partitions now.
    ///
    /// # Panics
    /// Without a node, or such a topic.
    pub fn grow_topic(&mut self, name: &str, partition_count: usize) {
        let leaders: Vec<BrokerId> = self.nodes.keys().copied().collect();
        let topic = self.topics.get_mut(name).expect("the topic exists");
        for at in topic.partitions.len()..partition_count {
            let log = PartitionLog::new(leaders[at % leaders.len()]);
            topic.partitions.push(log);
        }
    }

    /// Deletes a topic and what was stored in it.
    pub fn delete_topic(&mut self, name: &str) {
        self.topics.remove(name);
    }

    /// Lets clients see and write a topic no more.
    pub fn forbid_topic(&mut self, name: &str) {
        self.unauthorized.insert(name.to_owned());
    }

    /// Another node leads a partition, or none does; its leader epoch rises.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn move_leader(&mut self, partition: &TopicPartition, leader: Option<BrokerId>) {
        self.log_mut(partition).move_to(leader);
    }

    /// The leader forgets all idempotent producers of a partition, as it does with idle ones.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn forget_producers(&mut self, partition: &TopicPartition) {
        self.log_mut(partition).forget_producers();
    }

    /// Answers tell that the log of a partition begins at this offset; below 0: they do not tell.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn set_log_start(&mut self, partition: &TopicPartition, offset: impl Into<Offset>) {
        self.log_mut(partition).log_start_offset = offset.into();
    }

    /// Answers tell that records get this time in Unix milliseconds when they are stored; below 0:
    /// that they keep their own.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn set_append_time(&mut self, partition: &TopicPartition, append_time_ms: i64) {
        self.log_mut(partition).append_time_ms = append_time_ms;
    }

    /// The greatest batch that is taken from now on, in bytes.
    pub const fn set_batch_bytes_max(&mut self, bytes: usize) {
        self.options.batch_bytes_max = bytes;
    }

    /// The next new producer id comes with this epoch, as if it had been in use for long.
    pub const fn set_next_producer_epoch(&mut self, epoch: ProducerEpoch) {
        self.next_producer_epoch = epoch;
    }

    /// Adds a rule by which something goes wrong.
    pub fn add_rule(&mut self, rule: Rule) {
        self.script.add(rule);
    }

    /// Each of these faults occurs to one request of a kind, in their order and behind those that
    /// were lined up before.
    pub fn line_up(&mut self, key: ApiKey, faults: impl IntoIterator<Item = Fault>) {
        self.script.line_up(key, faults);
    }

    /// Lets a function choose what goes wrong with each request, beside the rules: for simulation
    /// by a seed.
    pub fn set_chance(&mut self, chance: impl FnMut(&RequestFacts) -> Vec<Fault> + Send + 'static) {
        self.script.set_chance(Box::new(chance));
    }

    /// Nothing goes wrong any more.
    pub fn clear_faults(&mut self) {
        self.script.clear();
    }

    /// Forgets which requests and batches were seen.
    pub fn forget_seen(&mut self) {
        self.seen.clear();
        self.batches_seen.clear();
        self.producer_ids_asked_for.clear();
    }
}

/// What can be looked at.
impl ClusterModel {
    /// The requests that were seen, in the order in which they came.
    pub fn seen(&self) -> Vec<SeenRequest> {
        self.seen.clone()
    }

    /// How many requests of a kind were seen.
    pub fn count(&self, key: ApiKey) -> usize {
        self.seen.iter().filter(|seen| seen.key == key).count()
    }

    /// The batches that came, in that order, but for those that are none.
    pub fn batches_seen(&self) -> &[SeenBatch] {
        &self.batches_seen
    }

    /// The requests for producer ids that could be read, in the order in which they came.
    pub fn producer_ids_asked_for(&self) -> &[InitProducerIdRequest] {
        &self.producer_ids_asked_for
    }

    /// The batches that were acknowledged, in that order; those of `acks` 0 when they were
    /// stored.
    pub fn acknowledged(&self) -> Vec<Acknowledgement> {
        self.acknowledged.clone()
    }

    /// Who leads a partition.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn leader(&self, partition: &TopicPartition) -> Option<BrokerId> {
        self.log(partition).leader
    }

    /// The batches that a partition holds.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn batches(&self, partition: &TopicPartition) -> Vec<StoredBatch> {
        self.log(partition).batches.clone()
    }

    /// The records of a partition, by offset.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn records(&self, partition: &TopicPartition) -> Vec<StoredRecord> {
        self.log(partition).records(&mut Codecs::default())
    }

    /// The log end offset of a partition.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn log_end_offset(&self, partition: &TopicPartition) -> Offset {
        self.log(partition).log_end_offset
    }

    /// All partitions.
    pub fn partitions(&self) -> Vec<TopicPartition> {
        let mut partitions = Vec::new();
        for (name, topic) in &self.topics {
            let indices = (0..).take(topic.partitions.len()).map(PartitionIndex::new);
            partitions.extend(indices.map(|index| TopicPartition::new(name.clone(), index)));
        }
        partitions
    }

    /// Records, and bytes of their batches, that were stored.
    pub const fn stored(&self) -> (u64, u64) {
        self.stored
    }
}

impl ClusterModel {
    /// Counts a request of a node. Returns how many it had before.
    pub(crate) fn count_request(&mut self, node: BrokerId) -> u64 {
        self.nodes.get_mut(&node).map_or(0, |node| {
            node.requests += 1;
            node.requests - 1
        })
    }

    pub(crate) fn partition(&self, topic: &str, at: PartitionIndex) -> Option<&PartitionLog> {
        let at = usize::try_from(at.get()).ok()?;
        self.topics.get(topic)?.partitions.get(at)
    }

    pub(crate) fn partition_mut(
        &mut self,
        topic: &str,
        at: PartitionIndex,
    ) -> Option<&mut PartitionLog> {
        let at = usize::try_from(at.get()).ok()?;
        self.topics.get_mut(topic)?.partitions.get_mut(at)
    }

    pub(crate) fn topic_name(&self, id: TopicId) -> Option<Arc<str>> {
        let mut topics = self.topics.iter();
        topics
            .find(|(_, topic)| topic.id == id)
            .map(|(name, _)| name.clone())
    }

    fn log(&self, partition: &TopicPartition) -> &PartitionLog {
        let log = self.partition(&partition.topic, partition.partition);
        log.expect("the partition exists")
    }

    fn log_mut(&mut self, partition: &TopicPartition) -> &mut PartitionLog {
        let log = self.partition_mut(&partition.topic, partition.partition);
        log.expect("the partition exists")
    }

    fn node_mut(&mut self, node: BrokerId) -> &mut Node {
        self.nodes.get_mut(&node).expect("the node exists")
    }
}

pub(crate) fn is_legal_topic(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty()
        && name.len() <= TOPIC_LEN_MAX
        && name != "."
        && name != ".."
        && name.bytes().all(legal)
}
