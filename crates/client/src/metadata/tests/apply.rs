//! What is kept of answers.

use super::*;

fn partition(topic: &str, index: i32) -> TopicPartition {
    TopicPartition::new(topic, PartitionIndex::new(index))
}

#[test]
fn cl_073_a_full_answer_replaces_everything_and_a_partial_one_what_it_names() {
    let fixture = Fixture::knowing(&[topic("a", &[(0, 1)]), topic("b", &[(1, 1)])]);
    fixture.metadata.add_topic("c", fixture.now);
    let (_, asked) = fixture.metadata.next_request(fixture.now);
    let mut answer = response(brokers(2), &[topic("c", &[(1, 1)])]);
    answer.controller_id = BrokerId::new(1);
    answer.cluster_id = Some("other".into());
    fixture
        .metadata
        .apply(&answer, 12, asked, fixture.now)
        .unwrap();
    let cluster = fixture.metadata.cluster();
    assert_eq!(fixture.topics(), ["a", "b", "c"]);
    assert_eq!(cluster.nodes().len(), 2);
    assert_eq!(cluster.controller().unwrap().id, NodeId::new(1));
    assert_eq!(cluster.cluster_id().unwrap().as_ref(), "other");
    fixture.full(&[topic("b", &[(2, 2)])]);
    assert_eq!(fixture.topics(), ["b"]);
    assert_eq!(fixture.leader("b", 0), Some(2));
}

#[test]
fn the_number_of_the_snapshot_changes_with_the_snapshot_and_only_then() {
    let fixture = Fixture::knowing(&[topic("a", &[(0, 1)])]);
    let number = || fixture.metadata.snapshot_number();
    let before = number();
    fixture.metadata.add_topic("b", fixture.now);
    fixture.metadata.request_update();
    assert_eq!(number(), before);
    fixture.full(&[topic("a", &[(0, 1)]), topic("b", &[(0, 1)])]);
    let after = number();
    assert_ne!(after, before);
    fixture.metadata.rebootstrap(&[]);
    assert_ne!(number(), after);
}

#[test]
fn cl_074_an_entry_with_a_lower_epoch_is_ignored() {
    let fixture = Fixture::knowing(&[topic("a", &[(0, 10), (1, 20)])]);
    let mut older = topic("a", &[(2, 9), (2, 20)]);
    older.partitions[0].isr_nodes = [BrokerId::new(2)].into();
    fixture.full(&[older]);
    assert_eq!(fixture.leader("a", 0), Some(0));
    let cluster = fixture.metadata.cluster();
    let kept = cluster.partition("a", PartitionIndex::new(0)).unwrap();
    assert_eq!(kept.isr, [NodeId::new(0)], "the in-sync list included");
    assert_eq!(kept.leader_epoch, Some(LeaderEpoch::new(10)));
    assert_eq!(fixture.leader("a", 1), Some(2), "an equal one is taken");
    fixture.full(&[topic("a", &[(1, 11), (0, 21)])]);
    assert_eq!(
        (fixture.leader("a", 0), fixture.leader("a", 1)),
        (Some(1), Some(0))
    );
    assert_eq!(
        (fixture.epoch("a", 0), fixture.epoch("a", 1)),
        (Some(11), Some(21))
    );
}

#[test]
fn cl_075_epochs_count_from_version_9_on() {
    for (version, expected) in [(8, None), (9, Some(5)), (12, Some(5))] {
        let fixture = Fixture::new();
        fixture.metadata.add_topic("a", fixture.now);
        fixture.full_in(version, &[topic("a", &[(0, 5)])]);
        assert_eq!(fixture.epoch("a", 0), expected);
        let cluster = fixture.metadata.cluster();
        let known = cluster.partition("a", PartitionIndex::new(0)).unwrap();
        assert_eq!(known.leader_epoch.map(LeaderEpoch::get), expected);
    }
}

