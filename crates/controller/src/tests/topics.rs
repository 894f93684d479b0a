//! Topics are created and deleted, and get partitions.

use klamm_primitives::{PartitionIndex, Uuid};
use klamm_wire::metadata::ClusterMetadataRecord as Record;

use super::fixture::{Cluster, assigned, broker, brokers, directory, sized};
use crate::deciders::{
    AssignmentError, CreatePartitions, CreatePartitionsError, CreateTopicError, CreateTopics,
    DeleteTopicError, DeleteTopics, DeletedTopic, InvalidTopicName, ManualAssignment,
    NewPartitions, NewTopic, TopicSelector,
};
use crate::image::{ConfigResource, Recovery};
use crate::options::ControllerOptions;

#[test]
fn co_035_minus_one_is_the_default_and_less_is_refused() {
    let mut cluster = Cluster::with_options(ControllerOptions {
        partition_count: 3,
        replication_factor: 2,
        ..ControllerOptions::default()
    });
    cluster.add(&[1, 2]);
    let created = cluster.create(sized("t", -1, -1)).unwrap();
    assert_eq!(
        (created.partition_count, created.replication_factor),
        (3, 2)
    );
    let topic = cluster.image.topic("t").unwrap();
    assert_eq!((topic.partitions.len(), topic.replication_factor()), (3, 2));

    for count in [0, -2, i32::MIN] {
        let refused = cluster.create(sized("u", count, 1));
        assert_eq!(
            refused,
            Err(CreateTopicError::InvalidPartitionCount { count })
        );
    }
    for factor in [0, -2, i16::MIN] {
        let error = CreateTopicError::InvalidReplicationFactor { factor, usable: 2 };
        assert_eq!(cluster.create(sized("u", 1, factor)), Err(error));
    }
}

#[test]
fn a_request_makes_no_more_partitions_than_it_may() {
    let mut cluster = Cluster::of(&[1]);
    for count in [i32::MAX, 10_001] {
        let refused = cluster.create(sized("t", count, 1));
        assert_eq!(refused, Err(CreateTopicError::TooManyPartitions));
    }
    let request = CreateTopics {
        topics: vec![
            sized("t", 6_000, 1),
            sized("u", 6_000, 1),
            sized("v", 4_000, 1),
        ],
        validate_only: false,
    };
    let answers = cluster.ask(request);
    assert!(answers[0].is_ok() && answers[2].is_ok());
    assert_eq!(answers[1], Err(CreateTopicError::TooManyPartitions));
}

/// Covers CO-032, CO-036.
#[test]
fn co_036_there_must_be_as_many_brokers_as_replicas() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    let error = |usable| CreateTopicError::InvalidReplicationFactor { factor: 3, usable };
    cluster.fence(3);
    assert!(cluster.create(sized("with-fenced", 1, 3)).is_ok());
    cluster.create(assigned("led", &[&[1, 2]])).unwrap();
    cluster.wants_shutdown(1);
    assert_eq!(cluster.create(sized("t", 1, 3)), Err(error(2)));
    cluster.fence(1);
    cluster.fence(2);
    let refused = cluster.create(sized("t", 1, 1));
    assert_eq!(refused, Err(CreateTopicError::NoActiveBroker));
}

#[test]
fn co_037_names_are_legal_and_given_once() {
    let mut cluster = Cluster::of(&[1]);
    cluster.create(NewTopic::new("t")).unwrap();
    assert_eq!(
        cluster.create(NewTopic::new("t")),
        Err(CreateTopicError::Exists)
    );
    let long = "n".repeat(250);
    for (name, error) in [
        ("", InvalidTopicName::Empty),
        (".", InvalidTopicName::Dots),
        ("..", InvalidTopicName::Dots),
        (&*long, InvalidTopicName::TooLong { len: 250 }),
        ("a/b", InvalidTopicName::Character { character: '/' }),
        ("a b", InvalidTopicName::Character { character: ' ' }),
        ("ä", InvalidTopicName::Character { character: 'ä' }),
    ] {
        let refused = cluster.create(NewTopic::new(name));
        assert_eq!(refused, Err(error.into()), "{name}");
    }
    for name in ["...", "A-z_0.9", &*"n".repeat(249)] {
        assert!(cluster.create(NewTopic::new(name)).is_ok(), "{name}");
    }
}

