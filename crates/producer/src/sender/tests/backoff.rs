//! Attempts, waits between them, leaders that move, and deliveries whose time is over.

use std::time::Duration;

use klamm_client::LossKind;
use klamm_fake_broker::Fault;
use klamm_wire::{ApiKey, ErrorCode, Versions};

use super::world::{World, cluster, config, offset, outcome, partition, plain};
use crate::error::{Failure, Obstacle};

const NOT_LEADER: ErrorCode = ErrorCode::NOT_LEADER_OR_FOLLOWER;

#[test]
fn pr_072_attempts_are_counted() {
    let mut world = World::warm(plain().retries(1), 1, 1);
    world.faults([
        Fault::Error(NOT_LEADER),
        Fault::Error(ErrorCode::NOT_ENOUGH_REPLICAS),
    ]);
    let delivery = world.send(0, "a");
    world.run_ms(5000);
    let last = Failure::of(ErrorCode::NOT_ENOUGH_REPLICAS);
    assert_eq!(outcome(&delivery), Err(last));
    assert_eq!(world.cluster.count(ApiKey::Produce), 2);
    assert!((world.metric("record-retry-total") - 1.0).abs() < 1e-9);
    assert!((world.metric("record-error-total") - 1.0).abs() < 1e-9);
    world.assert_at_rest();
}

/// Covers PR-074, PR-051, P7.2, C035.
#[test]
fn a_batch_that_backs_off_stays_though_full_or_flushed_and_its_neighbours_go() {
    let mut world = World::warm(plain(), 1, 2);
    world.faults([Fault::Error(ErrorCode::NOT_ENOUGH_REPLICAS)]);
    let value = "x".repeat(20_000);
    let held = world.send(0, &value);
    assert_eq!(world.cluster.count(ApiKey::Produce), 1);
    let _flushing = world.accumulator.begin_flush();
    world.run_ms(79);
    assert_eq!(world.cluster.count(ApiKey::Produce), 1, "not before 80 ms");
    let neighbour = world.send(1, "b");
    assert_eq!(offset(&neighbour), 1);
    world.run_ms(50);
    assert_eq!(offset(&held), 1);
    assert_eq!(world.cluster.count(ApiKey::Produce), 3);
}

/// Covers PR-079.
#[test]
fn without_news_of_the_leader_the_retry_waits_and_metadata_is_asked_for() {
    let mut world = World::warm(config(), 2, 1);
    let before = world.cluster.count(ApiKey::Metadata);
    world.faults([Fault::Error(NOT_LEADER)]);
    let delivery = world.send(0, "a");
    world.run_ms(79);
    assert_eq!(world.cluster.count(ApiKey::Produce), 1);
    assert!(world.cluster.count(ApiKey::Metadata) > before);
    world.run_ms(200);
    assert_eq!(offset(&delivery), 1);
}

/// Covers PR-077, C034.
#[test]
fn a_newer_leader_epoch_in_the_metadata_ends_the_wait() {
    // Answers of this version do not name the leader.
    let mut cluster = cluster(2, 1);
    cluster.set_versions(1, ApiKey::Produce, Some(Versions::new(3, 9)));
    let mut world = World::warmed(config(), cluster);
    world.cluster.move_leader(&partition(0), Some(2.into()));
    let delivery = world.send(0, "a");
    world.run_ms(60);
    assert_eq!(offset(&delivery), 1, "before the backoff of 80 ms is over");
    assert_eq!(world.cluster.batches_seen().last().unwrap().node.get(), 2);
}

/// Covers PR-078, P7.7.
#[test]
fn a_leader_that_the_answer_names_is_sent_to_at_once() {
    let mut world = World::warm(config(), 2, 1);
    world.cluster.move_leader(&partition(0), Some(2.into()));
    let before = world.cluster.count(ApiKey::Metadata);
    let delivery = world.send(0, "a");
    world.run_ms(60);
    assert_eq!(offset(&delivery), 1);
    assert_eq!(world.cluster.batches_seen().last().unwrap().node.get(), 2);
    world.run_ms(1000);
    assert!(
        world.cluster.count(ApiKey::Metadata) > before,
        "a refresh is asked for all the same"
    );
}

/// Covers PR-075, PR-080, PR-042.
#[test]
fn with_one_request_in_flight_nothing_overtakes_a_batch_that_is_sent_again() {
    let mut world = World::warm(plain().max_in_flight(1), 2, 1);
    world.faults([Fault::Error(NOT_LEADER)]);
    let first = world.send(0, "a");
    let second = world.append("t", 0, &"b".repeat(20_000), None);
    world.cluster.move_leader(&partition(0), Some(2.into()));
    world.run_ms(3000);
    assert_eq!((offset(&first), offset(&second)), (1, 2));
    let log = world.log(0);
    assert_eq!((log[0].as_str(), log[1].len()), ("a", 20_000));
    world.assert_at_rest();
}

