//! Answers become snapshots; leader epochs never go back. (P6.7)

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use klamm_primitives::{BrokerId, TopicPartition};
use klamm_wire::ErrorCode;
use klamm_wire::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};
use tracing::{debug, warn};

use super::refresh::Asked;
use super::state::State;
use super::{MetadataError, TopicError};
use crate::cluster::{Cluster, ClusterParts, Partition, Topic};
use crate::node::{Node, NodeId};

/// From this version on brokers give the leader epochs of their own knowledge; before, they could
/// be those of another moment.
const RELIABLE_EPOCHS_SINCE: i16 = 9;

impl State {
    /// What is to be asked now.
    pub(super) fn next_request(&self, now: Instant) -> (MetadataRequest, Asked) {
        let asked = self.refresh.ask(now);
        let mut names: Vec<&Arc<str>> = if asked.is_partial {
            self.new_topics.iter().collect()
        } else {
            self.topics.keys().collect()
        };
        names.sort();
        let topics = names.into_iter().map(|name| MetadataRequestTopic {
            name: Some(name.as_ref().into()),
            ..MetadataRequestTopic::default()
        });
        let request = MetadataRequest {
            // An empty list asks for the brokers alone, from version 1 on.
            topics: Some(topics.collect()),
            allow_auto_topic_creation: self.allow_auto_topic_creation,
            ..MetadataRequest::default()
        };
        (request, asked)
    }

    /// Takes an answer in: a full one replaces everything, a partial one the topics that it
    /// names.
    pub(super) fn apply(
        &mut self,
        response: &MetadataResponse,
        response_version: i16,
        asked: Asked,
        now: Instant,
    ) -> Result<(), MetadataError> {
        if self.closed {
            return Err(MetadataError::Closed);
        }
        let before = self.cluster();
        self.forget_idle_topics(response, now);
        self.fatal = None;
        self.trouble = None;
        self.topic_errors.clear();

        let mut parts = ClusterParts {
            is_bootstrap: false,
            cluster_id: response.cluster_id.as_deref().map(Arc::from),
            nodes: nodes_of(&response.brokers),
            ..ClusterParts::default()
        };
        parts.controller = known_node(response.controller_id, &parts.nodes);
        if asked.is_partial {
            let kept = before.to_parts();
            (parts.topics, parts.topic_errors) = (kept.topics, kept.topic_errors);
            let is_tracked = |name: &Arc<str>| self.topics.contains_key(name);
            parts.topics.retain(|name, _| is_tracked(name));
            parts.topic_errors.retain(|name, _| is_tracked(name));
        }
        let mut taken = Taken {
            epochs_count: response_version >= RELIABLE_EPOCHS_SINCE,
            news: before.is_bootstrap(),
            stale: false,
        };
        for topic in &response.topics {
            self.take_topic(topic, &before, &mut parts, &mut taken);
        }
        parts.drop_unknown_leaders();
        let tracked = &self.topics;
        self.epochs.retain(|name, _| tracked.contains_key(name));
        for error in &self.topic_errors {
            match error {
                TopicError::Invalid { topic } => parts.invalid_topics.push(topic.clone()),
                TopicError::Unauthorized { topic } => {
                    parts.unauthorized_topics.push(topic.clone());
                }
            }
        }
        self.replace(parts, before.version() + 1);
        let some_wait = !self.new_topics.is_empty();
        self.refresh.succeeded(asked, taken.news, some_wait, now);
        if taken.stale {
            self.refresh.request_full();
        }
        Ok(())
    }

    /// Drops tracked topics that nobody has used for long. One that is still waiting for its
    /// first metadata stays.
    fn forget_idle_topics(&mut self, response: &MetadataResponse, now: Instant) {
        if let Some(max_idle) = self.max_idle {
            let new = &self.new_topics;
            self.topics.retain(|name, last_use| {
                let keep =
                    new.contains(name) || now.saturating_duration_since(last_use.at()) < max_idle;
                if !keep {
                    debug!(topic = %name, "topic has not been used for long, no longer asked for");
                }
                keep
            });
        }
        for name in response
            .topics
            .iter()
            .filter_map(|topic| topic.name.as_ref())
        {
            self.new_topics.remove(&**name);
        }
    }