#[test]
fn names_that_metrics_cannot_tell_apart_collide() {
    let mut cluster = Cluster::of(&[1]);
    cluster.create(NewTopic::new("a.b")).unwrap();
    let collides = |other: &str| {
        let other = other.into();
        Err(InvalidTopicName::Collides { other }.into())
    };
    assert_eq!(cluster.create(NewTopic::new("a_b")), collides("a.b"));
    let request = CreateTopics {
        topics: vec![
            NewTopic::new("c_d"),
            NewTopic::new("c.d"),
            NewTopic::new("c-d"),
        ],
        validate_only: false,
    };
    let answers = cluster.ask(request);
    assert!(answers[0].is_ok() && answers[2].is_ok());
    assert_eq!(answers[1], collides("c_d"));
}

#[test]
fn co_038_a_new_partition_begins_at_zero_led_by_its_first_active_replica() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    cluster.fence(1);
    cluster.create(assigned("t", &[&[1, 2, 3]])).unwrap();
    let partition = cluster.partition("t", 0);
    assert_eq!(partition.leader, Some(broker(2)));
    assert_eq!(partition.isr, brokers(&[2, 3]));
    assert_eq!(partition.replicas, brokers(&[1, 2, 3]));
    assert_eq!(partition.leader_epoch.get(), 0);
    assert_eq!(partition.partition_epoch, 0);
    assert_eq!(partition.recovery, Recovery::Recovered);
    assert_eq!(
        partition.directories,
        [directory(1), directory(2), directory(3)]
    );
}

/// Covers CO-039, CO-003.
#[test]
fn co_039_each_topic_stands_alone() {
    let mut cluster = Cluster::of(&[1]);
    let request = CreateTopics {
        topics: vec![
            NewTopic::new("good"),
            NewTopic::new("bad/name"),
            NewTopic::new("twice"),
            NewTopic::new("twice"),
            sized("too-much", 1, 2),
            assigned("half-good", &[&[1], &[9]]),
            NewTopic::new("good-too"),
        ],
        validate_only: false,
    };
    let answers = cluster.ask(request);
    assert!(answers[0].is_ok() && answers[6].is_ok());
    assert_eq!(answers[2], Err(CreateTopicError::NamedTwice));
    assert_eq!(answers[3], Err(CreateTopicError::NamedTwice));
    assert!(answers[1].is_err() && answers[4].is_err() && answers[5].is_err());
    let names: Vec<_> = cluster.image.topics().map(|it| &*it.name).collect();
    assert_eq!(
        names,
        ["good", "good-too"],
        "of the others there is no record at all"
    );
}

#[test]
fn co_040_the_topic_then_its_settings_then_its_partitions() {
    let mut cluster = Cluster::of(&[1]);
    let topic = NewTopic {
        settings: vec![("retention.ms".into(), Some("5".into()))],
        ..sized("t", 2, 1)
    };
    let created = cluster.create(topic).unwrap();
    assert_eq!(
        created.settings.get("retention.ms").map(|it| &**it),
        Some("5")
    );
    let names: Vec<_> = cluster.records.iter().map(Record::name).collect();
    let expected = [
        "TopicRecord",
        "ConfigRecord",
        "PartitionRecord",
        "PartitionRecord",
    ];
    assert_eq!(names, expected);
    let resource = ConfigResource::Topic("t".into());
    assert_eq!(
        cluster
            .image
            .setting(&resource, "retention.ms")
            .map(|it| &**it),
        Some("5")
    );
}

#[test]
fn co_041_a_topic_with_a_bad_setting_is_not_recorded() {
    let mut cluster = Cluster::of(&[1]);
    for (name, value) in [
        ("retention.ms", None),
        ("retention.ms", Some("x")),
        ("no.such.setting", Some("1")),
    ] {
        let topic = NewTopic {
            settings: vec![(name.into(), value.map(Into::into))],
            ..NewTopic::new("t")
        };
        let refused = cluster.create(topic);
        assert!(
            matches!(&refused, Err(CreateTopicError::InvalidSetting(it)) if &*it.name == name),
            "{refused:?}"
        );
        assert_eq!(cluster.records, []);
    }
}