/// Covers PR-081, PR-083, PR-084, PR-085, P5.6, C083.
#[test]
fn a_delivery_ends_in_time_whatever_the_batch_waits_for() {
    let config = || {
        plain()
            .delivery_timeout(Duration::from_secs(2))
            .request_timeout(Duration::from_secs(1))
    };
    // Nobody can be connected to: the nodes are looked for at the bootstrap servers again.
    let mut world = World::warm(config(), 1, 1);
    world.down.push(1);
    world.cut(1);
    let queued = world.send(0, "a");
    world.run_ms(1999);
    assert!(queued.outcome().is_none());
    world.run_ms(1);
    let failure = outcome(&queued).unwrap_err();
    assert!(matches!(
        failure,
        Failure::Expired { record_count: 1, age, sent: false, .. } if age == Duration::from_secs(2)
    ));
    let text = failure.to_string();
    assert!(text.contains("1 records for t-0: 2000 ms"), "{text}");
    let end = "(delivery.timeout.ms); last: bootstrap server broker-1:9092: refused";
    assert!(text.ends_with(end), "{text}");
    let Failure::Expired { last, .. } = failure else {
        unreachable!("it was matched above");
    };
    let Some(Obstacle::Connection(trouble)) = last else {
        panic!("{last:?}");
    };
    assert!(trouble.node.is_bootstrap());
    assert_eq!(trouble.loss.kind, LossKind::Refused);
    world.assert_at_rest();

    // It is tried again and again.
    let mut world = World::warm(config(), 1, 1);
    world.faults(vec![Fault::Error(ErrorCode::NOT_ENOUGH_REPLICAS); 99]);
    let retried = world.send(0, "a");
    world.run_ms(1999);
    assert!(retried.outcome().is_none());
    world.run_ms(1);
    let answer = Some(Obstacle::Answer(ErrorCode::NOT_ENOUGH_REPLICAS));
    assert!(matches!(
        outcome(&retried),
        Err(Failure::Expired { sent: true, last, .. }) if last == answer
    ));
    assert!((3..9).contains(&world.cluster.count(ApiKey::Produce)));
    world.assert_at_rest();
}

#[test]
fn a_delivery_whose_leader_alone_is_gone_names_it() {
    let config = plain()
        .delivery_timeout(Duration::from_secs(2))
        .request_timeout(Duration::from_secs(1));
    let mut world = World::warm(config, 2, 1);
    let delivery = world.append("t", 0, "a", None);
    world.down.push(1);
    world.cut(1);
    world.run_ms(2_000);
    let failure = outcome(&delivery).unwrap_err();
    let text = failure.to_string();
    assert!(
        text.ends_with("; last: node 1 at broker-1:9092: refused"),
        "{text}"
    );
    assert!(failure.is_retriable());
}

#[test]
fn a_delivery_that_waits_for_a_leader_in_vain_says_so() {
    let config = plain()
        .delivery_timeout(Duration::from_secs(2))
        .request_timeout(Duration::from_secs(1));
    let mut world = World::warm(config, 1, 1);
    world.cluster.move_leader(&partition(0), None);
    world.client.metadata().request_update();
    world.run_ms(500);
    let delivery = world.send(0, "a");
    world.run_ms(2_000);
    let none = Some(Obstacle::NoLeader);
    assert!(matches!(
        outcome(&delivery),
        Err(Failure::Expired { sent: false, last, .. }) if last == none
    ));
    world.assert_at_rest();
}

/// Covers PR-082, PR-086, C070, P7.6.
#[test]
fn batches_in_flight_expire_together_and_keep_their_memory_until_the_answer() {
    let config = plain().delivery_timeout(Duration::from_secs(30));
    let mut world = World::warm(config, 1, 2);
    world.faults([Fault::Swallow]);
    let deliveries = [0, 1].map(|index| world.append("t", index, "a", None));
    world.settle();
    assert_eq!(world.cluster.count(ApiKey::Produce), 1);
    world.run_ms(29_999);
    assert!(
        deliveries
            .iter()
            .all(|delivery| delivery.outcome().is_none())
    );
    world.now += Duration::from_millis(1);
    world.settle();
    for delivery in &deliveries {
        assert!(matches!(
            outcome(delivery),
            Err(Failure::Expired { sent: true, .. })
        ));
    }
    let pool = std::sync::Arc::clone(world.accumulator.pool());
    assert!(
        pool.available() < pool.total(),
        "the network may still hold the bytes"
    );
    // The request's time is over a moment later, which closes its connection.
    world.run_ms(10);
    assert_eq!(pool.available(), pool.total());
    world.assert_at_rest();
}

#[test]
fn pr_081_a_clock_that_is_behind_expires_nothing() {
    let mut world = World::warm(plain(), 1, 1);
    world.down.push(1);
    world.cut(1);
    let delivery = world.send(0, "a");
    world.now = world.start;
    world.settle();
    assert!(delivery.outcome().is_none());
}
