//! Images: what records make of them, and what differs between two.

use klamm_primitives::{BrokerEpoch, BrokerId, Offset, ProducerId, TopicId, Uuid};
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use klamm_wire::metadata::broker_registration_change::BrokerRegistrationChangeRecord;
use klamm_wire::metadata::feature_level::FeatureLevelRecord;
use klamm_wire::metadata::partition::{PartitionChangeRecord, PartitionRecord};
use klamm_wire::metadata::producer_ids::ProducerIdsRecord;
use klamm_wire::metadata::register_broker::RegisterBrokerRecord;
use klamm_wire::metadata::topic::{RemoveTopicRecord, TopicRecord};
use klamm_wire::metadata::transaction::AbortTransactionRecord;
use proptest::prelude::*;

use super::fixture::{Cluster, assigned, broker, brokers, sized};
use crate::deciders::{DeleteTopics, NewTopic, TopicSelector};
use crate::image::{ApplyError, ConfigResource, DELETED_TOPICS_MAX, ImageChanges, MetadataImage};

fn topic_record(name: &str, id: u128) -> Record {
    TopicRecord {
        name: name.into(),
        topic_id: Uuid::from_u128(id),
        ..TopicRecord::default()
    }
    .into()
}

/// A cluster in which a bit of everything has happened.
fn eventful() -> Cluster {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    let level = FeatureLevelRecord {
        name: "metadata.version".into(),
        feature_level: 25,
        ..FeatureLevelRecord::default()
    };
    cluster.commit(vec![level.into()]);
    cluster
        .create(assigned("t", &[&[1, 2, 3], &[2, 1, 3]]))
        .unwrap();
    let with_settings = NewTopic {
        settings: vec![("retention.ms".into(), Some("5".into()))],
        ..sized("u", 2, 3)
    };
    cluster.create(with_settings).unwrap();
    cluster.set(&ConfigResource::AllBrokers, "retention.ms", "7");
    cluster.set(&ConfigResource::Broker(broker(2)), "retention.ms", "8");
    cluster.create(sized("gone", 1, 1)).unwrap();
    let topics = vec![TopicSelector::Name("gone".into())];
    assert!(cluster.ask(DeleteTopics { topics })[0].is_ok());
    cluster.wants_shutdown(2);
    cluster.fence(1);
    let next = ProducerIdsRecord {
        next_producer_id: ProducerId::new(4000),
        ..ProducerIdsRecord::default()
    };
    cluster.commit(vec![next.into()]);
    cluster
}

#[test]
fn co_009_a_snapshot_leads_to_the_same_image_as_all_records() {
    let image = eventful().image;
    let records = image.to_records();
    let loaded = MetadataImage::from_records("a-cluster", &records, image.offset()).unwrap();
    assert_eq!(loaded, image);
    assert_eq!(loaded.to_records(), records);
    assert!(
        matches!(records[0], Record::FeatureLevelRecord(_)),
        "levels come first"
    );
}

/// A deleted topic is remembered by its id, through snapshots too; the oldest go when there are too
/// many.
#[test]
fn the_topics_that_were_deleted_last_are_known() {
    let id = |number: usize| Uuid::from_u128(u128::try_from(number).unwrap() << 64 | 1);
    let records = |numbers: std::ops::Range<usize>| -> Vec<Record> {
        let both = numbers.flat_map(|number| {
            let created = TopicRecord {
                name: format!("t{number}").into(),
                topic_id: id(number),
                ..TopicRecord::default()
            };
            let removed = RemoveTopicRecord {
                topic_id: id(number),
                ..RemoveTopicRecord::default()
            };
            [Record::from(created), Record::from(removed)]
        });
        both.collect()
    };
    let image = MetadataImage::new("a-cluster");
    let image = image.apply(&records(0..3), Offset::new(5)).unwrap();
    let deleted: Vec<_> = image.deleted_topics().collect();
    assert_eq!(deleted, [id(0), id(1), id(2)]);
    assert!(!image.is_empty());

    let image = image
        .apply(&records(3..DELETED_TOPICS_MAX + 2), Offset::new(6))
        .unwrap();
    let loaded = MetadataImage::from_records("a-cluster", &image.to_records(), image.offset());
    assert_eq!(loaded.as_ref(), Ok(&image));
    let deleted: Vec<_> = image.deleted_topics().collect();
    assert_eq!(deleted.len(), DELETED_TOPICS_MAX);
    assert_eq!((deleted[0], deleted[1]), (id(2), id(3)));
    // In the log, what was never created cannot be removed.
    let unknown = RemoveTopicRecord {
        topic_id: id(usize::MAX >> 1),
        ..RemoveTopicRecord::default()
    };
    assert!(image.apply(&[unknown.into()], Offset::new(7)).is_err());
}

fn partition_record(topic_id: TopicId, index: i32, leader: i32) -> PartitionRecord {
    PartitionRecord {
        topic_id,
        partition_id: index.into(),
        leader: leader.into(),
        ..PartitionRecord::default()
    }
}

