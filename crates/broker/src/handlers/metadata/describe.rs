//! A topic as Metadata tells it.

use klamm_controller::{MetadataImage, PartitionImage, TopicImage};
use klamm_primitives::{BrokerId, PartitionIndex, TopicPartition};
use klamm_replica::is_internal_topic;
use klamm_wire::ErrorCode;
use klamm_wire::messages::metadata::{
    MetadataRequestTopic, MetadataResponsePartition, MetadataResponseTopic,
};

use super::super::{create_topics::METADATA_TOPIC, operations};
use crate::node::reachable;

/// The longest name, which becomes a directory's together with an index.
const NAME_LEN_MAX: usize = 249;

/// Who asks.
pub(super) struct Asker {
    /// The listener that the request came by, and whose addresses are told.
    pub(super) listener: String,
    /// The request's version.
    pub(super) version: i16,
    /// Whether what may be done with topics is to be told.
    pub(super) wants_operations: bool,
}

/// Whether a topic could have this name, which that of the metadata log keeps to itself.
pub(super) fn is_legal_name(name: &str) -> bool {
    let is_legal = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_' | b'-');
    !matches!(name, "" | "." | ".." | METADATA_TOPIC)
        && name.len() <= NAME_LEN_MAX
        && name.bytes().all(is_legal)
}

/// A topic that is not described, under the name or id by which it was asked for.
pub(super) fn failed(code: ErrorCode, asked: &MetadataRequestTopic) -> MetadataResponseTopic {
    let name = asked.name.clone();
    MetadataResponseTopic {
        error_code: code,
        is_internal: name.as_deref().is_some_and(is_internal_topic),
        name,
        topic_id: asked.topic_id,
        topic_authorized_operations: operations::NOT_ASKED,
        ..MetadataResponseTopic::default()
    }
}

/// What a topic is told from.
pub(super) struct View<'a> {
    pub(super) image: &'a MetadataImage,
    pub(super) asker: &'a Asker,
    /// This broker.
    pub(super) local: BrokerId,
    /// Whether the log of a replica on this broker cannot be used.
    pub(super) is_offline_here: &'a dyn Fn(&TopicPartition) -> bool,
}

impl View<'_> {
    /// A topic with all its partitions.
    pub(super) fn describe(&self, topic: &TopicImage) -> MetadataResponseTopic {
        let partitions = topic.indexed();
        MetadataResponseTopic {
            name: Some((&*topic.name).into()),
            topic_id: topic.id,
            is_internal: is_internal_topic(&topic.name),
            partitions: partitions
                .map(|(index, partition)| self.describe_partition(topic, index, partition))
                .collect(),
            topic_authorized_operations: if self.asker.wants_operations {
                operations::ON_TOPIC
            } else {
                operations::NOT_ASKED
            },
            ..MetadataResponseTopic::default()
        }
    }

    fn describe_partition(
        &self,
        topic: &TopicImage,
        index: PartitionIndex,
        partition: &PartitionImage,
    ) -> MetadataResponsePartition {
        let name = TopicPartition::new(topic.name.clone(), index);
        let is_offline_here = partition.is_replica(self.local) && (self.is_offline_here)(&name);
        let is_offline = |id: &BrokerId| is_offline_here && *id == self.local;
        // Replicas whose directory is lost are down, too, though their broker is up. (KIP-858)
        let is_usable = |id: &BrokerId| {
            let directory = partition.directory(*id);
            let broker = self.image.broker(*id);
            let is_online = |it| broker.is_some_and(|broker| broker.has_online_directory(it));
            self.is_up(id) && !is_offline(id) && directory.is_none_or(is_online)
        };
        let leader = partition.leader.filter(|it| !is_offline(it));
        let mut error_code = match leader {
            Some(leader) if self.is_up(&leader) => ErrorCode::NONE,
            Some(leader) if self.image.is_active(leader) && self.asker.version >= 6 => {
                ErrorCode::LISTENER_NOT_FOUND
            }
            Some(_) | None => ErrorCode::LEADER_NOT_AVAILABLE,
        };
        let mut replica_nodes = partition.replicas.clone();
        let offline = replica_nodes.iter().copied().filter(|it| !is_usable(it));
        let offline = offline.collect();
        if self.asker.version == 0 {
            replica_nodes.retain(|it| self.is_up(it));
            if error_code.is_none() && replica_nodes.len() < partition.replicas.len() {
                error_code = ErrorCode::REPLICA_NOT_AVAILABLE;
            }
        }
        let leader = leader.filter(|it| self.is_up(it));
        MetadataResponsePartition {
            error_code,
            partition_index: index,
            leader_id: leader.unwrap_or(BrokerId::NONE),
            leader_epoch: partition.leader_epoch,
            replica_nodes: replica_nodes.into(),
            isr_nodes: partition.isr.as_slice().into(),
            offline_replicas: offline,
            ..MetadataResponsePartition::default()
        }
    }

    /// Whether a broker is alive and to be reached by whoever asks.
    fn is_up(&self, id: &BrokerId) -> bool {
        let broker = self.image.broker(*id);
        broker.is_some_and(|it| reachable(it, &self.asker.listener).is_some())
    }
}

