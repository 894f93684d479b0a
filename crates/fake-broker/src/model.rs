//! [`Model`]: what all nodes of the cluster know together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;

use klamm_primitives::{
    BrokerId, Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicId, TopicPartition, Uuid,
};
use klamm_records::Codecs;
use klamm_wire::{ApiKey, Versions};

use crate::cluster::ClusterOptions;
use crate::fault::Script;
use crate::partition::PartitionLog;

/// A success that was written to a producer as a whole.
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
    /// Counts the connections of the cluster.
    pub connection: u64,
    /// Which request it is.
    pub key: ApiKey,
    /// Its version.
    pub version: i16,
    /// What the client calls itself.
    pub client_id: Option<String>,
}

/// A topic.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) id: TopicId,
    pub(crate) partitions: Vec<PartitionLog>,
}

/// A node.
#[derive(Debug)]
pub(crate) struct NodeModel {
    /// What clients are told.
    pub(crate) host: String,
    pub(crate) address: SocketAddr,
    pub(crate) is_up: bool,
    pub(crate) rack: Option<String>,
    /// In place of what a current broker takes; `None`: not at all.
    pub(crate) versions: HashMap<ApiKey, Option<Versions>>,
    pub(crate) requests: u64,
}

/// What all nodes of the cluster know together; behind one lock, which is held for one request.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) options: ClusterOptions,
    pub(crate) nodes: BTreeMap<BrokerId, NodeModel>,
    pub(crate) topics: BTreeMap<Arc<str>, Topic>,
    pub(crate) unauthorized: BTreeSet<String>,
    pub(crate) script: Script,
    pub(crate) seen: Vec<SeenRequest>,
    pub(crate) acknowledged: Vec<Acknowledgement>,
    /// The current epoch of each producer id that was given out.
    pub(crate) producers: HashMap<ProducerId, ProducerEpoch>,
    /// Records and bytes of them that were stored.
    pub(crate) stored: (u64, u64),
    pub(crate) connections: u64,
    pub(crate) open_connections: u64,
    pub(crate) codecs: Codecs,
    topics_made: u64,
}

/// What a topic's name may be made of, and how long it may be.
const TOPIC_LEN_MAX: usize = 249;

impl Model {
    pub(crate) fn new(options: ClusterOptions) -> Self {
        Self {
            options,
            nodes: BTreeMap::new(),
            topics: BTreeMap::new(),
            unauthorized: BTreeSet::new(),
            script: Script::default(),
            seen: Vec::new(),
            acknowledged: Vec::new(),
            producers: HashMap::new(),
            stored: (0, 0),
            connections: 0,
            open_connections: 0,
            codecs: Codecs::default(),
            topics_made: 0,
        }
    }

    /// Makes a topic; its partitions are led by the nodes in turn.
    pub(crate) fn create_topic(&mut self, name: &str, partition_count: usize) -> &mut Topic {
        self.topics_made += 1;
        let id = Uuid::from_random(u128::from(self.topics_made) << 64);
        let leaders: Vec<BrokerId> = self.nodes.keys().copied().collect();
        let partition = |at: usize| PartitionLog::new(leaders[at % leaders.len()]);
        let topic = Topic {
            id: TopicId::from(id),
            partitions: (0..partition_count).map(partition).collect(),
        };
        self.topics.insert(name.into(), topic);
        self.topics.get_mut(name).expect("it was just made")
    }

    pub(crate) fn partition(
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
}

pub(crate) fn is_legal_topic(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty()
        && name.len() <= TOPIC_LEN_MAX
        && name != "."
        && name != ".."
        && name.bytes().all(legal)
}
