//! [`FakeCluster`]: the face of it all.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use klamm_io::{Clock, ListenOptions, Listener, Net, NetError};
use klamm_primitives::{BrokerId, Offset, PartitionIndex, TopicPartition};
use klamm_wire::{ApiKey, Versions};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::fault::{Fault, RequestFacts, Rule};
use crate::model::{Acknowledgement, Model, NodeModel, SeenRequest};
use crate::node::accept;
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
}

impl Default for ClusterOptions {
    /// Topics are made with one partition; batches of up to 1 MiB, and everything is kept.
    fn default() -> Self {
        Self {
            auto_create_partitions: Some(1),
            batch_bytes_max: 1024 * 1024 + 12,
            keep_records: true,
            keep_requests: true,
        }
    }
}

/// Where a node listens.
#[derive(Debug, Clone)]
pub struct Place<N> {
    /// Its way to the network.
    pub net: N,
    /// The address; port 0 takes any.
    pub address: SocketAddr,
    /// The host that clients are told, if not the address.
    pub host: Option<String>,
}

impl<N> Place<N> {
    /// A node that clients find by its address.
    pub const fn new(net: N, address: SocketAddr) -> Self {
        Self {
            net,
            address,
            host: None,
        }
    }
}

/// A cluster of scripted brokers, with ids from 0 on. A clone is the same. Its tasks run on the
/// runtime in which it was started; they end with [`FakeCluster::stop`], or when the last clone is
/// dropped.
#[derive(Debug)]
pub struct FakeCluster<N: Net, C: Clock> {
    model: Arc<Mutex<Model>>,
    clock: C,
    places: Arc<Vec<Place<N>>>,
    /// Of the nodes that are up.
    lives: Arc<Mutex<HashMap<BrokerId, watch::Sender<bool>>>>,
}

impl<N: Net, C: Clock> Clone for FakeCluster<N, C> {
    fn clone(&self) -> Self {
        Self {
            model: self.model.clone(),
            clock: self.clock.clone(),
            places: self.places.clone(),
            lives: self.lives.clone(),
        }
    }
}

impl<N: Net, C: Clock> FakeCluster<N, C> {
    /// Starts a node at each place.
    ///
    /// # Errors
    /// If one cannot listen.
    pub fn start(
        clock: C,
        places: Vec<Place<N>>,
        options: ClusterOptions,
    ) -> Result<Self, NetError> {
        let mut cluster = Self {
            model: Arc::new(Mutex::new(Model::new(options))),
            clock,
            places: Arc::default(),
            lives: Arc::default(),
        };
        let mut bound = Vec::with_capacity(places.len());
        for (id, mut place) in (0..).zip(places) {
            let listener = place.net.bind(place.address, ListenOptions::default())?;
            place.address = listener.local_address();
            let host = place.host.clone();
            let node = NodeModel {
                host: host.unwrap_or_else(|| place.address.ip().to_string()),
                address: place.address,
                is_up: true,
                rack: None,
                versions: HashMap::new(),
                requests: 0,
            };
            let id = BrokerId::new(id);
            cluster.model.lock().nodes.insert(id, node);
            cluster.run(id, listener);
            bound.push(place);
        }
        cluster.places = Arc::new(bound);
        Ok(cluster)
    }

    fn run(&self, node: BrokerId, listener: N::Listener) {
        let (life, alive) = watch::channel(true);
        self.lives.lock().insert(node, life);
        let (model, clock) = (self.model.clone(), self.clock.clone());
        tokio::spawn(accept::<N, C>(listener, node, model, clock, alive));
    }

