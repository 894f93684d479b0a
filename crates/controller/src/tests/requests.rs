//! Requests through the handle: their turns, deadlines, and what happens when leadership goes.

use std::sync::Arc;
use std::time::Duration;

use klamm_io::Clock;
use klamm_io::sim::SimClock;
use klamm_primitives::{BrokerId, PartitionIndex, Uuid};
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use klamm_wire::metadata::partition::PartitionRecord;
use klamm_wire::metadata::topic::TopicRecord;

use super::fixture::{Rules, broker, registration, sized};
use crate::controller::Controller;
use crate::deciders::{
    AllocateProducerIds, CreateTopics, DeleteTopics, Heartbeat, NewTopic, RegisterBrokerError,
    UnregisterBroker,
};
use crate::error::ControllerError;
use crate::options::ControllerOptions;
use crate::quorum::{PROPOSAL_SIZE_MAX, ProposeError, Quorum, SimCluster, SimQuorum};

const ONE: BrokerId = BrokerId::new(1);
const TWO: BrokerId = BrokerId::new(2);

struct Setup {
    cluster: SimCluster,
    quorum: Arc<SimQuorum>,
    clock: SimClock,
    controller: Controller,
}

fn start(options: ControllerOptions) -> Setup {
    let cluster = SimCluster::new("a-cluster", [ONE, TWO]);
    cluster.elect(Some(ONE));
    let quorum = Arc::new(cluster.node(ONE));
    let clock = SimClock::new();
    let controller = Controller::start(quorum.clone(), options, Arc::new(Rules), clock.clone());
    Setup {
        cluster,
        quorum,
        clock,
        controller,
    }
}

fn quiet() -> ControllerOptions {
    ControllerOptions {
        idle_interval: None,
        balance_interval: None,
        ..ControllerOptions::default()
    }
}

fn topics(names: &[&str]) -> CreateTopics {
    CreateTopics {
        topics: names.iter().map(|name| sized(name, 1, 1)).collect(),
        validate_only: false,
    }
}

async fn add_broker(setup: &Setup) {
    let handle = setup.controller.handle();
    let epoch = handle
        .register_broker(registration(1, 1), None)
        .await
        .unwrap();
    let image = setup.quorum.watch().borrow().clone();
    assert_eq!(
        epoch.get(),
        image.offset().get(),
        "the answer comes when it shows"
    );
    let heartbeat = Heartbeat {
        broker: broker(1),
        epoch,
        metadata_offset: image.offset(),
        wants_fence: false,
        wants_shutdown: false,
        failed_log_dirs: Vec::new(),
    };
    assert!(!handle.heartbeat(heartbeat, None).await.unwrap().is_fenced);
}

/// Lets the controller's task come to rest.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn co_002_requests_of_one_batch_see_one_another_and_are_answered_when_committed() {
    let setup = start(quiet());
    add_broker(&setup).await;
    let handle = setup.controller.handle();
    let before = setup.quorum.watch().borrow().offset();
    let (first, second, block) = tokio::join!(
        handle.create_topics(topics(&["t", "u"]), None),
        handle.create_topics(topics(&["t", "v"]), None),
        handle.allocate_producer_ids(
            AllocateProducerIds {
                broker: broker(1),
                epoch: setup
                    .quorum
                    .watch()
                    .borrow()
                    .broker(broker(1))
                    .unwrap()
                    .epoch,
            },
            None,
        ),
    );
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(first.iter().all(Result::is_ok));
    assert!(second[0].is_err(), "it was created by the request before");
    assert!(second[1].is_ok());
    assert_eq!(block.unwrap().first.get(), 0);
    let image = setup.quorum.watch().borrow().clone();
    assert_eq!(image.topic_count(), 3);
    assert_eq!(image.offset(), before + 1, "all at one offset");
    setup.controller.stop().await;
}