#[test]
fn cl_076_an_entry_without_epoch_removes_the_remembered_one_and_is_taken() {
    let fixture = Fixture::knowing(&[topic("a", &[(0, 10)])]);
    fixture.full(&[topic("a", &[(1, -1)])]);
    assert_eq!(
        (fixture.leader("a", 0), fixture.epoch("a", 0)),
        (Some(1), None)
    );
    fixture.full(&[topic("a", &[(2, 3)])]);
    assert_eq!(
        (fixture.leader("a", 0), fixture.epoch("a", 0)),
        (Some(2), Some(3))
    );
    fixture.full_in(8, &[topic("a", &[(0, 9)])]);
    assert_eq!(
        (fixture.leader("a", 0), fixture.epoch("a", 0)),
        (Some(0), None)
    );
}

#[test]
fn cl_077_the_epochs_of_a_topic_that_is_missing_stay_as_long_as_it_is_tracked() {
    let fixture = Fixture::knowing(&[topic("a", &[(0, 10)])]);
    fixture.full(&[]);
    assert!(fixture.topics().is_empty());
    assert_eq!(fixture.epoch("a", 0), Some(10));
    fixture.full(&[topic("a", &[(2, 9)])]);
    assert_eq!(fixture.leader("a", 0), None, "older than what was seen");
    fixture.full(&[topic("a", &[(2, 10)])]);
    assert_eq!(fixture.leader("a", 0), Some(2));
}

#[test]
fn cl_078_a_higher_epoch_seen_elsewhere_asks_for_a_refresh() {
    let fixture = Fixture::knowing(&[topic("a", &[(0, 0)])]);
    let mut asked = Vec::new();
    for (at, epoch) in (1..).zip([42, 42, 41, 41, 42, 43, 43, 42, 41, 44]) {
        if fixture
            .metadata
            .learn_epoch(&partition("a", 0), LeaderEpoch::new(epoch))
        {
            asked.push(at);
        }
    }
    assert_eq!(asked, [1, 6, 10]);
    assert!(fixture.metadata.update_requested());
    assert_eq!(fixture.epoch("a", 0), Some(44));
    // First ever: nothing.
    let fixture = Fixture::knowing(&[topic("a", &[(0, -1)])]);
    for (name, index) in [("a", 0), ("a", 7), ("other", 0)] {
        let learned = fixture
            .metadata
            .learn_epoch(&partition(name, index), LeaderEpoch::new(1));
        assert!(!learned);
    }
    assert!(!fixture.metadata.update_requested());
}

#[test]
#[should_panic(expected = "negative leader epoch")]
fn cl_078_a_negative_epoch_is_an_invalid_argument() {
    let fixture = Fixture::new();
    fixture
        .metadata
        .learn_epoch(&partition("a", 0), LeaderEpoch::NONE);
}

#[test]
fn cl_079_a_leader_change_is_merged_for_its_partition_only() {
    let fixture = Fixture::knowing(&[topic("a", &[(0, 10), (1, 10)])]);
    let change = |topic: &str, index, leader, epoch| LeaderChange {
        partition: partition(topic, index),
        leader: NodeId::new(leader),
        leader_epoch: LeaderEpoch::new(epoch),
    };
    let nine = Node {
        id: NodeId::new(9),
        host: "node9".into(),
        port: 9092,
        rack: None,
    };
    for ignored in [
        change("a", 0, -1, 11),
        change("a", 0, 1, -1),
        change("a", 0, 1, 10),
        change("a", 0, 1, 9),
        change("a", 7, 1, 11),
        change("b", 0, 1, 11),
        change("a", 0, 8, 11),
    ] {
        let changed = fixture
            .metadata
            .learn_leaders(std::slice::from_ref(&ignored), std::slice::from_ref(&nine));
        assert!(changed.is_empty(), "{ignored:?}");
    }
    assert_eq!(fixture.leader("a", 0), Some(0));
    let changes = [change("a", 0, 9, 11), change("a", 7, 1, 11)];
    let changed = fixture.metadata.learn_leaders(&changes, &[nine]);
    assert_eq!(changed, [partition("a", 0)]);
    let cluster = fixture.metadata.cluster();
    assert_eq!(fixture.leader("a", 0), Some(9));
    assert_eq!(fixture.leader("a", 1), Some(1));
    assert_eq!(cluster.node(NodeId::new(9)).unwrap().host.as_ref(), "node9");
    assert_eq!(cluster.led_by(NodeId::new(9)), [partition("a", 0)]);
    assert!(cluster.led_by(NodeId::new(0)).is_empty());
    assert_eq!(fixture.epoch("a", 0), Some(11));
    assert_eq!(cluster.version(), 1);
    // What is known before the change does not undo it.
    fixture.full(&[topic("a", &[(0, 10), (1, 10)])]);
    assert_eq!(
        fixture.leader("a", 0),
        None,
        "the address is not known any more"
    );
    fixture.full(&[topic("a", &[(2, 11), (1, 10)])]);
    assert_eq!(fixture.leader("a", 0), Some(2));
}

