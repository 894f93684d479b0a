//! An image as the records that make it: what a snapshot holds. (CO-009)

use std::sync::Arc;

use bytestring::ByteString;
use klamm_primitives::{BrokerId, PartitionIndex, TopicId};
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use klamm_wire::metadata::config::ConfigRecord;
use klamm_wire::metadata::feature_level::FeatureLevelRecord;
use klamm_wire::metadata::partition::PartitionRecord;
use klamm_wire::metadata::producer_ids::ProducerIdsRecord;
use klamm_wire::metadata::register_broker::{BrokerEndpoint, BrokerFeature, RegisterBrokerRecord};
use klamm_wire::metadata::topic::{RemoveTopicRecord, TopicRecord};

use super::{BrokerImage, MetadataImage, PartitionImage};

impl MetadataImage {
    /// Records that make this image by [`MetadataImage::from_records`]. The levels of the
    /// features come first: a reader must know `metadata.version` to read the rest. A topic that is
    /// remembered as deleted has the record of its removal alone.
    pub fn to_records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for (name, level) in self.features() {
            records.push(Record::from(FeatureLevelRecord {
                name: text(name),
                feature_level: level,
                ..FeatureLevelRecord::default()
            }));
        }
        records.extend(self.brokers().map(|broker| broker.to_record().into()));
        records.extend(self.deleted_topics().map(|topic_id| {
            Record::from(RemoveTopicRecord {
                topic_id,
                ..RemoveTopicRecord::default()
            })
        }));
        for topic in self.topics() {
            records.push(Record::from(TopicRecord {
                name: text(&topic.name),
                topic_id: topic.id,
                ..TopicRecord::default()
            }));
            for (index, partition) in topic.indexed() {
                records.push(partition.to_record(topic.id, index).into());
            }
        }
        for (resource, settings) in &self.settings {
            for (name, value) in settings.iter() {
                records.push(Record::from(ConfigRecord {
                    resource_type: resource.kind(),
                    resource_name: text(&resource.name()),
                    name: text(name),
                    value: Some(text(value)),
                    ..ConfigRecord::default()
                }));
            }
        }
        if self.next_producer_id.get() > 0 {
            records.push(Record::from(ProducerIdsRecord {
                broker_id: BrokerId::NONE,
                next_producer_id: self.next_producer_id,
                ..ProducerIdsRecord::default()
            }));
        }
        records
    }
}

impl BrokerImage {
    fn to_record(&self) -> RegisterBrokerRecord {
        let end_points = self.endpoints.iter().map(|endpoint| BrokerEndpoint {
            name: text(&endpoint.listener),
            host: text(&endpoint.host),
            port: endpoint.port,
            security_protocol: endpoint.security_protocol.number(),
            ..BrokerEndpoint::default()
        });
        let features = self.features.iter().map(|feature| BrokerFeature {
            name: text(&feature.name),
            min_supported_version: feature.level_min,
            max_supported_version: feature.level_max,
            ..BrokerFeature::default()
        });
        RegisterBrokerRecord {
            broker_id: self.id,
            incarnation_id: self.incarnation_id,
            broker_epoch: self.epoch,
            end_points: end_points.collect(),
            features: features.collect(),
            rack: self.rack.as_ref().map(text),
            fenced: self.is_fenced,
            in_controlled_shutdown: self.in_controlled_shutdown,
            log_dirs: self.log_dirs.clone(),
            cordoned_log_dirs: self.cordoned_log_dirs.clone(),
            ..RegisterBrokerRecord::default()
        }
    }
}

impl PartitionImage {
    fn to_record(&self, topic: TopicId, index: PartitionIndex) -> PartitionRecord {
        PartitionRecord {
            partition_id: index,
            topic_id: topic,
            replicas: self.replicas.clone(),
            isr: self.isr.clone(),
            removing_replicas: self.removing.clone(),
            adding_replicas: self.adding.clone(),
            leader: self.leader.unwrap_or(BrokerId::NONE),
            leader_recovery_state: self.recovery.number(),
            leader_epoch: self.leader_epoch,
            partition_epoch: self.partition_epoch,
            directories: self.directories.clone(),
            ..PartitionRecord::default()
        }
    }
}

fn text(text: &Arc<str>) -> ByteString {
    (&**text).into()
}
