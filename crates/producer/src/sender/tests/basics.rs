//! Requests, answers, connections that break, closing.

use std::sync::Arc;

use klamm_fake_broker::{Fault, Rule};
use klamm_wire::{ApiKey, ErrorCode, Versions};
use parking_lot::Mutex;

use super::world::{World, cluster, config, offset, outcome, partition, plain};
use crate::config::Acks;
use crate::error::Failure;
use crate::lifecycle::Phase;

/// Covers PR-063, PR-098, PR-046, P5.7.
#[test]
fn a_request_has_the_settings_and_one_batch_for_each_partition() {
    let mut world = World::warm(config(), 1, 3);
    let deliveries: Vec<_> = (0..3)
        .map(|index| world.append("t", index, "a", None))
        .collect();
    let more = world.append("t", 0, "b", None);
    world.settle();
    assert_eq!(world.cluster.count(ApiKey::Produce), 1);
    for seen in world.cluster.batches_seen() {
        assert_eq!((seen.acks, seen.timeout_ms, seen.version), (-1, 30_000, 13));
        let base = seen.header.base_sequence.get();
        assert_eq!(base, 1, "the second batch of each partition");
    }
    assert_eq!(world.cluster.batches_seen().len(), 3);
    assert_eq!((offset(&deliveries[0]), offset(&more)), (1, 2));
    world.assert_at_rest();
}

/// Covers PR-065, P7.1.
#[test]
fn each_partition_has_its_own_outcome() {
    let mut world = World::warm(plain().retries(0), 1, 3);
    let invalid = Rule::once(Fault::Error(ErrorCode::INVALID_RECORD));
    world.cluster.add_rule(invalid.on(partition(1)));
    let deliveries: Vec<_> = (0..3)
        .map(|index| world.append("t", index, "a", None))
        .collect();
    world.settle();
    assert_eq!(offset(&deliveries[0]), 1);
    assert_eq!(
        outcome(&deliveries[1]),
        Err(Failure::of(ErrorCode::INVALID_RECORD))
    );
    assert_eq!(offset(&deliveries[2]), 1);
    world.assert_at_rest();
}

#[test]
fn pr_066_without_acknowledgement_a_record_is_done_when_it_is_written() {
    let mut world = World::new(plain().acks(Acks::None), cluster(1, 1));
    let delivery = world.send(0, "a");
    world.run_ms(1000);
    assert_eq!(offset(&delivery), -1);
    assert_eq!(world.cluster.batches_seen()[0].acks, 0);
    assert_eq!(world.log(0), ["a"]);
    world.assert_at_rest();
}

/// Covers PR-067, PR-061, P5.9.
#[test]
fn a_lost_connection_is_retried_and_asks_for_metadata() {
    let mut world = World::warm(config(), 2, 1);
    let before = world.cluster.count(ApiKey::Metadata);
    world.faults([Fault::CloseAfter]);
    let delivery = world.send(0, "a");
    world.run_ms(3000);
    assert_eq!(offset(&delivery), 1);
    assert_eq!(world.log(0), ["a"], "written once");
    assert!(world.cluster.count(ApiKey::Metadata) > before);
    assert_eq!(world.cluster.count(ApiKey::Produce), 2);
    world.assert_at_rest();

    world.faults([Fault::Ignore]);
    let delivery = world.send(0, "b");
    world.run_ms(29_000);
    assert!(delivery.outcome().is_none());
    world.run_ms(5_000);
    assert_eq!(offset(&delivery), 2);
    world.assert_at_rest();
}

/// What is lost without retries tells why.
#[test]
fn pr_067_the_failure_says_whether_the_connection_or_the_time_was_lost() {
    let mut world = World::warm(plain().retries(0), 1, 1);
    world.faults([Fault::CloseAfter]);
    let lost = world.send(0, "a");
    world.run_ms(3000);
    let failure = outcome(&lost).unwrap_err();
    assert_eq!(failure, Failure::of(ErrorCode::NETWORK_EXCEPTION));
    assert!(failure.is_retriable() && failure.may_have_been_written());
    world.faults([Fault::Swallow]);
    let late = world.send(0, "b");
    world.run_ms(31_000);
    assert_eq!(
        outcome(&late),
        Err(Failure::of(ErrorCode::REQUEST_TIMED_OUT))
    );
    world.assert_at_rest();
}

