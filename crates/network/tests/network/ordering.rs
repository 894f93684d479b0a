//! The order of a connection's requests and answers, over simulated sockets.

use std::time::Duration;

use klamm_network::{Parked, Response};

use crate::support::{Simulated, answer_to, connect, correlation_id, echo, loopback, start};

/// Covers NE-011, NE-012.
#[tokio::test]
async fn pipelined_requests_are_handed_out_one_at_a_time_and_answered_in_order() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    for id in 0..8 {
        client.ask(id, b"produce").await;
    }
    let mut parked = Vec::new();
    for id in 0..5 {
        let received = simulated.taken().await;
        assert_eq!(correlation_id(&received), id);
        simulated.settle().await;
        assert!(simulated.channel.is_empty(), "one at a time");
        let answer = answer_to(&received, vec![u8::try_from(id).unwrap()]);
        parked.push((answer, received.responder.park(Parked::Produce)));
    }
    simulated.settle().await;
    assert!(simulated.channel.is_empty(), "five are unanswered");
    for (answer, responder) in parked.drain(1..).rev() {
        responder.send(Response::new(answer));
    }
    assert!(client.is_quiet().await, "all are behind the first");
    let (answer, responder) = parked.remove(0);
    responder.send(Response::new(answer));
    for id in 0..5 {
        assert_eq!(client.answer().await.0, id);
    }
    for id in 5..8 {
        echo(simulated.taken().await);
        assert_eq!(client.answer().await.0, id);
    }
}

#[tokio::test]
async fn ne_011_another_parked_request_holds_its_connection() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    for id in [1, 2] {
        client.ask(id, b"").await;
    }
    let fetch = simulated.taken().await;
    let answer = answer_to(&fetch, "");
    let parked = fetch.responder.park(Parked::Other);
    simulated.settle().await;
    assert!(simulated.channel.is_empty());
    parked.send(Response::new(answer));
    echo(simulated.taken().await);
    assert_eq!(client.answer().await.0, 1);
    assert_eq!(client.answer().await.0, 2);
}

#[tokio::test]
async fn ne_011_with_one_request_a_connection_the_next_waits_for_the_answer() {
    let simulated = Simulated::start(|config| config.requests_per_connection = 1).await;
    let mut client = simulated.connect().await;
    for id in [1, 2] {
        client.ask(id, b"").await;
    }
    let first = simulated.taken().await;
    let answer = answer_to(&first, "");
    let parked = first.responder.park(Parked::Produce);
    simulated.settle().await;
    assert!(simulated.channel.is_empty());
    parked.send(Response::new(answer));
    assert_eq!(client.answer().await.0, 1);
    echo(simulated.taken().await);
    assert_eq!(client.answer().await.0, 2);
}

#[tokio::test]
async fn ne_013_a_connection_that_waits_delays_no_other() {
    let simulated = Simulated::start(|_| {}).await;
    let mut slow = simulated.connect().await;
    let mut quick = simulated.connect().await;
    slow.ask(1, b"").await;
    let held = simulated.taken().await;
    for id in 0..50 {
        quick.ask(id, b"").await;
        echo(simulated.taken().await);
        assert_eq!(quick.answer().await.0, id);
    }
    echo(held);
    assert_eq!(slow.answer().await.0, 1);
}

/// Covers NE-013, B1.5.
#[tokio::test]
async fn a_slow_reader_holds_up_itself_alone() {
    let simulated = Simulated::start(|_| {}).await;
    let mut slow = simulated.connect().await;
    slow.ask(1, b"").await;
    let received = simulated.taken().await;
    let large = answer_to(&received, vec![0; 1_000_000]);
    received.responder.send(Response::new(large));
    simulated.settle().await;
    let mut quick = simulated.connect().await;
    for id in 0..50 {
        quick.ask(id, b"").await;
        echo(simulated.taken().await);
        assert_eq!(quick.answer().await.0, id);
    }
    assert_eq!(slow.answer().await.1.len(), 1_000_000);
}

#[tokio::test]
async fn ne_014_a_place_is_not_free_before_the_answer_has_gone_to_the_socket() {
    let simulated = Simulated::start(|config| config.requests_per_connection = 1).await;
    let mut client = simulated.connect().await;
    for id in [1, 2] {
        client.ask(id, b"").await;
    }
    let first = simulated.taken().await;
    // More than a simulated connection holds.
    let large = answer_to(&first, vec![0; 200_000]);
    first.responder.send(Response::new(large));
    simulated.settle().await;
    assert!(simulated.channel.is_empty(), "queued is not written");
    assert_eq!(client.answer().await.0, 1);
    assert_eq!(correlation_id(&simulated.taken().await), 2);
}

/// Covers NE-015, B1.4.
#[tokio::test]
async fn a_request_may_end_with_an_answer_without_one_or_with_the_connection() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    for id in [1, 2, 3] {
        client.ask(id, b"").await;
    }
    simulated.taken().await.responder.nothing();
    echo(simulated.taken().await);
    assert_eq!(client.answer().await.0, 2, "the first has no answer");
    simulated.taken().await.responder.close();
    client.closed().await;
    assert_eq!(simulated.live(), 0);
}

#[tokio::test]
async fn ne_015_a_responder_dropped_unanswered_closes_its_connection() {
    let simulated = Simulated::start(|_| {}).await;
    for parks in [false, true] {
        let mut client = simulated.connect().await;
        client.ask(1, b"").await;
        let received = simulated.taken().await;
        if parks {
            drop(received.responder.park(Parked::Other));
        } else {
            drop(received);
        }
        client.closed().await;
    }
}

