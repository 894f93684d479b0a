//! Producer ids, sequences and epochs, against a cluster that checks them.

use std::time::Duration;

use klamm_fake_broker::{ClusterModel, Fault, Rule, SeenBatch};
use klamm_wire::{ApiKey, ErrorCode};

use super::world::{World, cluster, config, offset, outcome, partition};
use crate::error::Failure;

fn cold(prepare: impl FnOnce(&mut ClusterModel)) -> World {
    let mut cluster = cluster(1, 2);
    prepare(&mut cluster);
    World::new(config(), cluster)
}

const LOADING: Fault = Fault::Error(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);

fn sequences(world: &World) -> Vec<(i16, i32)> {
    let of = |seen: &SeenBatch| {
        (
            seen.header.producer_epoch.get(),
            seen.header.base_sequence.get(),
        )
    };
    world.cluster.batches_seen().iter().map(of).collect()
}

/// Covers PR-097, PR-098.
#[test]
fn an_id_is_asked_for_first_and_sequences_count_records() {
    let mut world = cold(|_| ());
    let first = world.append("t", 0, "a", None);
    world.append("t", 0, "b", None);
    world.run_ms(1000);
    assert_eq!(
        (world.cluster.count(ApiKey::InitProducerId), offset(&first)),
        (1, 0)
    );
    world.send(0, "c");
    world.send(1, "d");
    let [asked] = world.cluster.producer_ids_asked_for() else {
        panic!("{:?}", world.cluster.producer_ids_asked_for());
    };
    assert_eq!(asked.transactional_id, None);
    assert_eq!(asked.transaction_timeout_ms, i32::MAX);
    assert_eq!(sequences(&world), [(0, 0), (0, 2), (0, 0)]);
    assert!(
        world
            .cluster
            .batches_seen()
            .iter()
            .all(|seen| seen.header.producer_id.get() == 1000)
    );
}

#[test]
fn pr_099_five_batches_of_a_partition_are_in_flight_and_no_more() {
    let mut world = World::warm(config(), 1, 1);
    world.faults(vec![Fault::Delay(Duration::from_secs(1)); 9]);
    let deliveries: Vec<_> = (0..7).map(|_| world.send(0, "x")).collect();
    assert_eq!(world.cluster.count(ApiKey::Produce), 5);
    assert_eq!(sequences(&world), [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]);
    world.run_ms(5000);
    let offsets: Vec<_> = deliveries.iter().map(offset).collect();
    assert_eq!(offsets, [1, 2, 3, 4, 5, 6, 7]);
}

/// A broker knows the last five batches of a producer again. One that waits for its answer from a
/// former leader, and was written, has to be among them when it is sent to the next leader, though
/// that one acknowledges others meanwhile.
#[test]
fn pr_099_nor_are_more_written_behind_one_than_a_broker_remembers() {
    let config = config().request_timeout(Duration::from_secs(2));
    let mut world = World::warm(config.delivery_timeout(Duration::from_secs(9)), 2, 2);
    world.faults([Fault::Delay(Duration::from_secs(5))]);
    let mut deliveries = vec![world.send(0, "0")];
    world.cluster.move_leader(&partition(0), Some(2.into()));
    // The other broker, which has nothing to answer, is asked.
    world.client.metadata().request_update();
    world.run_ms(500);
    let values: Vec<String> = (0..14).map(|value| value.to_string()).collect();
    for value in &values[1..] {
        deliveries.push(world.send(0, value));
        world.run_ms(10);
    }
    assert_eq!(sequences(&world).len(), 5, "{:?}", sequences(&world));
    world.run_ms(5_000);
    assert!(deliveries.iter().all(|delivery| outcome(delivery).is_ok()));
    assert_eq!(world.log(0), values);
    world.assert_at_rest();
}

#[test]
fn pr_100_an_id_is_asked_for_again_after_the_same_wait_each_time() {
    let mut world = cold(|cluster| {
        cluster.line_up(ApiKey::InitProducerId, vec![LOADING; 5]);
    });
    let delivery = world.send(0, "a");
    world.run_ms(499);
    assert_eq!(world.cluster.count(ApiKey::InitProducerId), 5);
    assert!(delivery.outcome().is_none());
    world.run_ms(2);
    assert_eq!(
        (
            world.cluster.count(ApiKey::InitProducerId),
            offset(&delivery)
        ),
        (6, 0)
    );
}

