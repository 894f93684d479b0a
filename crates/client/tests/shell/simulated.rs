//! What goes right, on a simulated network.

use std::net::IpAddr;

use klamm_client::{RequestFailure, SendOptions, Target};
use klamm_fake_broker::{Fault, Rule};
use klamm_wire::messages::init_producer_id::InitProducerIdRequest;
use klamm_wire::messages::metadata::MetadataRequest;
use klamm_wire::{ApiKey, Versions};

use crate::support::*;

fn init() -> InitProducerIdRequest {
    InitProducerIdRequest::default()
}

/// Covers P6.1, P6.2, P6.7.
#[tokio::test]
async fn a_client_finds_its_cluster_and_gets_answers() {
    let world = World::new(3);
    world.cluster.model().create_topic("a", 4);
    let (requests, task) = world.requests(World::config());
    let cluster = world.known(&task).await;
    assert_eq!(cluster.nodes().len(), 3);
    task.handle().metadata().add_topic("a", world.clock.time());
    task.handle().wake();
    let metadata = task.handle().metadata();
    let cluster = world
        .run(metadata.newer_than(cluster.version()))
        .await
        .unwrap();
    assert_eq!(cluster.topic("a").unwrap().partitions().len(), 4);
    for target in [
        Target::LeastLoaded,
        Target::Node(2.into_node()),
        Target::Controller,
    ] {
        let sent = requests.send(target, init(), SendOptions::default());
        let response = world.run(sent).await.unwrap();
        assert!(response.producer_id.get() >= 0);
    }
    let seen = world.cluster.model().seen();
    assert!(
        seen.iter()
            .all(|seen| seen.client_id.as_deref() == Some("tester"))
    );
    task.close().await;
}

/// Covers CL-051: a broker that knows ApiVersions up to version 2 only.
#[tokio::test]
async fn an_old_broker_is_spoken_to_in_its_own_versions() {
    let world = World::new(1);
    world
        .cluster
        .model()
        .set_versions(0, ApiKey::ApiVersions, Some(Versions::new(0, 2)));
    world
        .cluster
        .model()
        .set_versions(0, ApiKey::Metadata, Some(Versions::new(0, 4)));
    world
        .cluster
        .model()
        .set_versions(0, ApiKey::InitProducerId, Some(Versions::new(0, 1)));
    let (requests, task) = world.requests(World::config());
    world.known(&task).await;
    let sent = requests.send(Target::LeastLoaded, init(), SendOptions::default());
    world.run(sent).await.unwrap();
    let seen = world.cluster.model().seen();
    let versions: Vec<_> = seen.iter().map(|seen| (seen.key, seen.version)).collect();
    assert_eq!(
        versions[..3],
        [
            (ApiKey::ApiVersions, 4),
            (ApiKey::ApiVersions, 2),
            (ApiKey::Metadata, 4)
        ]
    );
    assert!(versions.contains(&(ApiKey::InitProducerId, 1)));
    assert_eq!(seen[0].connection, seen[1].connection);
}

/// Covers CL-016, CL-091: the first address of a name is of a machine that is not there.
#[tokio::test]
async fn another_address_of_the_name_is_tried() {
    let world = World::new(1);
    let nobody = IpAddr::from([10, 0, 9, 9]);
    world.net.set_name("broker0", &[nobody, World::ip(0)]);
    let (_, task) = world.requests(World::config());
    let cluster = world.known(&task).await;
    assert_eq!(cluster.nodes().len(), 1);
}

/// Covers CL-014, CL-018: a name that does not resolve yet, and one that moves.
#[tokio::test]
async fn names_are_resolved_again_until_they_lead_somewhere() {
    let world = World::new(2);
    world.net.set_name("broker0", &[]);
    let (requests, task) = world.requests(World::config());
    world.run(world.clock.sleep_for(ms(3_000))).await;
    assert!(task.handle().cluster().is_bootstrap());
    world.net.set_name("broker0", &[World::ip(0)]);
    world.known(&task).await;
    let to_0 = || requests.send(Target::Node(NODE), init(), SendOptions::default());
    world.run(to_0()).await.unwrap();
    // The broker's name now belongs to the machine of the other one.
    let before = world.cluster.model().count(ApiKey::InitProducerId);
    world.net.set_name("broker0", &[World::ip(1)]);
    world.net.reset(world.client.address(), World::ip(0));
    world.run(world.clock.sleep_for(ms(500))).await;
    world.run(to_0()).await.unwrap();
    let seen = world.cluster.model().seen();
    let last = seen
        .iter()
        .rfind(|seen| seen.key == ApiKey::InitProducerId)
        .unwrap();
    assert_eq!(last.node.get(), 1);
    assert_eq!(
        world.cluster.model().count(ApiKey::InitProducerId),
        before + 1
    );
}

