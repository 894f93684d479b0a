//! How many connections there may be, and how fast they may come.

use std::num::NonZeroU32;
use std::time::Duration;

use klamm_network::{ConnectionLimits, StartError};

use crate::support::{PLAIN, SERVER, Simulated, echo, listener, settle};

#[tokio::test]
async fn ne_039_one_connection_too_many_from_an_address_is_closed_at_once() {
    let simulated = Simulated::start(|config| config.limits.max_connections_per_ip = 2).await;
    let mut first = simulated.connect().await;
    let _second = simulated.connect().await;
    simulated.connect().await.closed().await;
    assert_eq!(simulated.told.refused.lock().len(), 1);
    assert_eq!(simulated.live(), 2);
    let mut other = simulated.connect_from([10, 0, 0, 7].into(), 9092).await;
    assert!(other.is_quiet().await, "another address");
    first.ask(1, b"").await;
    echo(simulated.taken().await);
    assert_eq!(first.answer().await.0, 1);
    drop(first);
    simulated.settle().await;
    assert!(simulated.connect().await.is_quiet().await);
}

#[tokio::test]
async fn ne_040_hosts_with_a_number_of_their_own_are_resolved_and_can_change() {
    let mut simulated = Simulated::open(|config| {
        config.limits.max_connections_per_ip = 0;
        config.limits.max_connections_per_ip_overrides = vec![("friend".to_owned(), 1)];
    });
    simulated.net.set_name("friend", &[crate::support::CLIENT]);
    simulated.server.start().await.unwrap();
    let _kept = simulated.connect().await;
    simulated.connect().await.closed().await;
    let stranger = [10, 0, 0, 7].into();
    simulated.connect_from(stranger, 9092).await.closed().await;

    let unknown = ConnectionLimits {
        max_connections_per_ip_overrides: vec![("nobody".to_owned(), 1)],
        ..ConnectionLimits::default()
    };
    let failed = simulated.server.set_limits(unknown).await;
    assert!(matches!(failed, Err(StartError::Override { host, .. }) if host == "nobody"));
    simulated.connect().await.closed().await;

    let changed = ConnectionLimits {
        max_connections_per_ip: 1,
        max_connections_per_ip_overrides: vec![("10.0.0.2".to_owned(), 2)],
        ..ConnectionLimits::default()
    };
    simulated.server.set_limits(changed).await.unwrap();
    assert!(simulated.connect().await.is_quiet().await);
    assert!(
        simulated
            .connect_from(stranger, 9092)
            .await
            .is_quiet()
            .await
    );
}

#[tokio::test]
async fn ne_041_at_its_bound_a_listener_goes_on_when_a_connection_closes() {
    let simulated = Simulated::start(|config| {
        config.listeners[0].max_connections = 1;
        config.listeners[0].inter_broker = true;
    })
    .await;
    let mut first = simulated.connect().await;
    let mut second = simulated.connect().await;
    second.ask(2, b"").await;
    simulated.settle().await;
    assert_eq!(simulated.live(), 1);
    assert!(simulated.channel.is_empty());
    assert!(
        first.is_quiet().await && second.is_quiet().await,
        "nobody is refused"
    );
    drop(first);
    echo(simulated.taken().await);
    assert_eq!(second.answer().await.0, 2);
    let mut third = simulated.connect().await;
    third.ask(3, b"").await;
    settle().await;
    assert!(simulated.channel.is_empty());
    assert_eq!(simulated.server.set_listener_limits("OTHER", 9, None), None);
    simulated
        .server
        .set_listener_limits(PLAIN, 2, None)
        .unwrap();
    echo(simulated.taken().await);
    assert_eq!(third.answer().await.0, 3);
}