fn partition_change(topic_id: TopicId, index: i32) -> PartitionChangeRecord {
    PartitionChangeRecord {
        topic_id,
        partition_id: index.into(),
        ..PartitionChangeRecord::default()
    }
}

fn broker_change(broker_epoch: BrokerEpoch, fenced: i8) -> BrokerRegistrationChangeRecord {
    BrokerRegistrationChangeRecord {
        broker_id: broker(1),
        broker_epoch,
        fenced,
        ..BrokerRegistrationChangeRecord::default()
    }
}

fn check_refused(image: &MetadataImage, record: impl Into<Record>, error: ApplyError) {
    let record = record.into();
    let applied = image.apply(std::slice::from_ref(&record), image.offset() + 1);
    assert_eq!(applied, Err(error), "{record:?}");
}

fn no_value(record: &'static str, field: &'static str, value: i64) -> ApplyError {
    ApplyError::Value {
        record,
        field,
        value,
    }
}

#[test]
fn co_006_records_of_topics_that_do_not_fit_are_refused() {
    let image = eventful().image;
    let t = image.topic("t").unwrap().id;
    let exists = |name: &str, id| ApplyError::TopicExists {
        name: name.into(),
        id,
    };
    check_refused(&image, topic_record("t", 1), exists("t", Uuid::ONE));
    let same_id = TopicRecord {
        name: "new".into(),
        topic_id: t,
        ..TopicRecord::default()
    };
    check_refused(&image, same_id, exists("new", t));

    let unknown = TopicId::from_u128(77);
    let unknown_topic = || ApplyError::UnknownTopic { id: unknown };
    let removal = RemoveTopicRecord {
        topic_id: unknown,
        ..RemoveTopicRecord::default()
    };
    check_refused(&image, removal, unknown_topic());
    check_refused(&image, partition_record(unknown, 0, 1), unknown_topic());
    check_refused(&image, partition_change(unknown, 0), unknown_topic());

    let missing = |partition: i32| ApplyError::UnknownPartition {
        topic: t,
        partition: partition.into(),
    };
    check_refused(&image, partition_record(t, 3, 1), missing(3));
    check_refused(&image, partition_record(t, -1, 1), missing(-1));
    check_refused(&image, partition_change(t, 2), missing(2));
    let error = no_value("PartitionRecord", "leader", -2);
    check_refused(&image, partition_record(t, 2, -2), error);
    let recovering = PartitionChangeRecord {
        leader_recovery_state: 2,
        ..partition_change(t, 0)
    };
    let error = no_value("PartitionChangeRecord", "leader_recovery_state", 2);
    check_refused(&image, recovering, error);
}

#[test]
fn co_006_other_records_that_do_not_fit_are_refused() {
    let image = eventful().image;
    let epoch = BrokerEpoch::new(999);
    let error = ApplyError::UnknownBroker {
        id: broker(1),
        epoch,
    };
    check_refused(&image, broker_change(epoch, 1), error);
    let present = image.broker(broker(1)).unwrap().epoch;
    let error = no_value("BrokerRegistrationChangeRecord", "fenced", 2);
    check_refused(&image, broker_change(present, 2), error);
    let backwards = ProducerIdsRecord {
        next_producer_id: ProducerId::new(3999),
        ..ProducerIdsRecord::default()
    };
    let error = no_value("ProducerIdsRecord", "next_producer_id", 3999);
    check_refused(&image, backwards, error);
    let error = ApplyError::Unsupported {
        record: "AbortTransactionRecord",
    };
    check_refused(&image, AbortTransactionRecord::default(), error);
}

#[test]
fn a_registration_without_an_epoch_gets_its_offset() {
    let record = RegisterBrokerRecord {
        broker_id: broker(4),
        broker_epoch: BrokerEpoch::NONE,
        ..RegisterBrokerRecord::default()
    };
    let image = MetadataImage::new("c")
        .apply(&[record.into()], Offset::new(17))
        .unwrap();
    assert_eq!(image.broker(broker(4)).unwrap().epoch, BrokerEpoch::new(17));
}

#[test]
fn changes_tell_what_differs_and_nothing_else() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned("stays", &[&[1]])).unwrap();
    cluster
        .create(assigned("changes", &[&[1], &[2], &[1]]))
        .unwrap();
    cluster.create(assigned("goes", &[&[1]])).unwrap();
    cluster.create(assigned("again", &[&[1]])).unwrap();
    let old = cluster.image.clone();
    assert!(old.changes_since(&old).is_empty());

    cluster.fence(2);
    let request = DeleteTopics {
        topics: vec![
            TopicSelector::Name("goes".into()),
            TopicSelector::Name("again".into()),
        ],
    };
    cluster.ask(request);
    cluster.create(assigned("again", &[&[1]])).unwrap();
    cluster.create(assigned("comes", &[&[1]])).unwrap();
    let topic = ConfigResource::Topic("stays".into());
    cluster.set(&topic, "retention.ms", "5");
    let new = cluster.image.clone();

    let changes = new.changes_since(&old);
    let names = |topics: &[std::sync::Arc<crate::image::TopicImage>]| -> Vec<String> {
        topics.iter().map(|it| it.name.to_string()).collect()
    };
    assert_eq!(names(&changes.topics_created), ["again", "comes"]);
    assert_eq!(names(&changes.topics_deleted), ["again", "goes"]);
    assert_eq!(changes.brokers, [broker(2)]);
    assert_eq!(changes.settings, [topic]);
    let [changed] = &changes.topics_changed[..] else {
        panic!("one topic changed: {changes:?}")
    };
    assert_eq!(&*changed.new.name, "changes");
    let differences: Vec<_> = changed.partitions().collect();
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].index.get(), 1);
    assert_eq!(differences[0].old.unwrap().leader, Some(broker(2)));
    assert_eq!(differences[0].new.leader, None);
}