/// Covers CL-041: waiting for a node ends with its time, or at once if it cannot be reached.
#[tokio::test]
async fn cl_041_waiting_for_a_node_comes_to_an_end() {
    let world = World::new(2);
    let (requests, task) = world.requests(World::config());
    world.known(&task).await;
    world.cluster.stop_node(1);
    let started = world.clock.time();
    let unreachable = requests.send(Target::Node(1.into_node()), init(), SendOptions::default());
    let failure = world.run(unreachable).await.unwrap_err();
    assert_eq!(failure, RequestFailure::Unreachable(1.into_node()));
    assert!(world.clock.time() - started < ms(1_000));

    let unknown = SendOptions {
        timeout: Some(ms(700)),
        ..SendOptions::default()
    };
    let started = world.clock.time();
    let sent = requests.send(Target::Node(77.into_node()), init(), unknown);
    let failure = world.run(sent).await.unwrap_err();
    assert_eq!(failure, RequestFailure::NotReady);
    assert!(world.clock.time() - started >= ms(700));
    let _guest = task.close().await;
    let closed = requests.send(Target::LeastLoaded, init(), SendOptions::default());
    assert_eq!(world.run(closed).await.unwrap_err(), RequestFailure::Closed);
}

/// Covers CL-042, P6.8.
#[tokio::test]
async fn a_throttle_time_is_obeyed() {
    let world = World::new(1);
    let (requests, task) = world.requests(World::config());
    world.known(&task).await;
    let to_0 = || requests.send(Target::Node(NODE), init(), SendOptions::default());
    world.run(to_0()).await.unwrap();
    let throttle = Rule::once(Fault::Throttle(ms(400))).of(ApiKey::InitProducerId);
    world.cluster.model().add_rule(throttle);
    world.run(to_0()).await.unwrap();
    let started = world.clock.time();
    world.run(to_0()).await.unwrap();
    let waited = world.clock.time() - started;
    assert!(waited >= ms(400) && waited < ms(500), "{waited:?}");
}

/// Covers CL-031: a future that nobody waits for harms nobody.
#[tokio::test]
async fn a_request_that_nobody_waits_for_is_let_go() {
    let world = World::new(1);
    let (requests, task) = world.requests(World::config());
    world.known(&task).await;
    drop(requests.send(Target::LeastLoaded, init(), SendOptions::default()));
    let all = MetadataRequest {
        topics: None,
        ..MetadataRequest::default()
    };
    let sent = requests.send(Target::LeastLoaded, all, SendOptions::default());
    assert!(world.run(sent).await.is_ok());
}

/// Covers CL-092, P6.8.
#[tokio::test]
async fn an_idle_connection_is_closed_and_its_next_use_reconnects() {
    let world = World::new(1);
    let config = klamm_client::ClientConfig {
        connections_max_idle: Some(ms(2_000)),
        ..World::config()
    };
    let (requests, task) = world.requests(config);
    world.known(&task).await;
    let to_0 = || requests.send(Target::Node(NODE), init(), SendOptions::default());
    world.run(to_0()).await.unwrap();
    let before = world.cluster.connections();
    world.run(world.clock.sleep_for(ms(2_100))).await;
    world.run(to_0()).await.unwrap();
    assert_eq!(world.cluster.connections(), before + 1);
    let asked = world.cluster.model().count(ApiKey::Metadata);
    assert_eq!(asked, 1, "it was no loss");
}

/// A guest that names a time has its turn then, and not before.
#[tokio::test]
async fn a_guest_has_its_turn_when_it_wants_it() {
    let world = World::new(1);
    let (turns, mut seen) = tokio::sync::mpsc::channel(1_000);
    let start = world.clock.time();
    let guest = Acting {
        turn: move |now, _: &mut klamm_client::NetworkClient| {
            turns.try_send(now).unwrap();
            let next = start + ms(5_000);
            (now < next).then_some(next)
        },
        answered: |_, _, _: &mut klamm_client::NetworkClient| {},
    };
    let task = world.spawn(World::config(), guest);
    world.known(&task).await;
    settle().await;
    while seen.try_recv().is_ok() {}
    world.run(world.clock.sleep_for(ms(6_000))).await;
    let turns: Vec<_> = std::iter::from_fn(|| seen.try_recv().ok()).collect();
    assert!(turns.contains(&(start + ms(5_000))));
    assert!(turns.len() < 10, "hardly ever without a reason: {turns:?}");
    task.handle().wake();
    task.handle().wake();
    settle().await;
    assert!(seen.try_recv().is_ok(), "woken");
    assert!(seen.try_recv().is_err(), "once");
}

/// Covers CL-040, CL-095: one of the connections is broken already when all are closed.
#[tokio::test]
async fn cl_095_all_connections_are_closed_whatever_becomes_of_one() {
    let world = World::new(3);
    let (requests, task) = world.requests(World::config());
    world.known(&task).await;
    for node in 0..3 {
        let sent = requests.send(
            Target::Node(node.into_node()),
            init(),
            SendOptions::default(),
        );
        world.run(sent).await.unwrap();
    }
    assert_eq!(
        world.cluster.open_connections(),
        4,
        "one to the bootstrap address"
    );
    world.net.reset(world.client.address(), World::ip(1));
    task.close().await;
    settle().await;
    assert_eq!(world.cluster.open_connections(), 0);
}
