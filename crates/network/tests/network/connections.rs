//! How connections end, and what is left of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use klamm_network::{Parked, Response};
use rustix::net::sockopt;
use tokio::io::AsyncWriteExt;

use crate::support::{
    CLIENT, SERVER, Simulated, Told, answer_to, connect, echo, eventually, loopback, settle,
    spawn_echo, start_observed,
};

/// Covers NE-049, B1.5.
#[tokio::test]
async fn an_idle_connection_is_closed_and_traffic_restarts_the_clock() {
    let limit = Duration::from_secs(10);
    let simulated = Simulated::start(|config| config.idle_max = Some(limit)).await;
    let mut idle = simulated.connect().await;
    let mut busy = simulated.connect().await;
    for id in 0..3 {
        simulated.pass(Duration::from_secs(4)).await;
        busy.ask(id, b"").await;
        echo(simulated.taken().await);
        assert_eq!(busy.answer().await.0, id);
    }
    idle.closed().await;
    assert_eq!(simulated.live(), 1);
    simulated.pass(Duration::from_millis(9_999)).await;
    assert_eq!(simulated.live(), 1);
    simulated.pass(Duration::from_millis(1)).await;
    busy.closed().await;
    assert_eq!(simulated.live(), 0);
}

#[tokio::test]
async fn ne_049_part_of_a_frame_is_traffic_and_so_is_an_answer() {
    let limit = Duration::from_secs(10);
    let simulated = Simulated::start(|config| config.idle_max = Some(limit)).await;
    let mut client = simulated.connect().await;
    for byte in [0, 0, 0, 100, 1, 2] {
        simulated.pass(Duration::from_secs(9)).await;
        client.send(&[byte]).await;
        settle().await;
    }
    assert_eq!(simulated.live(), 1);
    let mut other = simulated.connect().await;
    other.ask(1, b"").await;
    let received = simulated.taken().await;
    simulated.pass(Duration::from_secs(9)).await;
    echo(received);
    other.answer().await;
    simulated.pass(Duration::from_secs(9)).await;
    assert_eq!(simulated.live(), 1, "the other one, by its answer");
    simulated.pass(Duration::from_secs(1)).await;
    assert_eq!(simulated.live(), 0);
}

#[tokio::test]
async fn ne_066_a_peer_that_vanished_costs_a_slot_until_the_idle_limit() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    client.ask(1, b"").await;
    echo(simulated.taken().await);
    client.answer().await;
    simulated.net.vanish(CLIENT);
    simulated.pass(Duration::from_secs(599)).await;
    assert_eq!(simulated.live(), 1);
    simulated.pass(Duration::from_secs(1)).await;
    assert_eq!(simulated.live(), 0);
}

#[tokio::test]
async fn ne_066_an_idle_connection_sets_no_timer_but_the_one_for_its_limit() {
    let simulated = Simulated::start(|_| {}).await;
    let begin = klamm_io::Clock::now(&simulated.clock);
    let _client = simulated.connect().await;
    settle().await;
    let next = simulated.clock.next_deadline().unwrap();
    assert_eq!(next - begin, Duration::from_mins(10));
}

#[tokio::test]
async fn ne_067_who_has_only_stopped_sending_still_gets_the_answers() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    for id in [1, 2] {
        client.ask(id, b"").await;
    }
    client.send(&[0, 0, 0, 9, 1]).await;
    client.stream.shutdown().await.unwrap();
    let first = simulated.taken().await;
    let answer = answer_to(&first, "");
    let first = first.responder.park(Parked::Produce);
    echo(simulated.taken().await);
    settle().await;
    first.send(Response::new(answer));
    assert_eq!(client.answer().await.0, 1);
    assert_eq!(client.answer().await.0, 2);
    client.closed().await;
    assert_eq!(simulated.live(), 0);
}

/// A way to end a connection.
type End = fn(&Simulated, crate::support::Client<klamm_io::sim::SimStream>);