#[cfg(test)]
mod tests {
    use klamm_primitives::{Offset, Uuid};
    use klamm_wire::metadata::partition::PartitionRecord;
    use klamm_wire::metadata::register_broker::{BrokerEndpoint, RegisterBrokerRecord};
    use klamm_wire::metadata::topic::TopicRecord;

    use super::*;

    fn broker(id: i32, listener: &'static str, fenced: bool) -> RegisterBrokerRecord {
        RegisterBrokerRecord {
            broker_id: id.into(),
            fenced,
            end_points: vec![BrokerEndpoint {
                name: listener.into(),
                host: "h".into(),
                port: 1,
                ..BrokerEndpoint::default()
            }],
            ..RegisterBrokerRecord::default()
        }
    }

    /// Broker 1 is up, 2 is up on another listener, 3 is down; each leads a partition, and the
    /// fourth has no leader.
    fn image() -> MetadataImage {
        let mut records = vec![
            broker(1, "A", false).into(),
            broker(2, "B", false).into(),
            broker(3, "A", true).into(),
        ];
        let topic_id = Uuid::from_u128(9);
        records.push(
            TopicRecord {
                name: "t".into(),
                topic_id,
                ..TopicRecord::default()
            }
            .into(),
        );
        for (index, leader) in [(0, 1), (1, 2), (2, 3), (3, -1)] {
            let record = PartitionRecord {
                topic_id,
                partition_id: index.into(),
                replicas: vec![1.into(), 2.into(), 3.into()],
                isr: vec![1.into()],
                leader: leader.into(),
                leader_epoch: 5.into(),
                ..PartitionRecord::default()
            };
            records.push(record.into());
        }
        MetadataImage::new("c")
            .apply(&records, Offset::ZERO)
            .unwrap()
    }

    fn partitions(version: i16) -> Vec<MetadataResponsePartition> {
        seen_by(version, 1, &|_| false)
    }

    /// As told by one of the brokers.
    fn seen_by(
        version: i16,
        local: i32,
        is_offline_here: &dyn Fn(&TopicPartition) -> bool,
    ) -> Vec<MetadataResponsePartition> {
        let image = image();
        let asker = Asker {
            listener: "A".to_owned(),
            version,
            wants_operations: false,
        };
        let view = View {
            image: &image,
            asker: &asker,
            local: local.into(),
            is_offline_here,
        };
        view.describe(image.topic("t").unwrap()).partitions
    }

    fn codes(version: i16) -> Vec<i16> {
        partitions(version)
            .iter()
            .map(|it| it.error_code.get())
            .collect()
    }

    #[test]
    fn ap_048_a_leader_that_cannot_be_reached_is_an_error_of_its_partition() {
        assert_eq!(codes(6), [0, 72, 5, 5]);
        assert_eq!(codes(5), [0, 5, 5, 5]);
        let leaders: Vec<_> = partitions(6).iter().map(|it| it.leader_id.get()).collect();
        assert_eq!(leaders, [1, -1, -1, -1]);
    }

    /// Covers AP-048: as long as its log cannot be used a partition has no leader to go to.
    #[test]
    fn ap_048_a_leader_whose_log_cannot_be_used_is_none() {
        for version in [1, 6, 13] {
            let all = seen_by(version, 1, &|it| it.partition == PartitionIndex::new(0));
            let told = &all[0];
            assert_eq!(told.error_code, ErrorCode::LEADER_NOT_AVAILABLE);
            assert_eq!(told.leader_id, BrokerId::NONE);
            assert_eq!(told.leader_epoch, 5.into());
            assert_eq!(told.replica_nodes, [1.into(), 2.into(), 3.into()].into());
            assert_eq!(told.isr_nodes, [1.into()].into());
            assert_eq!(told.offline_replicas, [1.into(), 2.into(), 3.into()].into());
            assert_eq!(all[1..], partitions(version)[1..]);
        }
        // Another broker's is not this one's to judge.
        let by_two = seen_by(6, 2, &|_| true);
        assert_eq!(by_two[0].leader_id, 1.into());
        assert_eq!(by_two[0].error_code, ErrorCode::NONE);
    }

    #[test]
    fn ap_052_version_0_leaves_replicas_out_that_are_down() {
        assert_eq!(codes(0), [9, 5, 5, 5]);
        let old = &partitions(0)[0];
        assert_eq!(old.replica_nodes, [1.into()].into());
        let new = &partitions(5)[0];
        assert_eq!(new.error_code, ErrorCode::NONE);
        assert_eq!(new.replica_nodes, [1.into(), 2.into(), 3.into()].into());
        assert_eq!(new.offline_replicas, [2.into(), 3.into()].into());
    }

    #[test]
    fn ap_054_topics_of_the_cluster_itself_are_marked() {
        for name in ["__consumer_offsets", "__transaction_state"] {
            assert!(is_internal_topic(name));
        }
        assert!(!is_internal_topic("clicks"));
    }

    #[test]
    fn ap_049_names_that_no_topic_can_have_are_told_from_unknown_ones() {
        let long = "a".repeat(249);
        for name in ["a", "A-1_b.c", "...", &long] {
            assert!(is_legal_name(name), "{name}");
        }
        let long = "a".repeat(250);
        for name in ["", ".", "..", METADATA_TOPIC, "a b", "ä", "a/b", &long] {
            assert!(!is_legal_name(name), "{name}");
        }
    }
}
