//! Brokers join and leave.

use klamm_primitives::{BrokerEpoch, Uuid};
use klamm_wire::metadata::feature_level::FeatureLevelRecord;

use super::fixture::{Cluster, assigned, broker, directory, registration};
use crate::deciders::{
    HeartbeatError, RegisterBroker, RegisterBrokerError, StaleBrokerEpoch, UnregisterBroker,
    UnregisterBrokerError,
};
use crate::image::FeatureRange;

#[test]
fn co_011_the_broker_epoch_is_the_offset_of_the_registration() {
    let mut cluster = Cluster::empty();
    let request = registration(3, 1);
    let epoch = cluster.ask(request.clone()).unwrap();
    assert_eq!(epoch.get(), cluster.image.offset().get());
    let registered = cluster.image.broker(broker(3)).unwrap().clone();
    assert_eq!(registered.epoch, epoch);
    assert_eq!(registered.incarnation_id, request.incarnation_id);
    assert_eq!(registered.endpoints, request.endpoints);
    assert_eq!(registered.features, request.features);
    assert_eq!(registered.log_dirs, request.log_dirs);

    let next = cluster.ask(registration(3, 2)).unwrap();
    assert!(next > epoch, "it rises");
    let again = cluster.ask(registration(3, 2)).unwrap();
    assert_eq!(again, next, "whoever did not get the answer asks again");
}

#[test]
fn co_012_a_broker_of_another_cluster_is_refused() {
    let mut cluster = Cluster::empty();
    let request = RegisterBroker {
        cluster_id: "another".into(),
        ..registration(3, 1)
    };
    let error = RegisterBrokerError::InconsistentClusterId {
        given: "another".into(),
        present: "a-cluster".into(),
    };
    assert_eq!(cluster.ask(request), Err(error));
    assert!(cluster.image.is_empty());
}

#[test]
fn co_013_a_fresh_broker_is_fenced() {
    let mut cluster = Cluster::empty();
    cluster.ask(registration(3, 1)).unwrap();
    assert!(cluster.image.broker(broker(3)).unwrap().is_fenced);
    assert!(!cluster.image.is_active(broker(3)));
}

/// A broker that starts anew after it was killed comes in at once where its session was not heard
/// of by this controller, and leaves what it led.
#[test]
fn a_new_incarnation_takes_the_place_of_one_that_was_not_heard_of() {
    let mut cluster = Cluster::of(&[1]);
    cluster.create(assigned("t", &[&[1]])).unwrap();
    let refused = cluster.ask(registration(1, 2));
    let error = RegisterBrokerError::Duplicate {
        broker: broker(1),
        incarnation: Uuid::from_u128(1),
    };
    assert_eq!(refused, Err(error), "it sends heartbeats");

    let (image, now) = (cluster.image.clone(), cluster.now);
    cluster.core.activate(&image, now);
    cluster.ask(registration(1, 2)).unwrap();
    assert_eq!(cluster.leader("t", 0), None);
    assert_eq!(
        cluster.isr("t", 0),
        [broker(1)],
        "who was last in sync stays so"
    );
    cluster.unfence(1);
    assert_eq!(cluster.leader("t", 0), Some(1));
    assert_eq!(cluster.partition("t", 0).leader_epoch.get(), 2);
}

#[test]
fn a_dead_session_does_not_keep_a_new_incarnation_out() {
    let mut cluster = Cluster::of(&[1]);
    cluster.pass(9_000);
    cluster.ask(registration(1, 2)).unwrap();
}

#[test]
fn co_014_a_broker_must_run_the_features_of_the_cluster() {
    let mut cluster = Cluster::empty();
    let level = |level| FeatureLevelRecord {
        name: "metadata.version".into(),
        feature_level: level,
        ..FeatureLevelRecord::default()
    };
    cluster.commit(vec![level(26).into()]);
    let unsupported = |level| RegisterBrokerError::UnsupportedFeature {
        feature: "metadata.version".into(),
        level,
    };
    assert_eq!(cluster.ask(registration(3, 1)), Err(unsupported(26)));

    let silent = || RegisterBroker {
        features: Vec::<FeatureRange>::new(),
        ..registration(3, 1)
    };
    cluster.commit(vec![level(7).into()]);
    assert_eq!(cluster.ask(silent()), Err(unsupported(7)));
    cluster.commit(vec![level(1).into()]);
    assert!(
        cluster.ask(silent()).is_ok(),
        "it is taken to know the oldest"
    );
}

#[test]
fn co_015_log_directories_are_told_once_and_belong_to_one_broker() {
    let mut cluster = Cluster::of(&[1]);
    let with = |log_dirs: &[Uuid]| RegisterBroker {
        log_dirs: log_dirs.to_vec(),
        ..registration(2, 1)
    };
    let invalid = |reason| Err(RegisterBrokerError::InvalidDirectories { reason });
    let own = directory(2);
    assert_eq!(cluster.ask(with(&[])), invalid("there is none"));
    for reserved in [Uuid::ZERO, Uuid::from_u128(99)] {
        let refused = cluster.ask(with(&[own, reserved]));
        assert_eq!(refused, invalid("a reserved id is among them"));
    }
    assert_eq!(
        cluster.ask(with(&[own, own])),
        invalid("one is there twice")
    );
    let taken = RegisterBrokerError::DirectoryTaken {
        directory: directory(1),
        owner: broker(1),
    };
    assert_eq!(cluster.ask(with(&[own, directory(1)])), Err(taken));
    assert!(cluster.ask(with(&[own])).is_ok());
}

#[test]
fn co_016_an_unregistered_broker_is_gone_and_others_lead() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.create(assigned("t", &[&[1, 2]])).unwrap();
    let heartbeat = cluster.heartbeat(1);
    cluster.ask(UnregisterBroker { broker: broker(1) }).unwrap();
    assert_eq!(cluster.leader("t", 0), Some(2));
    assert!(cluster.image.broker(broker(1)).is_none());
    let gone = HeartbeatError::NotRegistered { broker: broker(1) };
    assert_eq!(cluster.ask(heartbeat), Err(gone));
    let again = cluster.ask(UnregisterBroker { broker: broker(1) });
    let gone = UnregisterBrokerError::NotRegistered { broker: broker(1) };
    assert_eq!(again, Err(gone));
}

#[test]
fn co_017_a_heartbeat_under_another_epoch_is_refused() {
    let mut cluster = Cluster::of(&[1]);
    let mut heartbeat = cluster.heartbeat(1);
    heartbeat.epoch = BrokerEpoch::new(heartbeat.epoch.get() + 1);
    let stale = StaleBrokerEpoch {
        broker: broker(1),
        given: heartbeat.epoch,
        present: Some(cluster.epoch(1)),
    };
    assert_eq!(cluster.ask(heartbeat), Err(stale.into()));
}
