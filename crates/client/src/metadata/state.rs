//! [`State`]: everything of [`Metadata`](super::Metadata) that is behind its lock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_primitives::{LeaderEpoch, PartitionIndex, TopicPartition};

use super::refresh::Refresh;
use super::{LeaderChange, MetadataError, TopicError};
use crate::answer::Failure;
use crate::bootstrap::BootstrapAddress;
use crate::cluster::{Cluster, ClusterParts, LastUse, Partition, Topic};
use crate::config::ClientConfig;
use crate::node::Node;
use crate::trouble::Trouble;

#[derive(Debug)]
pub(super) struct State {
    cluster: Arc<Cluster>,
    pub(super) refresh: Refresh,
    /// The topics that are asked for, each with its last use.
    pub(super) topics: HashMap<Arc<str>, Arc<LastUse>>,
    /// Those of them that no answer has named yet; by name, so that requests are alike.
    pub(super) new_topics: BTreeSet<Arc<str>>,
    /// The highest leader epoch that was seen, by partition of a tracked topic.
    pub(super) epochs: HashMap<Arc<str>, BTreeMap<PartitionIndex, LeaderEpoch>>,
    /// Errors of the last answer, until they are raised.
    pub(super) topic_errors: Vec<TopicError>,
    pub(super) fatal: Option<Failure>,
    /// Why a connection was lost or not made, since the last answer.
    pub(super) trouble: Option<Arc<Trouble>>,
    pub(super) closed: bool,
    pub(super) max_idle: Option<Duration>,
    pub(super) allow_auto_topic_creation: bool,
}

impl State {
    pub(super) fn new(config: &ClientConfig, seed: u64, now: Instant) -> Self {
        Self {
            cluster: Arc::default(),
            refresh: Refresh::new(config, seed, now),
            topics: HashMap::new(),
            new_topics: BTreeSet::new(),
            epochs: HashMap::new(),
            topic_errors: Vec::new(),
            fatal: None,
            trouble: None,
            closed: false,
            max_idle: config.metadata_max_idle,
            allow_auto_topic_creation: config.allow_auto_topic_creation,
        }
    }

    pub(super) fn cluster(&self) -> Arc<Cluster> {
        self.cluster.clone()
    }

    /// Puts another snapshot in place.
    pub(super) fn replace(&mut self, parts: ClusterParts, version: u64) {
        self.cluster = Arc::new(parts.build(version));
    }

    /// The nodes are those of the list; epochs are forgotten. The topics stay known, so that
    /// records for them can still be taken, but have no leaders.
    pub(super) fn bootstrap(&mut self, addresses: &[BootstrapAddress]) {
        let nodes = addresses
            .iter()
            .enumerate()
            .map(|(index, address)| address.node(index))
            .map(|node| (node.id, node));
        let mut parts = ClusterParts {
            is_bootstrap: true,
            nodes: nodes.collect(),
            cluster_id: self.cluster.cluster_id().cloned(),
            topics: self.cluster.to_parts().topics,
            ..ClusterParts::default()
        };
        parts.drop_unknown_leaders();
        self.epochs.clear();
        self.replace(parts, self.cluster.version());
        self.refresh.restart();
    }

    pub(super) fn add_topic(&mut self, topic: &str, now: Instant) -> bool {
        if let Some(last_use) = self.topics.get(topic) {
            last_use.touch(now);
            return false;
        }
        let name: Arc<str> = topic.into();
        self.topics
            .insert(name.clone(), Arc::new(LastUse::new(now)));
        self.new_topics.insert(name);
        self.refresh.topic_added();
        true
    }

    pub(super) fn request_update(&mut self) -> u64 {
        self.refresh.request_full();
        self.cluster.version()
    }

    pub(super) fn request_update_for(&mut self, topic: &str) -> u64 {
        if self.new_topics.contains(topic) {
            self.refresh.request_partial();
        } else {
            self.refresh.request_full();
        }
        self.cluster.version()
    }

    pub(super) fn update_requested(&self) -> bool {
        self.refresh.is_requested()
    }

    pub(super) fn due_at(&self, now: Instant) -> Instant {
        self.refresh.due_at(now)
    }

    pub(super) fn failed(&mut self, now: Instant) {
        self.refresh.failed(now);
    }

    pub(super) fn take_error(&mut self, topic: Option<&str>) -> Option<MetadataError> {
        let errors = std::mem::take(&mut self.topic_errors);
        if let Some(failure) = self.fatal.take() {
            return Some(failure.into());
        }
        let invalid_first = |error: &TopicError| matches!(error, TopicError::Unauthorized { .. });
        let meant = |error: &TopicError| topic.is_none_or(|topic| **error.topic() == *topic);
        let mut errors: Vec<TopicError> = errors.into_iter().filter(meant).collect();
        errors.sort_by_key(invalid_first);
        errors.into_iter().next().map(MetadataError::from)
    }

    pub(super) fn last_seen_epoch(&self, partition: &TopicPartition) -> Option<LeaderEpoch> {
        let epochs = self.epochs.get(&partition.topic)?;
        epochs.get(&partition.partition).copied()
    }

    pub(super) fn learn_epoch(&mut self, partition: &TopicPartition, seen: LeaderEpoch) -> bool {
        let epochs = self.epochs.get_mut(&partition.topic);
        match epochs.and_then(|epochs| epochs.get_mut(&partition.partition)) {
            Some(known) if *known < seen => {
                *known = seen;
                self.refresh.request_full();
                true
            }
            _ => false,
        }
    }

    pub(super) fn learn_leaders(
        &mut self,
        changes: &[LeaderChange],
        nodes: &[Node],
    ) -> Vec<TopicPartition> {
        let mut parts = self.cluster.to_parts();
        let mut changed = Vec::new();
        for change in changes {
            let TopicPartition { topic, partition } = &change.partition;
            let complete = change.leader.get() >= 0 && change.leader_epoch.get() >= 0;
            let newer = self
                .last_seen_epoch(&change.partition)
                .is_none_or(|known| known < change.leader_epoch);
            let known = parts.topics.get(topic).filter(|known| {
                let partition = known.partition(*partition);
                partition.is_some_and(|known| known.leader_epoch < Some(change.leader_epoch))
            });
            let address = nodes.iter().find(|node| node.id == change.leader);
            let address = address.or_else(|| parts.nodes.get(&change.leader)).cloned();
            let (true, true, Some(known), Some(node)) = (complete, newer, known, address) else {
                continue;
            };
            let moved = known.partitions().iter().map(|old| {
                if old.index == *partition {
                    Partition {
                        leader: Some(change.leader),
                        leader_epoch: Some(change.leader_epoch),
                        ..old.clone()
                    }
                } else {
                    old.clone()
                }
            });
            let topic = Topic::new(
                known.name().clone(),
                known.id(),
                known.is_internal(),
                moved.collect(),
                known.last_use().clone(),
            );
            let name = topic.name().clone();
            parts.topics.insert(name.clone(), Arc::new(topic));
            parts.nodes.insert(node.id, node);
            let epochs = self.epochs.entry(name).or_default();
            epochs.insert(*partition, change.leader_epoch);
            changed.push(change.partition.clone());
        }
        if !changed.is_empty() {
            self.replace(parts, self.cluster.version());
        }
        changed
    }
}