#[test]
fn co_042_replicas_assigned_by_hand_are_checked() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    cluster.fence(3);
    let refused = |cluster: &mut Cluster, topic, error: AssignmentError| {
        assert_eq!(cluster.create(topic), Err(error.into()));
    };
    for (partition_count, replication_factor) in [(1, -1), (-1, 1)] {
        let topic = NewTopic {
            partition_count,
            replication_factor,
            ..assigned("t", &[&[1]])
        };
        let error = CreateTopicError::NumbersBesideAssignments;
        assert_eq!(cluster.create(topic), Err(error));
    }
    let at = |indexes: &[i32]| {
        let mut topic = assigned("t", &vec![&[1][..]; indexes.len()]);
        for (assignment, index) in topic.assignments.iter_mut().zip(indexes) {
            assignment.partition = PartitionIndex::new(*index);
        }
        topic
    };
    for (indexes, index, expected) in [
        (&[1][..], 1, 0),
        (&[0, 0], 0, 1),
        (&[0, 2], 2, 1),
        (&[-1, 0], -1, 0),
    ] {
        let error = AssignmentError::Indexes {
            index: index.into(),
            expected: expected.into(),
        };
        refused(&mut cluster, at(indexes), error);
    }
    refused(&mut cluster, assigned("t", &[&[]]), AssignmentError::Empty);
    let unequal = AssignmentError::UnequalLength {
        given: 1,
        expected: 2,
    };
    refused(&mut cluster, assigned("t", &[&[1, 2], &[1]]), unequal);
    let twice = AssignmentError::Repeated { broker: broker(1) };
    refused(&mut cluster, assigned("t", &[&[1, 1]]), twice);
    let unknown = AssignmentError::UnknownBroker { broker: broker(4) };
    refused(&mut cluster, assigned("t", &[&[4]]), unknown);
    refused(
        &mut cluster,
        assigned("t", &[&[3]]),
        AssignmentError::NoneActive,
    );

    let mut topic = assigned("t", &[&[1, 2], &[2, 3]]);
    topic.assignments.reverse();
    let created = cluster.create(topic).unwrap();
    assert_eq!(
        (created.partition_count, created.replication_factor),
        (2, 2)
    );
    assert_eq!(cluster.partition("t", 1).replicas, brokers(&[2, 3]));
    assert_eq!(cluster.isr("t", 1), brokers(&[2]));
}

#[test]
fn assignments_may_come_in_any_order() {
    let mut cluster = Cluster::of(&[1, 2]);
    let assignment = |partition, id: i32| ManualAssignment {
        partition: PartitionIndex::new(partition),
        replicas: brokers(&[id]),
    };
    let topic = NewTopic {
        assignments: vec![assignment(1, 2), assignment(0, 1)],
        ..NewTopic::new("t")
    };
    cluster.create(topic).unwrap();
    assert_eq!(
        (cluster.leader("t", 0), cluster.leader("t", 1)),
        (Some(1), Some(2))
    );
}

#[test]
fn co_043_the_answer_tells_id_counts_and_settings() {
    let mut cluster = Cluster::of(&[1, 2]);
    let created = cluster.create(sized("t", 4, 2)).unwrap();
    let topic = cluster.image.topic("t").unwrap();
    assert_eq!(created.id, topic.id);
    assert!(!created.id.is_zero());
    assert_eq!(
        (created.partition_count, created.replication_factor),
        (4, 2)
    );
    assert!(created.settings.is_empty());
}

#[test]
fn co_044_validate_only_checks_all_and_writes_nothing() {
    let mut cluster = Cluster::of(&[1]);
    let request = CreateTopics {
        topics: vec![sized("t", 2, 1), sized("u", 1, 2)],
        validate_only: true,
    };
    let answers = cluster.ask(request);
    let would_be = answers[0].as_ref().unwrap();
    assert_eq!((would_be.partition_count, would_be.id), (2, Uuid::ZERO));
    assert!(answers[1].is_err());
    assert_eq!(cluster.records, []);
    assert_eq!(cluster.image.topic_count(), 0);
}

#[test]
fn co_046_a_deleted_topic_takes_all_along_and_frees_its_name() {
    let mut cluster = Cluster::of(&[1]);
    let topic = || NewTopic {
        settings: vec![("retention.ms".into(), Some("5".into()))],
        ..NewTopic::new("t")
    };
    let first = cluster.create(topic()).unwrap().id;
    let other = cluster.create(NewTopic::new("u")).unwrap().id;
    let unknown = Uuid::from_u128(7);
    let request = DeleteTopics {
        topics: vec![
            TopicSelector::Name("t".into()),
            TopicSelector::Name("gone".into()),
            TopicSelector::Id(unknown),
            TopicSelector::Id(other),
        ],
    };
    let deleted = |name: &str, id| {
        Ok(DeletedTopic {
            name: name.into(),
            id,
        })
    };
    let expected = [
        deleted("t", first),
        Err(DeleteTopicError::UnknownName {
            name: "gone".into(),
        }),
        Err(DeleteTopicError::UnknownId { id: unknown }),
        deleted("u", other),
    ];
    assert_eq!(cluster.ask(request), expected);
    assert_eq!(cluster.image.topic_count(), 0);
    let resource = ConfigResource::Topic("t".into());
    assert_eq!(cluster.image.settings(&resource), None);
    assert_ne!(cluster.create(NewTopic::new("t")).unwrap().id, first);
    assert_eq!(cluster.image.settings(&resource), None);
}

