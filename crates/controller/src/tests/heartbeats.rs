//! Heartbeats, and what they make of brokers and their partitions.

use klamm_primitives::{BrokerEpoch, Uuid};
use klamm_wire::metadata::ClusterMetadataRecord as Record;

use super::fixture::{Cluster, assigned, broker, brokers, offset, registration};
use crate::deciders::{Heartbeat, HeartbeatAnswer, HeartbeatError, RegisterBroker};

const UNFENCED: HeartbeatAnswer = HeartbeatAnswer {
    is_caught_up: true,
    is_fenced: false,
    should_shut_down: false,
};

fn names(records: &[Record]) -> Vec<&'static str> {
    records.iter().map(Record::name).collect()
}

/// Covers CO-020, CO-021, B6.2.
#[test]
fn co_021_the_answer_tells_caught_up_fenced_and_shutdown() {
    let mut cluster = Cluster::empty();
    cluster.ask(registration(1, 1)).unwrap();
    let behind = Heartbeat {
        metadata_offset: cluster.image.offset() - 1,
        ..cluster.heartbeat(1)
    };
    let answer = cluster.ask(behind).unwrap();
    let fenced = HeartbeatAnswer {
        is_caught_up: false,
        is_fenced: true,
        should_shut_down: false,
    };
    assert_eq!(answer, fenced, "it has not seen its registration");

    let fencing = Heartbeat {
        wants_fence: true,
        ..cluster.heartbeat(1)
    };
    let answer = cluster.ask(fencing).unwrap();
    assert_eq!((answer.is_caught_up, answer.is_fenced), (true, true));
    assert_eq!(cluster.unfence(1), UNFENCED);
    assert!(cluster.image.is_active(broker(1)));
    assert_eq!(cluster.unfence(1), UNFENCED);
    assert_eq!(cluster.records, [], "nothing changes any more");
}

#[test]
fn co_025_a_heartbeat_of_an_unregistered_broker_is_an_error() {
    let mut cluster = Cluster::of(&[1]);
    let stranger = Heartbeat {
        broker: broker(2),
        epoch: BrokerEpoch::NONE,
        ..cluster.heartbeat(1)
    };
    let error = HeartbeatError::NotRegistered { broker: broker(2) };
    assert_eq!(cluster.ask(stranger), Err(error));
}

#[test]
fn co_026_fencing_leaves_the_isr_elects_then_fences() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned("alone", &[&[1]])).unwrap();
    cluster.create(assigned("t", &[&[1, 2], &[2, 1]])).unwrap();
    cluster.fence(1);
    let expected = [
        "PartitionChangeRecord",
        "PartitionChangeRecord",
        "PartitionChangeRecord",
        "BrokerRegistrationChangeRecord",
    ];
    assert_eq!(names(&cluster.records), expected);
    assert_eq!(cluster.isr("t", 0), brokers(&[2]));
    assert_eq!(cluster.leader("t", 0), Some(2));
    assert_eq!(cluster.isr("t", 1), brokers(&[2]));
    assert_eq!(cluster.leader("t", 1), Some(2));
    assert_eq!(
        cluster.partition("t", 1).leader_epoch.get(),
        0,
        "it led before"
    );
    assert_eq!(cluster.isr("alone", 0), brokers(&[1]), "the last one stays");
    assert_eq!(cluster.leader("alone", 0), None);
}

#[test]
fn co_027_an_unfenced_broker_leads_what_nobody_else_can() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned("t", &[&[1, 2]])).unwrap();
    cluster.create(assigned("alone", &[&[1]])).unwrap();
    cluster.fence(1);
    cluster.unfence(1);
    assert_eq!(cluster.leader("t", 0), Some(2), "who leads goes on");
    assert_eq!(cluster.leader("alone", 0), Some(1));
    assert_eq!(cluster.partition("alone", 0).leader_epoch.get(), 2);
}

#[test]
fn co_028_a_broker_that_asks_for_it_is_fenced() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned("t", &[&[1, 2]])).unwrap();
    let heartbeat = Heartbeat {
        wants_fence: true,
        ..cluster.heartbeat(1)
    };
    assert!(cluster.ask(heartbeat).unwrap().is_fenced);
    assert!(cluster.image.broker(broker(1)).unwrap().is_fenced);
    assert_eq!(cluster.leader("t", 0), Some(2));
}

#[test]
fn co_029_who_leads_nothing_may_stop_at_once() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned("t", &[&[1, 2]])).unwrap();
    let answer = cluster.wants_shutdown(2);
    assert!(answer.should_shut_down && answer.is_fenced);
    assert!(cluster.image.broker(broker(2)).unwrap().is_fenced);
    assert_eq!(cluster.isr("t", 0), brokers(&[1]));
    assert!(
        cluster.wants_shutdown(2).should_shut_down,
        "a fenced one may"
    );
    assert_eq!(cluster.records, []);
}

