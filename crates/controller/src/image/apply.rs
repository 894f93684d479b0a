//! From one image to the next: what each record of the metadata log means.

use std::sync::Arc;

use bytestring::ByteString;
use klamm_primitives::{BrokerEpoch, BrokerId, Offset, PartitionIndex, ProducerId, TopicId};
use klamm_wire::SecurityProtocol;
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use klamm_wire::metadata::broker_registration_change::BrokerRegistrationChangeRecord;
use klamm_wire::metadata::config::ConfigRecord;
use klamm_wire::metadata::feature_level::FeatureLevelRecord;
use klamm_wire::metadata::partition::{PartitionChangeRecord, PartitionRecord};
use klamm_wire::metadata::producer_ids::ProducerIdsRecord;
use klamm_wire::metadata::register_broker::{RegisterBrokerRecord, UnregisterBrokerRecord};
use klamm_wire::metadata::topic::{RemoveTopicRecord, TopicRecord};
use thiserror::Error;

use super::{
    BrokerImage, ConfigResource, DELETED_TOPICS_MAX, Endpoint, FeatureRange, MetadataImage,
    PartitionImage, Recovery, Settings, TopicImage,
};

/// How a [`PartitionChangeRecord`] writes "the leader stays".
const SAME_LEADER: BrokerId = BrokerId::new(-2);

/// A record does not fit what came before it. The log is damaged, or written by a release that
/// knows more: nothing behind it can be trusted. (CO-006)
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ApplyError {
    /// A topic of this name, or with this id, exists.
    #[error("topic {name} with id {id} exists already, by its name or its id")]
    TopicExists {
        /// The name.
        name: Arc<str>,
        /// The id.
        id: TopicId,
    },
    /// No topic has this id.
    #[error("there is no topic with id {id}")]
    UnknownTopic {
        /// The id.
        id: TopicId,
    },
    /// The topic has no such partition, nor is it the next one.
    #[error("topic {topic} has no partition {partition}")]
    UnknownPartition {
        /// The topic's id.
        topic: TopicId,
        /// The index.
        partition: PartitionIndex,
    },
    /// The broker is not registered, or under another epoch.
    #[error("broker {id} is not registered with epoch {epoch}")]
    UnknownBroker {
        /// The broker.
        id: BrokerId,
        /// The epoch that the record names.
        epoch: BrokerEpoch,
    },
    /// A field has a value that it cannot have.
    #[error("{record} has no meaning with {value} in its field {field}")]
    Value {
        /// The record.
        record: &'static str,
        /// The field.
        field: &'static str,
        /// The value.
        value: i64,
    },
    /// A setting of a kind of resource that has none here.
    #[error("kind {kind} with name `{name}` is no resource with settings")]
    UnknownResource {
        /// The kind.
        kind: i8,
        /// The name.
        name: Arc<str>,
    },
    /// Records of this type are not understood; passing over them might lose a change that counts.
    #[error("{record} is not understood")]
    Unsupported {
        /// The record.
        record: &'static str,
    },
}

impl MetadataImage {
    /// The image after these records, which all stand at `offset` of the metadata log.
    ///
    /// Pure: `self` stays as it is. A registration without a broker epoch gets the offset for one.
    ///
    /// # Errors
    /// [`ApplyError`] at the first record that does not fit.
    pub fn apply(&self, records: &[Record], offset: Offset) -> Result<Self, ApplyError> {
        let mut next = self.clone();
        next.offset = offset;
        for record in records {
            next.replay(record, offset)?;
        }
        Ok(next)
    }

    /// The image that these records make by themselves, as [`MetadataImage::to_records`] has put
    /// them together.
    ///
    /// # Errors
    /// [`ApplyError`] at the first record that does not fit.
    pub fn from_records(
        cluster_id: impl Into<Arc<str>>,
        records: &[Record],
        offset: Offset,
    ) -> Result<Self, ApplyError> {
        let mut image = Self::new(cluster_id);
        image.offset = offset;
        for record in records {
            match record {
                // Its creation is not among them: only that it was deleted is still known.
                Record::RemoveTopicRecord(record) => image.note_deleted(record.topic_id),
                record => image.replay(record, offset)?,
            }
        }
        Ok(image)
    }

