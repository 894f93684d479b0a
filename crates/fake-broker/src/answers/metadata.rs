//! Metadata: nodes that are up, and the topics that are asked for.

use std::sync::Arc;

use klamm_primitives::{BrokerId, PartitionIndex};
use klamm_wire::ErrorCode;
use klamm_wire::messages::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition,
    MetadataResponseTopic,
};

use super::{error_before, throttle_time_ms};
use crate::fault::Chosen;
use crate::model::{ClusterModel, is_legal_topic};

impl ClusterModel {
    pub(super) fn metadata(
        &mut self,
        request: &MetadataRequest,
        faults: &[Chosen],
    ) -> MetadataResponse {
        let names: Vec<Arc<str>> = match &request.topics {
            None => self.topics.keys().cloned().collect(),
            Some(topics) => {
                let names = topics.iter().filter_map(|topic| topic.name.as_deref());
                names.map(Arc::from).collect()
            }
        };
        let error = error_before(faults);
        let may_create = request.allow_auto_topic_creation;
        let topics = names.iter().map(|name| match error {
            Some(code) => failed(name, code),
            None => self.describe(name, may_create),
        });
        let topics = topics.collect();
        let up = self.nodes.iter().filter(|(_, node)| node.is_up);
        let brokers: Vec<_> = up
            .map(|(id, node)| MetadataResponseBroker {
                node_id: *id,
                host: node.host.as_str().into(),
                port: node.port.into(),
                ..MetadataResponseBroker::default()
            })
            .collect();
        MetadataResponse {
            throttle_time_ms: throttle_time_ms(faults),
            controller_id: brokers
                .first()
                .map_or(BrokerId::NONE, |first| first.node_id),
            brokers,
            cluster_id: Some("fake-cluster".into()),
            topics,
            ..MetadataResponse::default()
        }
    }

    fn describe(&mut self, name: &Arc<str>, may_create: bool) -> MetadataResponseTopic {
        if !is_legal_topic(name) {
            return failed(name, ErrorCode::INVALID_TOPIC_EXCEPTION);
        }
        if self.unauthorized.contains(&**name) {
            return failed(name, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
        }
        if !self.topics.contains_key(name) {
            match self.options.auto_create_partitions {
                Some(count) if may_create => {
                    self.create_topic(name, count);
                }
                _ => return failed(name, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            }
        }
        let replicas: Vec<BrokerId> = self.nodes.keys().copied().collect();
        let is_up = |id: &BrokerId| self.nodes.get(id).is_some_and(|node| node.is_up);
        let offline = replicas.iter().copied().filter(|id| !is_up(id));
        let offline: Vec<BrokerId> = offline.collect();
        let topic = &self.topics[name];
        let partitions = (0..).zip(&topic.partitions).map(|(index, partition)| {
            let leader = partition.leader.filter(is_up);
            MetadataResponsePartition {
                error_code: match leader {
                    Some(_) => ErrorCode::NONE,
                    None => ErrorCode::LEADER_NOT_AVAILABLE,
                },
                partition_index: PartitionIndex::new(index),
                leader_id: leader.unwrap_or(BrokerId::NONE),
                leader_epoch: partition.leader_epoch,
                replica_nodes: replicas.clone().into(),
                isr_nodes: replicas.clone().into(),
                offline_replicas: offline.clone().into(),
                ..MetadataResponsePartition::default()
            }
        });
        MetadataResponseTopic {
            name: Some((&**name).into()),
            topic_id: topic.id,
            partitions: partitions.collect(),
            ..MetadataResponseTopic::default()
        }
    }
}

fn failed(name: &Arc<str>, error_code: ErrorCode) -> MetadataResponseTopic {
    MetadataResponseTopic {
        error_code,
        name: Some((&**name).into()),
        ..MetadataResponseTopic::default()
    }
}