#[test]
fn cl_080_topic_errors_are_raised_once() {
    let bad = || {
        [
            failed_topic("secret", ErrorCode::TOPIC_AUTHORIZATION_FAILED),
            failed_topic("in/valid", ErrorCode::INVALID_TOPIC_EXCEPTION),
        ]
    };
    let invalid = MetadataError::Topic(TopicError::Invalid {
        topic: "in/valid".into(),
    });
    let unauthorized = MetadataError::Topic(TopicError::Unauthorized {
        topic: "secret".into(),
    });
    let fixture = Fixture::knowing(&bad());
    assert_eq!(fixture.metadata.take_error(), Some(invalid));
    assert_eq!(fixture.metadata.take_error(), None);

    fixture.full(&bad());
    assert_eq!(
        fixture.metadata.take_error_for("secret"),
        Some(unauthorized)
    );
    assert_eq!(fixture.metadata.take_error(), None, "all are cleared");
    fixture.full(&bad());
    assert_eq!(fixture.metadata.take_error_for("fine"), None);
    assert_eq!(fixture.metadata.take_error(), None, "all are cleared");

    fixture.full(&bad());
    let cluster = fixture.metadata.cluster();
    assert_eq!(cluster.invalid_topics(), ["in/valid".into()]);
    assert_eq!(cluster.unauthorized_topics(), ["secret".into()]);
    fixture.full(&[topic("secret", &[(0, 1)])]);
    assert_eq!(
        fixture.metadata.take_error(),
        None,
        "a good answer clears them"
    );
    assert!(fixture.metadata.cluster().invalid_topics().is_empty());
}

/// Covers CL-073, CL-080: also of an error that is not raised.
#[test]
fn what_an_answer_says_in_place_of_partitions_is_kept_until_another_names_the_topic() {
    let refused = || failed_topic("new", ErrorCode::INVALID_REPLICATION_FACTOR);
    let fixture = Fixture::knowing(&[refused(), topic("a", &[(0, 1)])]);
    let said = || fixture.metadata.cluster().topic_error("new");
    assert_eq!(said(), Some(ErrorCode::INVALID_REPLICATION_FACTOR));
    assert_eq!(fixture.metadata.cluster().topic_error("a"), None);
    assert_eq!(fixture.metadata.take_error(), None, "it is not raised");
    fixture.metadata.add_topic("c", fixture.now);
    fixture.answer(&[topic("c", &[(0, 1)])]);
    assert_eq!(said(), Some(ErrorCode::INVALID_REPLICATION_FACTOR));
    fixture.full(&[topic("new", &[(0, 1)])]);
    assert_eq!(said(), None);
}

#[test]
fn cl_081_topic_ids_are_kept_with_the_names() {
    let with_id = |number, epoch| MetadataResponseTopic {
        topic_id: topic_id(number),
        ..topic("a", &[(0, epoch)])
    };
    let fixture = Fixture::knowing(&[with_id(7, 5)]);
    let cluster = fixture.metadata.cluster();
    assert_eq!(cluster.topic("a").unwrap().id(), topic_id(7));
    assert_eq!(cluster.topic_name(topic_id(7)).unwrap().as_ref(), "a");
    fixture.full(&[topic("a", &[(0, 5)])]);
    let cluster = fixture.metadata.cluster();
    assert!(cluster.topic("a").unwrap().id().is_zero());
    assert_eq!(cluster.topic_name(topic_id(7)), None);
}