/// Covers NE-050, NE-059.
#[tokio::test]
async fn whatever_ends_a_connection_is_counted_and_told_once() {
    let simulated = Simulated::start(|_| {}).await;
    let ends: [End; 4] = [
        |_, client| drop(client),
        |simulated, _kept| simulated.net.reset(CLIENT, SERVER),
        |simulated, client| {
            drop(simulated.channel.try_recv());
            std::mem::forget(client);
        },
        |simulated, client| {
            simulated.channel.try_recv().unwrap().responder.close();
            std::mem::forget(client);
        },
    ];
    for (count, end) in (1..).zip(ends) {
        let mut client = simulated.connect().await;
        client.ask(1, b"").await;
        settle().await;
        assert_eq!(simulated.live(), 1);
        end(&simulated, client);
        settle().await;
        if let Some(received) = simulated.channel.try_recv() {
            echo(received);
        }
        settle().await;
        assert_eq!(simulated.live(), 0, "end {count}");
        let opened = simulated.told.opened.lock().clone();
        assert_eq!(*simulated.told.closed.lock(), opened);
        assert_eq!(opened.len(), count);
    }
}

#[tokio::test]
async fn ne_059_the_id_that_is_told_is_the_one_that_requests_carry() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    client.ask(1, b"").await;
    let received = simulated.taken().await;
    let id = received.request.context.id;
    drop(received);
    settle().await;
    assert_eq!(*simulated.told.closed.lock(), [id]);
}

/// Covers NE-052, NE-055.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_while_an_answer_is_written_ends_that_connection_only() {
    let told = Arc::new(Told::default());
    let server = start_observed(loopback(), told.clone()).await;
    let channel = server.channel().clone();
    let mut other = connect(&server).await;
    for (round, len) in [0, 550_000, 0, 550_000].into_iter().enumerate() {
        let mut client = connect(&server).await;
        client.ask(1, b"").await;
        let received = channel.next().await;
        sockopt::set_socket_linger(&client.stream, Some(Duration::ZERO)).unwrap();
        let answer = answer_to(&received, vec![0; len]);
        drop(client);
        received.responder.send(Response::new(answer));
        eventually(|| told.closed.lock().len() > round).await;
        other.ask(2, b"").await;
        echo(channel.next().await);
        assert_eq!(other.answer().await.0, 2);
    }
    assert_eq!(server.connections(crate::support::PLAIN), Some(1));
    server.stop().await;
}

#[tokio::test]
async fn ne_053_ids_are_never_used_again_even_for_the_same_address_and_port() {
    let simulated = Simulated::start(|_| {}).await;
    let (mut ids, mut held) = (BTreeSet::new(), Vec::new());
    for round in 0..50 {
        let mut client = simulated.connect().await;
        client.ask(round, b"").await;
        let received = simulated.taken().await;
        let id = received.request.context.id;
        assert_eq!(id.local, (SERVER, 9092).into());
        assert_eq!(id.peer.ip(), CLIENT);
        let shown = id.to_string();
        assert!(shown.starts_with("10.0.0.1:9092-10.0.0.2:"), "{shown}");
        assert!(shown.ends_with(&format!("-0-{}", round + 1)), "{shown}");
        assert!(ids.insert(id.index));
        // The connection goes while its request is alive.
        held.push(received);
        drop(client);
        settle().await;
    }
    assert_eq!(ids.len(), held.len());
}

/// A connection that is reset, one that fails to send and one that closes in the same round as
/// others that live.
#[tokio::test]
async fn ne_055_one_that_fails_leaves_the_others_alone() {
    let simulated = Simulated::start(|_| {}).await;
    let _echo = spawn_echo(simulated.channel.clone());
    let bad = [10, 0, 0, 66].into();
    let mut good = simulated.connect().await;
    for id in 0..10 {
        let mut failing = simulated.connect_from(bad, 9092).await;
        simulated.net.reset_after_bytes(SERVER, bad, 3);
        failing.ask(id, b"").await;
        good.ask(id, b"").await;
        assert_eq!(good.answer().await.0, id);
        assert!(failing.frame().await.is_err());
    }
    settle().await;
    assert_eq!(simulated.live(), 1);
}

#[tokio::test]
async fn ne_056_what_had_arrived_before_a_failure_is_still_handled() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    client.ask(1, b"in time").await;
    simulated.net.reset(CLIENT, SERVER);
    let received = simulated.taken().await;
    assert_eq!(crate::support::payload(&received), "in time");
}