#[test]
fn co_030_who_leads_something_hands_it_over_first() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    cluster.create(assigned("t", &[&[1, 2], &[2, 1]])).unwrap();
    let answer = cluster.wants_shutdown(1);
    assert!(!answer.should_shut_down && !answer.is_fenced);
    assert!(
        cluster
            .image
            .broker(broker(1))
            .unwrap()
            .in_controlled_shutdown
    );
    assert_eq!(cluster.leader("t", 0), Some(2));
    assert_eq!(cluster.isr("t", 0), brokers(&[2]));
    assert_eq!(cluster.isr("t", 1), brokers(&[2]));

    cluster.create(assigned("new", &[&[1, 3]])).unwrap();
    assert_eq!(cluster.isr("new", 0), brokers(&[3]), "it joins no ISR");
}

#[test]
fn co_031_it_waits_while_it_leads_and_until_the_others_know() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned("t", &[&[1, 2]])).unwrap();
    let before = cluster.heartbeat(2);
    cluster.wants_shutdown(1);
    cluster.ask(before).unwrap();
    let answer = cluster.wants_shutdown(1);
    assert!(
        !answer.should_shut_down,
        "broker 2 does not know yet that it leads"
    );
    cluster.unfence(2);
    let answer = cluster.wants_shutdown(1);
    assert!(answer.should_shut_down && answer.is_fenced);
}

#[test]
fn co_031_a_broker_alone_stops_after_its_second_heartbeat() {
    let mut cluster = Cluster::of(&[1]);
    cluster.create(assigned("t", &[&[1]])).unwrap();
    assert!(!cluster.wants_shutdown(1).should_shut_down);
    assert_eq!(cluster.leader("t", 0), None);
    assert!(cluster.wants_shutdown(1).should_shut_down);
    assert_eq!(cluster.isr("t", 0), brokers(&[1]));
}

/// Covers CO-062, CO-034.
#[test]
fn co_034_what_is_in_a_failed_directory_gets_another_leader() {
    let (first, second) = (Uuid::from_u128(501), Uuid::from_u128(502));
    let mut cluster = Cluster::of(&[2]);
    let request = RegisterBroker {
        log_dirs: vec![first, second],
        ..registration(1, 1)
    };
    cluster.ask(request).unwrap();
    cluster.unfence(1);
    cluster.create(assigned("t", &[&[1, 2], &[1, 2]])).unwrap();
    for (index, directory) in [(0, first), (1, second)] {
        let place = klamm_wire::metadata::partition::PartitionChangeRecord {
            topic_id: cluster.image.topic("t").unwrap().id,
            partition_id: index.into(),
            directories: Some(vec![directory, cluster.partition("t", 0).directories[1]]),
            ..Default::default()
        };
        cluster.commit(vec![place.into()]);
    }

    let heartbeat = Heartbeat {
        failed_log_dirs: vec![second],
        ..cluster.heartbeat(1)
    };
    cluster.ask(heartbeat.clone()).unwrap();
    assert_eq!(cluster.leader("t", 0), Some(1));
    assert_eq!(cluster.leader("t", 1), Some(2));
    assert_eq!(cluster.isr("t", 1), brokers(&[2]));
    assert_eq!(cluster.image.broker(broker(1)).unwrap().log_dirs, [first]);
    cluster.ask(heartbeat).unwrap();
    assert_eq!(cluster.records, [], "told again, nothing changes");

    // A replica whose directory is gone does not lead, even if it is the last in the ISR.
    cluster.fence(2);
    assert_eq!(cluster.leader("t", 1), None);
}

#[test]
fn co_033_the_lowest_active_offset_leaves_out_who_is_not_active() {
    let mut cluster = Cluster::of(&[0, 1, 2, 3, 4]);
    for (id, at) in [(0, 100), (1, 100), (2, 98), (3, 100)] {
        let heartbeat = Heartbeat {
            metadata_offset: offset(at),
            ..cluster.heartbeat(id)
        };
        cluster.ask(heartbeat).unwrap();
    }
    cluster.fence(4);
    let lowest = |cluster: &Cluster| {
        let image = &cluster.image;
        cluster
            .core
            .sessions
            .lowest_active_offset(|id| image.is_active(id))
    };
    assert_eq!(lowest(&cluster), Some(offset(98)));
    cluster.create(assigned("t", &[&[2, 0]])).unwrap();
    cluster.wants_shutdown(2);
    assert_eq!(lowest(&cluster), Some(offset(100)));
}