/// Covers CL-074: a topic that was deleted and made anew starts with low epochs again (C037).
#[test]
fn another_topic_id_means_another_topic() {
    let with_id = |number, leader, epoch| MetadataResponseTopic {
        topic_id: topic_id(number),
        ..topic("a", &[(leader, epoch)])
    };
    let fixture = Fixture::knowing(&[with_id(7, 0, 50)]);
    fixture.full(&[with_id(8, 1, 0)]);
    assert_eq!(
        (fixture.leader("a", 0), fixture.epoch("a", 0)),
        (Some(1), Some(0))
    );
}

#[test]
fn cl_082_only_a_replica_that_is_up_is_offered() {
    let mut described = topic("a", &[(0, 1)]);
    described.partitions[0].replica_nodes = [0, 1].map(BrokerId::new).into();
    described.partitions[0].offline_replicas = [BrokerId::new(1)].into();
    let fixture = Fixture::knowing(&[described]);
    let cluster = fixture.metadata.cluster();
    let online = |id| {
        let node = cluster.node_if_online("a", PartitionIndex::new(0), NodeId::new(id));
        node.map(|node| node.id.get())
    };
    assert_eq!([0, 1, 2].map(online), [Some(0), None, None]);
}

#[test]
fn a_snapshot_is_looked_up_by_topic_partition_and_node() {
    let fixture = Fixture::knowing(&[
        topic("b", &[(1, 1), (-1, 1), (7, 1)]),
        topic("a", &[(0, 1), (1, 1)]),
    ]);
    let cluster = fixture.metadata.cluster();
    let b = cluster.topic("b").unwrap();
    assert_eq!(b.partitions().len(), 3);
    let available: Vec<i32> = b.available().map(|p| p.index.get()).collect();
    assert_eq!(available, [0], "a leader at an unknown address is none");
    assert_eq!(
        cluster.led_by(NodeId::new(1)),
        [partition("a", 1), partition("b", 0)]
    );
    assert_eq!(cluster.controller().unwrap().id.get(), 2);
    assert_eq!(cluster.cluster_id().unwrap().as_ref(), "cluster");
    assert_eq!(cluster.topics().len(), 2);
    assert!(cluster.partition("b", PartitionIndex::new(3)).is_none());
    assert!(cluster.partition("b", PartitionIndex::new(-1)).is_none());
}

#[test]
fn partitions_with_gaps_are_found_by_index() {
    let mut described = topic("a", &[(0, 1), (1, 1), (2, 1)]);
    for (partition, index) in described.partitions.iter_mut().zip([9, 2, 5]) {
        partition.partition_index = PartitionIndex::new(index);
    }
    let fixture = Fixture::knowing(&[described]);
    assert_eq!(fixture.leader("a", 9), Some(0));
    assert_eq!(fixture.leader("a", 2), Some(1));
    assert_eq!(fixture.leader("a", 5), Some(2));
    assert_eq!(fixture.leader("a", 0), None);
}

#[test]
fn a_broker_without_a_usable_port_is_left_out() {
    let fixture = Fixture::new();
    let (_, asked) = fixture.metadata.next_request(fixture.now);
    let mut answer = response(brokers(3), &[]);
    answer.brokers[1].port = 70_000;
    answer.brokers[2].rack = Some("east".into());
    fixture
        .metadata
        .apply(&answer, 12, asked, fixture.now)
        .unwrap();
    let cluster = fixture.metadata.cluster();
    let nodes: Vec<_> = cluster.nodes().cloned().collect();
    assert_eq!(nodes.len(), 2);
    assert_eq!(nodes[1].rack.as_deref(), Some("east"));
}