    fn replay(&mut self, record: &Record, offset: Offset) -> Result<(), ApplyError> {
        match record {
            Record::RegisterBrokerRecord(record) => self.register_broker(record, offset),
            Record::UnregisterBrokerRecord(record) => self.unregister_broker(record),
            Record::BrokerRegistrationChangeRecord(record) => self.change_broker(record),
            Record::FenceBrokerRecord(record) => {
                self.broker_mut(record.id, record.epoch)?.is_fenced = true;
                Ok(())
            }
            Record::UnfenceBrokerRecord(record) => {
                self.broker_mut(record.id, record.epoch)?.is_fenced = false;
                Ok(())
            }
            Record::TopicRecord(record) => self.create_topic(record),
            Record::RemoveTopicRecord(record) => self.remove_topic(record),
            Record::PartitionRecord(record) => self.put_partition(record),
            Record::PartitionChangeRecord(record) => self.change_partition(record),
            Record::ConfigRecord(record) => self.configure(record),
            Record::FeatureLevelRecord(record) => {
                self.set_feature(record);
                Ok(())
            }
            Record::ProducerIdsRecord(record) => self.hand_out_producer_ids(record),
            // Eligible leader replicas are not kept, so there are none to forget.
            Record::NoOpRecord(_) | Record::ClearElrRecord(_) => Ok(()),
            Record::DelegationTokenRecord(_)
            | Record::UserScramCredentialRecord(_)
            | Record::ClientQuotaRecord(_)
            | Record::AccessControlEntryRecord(_)
            | Record::RemoveAccessControlEntryRecord(_)
            | Record::ZkMigrationStateRecord(_)
            | Record::RemoveUserScramCredentialRecord(_)
            | Record::BeginTransactionRecord(_)
            | Record::EndTransactionRecord(_)
            | Record::AbortTransactionRecord(_)
            | Record::RemoveDelegationTokenRecord(_)
            | Record::RegisterControllerRecord(_)
            | Record::UnregisterControllerRecord(_) => Err(ApplyError::Unsupported {
                record: record.name(),
            }),
        }
    }

    fn register_broker(
        &mut self,
        record: &RegisterBrokerRecord,
        offset: Offset,
    ) -> Result<(), ApplyError> {
        let epoch = if record.broker_epoch.get() < 0 {
            BrokerEpoch::new(offset.get())
        } else {
            record.broker_epoch
        };
        let endpoints = record.end_points.iter().map(|endpoint| {
            let number = endpoint.security_protocol;
            let security_protocol =
                SecurityProtocol::from_number(number).ok_or(ApplyError::Value {
                    record: "RegisterBrokerRecord",
                    field: "security_protocol",
                    value: number.into(),
                })?;
            Ok(Endpoint {
                listener: owned(&endpoint.name),
                host: owned(&endpoint.host),
                port: endpoint.port,
                security_protocol,
            })
        });
        let features = record.features.iter().map(|feature| FeatureRange {
            name: owned(&feature.name),
            level_min: feature.min_supported_version,
            level_max: feature.max_supported_version,
        });
        let broker = BrokerImage {
            id: record.broker_id,
            epoch,
            incarnation_id: record.incarnation_id,
            endpoints: endpoints.collect::<Result<_, _>>()?,
            features: features.collect(),
            rack: record.rack.as_ref().map(owned),
            is_fenced: record.fenced,
            in_controlled_shutdown: record.in_controlled_shutdown,
            log_dirs: record.log_dirs.clone(),
            cordoned_log_dirs: record.cordoned_log_dirs.clone(),
        };
        self.brokers.insert(broker.id, Arc::new(broker));
        Ok(())
    }