#[test]
fn pr_101_without_the_right_to_an_id_records_fail_and_the_producer_lives() {
    let mut world = cold(|cluster| {
        cluster.line_up(
            ApiKey::InitProducerId,
            [Fault::Error(ErrorCode::CLUSTER_AUTHORIZATION_FAILED)],
        );
    });
    let refused = world.send(0, "a");
    world.run_ms(50);
    let failure = Failure::of(ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
    assert_eq!(outcome(&refused), Err(failure));
    assert!(world.lifecycle.fatal().is_none());
    let delivery = world.send(0, "b");
    world.run_ms(1000);
    assert_eq!(offset(&delivery), 0);
    world.assert_at_rest();
}

/// Covers PR-102, PR-113.
#[test]
fn a_produce_without_the_right_is_the_end() {
    let mut world = World::warm(config(), 2, 2);
    world.faults([
        Fault::Delay(Duration::from_secs(1)),
        Fault::Error(ErrorCode::CLUSTER_AUTHORIZATION_FAILED),
    ]);
    let late = world.send(1, "a");
    let refused = world.send(0, "b");
    let queued = world.append("t", 0, "c", None);
    world.run_ms(1500);
    let cause = Failure::of(ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
    assert_eq!(world.lifecycle.fatal(), Some(&cause));
    assert!(outcome(&refused).is_err());
    assert!(matches!(outcome(&queued), Err(Failure::ProducerFailed(_))));
    // The answer that came late does no harm.
    assert!(matches!(outcome(&late), Err(Failure::ProducerFailed(_))));
    let requests = world.cluster.count(ApiKey::Produce);
    let after = world.append("t", 0, "d", None);
    world.run_ms(1000);
    assert!(matches!(outcome(&after), Err(Failure::ProducerFailed(why)) if *why == cause));
    assert_eq!(world.cluster.count(ApiKey::Produce), requests);
    world.assert_at_rest();
}

#[test]
fn pr_103_with_one_request_per_connection_the_id_is_asked_for_in_the_end() {
    let mut world = World::new(config().max_in_flight(1), cluster(1, 1));
    let delivery = world.send(0, "a");
    world.run_ms(1000);
    assert_eq!(offset(&delivery), 0);
}

#[test]
fn pr_104_without_a_node_the_id_waits_and_does_not_spin() {
    let mut world = World::new(config(), cluster(1, 1));
    world.down.push(1);
    let delivery = world.send(0, "a");
    world.run_ms(60_000);
    assert!(world.turns < 5_000, "{} turns", world.turns);
    world.down.clear();
    world.run_ms(5_000);
    assert_eq!(offset(&delivery), 0);
}

/// Covers PR-076, PR-105, PR-110, C064.
#[test]
fn a_batch_out_of_order_is_sent_again_as_it_is_behind_the_one_before() {
    let mut world = World::warm(config(), 1, 1);
    world.faults([Fault::Error(ErrorCode::NOT_ENOUGH_REPLICAS)]);
    let mut deliveries = vec![world.append("t", 0, "a", None)];
    // All three are out before the first answer comes.
    world
        .cluster
        .add_rule(Rule::always(Fault::Delay(Duration::from_millis(10))).of(ApiKey::Produce));
    for value in ["b", "c"] {
        deliveries.push(world.append("t", 0, &value.repeat(20_000), None));
    }
    world.run_ms(3000);
    let offsets: Vec<_> = deliveries.iter().map(offset).collect();
    assert_eq!(offsets, [1, 2, 3]);
    assert!(
        sequences(&world).iter().all(|(epoch, _)| *epoch == 0),
        "no epoch was raised"
    );
    world.assert_at_rest();
}

/// Covers PR-106.
#[test]
fn a_gap_before_the_next_batch_raises_the_epoch_and_begins_at_0() {
    let mut world = World::warm(config(), 1, 2);
    world.faults([Fault::Error(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)]);
    let deliveries = [world.send(0, "a"), world.send(0, "b")];
    world.run_ms(3000);
    assert_eq!(
        deliveries
            .each_ref()
            .map(outcome)
            .map(|outcome| outcome.is_ok()),
        [true, true]
    );
    assert_eq!(world.log(0), ["a", "b"]);
    assert_eq!(
        world.cluster.count(ApiKey::InitProducerId),
        0,
        "the epoch is raised without a request"
    );
    // The other partition takes the new epoch with its next batch.
    let other = world.send(1, "c");
    world.run_ms(100);
    assert_eq!(offset(&other), 1);
    assert_eq!(sequences(&world).last(), Some(&(1, 0)));
    world.assert_at_rest();
}

/// Covers PR-107, PR-108, C065.
#[test]
fn a_broker_that_forgot_the_producer_is_begun_with_anew() {
    for log_start_offset in [-1, 0, 100] {
        let mut world = World::warm(config(), 1, 1);
        world.cluster.forget_producers(&partition(0));
        world.cluster.set_log_start(&partition(0), log_start_offset);
        world.faults([Fault::Error(ErrorCode::UNKNOWN_PRODUCER_ID)]);
        let delivery = world.send(0, "a");
        world.run_ms(3000);
        assert_eq!(offset(&delivery), 1);
        let next = world.send(0, "b");
        assert_eq!(offset(&next), 2);
        let raised = sequences(&world).iter().any(|(epoch, _)| *epoch == 1);
        assert_eq!(
            raised,
            log_start_offset >= 0,
            "without the log's start it is only retried"
        );
        world.assert_at_rest();
    }
}

/// Covers PR-109, PR-112, C068, C083.
#[test]
fn a_batch_that_expired_after_it_was_sent_keeps_its_sequences_to_itself() {
    let config = config()
        .delivery_timeout(Duration::from_secs(2))
        .request_timeout(Duration::from_secs(1));
    let mut world = World::warm(config, 1, 1);
    // It is written, and says it was not, until its time is over.
    world.faults(vec![Fault::ErrorAfter(ErrorCode::REQUEST_TIMED_OUT); 99]);
    let expired = world.send(0, "a");
    world.run_ms(1_990);
    let next = world.append("t", 0, "b", None);
    world.cluster.clear_faults();
    world.run_ms(1_500);
    assert!(matches!(
        outcome(&expired),
        Err(Failure::Expired { sent: true, .. })
    ));
    assert!(
        outcome(&next).is_ok(),
        "the new record is no duplicate of the old one"
    );
    assert_eq!(world.log(0), ["a", "b"]);
    assert_eq!(
        sequences(&world).last(),
        Some(&(1, 0)),
        "under another epoch"
    );
    world.assert_at_rest();
}

#[test]
fn pr_111_sequence_errors_of_one_partition_are_not_anothers() {
    let mut world = World::warm(config(), 1, 2);
    let out_of_order = Fault::Error(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    (world.cluster).add_rule(Rule::once(out_of_order).on(partition(0)));
    let deliveries = [0, 1].map(|index| world.append("t", index, "a", None));
    world.settle();
    assert_eq!(offset(&deliveries[1]), 1);
    world.run_ms(1000);
    assert_eq!(offset(&deliveries[0]), 1);
}

/// Covers P7.4.
#[test]
fn a_duplicate_sequence_is_a_success() {
    let mut world = World::warm(config(), 1, 1);
    world.faults([Fault::ErrorAfter(ErrorCode::DUPLICATE_SEQUENCE_NUMBER)]);
    let delivery = world.send(0, "a");
    assert!(outcome(&delivery).is_ok());
    assert_eq!(world.log(0), ["a"]);
}

#[test]
fn the_last_epoch_is_followed_by_another_producer_id() {
    let mut world = cold(|cluster| cluster.set_next_producer_epoch(i16::MAX.into()));
    let first = world.send(0, "a");
    world.run_ms(1000);
    assert_eq!(offset(&first), 0);
    world.faults([Fault::Error(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)]);
    let second = world.send(0, "b");
    world.run_ms(3000);
    assert_eq!(offset(&second), 1);
    assert_eq!(world.cluster.count(ApiKey::InitProducerId), 2);
    let header = world.cluster.batches_seen().last().unwrap().header;
    assert_eq!(
        (header.producer_id.get(), header.producer_epoch.get()),
        (1001, 0)
    );
}

/// A batch that was refused for good leaves a gap. What was sent before it may have been written
/// and goes on under its mark, by which the broker knows it; only what comes behind begins anew.
#[test]
fn a_refused_batch_makes_no_duplicate_of_the_one_before() {
    let mut world = World::warm(config(), 1, 1);
    world.faults([
        Fault::ErrorAfter(ErrorCode::REQUEST_TIMED_OUT),
        Fault::Error(ErrorCode::INVALID_RECORD),
    ]);
    // All three are out before the first answer comes.
    world
        .cluster
        .add_rule(Rule::always(Fault::Delay(Duration::from_millis(10))).of(ApiKey::Produce));
    let deliveries: Vec<_> = ["a", "b", "c"]
        .map(|value| world.append("t", 0, &value.repeat(20_000), None))
        .into();
    world.run_ms(5_000);
    assert!(outcome(&deliveries[0]).is_ok());
    assert!(outcome(&deliveries[1]).is_err());
    assert!(outcome(&deliveries[2]).is_ok());
    let log: Vec<_> = world
        .log(0)
        .iter()
        .map(|value| value.chars().next())
        .collect();
    assert_eq!(log, [Some('a'), Some('c')]);
    world.assert_at_rest();
}