#[tokio::test]
async fn ne_016_a_close_takes_effect_at_its_place() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    for id in [1, 2, 3, 4] {
        client.ask(id, b"").await;
    }
    let first = simulated.taken().await;
    let answer = answer_to(&first, "kept");
    let first = first.responder.park(Parked::Produce);
    let second = simulated.taken().await.responder.park(Parked::Produce);
    let third = simulated.taken().await;
    second.close();
    simulated.settle().await;
    echo(third);
    simulated.settle().await;
    assert!(simulated.channel.is_empty(), "the fourth is not executed");
    first.send(Response::new(answer));
    assert_eq!(client.answer().await, (1, "kept".into()));
    client.closed().await;
}

/// Covers NE-017, B1.4.
#[tokio::test]
async fn a_throttled_connection_gets_its_answer_at_once_and_is_read_later() {
    let simulated = Simulated::start(|_| {}).await;
    for has_answer in [true, false] {
        let mut client = simulated.connect().await;
        client.ask(1, b"").await;
        let received = simulated.taken().await;
        let answer = answer_to(&received, "");
        let second = Duration::from_secs(1);
        if has_answer {
            let responder = received.responder;
            responder.send_throttled(Response::new(answer), second);
            assert_eq!(client.answer().await.0, 1);
        } else {
            received.responder.nothing_throttled(second);
        }
        simulated.settle().await;
        client.ask(2, b"").await;
        simulated.pass(Duration::from_millis(999)).await;
        assert!(simulated.channel.is_empty());
        simulated.pass(Duration::from_millis(1)).await;
        echo(simulated.taken().await);
        assert_eq!(client.answer().await.0, 2);
    }
}

#[tokio::test]
async fn ne_017_a_request_that_was_read_ahead_waits_for_the_end_of_the_throttle() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    for id in [1, 2] {
        client.ask(id, b"").await;
    }
    let received = simulated.taken().await;
    let answer = Response::new(answer_to(&received, ""));
    let parked = received.responder.park(Parked::Other);
    parked.send_throttled(answer, Duration::from_millis(50));
    assert_eq!(client.answer().await.0, 1);
    simulated.pass(Duration::from_millis(49)).await;
    assert!(simulated.channel.is_empty());
    simulated.pass(Duration::from_millis(1)).await;
    assert_eq!(correlation_id(&simulated.taken().await), 2);
}

#[tokio::test]
async fn ne_019_a_throttle_for_a_connection_that_is_gone_is_ignored() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    client.ask(1, b"").await;
    let received = simulated.taken().await;
    let answer = Response::new(answer_to(&received, ""));
    simulated
        .net
        .reset(crate::support::CLIENT, crate::support::SERVER);
    simulated.settle().await;
    assert_eq!(simulated.live(), 0);
    received
        .responder
        .send_throttled(answer, Duration::from_secs(1));
    simulated.pass(Duration::from_secs(2)).await;
    let mut other = simulated.connect().await;
    other.ask(2, b"").await;
    echo(simulated.taken().await);
    assert_eq!(other.answer().await.0, 2);
}

/// Covers NE-012, NE-021, B1.3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_loopback_answers_keep_the_order_whatever_their_handlers_take() {
    use std::sync::Arc;

    use klamm_network::HandlerPool;

    let server = start(loopback()).await;
    let (park, parked) = std::sync::mpsc::sync_channel(100);
    let handler = move |received: klamm_network::Received<_>| {
        let answer = answer_to(&received, "");
        let id = correlation_id(&received);
        let responder = received.responder.park(Parked::Produce);
        park.send((id, answer, responder)).unwrap();
    };
    let pool = HandlerPool::start(server.channel().clone(), Arc::new(handler), 4).unwrap();
    let answerer = std::thread::spawn(move || {
        // Two at a time, the later one first.
        while let Ok(first) = parked.recv() {
            let second = parked.recv();
            for (_, answer, responder) in second.into_iter().chain([first]) {
                responder.send(Response::new(answer));
            }
        }
    });
    let mut client = connect(&server).await;
    for id in 0..500 {
        client.ask(2 * id, b"").await;
        client.ask(2 * id + 1, b"").await;
        assert_eq!(client.answer().await.0, 2 * id);
        assert_eq!(client.answer().await.0, 2 * id + 1);
    }
    server.stop().await;
    tokio::task::spawn_blocking(move || pool.stop())
        .await
        .unwrap();
    answerer.join().unwrap();
}

/// Nobody may be left waiting for a wake-up that another thread was to give, whoever comes and
/// goes meanwhile.
///
/// Covers NE-012, NE-020, NE-025.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipelined_clients_are_all_served_while_handlers_come_and_go() {
    use std::sync::Arc;

    use klamm_network::{HandlerPool, Received};

    let server = start(loopback()).await;
    let handler = |received: Received<_>| echo(received);
    let mut pool = HandlerPool::start(server.channel().clone(), Arc::new(handler), 3).unwrap();
    let mut clients = Vec::new();
    for _ in 0..4 {
        let mut client = connect(&server).await;
        clients.push(tokio::spawn(async move {
            for round in 0..200 {
                let ids = 7 * round..7 * (round + 1);
                let frames = ids.clone().flat_map(|id| crate::support::request(id, b"x"));
                client.send(&frames.collect::<Vec<_>>()).await;
                for id in ids {
                    assert_eq!(client.answer().await.0, id);
                }
            }
        }));
    }
    let mut threads = (1..=4).cycle();
    while !clients.iter().all(tokio::task::JoinHandle::is_finished) {
        pool.resize(threads.next().unwrap()).unwrap();
        tokio::task::yield_now().await;
    }
    for client in clients {
        client.await.unwrap();
    }
    server.stop().await;
    tokio::task::spawn_blocking(move || pool.stop())
        .await
        .unwrap();
}