#[test]
fn pr_068_a_broker_without_a_usable_version_gets_nothing() {
    for (config, is_fatal) in [(plain(), false), (config(), true)] {
        let mut cluster = cluster(1, 1);
        cluster.set_versions(1, ApiKey::Produce, Some(Versions::new(0, 2)));
        let mut world = World::new(config, cluster);
        let delivery = world.send(0, "a");
        world.run_ms(2000);
        let failure = outcome(&delivery).unwrap_err();
        assert_eq!(failure, Failure::UnsupportedVersion("Produce"));
        assert_eq!(world.cluster.count(ApiKey::Produce), 0);
        assert_eq!(world.lifecycle.fatal().is_some(), is_fatal);
        world.assert_at_rest();
    }
}

/// Covers C010.
#[test]
fn topics_without_an_id_are_named_in_a_version_that_has_names() {
    let mut cluster = cluster(1, 1);
    cluster.set_versions(1, ApiKey::Metadata, Some(Versions::new(0, 9)));
    let mut world = World::new(config(), cluster);
    let delivery = world.send(0, "a");
    world.run_ms(1000);
    assert_eq!(offset(&delivery), 0);
    assert_eq!(world.cluster.batches_seen()[0].version, 12);
}

#[test]
fn pr_071_a_batch_is_one_of_magic_2_and_zstd_needs_version_7() {
    let with_versions = |versions| {
        let mut cluster = cluster(1, 1);
        cluster.set_versions(1, ApiKey::Produce, Some(versions));
        let config = plain().set("compression.type", "zstd").unwrap();
        let mut world = World::new(config, cluster);
        let delivery = world.send(0, "a");
        world.run_ms(2000);
        (
            outcome(&delivery).is_ok(),
            world
                .cluster
                .batches_seen()
                .first()
                .map(|seen| seen.version),
        )
    };
    assert_eq!(with_versions(Versions::new(3, 7)), (true, Some(7)));
    assert_eq!(with_versions(Versions::new(3, 6)), (false, None));
}

/// Covers PR-010, PR-011, P7.5.
#[test]
fn callbacks_run_once_and_in_order_and_one_that_panics_harms_nobody() {
    let mut world = World::warm(config().linger(std::time::Duration::from_millis(5)), 1, 1);
    let heard = Arc::new(Mutex::new(Vec::new()));
    for name in ["a", "panics", "b", "c"] {
        let heard = Arc::clone(&heard);
        drop(world.send_noted(0, name, move |outcome| {
            assert_ne!(name, "panics", "as the test wants");
            heard.lock().push((name, outcome.unwrap().offset.get()));
        }));
    }
    world.run_ms(100);
    assert_eq!(*heard.lock(), [("a", 1), ("b", 3), ("c", 4)]);
    let last = world.send(0, "d");
    world.run_ms(100);
    assert_eq!(offset(&last), 5, "the sender lives on");
}

#[test]
fn the_brokers_time_is_told_where_it_gives_one() {
    let mut world = World::warm(config(), 1, 1);
    world.cluster.set_append_time(&partition(0), 77);
    let delivery = world.send(0, "a");
    assert_eq!(outcome(&delivery).unwrap().timestamp_ms, 77);
    world.cluster.set_append_time(&partition(0), -1);
    let delivery = world.send(0, "a");
    assert_eq!(outcome(&delivery).unwrap().timestamp_ms, 1_700_000_000_000);
}

#[test]
fn refused_records_learn_why_and_the_others_that_they_were_fine() {
    let mut world = World::warm(plain(), 1, 1);
    world.faults([Fault::RefuseRecords {
        code: ErrorCode::INVALID_RECORD,
        records: vec![(1, "no key".to_owned())],
    }]);
    let deliveries: Vec<_> = ["a", "b"]
        .map(|value| world.append("t", 0, value, None))
        .into();
    world.settle();
    assert_eq!(outcome(&deliveries[0]), Err(Failure::BatchRefused));
    let message = Some("no key".into());
    assert_eq!(
        outcome(&deliveries[1]),
        Err(Failure::RecordRefused { message })
    );
}

/// The errors that end a batch's way at once, by what the producer makes of them.
#[test]
fn what_is_not_worth_another_attempt_fails_at_once() {
    let mut world = World::warm(plain(), 1, 1);
    for (code, failure) in [
        (ErrorCode::INVALID_TOPIC_EXCEPTION, Failure::InvalidTopic),
        (
            ErrorCode::TOPIC_AUTHORIZATION_FAILED,
            Failure::TopicUnauthorized,
        ),
        (ErrorCode::MESSAGE_TOO_LARGE, Failure::RecordRefusedForSize),
        (
            ErrorCode::RECORD_LIST_TOO_LARGE,
            Failure::of(ErrorCode::RECORD_LIST_TOO_LARGE),
        ),
        (
            ErrorCode::INVALID_REQUIRED_ACKS,
            Failure::of(ErrorCode::INVALID_REQUIRED_ACKS),
        ),
        (
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
            Failure::of(ErrorCode::CLUSTER_AUTHORIZATION_FAILED),
        ),
        (
            ErrorCode::UNKNOWN_PRODUCER_ID,
            Failure::of(ErrorCode::UNKNOWN_PRODUCER_ID),
        ),
        (
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
            Failure::of(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER),
        ),
    ] {
        world.faults([Fault::Error(code)]);
        let before = world.cluster.count(ApiKey::Produce);
        let delivery = world.send(0, "a");
        world.run_ms(5000);
        assert_eq!(outcome(&delivery), Err(failure), "{code}");
        assert_eq!(world.cluster.count(ApiKey::Produce), before + 1, "{code}");
    }
    assert!(world.lifecycle.fatal().is_none());
    world.assert_at_rest();
}

