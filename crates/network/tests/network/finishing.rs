//! What a server still does for its connections before it stops.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use klamm_io::{Clock as _, SystemClock};
use klamm_network::{CompletedRequest, ConnectionContext, Observer, Parked, Peer, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{
    Simulated, Told, answer_to, connect, echo, loopback, request, settle, spawn_echo,
    start_observed,
};

/// What was sent before is answered, wherever it is by then: with a handler, in the channel, read
/// ahead, or in the socket. What is left goes with the connection.
#[tokio::test]
async fn before_a_stop_all_that_was_sent_is_answered() {
    let mut simulated = Simulated::start(|config| config.requests_per_connection = 2).await;
    let mut idle = simulated.connect().await;
    let mut busy = simulated.connect().await;
    for id in 0..6 {
        busy.ask(id, b"").await;
    }
    let first = simulated.taken().await;
    let mut parked = simulated.connect().await;
    parked.ask(10, b"").await;
    let answer = simulated.taken().await;
    let late = Response::new(answer_to(&answer, ""));
    let waits = answer.responder.park(Parked::Other);
    let mut cut = simulated.connect().await;
    cut.send(&[0, 0, 0, 100, 0]).await;
    let mut throttled = simulated.connect().await;
    throttled.ask(11, b"").await;
    let received = simulated.taken().await;
    let answer = Response::new(answer_to(&received, ""));
    let hour = Duration::from_hours(1);
    received.responder.send_throttled(answer, hour);
    assert_eq!(throttled.answer().await.0, 11);
    settle().await;
    assert_eq!(waits.peer(), Peer::Open);

    let (told, channel) = (Arc::clone(&simulated.told), simulated.channel.clone());
    let clock = simulated.clock.clone();
    let finishing = tokio::spawn(async move {
        let left = simulated.server.finish(hour).await;
        (left, simulated)
    });
    settle().await;
    clock.advance(Duration::from_millis(10));
    for client in [&mut idle, &mut cut, &mut throttled] {
        client.closed().await;
    }
    assert_eq!(
        waits.peer(),
        Peer::SendsNoMore,
        "it is not to wait any more"
    );
    assert!(!told.input_ended.lock().is_empty());
    waits.send(late);
    assert_eq!(parked.answer().await.0, 10);
    parked.closed().await;
    assert!(!finishing.is_finished());
    let handlers = spawn_echo(channel);
    echo(first);
    for id in 0..6 {
        assert_eq!(busy.answer().await.0, id);
    }
    busy.closed().await;
    assert!(!finishing.is_finished(), "until the peers have closed, too");
    drop((idle, busy, parked, cut, throttled));
    let (left, simulated) = finishing.await.unwrap();
    assert_eq!(left, 0);
    handlers.abort();
    simulated.server.stop().await;
}

/// Its requests are small beside what its socket holds, so that there is always another one.
#[tokio::test]
async fn before_a_stop_a_peer_that_goes_on_sending_is_not_read_for_ever() {
    const PAYLOAD: usize = 1_000;
    let mut simulated = Simulated::start(|_| {}).await;
    let channel = simulated.channel.clone();
    let handlers = tokio::spawn(async move {
        loop {
            let received = channel.next().await;
            let answer = answer_to(&received, "");
            received.responder.send(Response::new(answer));
        }
    });
    let client = simulated.connect().await;
    let (mut reading, mut writing) = tokio::io::split(client.stream);
    let sending = tokio::spawn(async move {
        let request = request(1, &[0; PAYLOAD]);
        while writing.write_all(&request).await.is_ok() {}
    });
    let answers = tokio::spawn(async move {
        let mut answers = Vec::new();
        _ = reading.read_to_end(&mut answers).await;
        answers.len()
    });
    settle().await;
    let (clock, told) = (simulated.clock.clone(), Arc::clone(&simulated.told));
    let finishing = tokio::spawn(async move {
        let left = simulated.server.finish(Duration::from_hours(1)).await;
        (left, simulated)
    });
    settle().await;
    let before = told.completed.lock().len();
    clock.advance(Duration::from_millis(10));
    let answered = answers.await.unwrap();
    assert!(answered > 0);
    let read_since = (told.completed.lock().len() - before) * PAYLOAD;
    let mib = read_since / (1024 * 1024);
    assert!((7..9).contains(&mib), "{read_since}");
    // It does not close, and is not waited for, either.
    clock.advance(Duration::from_millis(500));
    let (left, simulated) = finishing.await.unwrap();
    assert_eq!(left, 0);
    sending.await.unwrap();
    handlers.abort();
    simulated.server.stop().await;
}

/// A close with bytes unread is a reset, which throws away what is on its way to the peer.
#[tokio::test]
async fn before_a_stop_the_last_answer_arrives_though_its_peer_sends_more() {
    const LEN: usize = 2 << 20;
    let mut server = start_observed(loopback(), Arc::new(Told::default())).await;
    let channel = server.channel().clone();
    let mut client = connect(&server).await;
    client.ask(1, b"").await;
    let received = channel.next().await;
    let answer = answer_to(&received, vec![7; LEN]);
    received.responder.send(Response::new(answer));
    let reading = async {
        // After the server has read its last.
        pause(50).await;
        client.ask(2, &[0; 1_000]).await;
        pause(50).await;
        let answer = client.answer().await;
        assert_eq!((answer.0, answer.1.len()), (1, LEN));
        client.closed().await;
        drop(client);
    };
    let (left, ()) = tokio::join!(server.finish(Duration::from_secs(30)), reading);
    assert_eq!(left, 0);
    server.stop().await;
}

async fn pause(ms: u64) {
    let later = SystemClock.now() + Duration::from_millis(ms);
    SystemClock.sleep_until(Some(later)).await;
}

/// Who has been silent for long has all its answers.
#[tokio::test]
async fn before_a_stop_only_those_are_waited_for_that_may_miss_an_answer() {
    let mut simulated = Simulated::start(|_| {}).await;
    let mut silent = simulated.connect().await;
    simulated.pass(Duration::from_millis(490)).await;
    let mut client = simulated.connect().await;
    client.ask(1, b"").await;
    echo(simulated.taken().await);
    let (clock, told) = (simulated.clock.clone(), Arc::clone(&simulated.told));
    let finishing = tokio::spawn(async move {
        let left = simulated.server.finish(Duration::from_millis(100)).await;
        (left, simulated)
    });
    settle().await;
    clock.advance(Duration::from_millis(10));
    silent.closed().await;
    assert_eq!(client.answer().await.0, 1);
    client.closed().await;
    settle().await;
    assert_eq!(told.closed.lock().len(), 1);
    clock.advance(Duration::from_millis(90));
    let (left, simulated) = finishing.await.unwrap();
    assert_eq!(left, 0, "all that it asked for is answered");
    // The end is not put off any more.
    simulated.server.stop().await;
    assert_eq!(told.closed.lock().len(), 2);
}

/// The runtime learns of so many sockets at a time only.
#[tokio::test]
async fn before_a_stop_more_sockets_have_more_time_to_settle() {
    for (connections, ms) in [(1_000, 10), (1_001, 11)] {
        let mut simulated = Simulated::start(|_| {}).await;
        let mut clients = Vec::new();
        for _ in 0..connections {
            clients.push(simulated.connect().await);
        }
        settle().await;
        let (clock, told) = (simulated.clock.clone(), Arc::clone(&simulated.told));
        let finishing = tokio::spawn(async move {
            let left = simulated.server.finish(Duration::from_secs(3)).await;
            (left, simulated)
        });
        settle().await;
        for passed in 1..=ms {
            assert_eq!(told.input_ended.lock().len(), 0, "{passed} ms");
            clock.advance(Duration::from_millis(1));
            settle().await;
        }
        assert_eq!(told.input_ended.lock().len(), connections);
        drop(clients);
        let (left, simulated) = finishing.await.unwrap();
        assert_eq!(left, 0);
        simulated.server.stop().await;
    }
}

/// Leaves the task that runs a connection no budget whenever it has sent an answer.
struct Exhausting;

impl Observer for Exhausting {
    fn request_completed(&self, _: &ConnectionContext, _: &CompletedRequest) {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        while tokio::task::coop::has_budget_remaining() {
            _ = pin!(tokio::task::coop::consume_budget()).poll(&mut context);
        }
    }
}

/// A socket that the runtime does not let a task read is not an empty one.
#[tokio::test]
async fn before_a_stop_a_task_without_a_budget_reads_on_later() {
    let mut config = loopback();
    config.requests_per_connection = 1;
    let mut server = start_observed(config, Arc::new(Exhausting)).await;
    let channel = server.channel().clone();
    let mut client = connect(&server).await;
    for id in 0..10 {
        client.ask(id, &[0; 5_000]).await;
    }
    let mut received = channel.next().await;
    let handlers = tokio::spawn(async move {
        loop {
            pause(20).await;
            let answer = answer_to(&received, "");
            let parked = received.responder.park(Parked::Other);
            // Only so does the connection's own task send it.
            parked.send(Response::new(answer));
            received = channel.next().await;
        }
    });
    let reading = async {
        for id in 0..10 {
            assert_eq!(client.answer().await.0, id);
        }
        client.closed().await;
        drop(client);
    };
    let (left, ()) = tokio::join!(server.finish(Duration::from_secs(30)), reading);
    assert_eq!(left, 0);
    handlers.abort();
    server.stop().await;
}

#[tokio::test]
async fn before_a_stop_nobody_is_waited_for_longer_than_there_is_time() {
    let mut simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    client.ask(1, b"").await;
    let never_answered = simulated.taken().await;
    let clock = simulated.clock.clone();
    let finishing = tokio::spawn(async move {
        let left = simulated.server.finish(Duration::from_secs(3)).await;
        (left, simulated)
    });
    settle().await;
    clock.advance(Duration::from_millis(2_999));
    settle().await;
    assert!(!finishing.is_finished());
    clock.advance(Duration::from_millis(1));
    let (left, simulated) = finishing.await.unwrap();
    assert_eq!(left, 1);
    simulated.server.stop().await;
    client.closed().await;
    drop(never_answered);
}