#[tokio::test]
async fn ne_057_a_stop_closes_listeners_and_connections() {
    let simulated = Simulated::start(|_| {}).await;
    let mut idle = simulated.connect().await;
    let mut waiting = simulated.connect().await;
    waiting.ask(1, b"").await;
    let held = simulated.taken().await;
    let mut throttled = simulated.connect().await;
    throttled.ask(2, b"").await;
    let received = simulated.taken().await;
    let answer = Response::new(answer_to(&received, ""));
    received
        .responder
        .send_throttled(answer, Duration::from_hours(1));
    assert_eq!(throttled.answer().await.0, 2);
    let told = Arc::clone(&simulated.told);
    let host = simulated.net.host(CLIENT);
    simulated.server.stop().await;
    for client in [&mut idle, &mut waiting, &mut throttled] {
        client.closed().await;
        let written = client.stream.write_all(&[0; 100]).await;
        settle().await;
        assert!(written.is_err() || client.stream.write_all(&[0; 100]).await.is_err());
    }
    echo(held);
    assert_eq!(told.closed.lock().len(), 3);
    let options = klamm_io::SocketOptions::default();
    let connect = klamm_io::Net::connect(&host, (SERVER, 9092).into(), options);
    assert!(connect.await.is_err());
}

#[tokio::test]
async fn ne_057_over_loopback_a_stop_closes_everything() {
    let told = Arc::new(Told::default());
    let server = start_observed(loopback(), told.clone()).await;
    let address = server.address(crate::support::PLAIN).unwrap();
    let mut clients = [connect(&server).await, connect(&server).await];
    eventually(|| told.opened.lock().len() == 2).await;
    server.stop().await;
    for client in &mut clients {
        client.closed().await;
    }
    assert_eq!(told.closed.lock().len(), 2);
    std::net::TcpListener::bind(address).expect("the port is free");
}

#[tokio::test]
async fn ne_058_a_server_that_never_started_stops_as_well() {
    let simulated = Simulated::open(|_| {});
    simulated.server.stop().await;
    let mut config = loopback();
    config.listeners[0].options = crate::support::backlog(2);
    let clock = klamm_io::SystemClock;
    let observer = Arc::new(Told::default());
    let server: crate::support::RealServer =
        klamm_network::Server::open(klamm_io::TcpNet, clock, config, observer).unwrap();
    let address = server.address(crate::support::PLAIN).unwrap();
    // Some wait to be accepted.
    let _clients = [
        std::net::TcpStream::connect(address).unwrap(),
        std::net::TcpStream::connect(address).unwrap(),
    ];
    server.stop().await;
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[tokio::test]
async fn ne_058_a_server_stops_while_its_acceptor_waits() {
    let simulated = Simulated::start(|config| config.limits.max_connections = 1).await;
    let _kept = simulated.connect().await;
    let mut waits = simulated.connect().await;
    settle().await;
    simulated.server.stop().await;
    waits.closed().await;
}

#[tokio::test]
async fn a_server_that_is_dropped_ends_its_tasks() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    settle().await;
    let told = Arc::clone(&simulated.told);
    drop(simulated.server);
    client.closed().await;
    assert_eq!(told.closed.lock().len(), 1);
}

/// Ten thousand connections that do nothing, simulated: no deadline comes but their limit.
#[tokio::test]
async fn ne_049_ten_thousand_idle_connections_wake_nobody() {
    let simulated =
        Simulated::start(|config| config.listeners[0].options = crate::support::backlog(20_000))
            .await;
    let mut clients = Vec::new();
    for _ in 0..10_000 {
        clients.push(simulated.connect().await);
    }
    settle().await;
    assert_eq!(simulated.live(), 10_000);
    let next = simulated.clock.next_deadline().unwrap();
    assert_eq!(
        next - klamm_io::Clock::now(&simulated.clock),
        Duration::from_mins(10)
    );
    simulated.pass(Duration::from_mins(10)).await;
    assert_eq!(simulated.live(), 0);
}
