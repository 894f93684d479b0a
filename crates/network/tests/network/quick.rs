//! Quick requests, which are handled where they were read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use klamm_io::sim::SimFile;
use klamm_io::{Clock as _, DiskFile};
use klamm_network::{Handler, HandlerPool, Parked, Received, Request, Response};
use klamm_wire::Encoded;

use crate::support::{Simulated, answer_to, connect, echo, loopback, payload, start};

/// Sends payloads back, and says of those that begin with `q` that they are quick.
#[derive(Default)]
struct Echo {
    quick: AtomicUsize,
}

impl<F: DiskFile> Handler<F> for Echo {
    fn handle(&self, received: Received<F>) {
        let sent = payload(&received);
        self.quick.fetch_add(1, Ordering::Relaxed);
        assert!(!sent.ends_with(b"panic"), "as the test wants it");
        if sent.ends_with(b"park") {
            let answer = answer_to(&received, sent);
            let parked = received.responder.park(Parked::Other);
            parked.send(Response::new(answer));
        } else {
            echo(received);
        }
    }

    fn is_quick(&self, request: &Request) -> bool {
        let frame = &request.frame;
        let request: klamm_wire::messages::sasl_authenticate::SaslAuthenticateRequest =
            frame.decode().unwrap();
        request.auth_bytes.starts_with(b"q")
    }
}

async fn simulated() -> (Simulated, Arc<Echo>) {
    let simulated = Simulated::start(|_| {}).await;
    let handler = Arc::new(Echo::default());
    simulated.server.handle_quick_requests(handler.clone());
    (simulated, handler)
}

#[tokio::test]
async fn quick_requests_are_answered_without_the_channel_and_others_are_not() {
    let (simulated, handler) = simulated().await;
    let mut client = simulated.connect().await;
    for id in 0..3 {
        client.ask(id, b"quick").await;
        assert_eq!(client.answer().await, (id, "quick".into()));
    }
    assert_eq!(handler.quick.load(Ordering::Relaxed), 3);
    client.ask(7, b"slow").await;
    assert!(client.is_quiet().await);
    echo(simulated.taken().await);
    assert_eq!(client.answer().await.0, 7);
    assert_eq!(handler.quick.load(Ordering::Relaxed), 3);
    let completed = simulated.told.completed.lock();
    assert_eq!(completed.len(), 4, "their accounts are kept, too");
}

/// Covers NE-012.
#[tokio::test]
async fn many_in_a_row_are_answered_in_their_order_and_others_are_not_forgotten() {
    let (simulated, _) = simulated().await;
    let mut client = simulated.connect().await;
    let payload_of = |id: i32| ["quick", "q park", "slow"][usize::try_from(id % 3).unwrap()];
    let mut all = Vec::new();
    for id in 0..100 {
        all.extend(crate::support::request(id, payload_of(id).as_bytes()));
    }
    client.send(&all).await;
    let channel = simulated.channel.clone();
    let _slow = tokio::spawn(async move {
        loop {
            // A quick one that was read behind a slow one goes the same way.
            echo(channel.next().await);
        }
    });
    for id in 0..100 {
        let (answered, sent) = client.answer().await;
        assert_eq!((answered, &sent[..]), (id, payload_of(id).as_bytes()));
    }
}

/// Keeps produce requests waiting that begin with `keep`, and sends back what else comes.
#[derive(Default)]
struct Keeper {
    handled: AtomicUsize,
    kept: parking_lot::Mutex<Vec<(Encoded, klamm_network::ParkedResponder<SimFile>)>>,
}

impl Handler<SimFile> for Keeper {
    fn handle(&self, received: Received<SimFile>) {
        self.handled.fetch_add(1, Ordering::Relaxed);
        let sent = payload(&received);
        if sent.starts_with(b"keep") {
            let answer = answer_to(&received, sent);
            let parked = received.responder.park(Parked::Produce);
            self.kept.lock().push((answer, parked));
        } else {
            echo(received);
        }
    }

    fn is_quick(&self, _: &Request) -> bool {
        true
    }
}