    fn take_topic(
        &mut self,
        topic: &MetadataResponseTopic,
        before: &Cluster,
        parts: &mut ClusterParts,
        taken: &mut Taken,
    ) {
        // Without a name it was asked for by id, which this client never does.
        let Some(name) = topic.name.as_deref() else {
            return;
        };
        let Some((name, last_use)) = self.topics.get_key_value(name) else {
            return;
        };
        let (name, last_use) = (name.clone(), last_use.clone());
        if !topic.error_code.is_none() {
            parts.topics.remove(&name);
            parts.topic_errors.insert(name.clone(), topic.error_code);
            self.take_topic_error(&name, topic.error_code, taken);
            return;
        }
        parts.topic_errors.remove(&name);
        let former = before.topic(&name);
        // An id that differs says that the topic was deleted and made anew: its epochs start
        // again.
        let made_anew = former.is_some_and(|former| {
            !former.id().is_zero() && !topic.topic_id.is_zero() && former.id() != topic.topic_id
        });
        if made_anew {
            self.epochs.remove(&name);
        }
        let former = former.filter(|_| !made_anew);
        taken.news |= former.is_none_or(|former| former.id() != topic.topic_id);
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            let known = former.and_then(|former| former.partition(partition.partition_index));
            if let Some(partition) =
                self.take_partition(&name, partition, known, &parts.nodes, taken)
            {
                taken.news |= known != Some(&partition);
                partitions.push(partition);
            }
        }
        let topic = Topic::new(
            name.clone(),
            topic.topic_id,
            topic.is_internal,
            partitions,
            last_use,
        );
        parts.topics.insert(name, Arc::new(topic));
    }

    fn take_topic_error(&mut self, name: &Arc<str>, code: ErrorCode, taken: &mut Taken) {
        debug!(topic = %name, %code, "topic has an error in its metadata");
        match code {
            ErrorCode::INVALID_TOPIC_EXCEPTION => {
                let topic = name.clone();
                self.topic_errors.push(TopicError::Invalid { topic });
            }
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
                let topic = name.clone();
                self.topic_errors.push(TopicError::Unauthorized { topic });
            }
            code if code.is_retriable() => taken.stale = true,
            code => warn!(topic = %name, %code, "metadata of topic cannot be had"),
        }
    }

    /// The entry, or the one that is known if this is older.
    fn take_partition(
        &mut self,
        name: &Arc<str>,
        entry: &MetadataResponsePartition,
        known: Option<&Partition>,
        nodes: &BTreeMap<NodeId, Node>,
        taken: &mut Taken,
    ) -> Option<Partition> {
        taken.stale |= entry.error_code.invalidates_metadata();
        let index = entry.partition_index;
        let epoch = Some(entry.leader_epoch).filter(|epoch| taken.epochs_count && epoch.get() >= 0);
        let highest = self
            .epochs
            .get(name)
            .and_then(|epochs| epochs.get(&index).copied());
        match (epoch, highest) {
            (Some(epoch), Some(highest)) if epoch < highest => {
                debug!(
                    partition = %TopicPartition::new(name.clone(), index),
                    %epoch,
                    %highest,
                    "older metadata of partition ignored"
                );
                return known.cloned();
            }
            (Some(epoch), _) => {
                let epochs = self.epochs.entry(name.clone()).or_default();
                epochs.insert(index, epoch);
            }
            (None, Some(_)) => {
                if let Some(epochs) = self.epochs.get_mut(name) {
                    epochs.remove(&index);
                }
            }
            (None, None) => {}
        }
        let ids = |brokers: &[BrokerId]| brokers.iter().copied().map(NodeId::from).collect();
        Some(Partition {
            index,
            leader: known_node(entry.leader_id, nodes),
            leader_epoch: epoch,
            replicas: ids(&entry.replica_nodes),
            isr: ids(&entry.isr_nodes),
            offline_replicas: ids(&entry.offline_replicas),
        })
    }
}

/// What is noted while an answer is taken in.
struct Taken {
    /// Whether leader epochs of this version count.
    epochs_count: bool,
    /// Something is not as it was.
    news: bool,
    /// Something asks for another refresh.
    stale: bool,
}

fn nodes_of(brokers: &[MetadataResponseBroker]) -> BTreeMap<NodeId, Node> {
    // Racks and hosts repeat; the nodes own theirs, so that no frame is kept alive.
    let mut racks: HashMap<&str, Arc<str>> = HashMap::new();
    let mut nodes = BTreeMap::new();
    for broker in brokers {
        let Ok(port) = u16::try_from(broker.port) else {
            warn!(broker = %broker.node_id, port = broker.port, "broker without a usable port");
            continue;
        };
        let rack = broker.rack.as_deref().map(|rack| {
            let known = racks.entry(rack).or_insert_with(|| rack.into());
            known.clone()
        });
        let id = NodeId::from(broker.node_id);
        let host = (&*broker.host).into();
        nodes.insert(
            id,
            Node {
                id,
                host,
                port,
                rack,
            },
        );
    }
    nodes
}

/// The node with this id, if its address is known.
fn known_node(id: BrokerId, nodes: &BTreeMap<NodeId, Node>) -> Option<NodeId> {
    Some(NodeId::from(id)).filter(|id| nodes.contains_key(id))
}