#[tokio::test]
async fn ne_042_at_the_broker_wide_bound_the_next_waits_on_any_listener() {
    let simulated = Simulated::start(|config| {
        config.listeners.push(listener("OTHER", SERVER, 9093));
        config.limits.max_connections = 2;
    })
    .await;
    let kept = [simulated.connect().await, simulated.connect().await];
    simulated.settle().await;
    assert_eq!(simulated.live(), 2, "the bound itself is not too many");
    let mut waits = simulated.connect_from(crate::support::CLIENT, 9093).await;
    waits.ask(1, b"").await;
    assert!(waits.is_quiet().await);
    assert!(simulated.channel.is_empty());
    drop(kept);
    echo(simulated.taken().await);
    assert_eq!(waits.answer().await.0, 1);
}

#[tokio::test]
async fn ne_043_above_the_rate_connections_come_later_and_all_come() {
    let simulated = Simulated::start(|config| {
        config.limits.max_connection_creation_rate = NonZeroU32::new(5);
    })
    .await;
    let mut clients = Vec::new();
    for _ in 0..15 {
        clients.push(simulated.connect().await);
    }
    simulated.settle().await;
    assert_eq!(simulated.live(), 5);
    for (step, live) in [(1_000, 10), (1_000, 15), (5_000, 15)] {
        simulated.pass(Duration::from_millis(step)).await;
        assert_eq!(simulated.live(), live);
    }
    for client in &mut clients {
        assert!(client.is_quiet().await);
    }
}

#[tokio::test]
async fn ne_045_a_rate_that_is_taken_away_holds_nobody_up() {
    let simulated = Simulated::start(|config| {
        config.limits.max_connection_creation_rate = NonZeroU32::new(1);
    })
    .await;
    let mut clients = Vec::new();
    for _ in 0..10 {
        clients.push(simulated.connect().await);
    }
    settle().await;
    assert_eq!(simulated.live(), 1);
    let limits = ConnectionLimits::default();
    simulated.server.set_limits(limits).await.unwrap();
    settle().await;
    assert_eq!(simulated.live(), 10, "without the clock having moved");
    // A listener's rate of 0 cannot even be said.
    assert_eq!(NonZeroU32::new(0), None);
}

#[tokio::test]
async fn ne_046_one_too_fast_for_its_address_is_kept_without_service_and_then_closed() {
    let simulated = Simulated::start(|config| {
        config.limits.connection_creation_rate_per_ip = NonZeroU32::new(2);
    })
    .await;
    let mut served = [simulated.connect().await, simulated.connect().await];
    let mut refused = simulated.connect().await;
    refused.ask(1, b"").await;
    assert!(refused.is_quiet().await);
    assert!(simulated.channel.is_empty(), "it is not served");
    assert_eq!(simulated.live(), 2);
    let refusals = simulated.told.refused.lock().clone();
    assert_eq!(*simulated.told.held.lock(), refusals, "and takes a file");
    // The acceptor has not waited.
    let other = [10, 0, 0, 7].into();
    let mut other = simulated.connect_from(other, 9092).await;
    other.ask(2, b"").await;
    echo(simulated.taken().await);
    assert_eq!(other.answer().await.0, 2);
    simulated.pass(Duration::from_millis(499)).await;
    assert!(refused.is_quiet().await);
    simulated.pass(Duration::from_millis(1)).await;
    refused.closed().await;
    assert!(simulated.told.held.lock().is_empty());
    assert!(simulated.connect().await.is_quiet().await);
    for client in &mut served {
        assert!(client.is_quiet().await);
    }
}

/// Covers NE-046, NE-057.
#[tokio::test]
async fn a_stop_closes_those_that_only_wait_out_their_throttle() {
    let simulated = Simulated::start(|config| {
        let one = NonZeroU32::new(1).unwrap();
        let from = crate::support::CLIENT;
        config.limits.connection_creation_rate_per_ip_overrides = vec![(from, one)];
    })
    .await;
    let _served = simulated.connect().await;
    let mut refused = simulated.connect().await;
    assert!(refused.is_quiet().await);
    assert_eq!(simulated.told.held.lock().len(), 1);
    let told = simulated.told;
    simulated.server.stop().await;
    refused.closed().await;
    assert!(told.held.lock().is_empty());
}