#[tokio::test]
async fn co_004_a_late_request_has_no_effect_and_an_empty_one_is_never_late() {
    let setup = start(quiet());
    add_broker(&setup).await;
    let handle = setup.controller.handle();
    let past = Some(setup.clock.now());
    let late = handle.create_topics(topics(&["t"]), past).await;
    assert_eq!(late, Err(ControllerError::TimedOut));
    assert!(setup.quorum.watch().borrow().topic("t").is_none());
    let empty = handle.delete_topics(DeleteTopics::default(), past).await;
    assert_eq!(empty, Ok(Vec::new()));
    let in_time = Some(setup.clock.now() + Duration::from_millis(1));
    assert!(handle.create_topics(topics(&["t"]), in_time).await.unwrap()[0].is_ok());
    setup.controller.stop().await;
}

/// Covers CO-001, CO-005.
#[tokio::test]
async fn co_005_a_controller_that_is_not_the_active_one_changes_nothing() {
    let setup = start(quiet());
    add_broker(&setup).await;
    let handle = setup.controller.handle();
    setup.cluster.elect(Some(TWO));
    let refused = handle.create_topics(topics(&["t"]), None).await;
    let leader = Some(TWO);
    assert_eq!(refused, Err(ControllerError::NotController { leader }));
    let refused = handle.register_broker(registration(2, 1), None).await;
    let error = ControllerError::NotController { leader };
    assert_eq!(refused, Err(RegisterBrokerError::Controller(error)));

    // It leads still, but has lost the others between the decision and the commit.
    setup.cluster.elect(Some(ONE));
    setup.cluster.set_reachable(TWO, false);
    let refused = handle.create_topics(topics(&["t"]), None).await;
    let leader = Some(ONE);
    assert_eq!(refused, Err(ControllerError::NotController { leader }));
    setup.cluster.set_reachable(TWO, true);
    assert!(setup.quorum.watch().borrow().topic("t").is_none());
    assert!(handle.create_topics(topics(&["t"]), None).await.unwrap()[0].is_ok());
    setup.controller.stop().await;
}

#[tokio::test]
async fn co_022_a_silent_broker_is_fenced_when_its_session_is_over() {
    let setup = start(quiet());
    add_broker(&setup).await;
    settle().await;
    let is_active = || setup.quorum.watch().borrow().is_active(broker(1));
    setup.clock.advance(Duration::from_millis(8_999));
    settle().await;
    assert!(is_active());
    setup.clock.advance(Duration::from_millis(1));
    settle().await;
    assert!(!is_active());
    setup.controller.stop().await;
}

/// A change that is too large for the log fails by itself: those that came along with it do not.
#[tokio::test]
async fn changes_that_are_too_much_together_are_committed_one_after_the_other() {
    let setup = start(quiet());
    add_broker(&setup).await;
    let handle = setup.controller.handle();
    let before = setup.quorum.watch().borrow().offset();
    let large = |name: &str, bytes: usize| {
        let note = |number| {
            (
                format!("note-{number}").into(),
                Some("x".repeat(30_000).into()),
            )
        };
        let settings = (0..=bytes / 30_000).map(note).collect();
        let topics = vec![NewTopic {
            settings,
            ..sized(name, 1, 1)
        }];
        CreateTopics {
            topics,
            validate_only: false,
        }
    };
    let (small, too_large, half, other_half, last) = tokio::join!(
        handle.create_topics(topics(&["small"]), None),
        handle.create_topics(large("too-large", PROPOSAL_SIZE_MAX), None),
        handle.create_topics(large("half", PROPOSAL_SIZE_MAX / 2), None),
        handle.create_topics(large("other-half", PROPOSAL_SIZE_MAX / 2), None),
        handle.create_topics(topics(&["last", "half"]), None),
    );
    assert!(
        matches!(
            too_large,
            Err(ControllerError::Quorum(ProposeError::TooLarge { .. }))
        ),
        "{too_large:?}"
    );
    for created in [small, half, other_half] {
        assert!(created.unwrap()[0].is_ok());
    }
    let last = last.unwrap();
    assert!(last[0].is_ok());
    assert!(last[1].is_err(), "it was created by a request before");
    let image = setup.quorum.watch().borrow().clone();
    assert_eq!(image.topic_count(), 4);
    assert!(image.topic("too-large").is_none());
    assert_eq!(image.offset(), before + 3);
    setup.controller.stop().await;
}