#[test]
fn a_topic_that_is_meant_twice_is_not_deleted() {
    let mut cluster = Cluster::of(&[1]);
    let id = cluster.create(NewTopic::new("t")).unwrap().id;
    let request = DeleteTopics {
        topics: vec![TopicSelector::Name("t".into()), TopicSelector::Id(id)],
    };
    let twice = || Err(DeleteTopicError::NamedTwice);
    assert_eq!(cluster.ask(request), [twice(), twice()]);
}

#[test]
fn co_047_deletion_can_be_disabled() {
    let mut cluster = Cluster::with_options(ControllerOptions {
        may_delete_topics: false,
        ..ControllerOptions::default()
    });
    cluster.add(&[1]);
    cluster.create(NewTopic::new("t")).unwrap();
    let request = DeleteTopics {
        topics: vec![TopicSelector::Name("t".into())],
    };
    assert_eq!(cluster.ask(request), [Err(DeleteTopicError::Disabled)]);
    assert!(cluster.image.topic("t").is_some());
}

fn more(topic: &str, count: i32, assignments: Option<&[&[i32]]>) -> CreatePartitions {
    let lists = |lists: &[&[i32]]| lists.iter().map(|it| brokers(it)).collect();
    CreatePartitions {
        topics: vec![NewPartitions {
            topic: topic.into(),
            count,
            assignments: assignments.map(lists),
        }],
        validate_only: false,
    }
}

/// Covers CO-048, CO-050.
#[test]
fn co_048_the_new_total_must_be_larger() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(sized("t", 2, 2)).unwrap();
    let unknown = CreatePartitionsError::UnknownTopic { topic: "u".into() };
    assert_eq!(cluster.ask(more("u", 3, None)), [Err(unknown)]);
    for count in [2, 1, 0, -1, i32::MIN] {
        let error = CreatePartitionsError::NotMore { count, present: 2 };
        assert_eq!(cluster.ask(more("t", count, None)), [Err(error)]);
    }
    let too_many = CreatePartitionsError::TooManyPartitions;
    assert_eq!(cluster.ask(more("t", i32::MAX, None)), [Err(too_many)]);

    let before = cluster.partition("t", 1);
    cluster.fence(2);
    let fenced = cluster.partition("t", 1);
    assert_eq!(cluster.ask(more("t", 5, None)), [Ok(())]);
    assert_eq!(cluster.image.topic("t").unwrap().partitions.len(), 5);
    assert_eq!(
        cluster.partition("t", 1),
        fenced,
        "the others are as they were"
    );
    assert_eq!(fenced.replicas, before.replicas);
    let added = cluster.partition("t", 4);
    assert_eq!(
        added.replicas,
        brokers(&[1, 2]),
        "the fenced one at the end"
    );
    assert_eq!((added.leader, added.isr), (Some(broker(1)), brokers(&[1])));
}

#[test]
fn co_049_lists_for_added_partitions_are_checked() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    cluster.create(sized("t", 1, 2)).unwrap();
    let mut refused = |count, lists: &[&[i32]], error: AssignmentError| {
        let answer = cluster.ask(more("t", count, Some(lists)));
        assert_eq!(answer, [Err(error.into())]);
    };
    let count = |given, expected| AssignmentError::ListCount { given, expected };
    refused(3, &[&[1, 2]], count(1, 2));
    refused(2, &[&[1, 2], &[2, 3]], count(2, 1));
    let unequal = AssignmentError::UnequalLength {
        given: 3,
        expected: 2,
    };
    refused(2, &[&[1, 2, 3]], unequal);
    let unknown = AssignmentError::UnknownBroker { broker: broker(9) };
    refused(2, &[&[1, 9]], unknown);

    let answer = cluster.ask(more("t", 3, Some(&[&[3, 1], &[2, 3]])));
    assert_eq!(answer, [Ok(())]);
    assert_eq!(cluster.partition("t", 1).replicas, brokers(&[3, 1]));
    assert_eq!(cluster.leader("t", 2), Some(2));

    for id in [1, 2, 3] {
        cluster.fence(id);
    }
    let error = CreatePartitionsError::InvalidReplicationFactor {
        factor: 2,
        usable: 3,
        active: 0,
    };
    assert_eq!(cluster.ask(more("t", 4, None)), [Err(error)]);
}