    fn unregister_broker(&mut self, record: &UnregisterBrokerRecord) -> Result<(), ApplyError> {
        self.broker_mut(record.broker_id, record.broker_epoch)?;
        self.brokers.remove(&record.broker_id);
        Ok(())
    }

    fn change_broker(&mut self, record: &BrokerRegistrationChangeRecord) -> Result<(), ApplyError> {
        let unknown = |field, value: i8| ApplyError::Value {
            record: "BrokerRegistrationChangeRecord",
            field,
            value: value.into(),
        };
        let broker = self.broker_mut(record.broker_id, record.broker_epoch)?;
        match record.fenced {
            -1 => broker.is_fenced = false,
            0 => {}
            1 => broker.is_fenced = true,
            other => return Err(unknown("fenced", other)),
        }
        match record.in_controlled_shutdown {
            0 => {}
            1 => broker.in_controlled_shutdown = true,
            other => return Err(unknown("in_controlled_shutdown", other)),
        }
        if !record.log_dirs.is_empty() {
            broker.log_dirs.clone_from(&record.log_dirs);
        }
        if let Some(cordoned) = &record.cordoned_log_dirs {
            broker.cordoned_log_dirs = Some(cordoned.clone());
        }
        Ok(())
    }

    /// The broker of this id and epoch, to be changed.
    fn broker_mut(
        &mut self,
        id: BrokerId,
        epoch: BrokerEpoch,
    ) -> Result<&mut BrokerImage, ApplyError> {
        self.brokers
            .get_mut(&id)
            .filter(|broker| broker.epoch == epoch)
            .map(Arc::make_mut)
            .ok_or(ApplyError::UnknownBroker { id, epoch })
    }

    fn create_topic(&mut self, record: &TopicRecord) -> Result<(), ApplyError> {
        let name = owned(&record.name);
        let id = record.topic_id;
        if self.topic_ids.contains_key(&name) || self.topics.contains_key(&id) {
            return Err(ApplyError::TopicExists { name, id });
        }
        self.topic_ids.insert(name.clone(), id);
        let topic = TopicImage {
            name,
            id,
            partitions: Vec::new(),
        };
        self.topics.insert(id, Arc::new(topic));
        Ok(())
    }

    fn remove_topic(&mut self, record: &RemoveTopicRecord) -> Result<(), ApplyError> {
        let id = record.topic_id;
        let topic = self.topics.remove(&id);
        let topic = topic.ok_or(ApplyError::UnknownTopic { id })?;
        self.topic_ids.remove(&topic.name);
        let resource = ConfigResource::Topic(topic.name.clone());
        self.settings.remove(&resource);
        self.note_deleted(id);
        Ok(())
    }

    /// Remembers a topic that is gone, and forgets the one that is gone longest if it must.
    fn note_deleted(&mut self, id: TopicId) {
        self.deleted.push_back(id);
        if self.deleted.len() > DELETED_TOPICS_MAX {
            self.deleted.pop_front();
        }
    }

    fn put_partition(&mut self, record: &PartitionRecord) -> Result<(), ApplyError> {
        let partition = PartitionImage {
            replicas: record.replicas.clone(),
            directories: record.directories.clone(),
            isr: record.isr.clone(),
            adding: record.adding_replicas.clone(),
            removing: record.removing_replicas.clone(),
            leader: leader(record.leader, "PartitionRecord")?,
            recovery: recovery(record.leader_recovery_state, "PartitionRecord")?,
            leader_epoch: record.leader_epoch,
            partition_epoch: record.partition_epoch,
        };
        let (topic, index) = (record.topic_id, record.partition_id);
        let partitions = &mut self.topic_mut(topic)?.partitions;
        match usize::try_from(index.get()) {
            Ok(place) if place < partitions.len() => partitions[place] = Arc::new(partition),
            Ok(place) if place == partitions.len() => partitions.push(Arc::new(partition)),
            _ => {
                return Err(ApplyError::UnknownPartition {
                    topic,
                    partition: index,
                });
            }
        }
        Ok(())
    }