/// Covers PR-041, PR-064, P5.3, P5.1.
#[test]
fn a_partition_without_a_leader_asks_for_metadata_and_holds_up_nobody() {
    let mut world = World::warm(config(), 2, 2);
    world.cluster.move_leader(&partition(1), None);
    world.client.metadata().request_update();
    world.run_ms(500);
    let before = world.cluster.count(ApiKey::Metadata);
    let (led, unled) = (world.send(0, "a"), world.send(1, "b"));
    world.run_ms(1000);
    assert_eq!(offset(&led), 1);
    assert!(unled.outcome().is_none());
    assert!(world.cluster.count(ApiKey::Metadata) > before);
    let turns = world.turns;
    world.run_ms(1000);
    assert!(world.turns - turns < 100, "it waits between the requests");
    world.cluster.move_leader(&partition(1), Some(1.into()));
    world.run_ms(2000);
    assert_eq!(offset(&unled), 1);
    world.assert_at_rest();
}

/// Covers PR-139, P8.2.
#[test]
fn closing_sends_what_is_there_without_lingering() {
    let mut world = World::warm(config().linger(std::time::Duration::from_secs(50)), 1, 1);
    let delivery = world.send(0, "a");
    world.run_ms(1000);
    assert!(delivery.outcome().is_none());
    world.accumulator.close();
    world.lifecycle.advance(Phase::Closing);
    world.settle();
    assert_eq!(offset(&delivery), 1);
    assert!(world.client.is_closed());
    world.assert_at_rest();
}

/// Covers PR-140, PR-141, PR-114.
#[test]
fn closing_by_force_fails_what_is_left() {
    let mut world = World::warm(config(), 1, 2);
    world.faults([Fault::Swallow]);
    let in_flight = world.send(0, "a");
    world.accumulator.rules();
    world.down.push(1);
    world.cut(1);
    let queued = world.send(1, "b");
    world.accumulator.close();
    world.lifecycle.advance(Phase::Forced);
    world.settle();
    assert_eq!(outcome(&in_flight), Err(Failure::Closed));
    assert_eq!(outcome(&queued), Err(Failure::Closed));
    assert!(world.client.is_closed());
    let pool = Arc::clone(world.accumulator.pool());
    drop(world);
    assert_eq!(pool.available(), pool.total());
}

#[test]
fn pr_114_without_a_producer_id_closing_waits_and_force_does_not() {
    let loading = Fault::Error(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    let mut cluster = cluster(1, 1);
    cluster.line_up(ApiKey::InitProducerId, vec![loading.clone(); 3]);
    let mut world = World::new(config(), cluster);
    let delivery = world.send(0, "a");
    world.run_ms(50);
    world.accumulator.close();
    world.lifecycle.advance(Phase::Closing);
    world.settle();
    assert!(!world.client.is_closed());
    world.run_ms(1000);
    assert_eq!(offset(&delivery), 0);
    assert!(world.client.is_closed());

    let mut cluster = self::cluster(1, 1);
    cluster.line_up(ApiKey::InitProducerId, vec![loading; 300]);
    let mut world = World::new(config(), cluster);
    let delivery = world.send(0, "a");
    world.run_ms(50);
    world.lifecycle.advance(Phase::Forced);
    world.settle();
    assert_eq!(outcome(&delivery), Err(Failure::Closed));
    assert!(world.client.is_closed());
}

/// Whatever ends the sender's task, nobody waits for ever.
#[test]
fn a_sender_that_is_dropped_fails_what_it_had() {
    let mut world = World::warm(config(), 1, 1);
    world.faults([Fault::Swallow]);
    let in_flight = world.send(0, "a");
    let pool = Arc::clone(world.accumulator.pool());
    drop(world);
    assert_eq!(outcome(&in_flight), Err(Failure::Closed));
    assert_eq!(pool.available(), pool.total());
}