/// Covers NE-011, NE-012: a quick request is handled behind a produce request that waits, on the
/// same connection, and its answer waits for that one's.
#[tokio::test]
async fn ne_012_a_quick_request_behind_a_parked_produce_is_handled_and_answered_after_it() {
    let simulated = Simulated::start(|_| {}).await;
    let keeper = Arc::new(Keeper::default());
    simulated.server.handle_quick_requests(keeper.clone());
    let mut client = simulated.connect().await;
    let sent = ["keep 1", "quick 2", "keep 3", "quick 4"];
    for (id, payload) in (1..).zip(sent) {
        client.ask(id, payload.as_bytes()).await;
        simulated.settle().await;
    }
    assert_eq!(
        keeper.handled.load(Ordering::Relaxed),
        4,
        "none waits its turn"
    );
    assert!(client.is_quiet().await, "the first has no answer yet");
    // The second that is kept is answered first; that alone lets nothing out.
    let mut kept = std::mem::take(&mut *keeper.kept.lock());
    let (answer, parked) = kept.pop().unwrap();
    parked.send(Response::new(answer));
    assert!(client.is_quiet().await);
    let (answer, parked) = kept.pop().unwrap();
    parked.send(Response::new(answer));
    for (id, payload) in (1..).zip(sent) {
        let (answered, back) = client.answer().await;
        assert_eq!((answered, &back[..]), (id, payload.as_bytes()));
    }
    client.ask(5, b"quick 5").await;
    assert_eq!(client.answer().await.0, 5);
}

/// Requests that wait for the pool are not overtaken by those of other connections.
#[tokio::test]
async fn while_a_request_waits_in_the_channel_quick_ones_go_there_too() {
    let (simulated, handler) = simulated().await;
    let mut first = simulated.connect().await;
    let mut second = simulated.connect().await;
    first.ask(1, b"slow").await;
    simulated.settle().await;
    second.ask(2, b"quick").await;
    assert!(second.is_quiet().await);
    for _ in 0..2 {
        echo(simulated.taken().await);
    }
    assert_eq!((first.answer().await.0, second.answer().await.0), (1, 2));
    assert_eq!(handler.quick.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_panic_closes_the_connection_of_the_request_alone() {
    let (simulated, _) = simulated().await;
    let mut first = simulated.connect().await;
    let mut second = simulated.connect().await;
    first.ask(1, b"q panic").await;
    first.closed().await;
    second.ask(2, b"quick").await;
    assert_eq!(second.answer().await.0, 2);
    assert_eq!(simulated.live(), 1);
}

/// Over real sockets and threads: nothing is lost or mixed up between network and pool.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn connections_that_mix_quick_and_other_requests_get_all_their_answers() {
    let server = start(loopback()).await;
    let handler = Arc::new(Echo::default());
    server.handle_quick_requests(handler.clone());
    let pool = HandlerPool::start(server.channel().clone(), handler, 2).unwrap();
    let mut tasks = Vec::new();
    for task in 0..8 {
        let mut client = connect(&server).await;
        tasks.push(tokio::spawn(async move {
            for round in 0..100 {
                let ids = || (0..5).map(|it| 1000 * task + 5 * round + it);
                for id in ids() {
                    let payload = ["quick", "slow", "q park"][usize::try_from(id % 3).unwrap()];
                    client.ask(id, payload.as_bytes()).await;
                }
                for id in ids() {
                    assert_eq!(client.answer().await.0, id);
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    server.stop().await;
    pool.stop();
}

/// A disk that hangs must not hold up the network for long.
#[tokio::test]
async fn after_one_that_was_not_quick_the_pool_gets_them_for_a_while() {
    struct Sleepy(klamm_io::sim::SimClock);

    impl<F: DiskFile> Handler<F> for Sleepy {
        fn handle(&self, received: Received<F>) {
            self.0.advance(Duration::from_millis(20));
            echo(received);
        }

        fn is_quick(&self, _: &Request) -> bool {
            true
        }
    }

    let simulated = Simulated::start(|_| {}).await;
    let handler = Arc::new(Sleepy(simulated.clock.clone()));
    simulated.server.handle_quick_requests(handler);
    let mut client = simulated.connect().await;
    let began = simulated.clock.now();
    client.ask(1, b"").await;
    assert_eq!(client.answer().await.0, 1);
    assert_eq!(simulated.clock.now() - began, Duration::from_millis(20));
    client.ask(2, b"").await;
    assert!(client.is_quiet().await);
    echo(simulated.taken().await);
    assert_eq!(client.answer().await.0, 2);
    simulated.pass(Duration::from_secs(2)).await;
    client.ask(3, b"").await;
    assert_eq!(client.answer().await.0, 3, "and then it is tried again");
}