    fn change_partition(&mut self, record: &PartitionChangeRecord) -> Result<(), ApplyError> {
        let (topic, index) = (record.topic_id, record.partition_id);
        let place = usize::try_from(index.get()).ok();
        let partitions = &mut self.topic_mut(topic)?.partitions;
        let partition = place.and_then(|place| partitions.get_mut(place)).ok_or(
            ApplyError::UnknownPartition {
                topic,
                partition: index,
            },
        )?;
        Arc::make_mut(partition).change(record)
    }

    fn topic_mut(&mut self, id: TopicId) -> Result<&mut TopicImage, ApplyError> {
        let topic = self.topics.get_mut(&id).map(Arc::make_mut);
        topic.ok_or(ApplyError::UnknownTopic { id })
    }

    fn configure(&mut self, record: &ConfigRecord) -> Result<(), ApplyError> {
        let (kind, name) = (record.resource_type, &record.resource_name);
        let resource =
            ConfigResource::from_parts(kind, name).ok_or_else(|| ApplyError::UnknownResource {
                kind,
                name: owned(name),
            })?;
        if let Some(value) = &record.value {
            let settings = self.settings.entry(resource).or_default();
            Arc::make_mut(settings).insert(owned(&record.name), owned(value));
        } else if let Some(settings) = self.settings.get_mut(&resource) {
            Arc::<Settings>::make_mut(settings).remove(&*record.name);
            if settings.is_empty() {
                self.settings.remove(&resource);
            }
        }
        Ok(())
    }

    fn set_feature(&mut self, record: &FeatureLevelRecord) {
        if record.feature_level == 0 {
            self.features.remove(&*record.name);
        } else {
            self.features
                .insert(owned(&record.name), record.feature_level);
        }
    }

    fn hand_out_producer_ids(&mut self, record: &ProducerIdsRecord) -> Result<(), ApplyError> {
        if record.next_producer_id < self.next_producer_id {
            return Err(ApplyError::Value {
                record: "ProducerIdsRecord",
                field: "next_producer_id",
                value: ProducerId::get(record.next_producer_id),
            });
        }
        self.next_producer_id = record.next_producer_id;
        Ok(())
    }
}

impl PartitionImage {
    /// Any change raises the partition epoch, one of the leader the leader epoch too. (CO-063)
    pub(crate) fn change(&mut self, record: &PartitionChangeRecord) -> Result<(), ApplyError> {
        let replace = |list: &mut Vec<BrokerId>, new: &Option<Vec<BrokerId>>| {
            if let Some(new) = new {
                list.clone_from(new);
            }
        };
        replace(&mut self.isr, &record.isr);
        replace(&mut self.replicas, &record.replicas);
        replace(&mut self.removing, &record.removing_replicas);
        replace(&mut self.adding, &record.adding_replicas);
        if let Some(directories) = &record.directories {
            self.directories.clone_from(directories);
        }
        if record.leader_recovery_state != -1 {
            self.recovery = recovery(record.leader_recovery_state, "PartitionChangeRecord")?;
        }
        if record.leader != SAME_LEADER {
            self.leader = leader(record.leader, "PartitionChangeRecord")?;
            self.leader_epoch = self.leader_epoch.get().wrapping_add(1).into();
        }
        self.partition_epoch = self.partition_epoch.wrapping_add(1);
        Ok(())
    }
}

fn leader(id: BrokerId, record: &'static str) -> Result<Option<BrokerId>, ApplyError> {
    match id {
        BrokerId::NONE => Ok(None),
        id if id.get() >= 0 => Ok(Some(id)),
        id => Err(ApplyError::Value {
            record,
            field: "leader",
            value: id.get().into(),
        }),
    }
}

fn recovery(number: i8, record: &'static str) -> Result<Recovery, ApplyError> {
    Recovery::from_number(number).ok_or(ApplyError::Value {
        record,
        field: "leader_recovery_state",
        value: number.into(),
    })
}

/// A text of its own, which does not keep the bytes of the log alive.
fn owned(text: &ByteString) -> Arc<str> {
    Arc::from(&**text)
}