#[test]
fn an_image_shares_what_did_not_change() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned("t", &[&[1], &[2]])).unwrap();
    cluster.create(assigned("u", &[&[1]])).unwrap();
    let old = cluster.image.clone();
    cluster.fence(2);
    let shared = |name: &str, index: usize| {
        let of = |image: &MetadataImage| image.topic(name).unwrap().partitions[index].clone();
        std::sync::Arc::ptr_eq(&of(&old), &of(&cluster.image))
    };
    assert!(shared("u", 0) && shared("t", 0));
    assert!(!shared("t", 1));
}

/// What may happen to a topic out of five.
#[derive(Debug, Clone)]
enum Step {
    Create(u8, u8),
    Delete(u8),
    Fence(u8),
    Unfence(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..5_u8, 1..4_u8).prop_map(|(topic, partitions)| Step::Create(topic, partitions)),
        (0..5_u8).prop_map(Step::Delete),
        (1..4_u8).prop_map(Step::Fence),
        (1..4_u8).prop_map(Step::Unfence),
    ]
}

fn take(cluster: &mut Cluster, step: &Step) {
    match step {
        Step::Create(topic, count) => {
            // It may exist, or no broker be active.
            _ = cluster.create(sized(&format!("topic-{topic}"), i32::from(*count), 2));
        }
        Step::Delete(topic) => {
            let name = format!("topic-{topic}").as_str().into();
            let topics = vec![TopicSelector::Name(name)];
            cluster.ask(DeleteTopics { topics });
        }
        Step::Fence(id) if cluster.image.is_active(broker((*id).into())) => {
            cluster.fence((*id).into());
        }
        Step::Unfence(id) => {
            cluster.unfence((*id).into());
        }
        Step::Fence(_) => {}
    }
}

/// The changes, applied to what the older image has, give what the newer one has.
fn check_changes(old: &MetadataImage, new: &MetadataImage) {
    let ImageChanges {
        topics_created,
        topics_changed,
        topics_deleted,
        ..
    } = new.changes_since(old);
    let mut topics: std::collections::BTreeMap<_, _> =
        old.topics().map(|it| (it.id, it.clone())).collect();
    for topic in topics_deleted {
        assert_eq!(topics.remove(&topic.id), Some(topic));
    }
    for topic in topics_created {
        assert_eq!(topics.insert(topic.id, topic), None);
    }
    for change in topics_changed {
        assert_ne!(change.old, change.new);
        assert_eq!(topics.insert(change.new.id, change.new), Some(change.old));
    }
    let expected: std::collections::BTreeMap<_, _> =
        new.topics().map(|it| (it.id, it.clone())).collect();
    assert_eq!(topics, expected);
}

/// What holds of every partition at any time.
fn check_invariants(image: &MetadataImage) {
    for topic in image.topics() {
        for (_, partition) in topic.indexed() {
            assert!(!partition.isr.is_empty());
            assert!(partition.isr.iter().all(|it| partition.is_replica(*it)));
            if let Some(leader) = partition.leader {
                assert!(partition.isr.contains(&leader), "{partition:?}");
                assert!(image.is_active(leader), "{partition:?}");
            } else {
                let is_active = |id: &BrokerId| image.is_active(*id);
                assert!(!partition.isr.iter().any(is_active), "{partition:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn images_and_their_changes_agree(steps in prop::collection::vec(step(), 1..40)) {
        let mut cluster = Cluster::of(&[1, 2, 3]);
        let first = cluster.image.clone();
        for step in &steps {
            let before = cluster.image.clone();
            take(&mut cluster, step);
            check_invariants(&cluster.image);
            check_changes(&before, &cluster.image);
        }
        check_changes(&first, &cluster.image);
        let records = cluster.image.to_records();
        let offset = cluster.image.offset();
        let loaded = MetadataImage::from_records("a-cluster", &records, offset).unwrap();
        prop_assert_eq!(&loaded, &cluster.image);
    }
}

#[test]
fn brokers_are_told_by_rising_id() {
    let cluster = Cluster::of(&[3, 1, 2]);
    let ids: Vec<_> = cluster.image.brokers().map(|it| it.id).collect();
    assert_eq!(ids, brokers(&[1, 2, 3]));
}