    /// Where a node listens.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn address(&self, node: impl Into<BrokerId>) -> SocketAddr {
        self.model.lock().nodes[&node.into()].address
    }

    /// All addresses, as `bootstrap.servers` has them.
    pub fn bootstrap(&self) -> String {
        let model = self.model.lock();
        let nodes = model.nodes.values();
        let addresses: Vec<String> = nodes.map(|node| node.address.to_string()).collect();
        addresses.join(",")
    }

    /// Makes a topic; its partitions are led by the nodes in turn.
    pub fn create_topic(&self, name: &str, partition_count: usize) {
        self.model.lock().create_topic(name, partition_count);
    }

    /// Deletes a topic and what was stored in it.
    pub fn delete_topic(&self, name: &str) {
        self.model.lock().topics.remove(name);
    }

    /// Lets clients see and write a topic no more.
    pub fn forbid_topic(&self, name: &str) {
        self.model.lock().unauthorized.insert(name.to_owned());
    }

    /// Another node leads a partition, or none does; its leader epoch rises.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn move_leader(&self, partition: &TopicPartition, leader: Option<BrokerId>) {
        self.with_partition(partition, |log| log.move_to(leader));
    }

    /// Who leads a partition.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn leader(&self, partition: &TopicPartition) -> Option<BrokerId> {
        self.with_partition(partition, |log| log.leader)
    }

    /// The leader forgets all idempotent producers of a partition, as it does with idle ones.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn forget_producers(&self, partition: &TopicPartition) {
        self.with_partition(partition, PartitionLog::forget_producers);
    }

    fn with_partition<T>(
        &self,
        partition: &TopicPartition,
        act: impl FnOnce(&mut PartitionLog) -> T,
    ) -> T {
        let mut model = self.model.lock();
        let log = model.partition(&partition.topic, partition.partition);
        act(log.expect("the partition exists"))
    }

    /// A node goes down: it listens no more, and its connections are closed. What it leads stays
    /// without a leader until it is moved.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn stop_node(&self, node: impl Into<BrokerId>) {
        let node = node.into();
        self.model
            .lock()
            .nodes
            .get_mut(&node)
            .expect("it exists")
            .is_up = false;
        if let Some(life) = self.lives.lock().remove(&node) {
            life.send_replace(false);
        }
    }

    /// A node comes back, at the same address.
    ///
    /// # Errors
    /// If it cannot listen there.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn start_node(&self, node: impl Into<BrokerId>) -> Result<(), NetError> {
        let node = node.into();
        let at = usize::try_from(node.get()).expect("it exists");
        let place = &self.places[at];
        let listener = place.net.bind(place.address, ListenOptions::default())?;
        self.model
            .lock()
            .nodes
            .get_mut(&node)
            .expect("it exists")
            .is_up = true;
        self.run(node, listener);
        Ok(())
    }

    /// Closes all connections of a node, which goes on to listen.
    ///
    /// # Errors
    /// If it cannot listen again.
    ///
    /// # Panics
    /// If there is no such node.
    pub async fn cut_connections(&self, node: impl Into<BrokerId>) -> Result<(), NetError> {
        let node = node.into();
        self.stop_node(node);
        // The task that listens has to let go of the address first.
        let mut tries = 0;
        loop {
            tokio::task::yield_now().await;
            match self.start_node(node) {
                Err(_) if tries < 1_000 => tries += 1,
                started => return started,
            }
        }
    }

    /// Ends all nodes.
    pub fn stop(&self) {
        for (_, life) in self.lives.lock().drain() {
            life.send_replace(false);
        }
    }

    /// A node takes these versions of a request, or none of it, whatever a current broker takes.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn set_versions(&self, node: impl Into<BrokerId>, key: ApiKey, versions: Option<Versions>) {
        let mut model = self.model.lock();
        let node = model.nodes.get_mut(&node.into()).expect("it exists");
        node.versions.insert(key, versions);
    }

    /// Adds a rule by which something goes wrong.
    pub fn add_rule(&self, rule: Rule) {
        self.model.lock().script.add(rule);
    }

    /// Lets a function choose what goes wrong with each request, beside the rules: for simulation
    /// by a seed.
    pub fn set_chance(&self, chance: impl FnMut(&RequestFacts) -> Vec<Fault> + Send + 'static) {
        self.model.lock().script.set_chance(Box::new(chance));
    }

    /// Nothing goes wrong any more.
    pub fn clear_faults(&self) {
        self.model.lock().script.clear();
    }

    /// The requests that were seen, in the order in which they came.
    pub fn seen(&self) -> Vec<SeenRequest> {
        self.model.lock().seen.clone()
    }

    /// How many requests of a kind were seen.
    pub fn count(&self, key: ApiKey) -> usize {
        let model = self.model.lock();
        model.seen.iter().filter(|seen| seen.key == key).count()
    }

    /// The batches that were acknowledged, in that order; those of `acks` 0 when they were
    /// stored.
    pub fn acknowledged(&self) -> Vec<Acknowledgement> {
        self.model.lock().acknowledged.clone()
    }

    /// The batches of a partition.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn batches(&self, partition: &TopicPartition) -> Vec<StoredBatch> {
        self.with_partition(partition, |log| log.batches.clone())
    }

    /// The records of a partition, by offset.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn records(&self, partition: &TopicPartition) -> Vec<StoredRecord> {
        let mut codecs = std::mem::take(&mut self.model.lock().codecs);
        self.with_partition(partition, |log| log.records(&mut codecs))
    }

    /// The log end offset of a partition.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn log_end_offset(&self, partition: &TopicPartition) -> Offset {
        self.with_partition(partition, |log| log.log_end_offset)
    }

    /// All partitions.
    pub fn partitions(&self) -> Vec<TopicPartition> {
        let model = self.model.lock();
        let mut partitions = Vec::new();
        for (name, topic) in &model.topics {
            let indices = (0..).take(topic.partitions.len()).map(PartitionIndex::new);
            partitions.extend(indices.map(|index| TopicPartition::new(name.clone(), index)));
        }
        partitions
    }

    /// Records, and bytes of their batches, that were stored.
    pub fn stored(&self) -> (u64, u64) {
        self.model.lock().stored
    }

    /// Connections that are open.
    pub fn open_connections(&self) -> u64 {
        self.model.lock().open_connections
    }

    /// Connections that were ever accepted.
    pub fn connections(&self) -> u64 {
        self.model.lock().connections
    }
}