/// A session is over only once the broker is fenced: who cannot fence it now does so later.
#[tokio::test]
async fn co_022_a_fencing_that_was_not_committed_is_tried_again() {
    let setup = start(quiet());
    add_broker(&setup).await;
    settle().await;
    let is_active = || setup.quorum.watch().borrow().is_active(broker(1));
    setup.cluster.set_reachable(TWO, false);
    setup.clock.advance(Duration::from_secs(9));
    settle().await;
    assert!(is_active());
    setup.cluster.set_reachable(TWO, true);
    settle().await;
    assert!(is_active(), "it is not tried without a pause");
    setup.clock.advance(Duration::from_secs(1));
    settle().await;
    assert!(!is_active());
    setup.controller.stop().await;
}

/// Covers CO-022, CO-027: what is told of partitions when a broker comes or goes may be more than one
/// proposal holds.
#[tokio::test]
async fn a_broker_of_very_many_partitions_is_fenced_and_comes_back() {
    const TOPICS: u128 = 15;
    const PARTITIONS: i32 = 20_000;
    let setup = start(quiet());
    add_broker(&setup).await;
    for number in 1..=TOPICS {
        let topic_id = Uuid::from_u128(number << 64);
        let topic = TopicRecord {
            name: format!("t{number}").into(),
            topic_id,
            ..TopicRecord::default()
        };
        let partitions = (0..PARTITIONS).map(|index| {
            Record::from(PartitionRecord {
                partition_id: PartitionIndex::new(index),
                topic_id,
                replicas: vec![ONE],
                isr: vec![ONE],
                leader: ONE,
                ..PartitionRecord::default()
            })
        });
        let records = std::iter::once(topic.into()).chain(partitions).collect();
        setup.quorum.propose(records).await.unwrap();
    }
    let image = || setup.quorum.watch().borrow().clone();
    let led = || {
        let image = image();
        let all = image
            .topics()
            .flat_map(|it| it.indexed().collect::<Vec<_>>());
        all.filter(|(_, it)| it.leader.is_some()).count()
    };
    let all = 15 * 20_000;
    assert_eq!(led(), all);
    let before = image().offset();
    setup.clock.advance(Duration::from_secs(9));
    settle().await;
    assert!(image().broker(ONE).unwrap().is_fenced);
    assert_eq!(led(), 0);
    assert!(image().offset() > before + 1, "it went in parts");

    // Its next start: it is registered, and let in.
    let handle = setup.controller.handle();
    let epoch = handle.register_broker(registration(1, 2), None).await;
    let epoch = epoch.unwrap();
    let heartbeat = Heartbeat {
        broker: broker(1),
        epoch,
        metadata_offset: image().offset(),
        wants_fence: false,
        wants_shutdown: false,
        failed_log_dirs: Vec::new(),
    };
    assert!(!handle.heartbeat(heartbeat, None).await.unwrap().is_fenced);
    assert_eq!(led(), all);
    // While it is up, so that it leaves them first.
    setup.clock.advance(Duration::from_secs(8));
    let unregistered = handle.unregister_broker(UnregisterBroker { broker: ONE }, None);
    unregistered.await.unwrap();
    assert_eq!(led(), 0);
    assert!(image().broker(ONE).is_none());
    setup.controller.stop().await;
}

#[tokio::test]
async fn co_008_an_idle_controller_writes_a_no_op_from_time_to_time() {
    let setup = start(ControllerOptions {
        idle_interval: Some(Duration::from_millis(500)),
        ..quiet()
    });
    settle().await;
    let offset = || setup.quorum.watch().borrow().offset();
    let before = offset();
    for passed in 1..=3 {
        setup.clock.advance(Duration::from_millis(499));
        settle().await;
        assert_eq!(offset(), before + (passed - 1));
        setup.clock.advance(Duration::from_millis(1));
        settle().await;
        assert_eq!(offset(), before + passed);
    }
    setup.controller.stop().await;
}

#[tokio::test]
async fn who_asks_after_the_end_is_told_so() {
    let setup = start(quiet());
    let handle = setup.controller.handle();
    setup.controller.stop().await;
    let refused = handle.create_topics(topics(&["t"]), None).await;
    assert_eq!(refused, Err(ControllerError::Stopped));
}
