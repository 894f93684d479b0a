//! The request channel and the threads behind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use klamm_io::{Clock as _, SystemClock};
use klamm_network::{
    CompletedRequest, ConnectionContext, Handler, HandlerPool, Observer, Parked, Received, Request,
    Response,
};
use klamm_wire::messages::sasl_authenticate::SaslAuthenticateRequest;
use tokio::sync::Semaphore;

use crate::support::{
    Simulated, answer_to, connect, correlation_id, echo, encoded_answer, eventually, loopback,
    payload, request_of, start, start_observed,
};

/// Covers NE-020, B1.2.
#[tokio::test]
async fn a_full_channel_holds_connections_up_and_loses_nothing() {
    let simulated = Simulated::start(|config| config.queued_requests_max = 2).await;
    let mut clients = Vec::new();
    for id in 0..6 {
        let mut client = simulated.connect().await;
        client.ask(10 * id, b"").await;
        client.ask(10 * id + 1, b"").await;
        simulated.settle().await;
        clients.push(client);
    }
    assert_eq!(simulated.channel.len(), 2);
    assert_eq!(simulated.channel.blocked(), 4);
    let mut taken = Vec::new();
    for _ in 0..12 {
        let received = simulated.taken().await;
        taken.push(correlation_id(&received));
        echo(received);
        simulated.settle().await;
        assert!(simulated.channel.len() <= 2);
    }
    assert_eq!(
        taken[..6],
        [0, 10, 20, 30, 40, 50],
        "in the order of coming"
    );
    for (id, client) in (0..).zip(&mut clients) {
        assert_eq!(client.answer().await.0, 10 * id);
        assert_eq!(client.answer().await.0, 10 * id + 1);
    }
    assert_eq!(simulated.channel.blocked(), 0);
}

/// Covers NE-020, NE-050.
#[tokio::test]
async fn a_connection_that_ends_in_the_line_for_the_channel_holds_up_nobody() {
    let simulated = Simulated::start(|config| config.queued_requests_max = 1).await;
    let mut clients = Vec::new();
    for id in 0..3 {
        let host = [10, 0, 1, u8::try_from(id).unwrap()].into();
        let mut client = simulated.connect_from(host, 9092).await;
        client.ask(id, b"").await;
        simulated.settle().await;
        clients.push((host, client));
    }
    assert_eq!(simulated.channel.blocked(), 2);
    // A connection that waits is not read, so only what is written to it shows that it is gone.
    simulated.pass(Duration::from_secs(599)).await;
    simulated.pass(Duration::from_secs(2)).await;
    assert_eq!(simulated.live(), 0, "idle");
    assert_eq!(simulated.channel.blocked(), 0);
    drop(simulated.taken().await);
    let mut client = simulated.connect().await;
    client.ask(7, b"").await;
    echo(simulated.taken().await);
    assert_eq!(client.answer().await.0, 7);
}

#[tokio::test]
async fn ne_021_an_answer_wakes_its_connection_at_once() {
    let server = start(loopback()).await;
    let handler = |received: Received<_>| echo(received);
    let pool = HandlerPool::start(server.channel().clone(), Arc::new(handler), 2).unwrap();
    let mut client = connect(&server).await;
    let begin = SystemClock.now();
    for id in 0..200 {
        client.ask(id, b"x").await;
        assert_eq!(client.answer().await.0, id);
    }
    // Any waiting for a poll to time out would show 200 times.
    assert!(SystemClock.now() - begin < Duration::from_secs(2));
    server.stop().await;
    pool.stop();
}

#[tokio::test]
async fn ne_022_a_connection_has_no_more_answers_waiting_than_places() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    for id in 0..20 {
        client.ask(id, b"").await;
    }
    // The client does not read, and each answer is more than the connection holds.
    let mut answered = 0;
    loop {
        simulated.settle().await;
        let Some(received) = simulated.channel.try_recv() else {
            break;
        };
        let large = answer_to(&received, vec![0; 100_000]);
        received.responder.send(Response::new(large));
        answered += 1;
    }
    assert_eq!(answered, 5);
    for id in 0..20 {
        if id > 4 {
            // Each answer that is read lets one more request come.
            let received = loop {
                simulated.settle().await;
                if let Some(received) = simulated.channel.try_recv() {
                    break Some(received);
                }
                if id - answered < 0 {
                    break None;
                }
            };
            if let Some(received) = received {
                echo(received);
                answered += 1;
            }
        }
        assert_eq!(client.answer().await.0, id);
    }
}

#[tokio::test]
async fn ne_023_work_handed_back_is_done_before_new_requests() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    client.ask(1, b"").await;
    simulated.settle().await;
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..3 {
        let done = Arc::clone(&done);
        simulated.channel.resume(move || {
            done.fetch_add(1, Ordering::Relaxed);
        });
    }
    assert_eq!(done.load(Ordering::Relaxed), 0);
    let received = simulated.channel.try_recv().unwrap();
    assert_eq!(done.load(Ordering::Relaxed), 3);
    echo(received);
}

#[tokio::test]
async fn ne_023_an_idle_thread_is_woken_for_work() {
    let server = start(loopback()).await;
    let handler = |received: Received<_>| echo(received);
    let pool = HandlerPool::start(server.channel().clone(), Arc::new(handler), 1).unwrap();
    for _ in 0..100 {
        let (done, is_done) = tokio::sync::oneshot::channel();
        server.channel().resume(move || {
            _ = done.send(std::thread::current().name().map(str::to_owned));
        });
        let thread = is_done.await.unwrap();
        assert_eq!(thread.as_deref(), Some("klamm-handler-0"));
    }
    pool.stop();
}

/// Covers NE-024, NE-051, C013.
#[tokio::test]
async fn an_answer_for_a_connection_that_is_gone_goes_nowhere() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    client.ask(1, b"").await;
    let received = simulated.taken().await;
    drop(client);
    simulated
        .net
        .reset(crate::support::CLIENT, crate::support::SERVER);
    simulated.settle().await;
    let mut next = simulated.connect().await;
    let answer = answer_to(&received, "secret");
    let parked = received.responder.park(Parked::Other);
    parked.send(Response::new(answer));
    assert!(next.is_quiet().await);
    let completed = simulated.told.completed.lock().clone();
    assert_eq!(completed.len(), 1, "its account is closed all the same");
    assert_eq!(completed[0].response_bytes, 0);
}

#[tokio::test]
async fn ne_025_threads_come_and_go_while_requests_are_served() {
    let server = start(loopback()).await;
    let (busy, may_end) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let handler = {
        let (busy, may_end) = (Arc::clone(&busy), Arc::clone(&may_end));
        move |received: Received<_>| {
            if payload(&received) == "wait" {
                busy.fetch_add(1, Ordering::SeqCst);
                while may_end
                    .try_acquire()
                    .map(tokio::sync::SemaphorePermit::forget)
                    .is_err()
                {
                    std::thread::yield_now();
                }
                busy.fetch_sub(1, Ordering::SeqCst);
            }
            echo(received);
        }
    };
    let mut pool = HandlerPool::start(server.channel().clone(), Arc::new(handler), 1).unwrap();
    let mut clients = Vec::new();
    for id in 0..4 {
        let mut client = connect(&server).await;
        client.ask(id, b"wait").await;
        clients.push(client);
    }
    eventually(|| busy.load(Ordering::SeqCst) == 1).await;
    pool.resize(3).unwrap();
    assert_eq!(pool.threads(), 3);
    eventually(|| busy.load(Ordering::SeqCst) == 3).await;
    // Shrinking lets each thread end what it does.
    pool.resize(1).unwrap();
    assert_eq!(pool.threads(), 1);
    may_end.add_permits(4);
    for (id, client) in (0..).zip(&mut clients) {
        assert_eq!(client.answer().await.0, id);
    }
    clients[0].ask(9, b"").await;
    assert_eq!(clients[0].answer().await.0, 9);
    pool.stop();
}

#[tokio::test]
async fn ne_026_a_pool_that_stops_first_serves_what_waits() {
    let simulated = Simulated::start(|_| {}).await;
    let mut clients = Vec::new();
    for id in 0..20 {
        let mut client = simulated.connect().await;
        client.ask(id, b"").await;
        clients.push(client);
    }
    simulated.settle().await;
    assert_eq!(simulated.channel.len(), 20);
    let handler = |received: Received<_>| echo(received);
    let pool = HandlerPool::start(simulated.channel.clone(), Arc::new(handler), 3).unwrap();
    pool.stop();
    assert!(simulated.channel.is_empty());
    for (id, client) in (0..).zip(&mut clients) {
        assert_eq!(client.answer().await.0, id);
    }
}

#[tokio::test]
async fn ne_027_when_the_bytes_are_used_up_reading_stops_where_it_is_and_goes_on_later() {
    let simulated = Simulated::start(|config| config.queued_request_bytes_max = Some(1_000)).await;
    let mut first = simulated.connect().await;
    let mut second = simulated.connect().await;
    first.ask(1, &[1; 2_000]).await;
    simulated.settle().await;
    assert_eq!(simulated.channel.len(), 1, "one above the budget is taken");
    second.ask(2, &[2; 10]).await;
    simulated.settle().await;
    assert_eq!(simulated.channel.len(), 1);
    let received = simulated.taken().await;
    simulated.settle().await;
    assert!(
        simulated.channel.is_empty(),
        "a handler still has the bytes"
    );
    // Parked, it needs its request no more.
    let answer = answer_to(&received, "");
    let parked = received.responder.park(Parked::Other);
    echo(simulated.taken().await);
    assert_eq!(second.answer().await, (2, vec![2; 10].into()));
    parked.send(Response::new(answer));
    assert_eq!(first.answer().await.0, 1);
}

#[tokio::test]
async fn a_panic_in_a_handler_closes_its_connection_and_nobody_else_s() {
    let told = Arc::new(crate::support::Told::default());
    let server = start_observed(loopback(), told.clone()).await;
    let handler = |received: Received<_>| {
        assert!(payload(&received) != "panic", "as the test wants it");
        echo(received);
    };
    let pool = HandlerPool::start(server.channel().clone(), Arc::new(handler), 1).unwrap();
    let mut other = connect(&server).await;
    for id in 0..3 {
        let mut client = connect(&server).await;
        client.ask(id, b"panic").await;
        client.closed().await;
        other.ask(id, b"fine").await;
        assert_eq!(other.answer().await.0, id);
    }
    assert_eq!(pool.threads(), 1);
    server.stop().await;
    pool.stop();
}

/// Panics at what says so, and has an answer for it, unless that says otherwise.
struct Apologetic;

impl<F: klamm_io::DiskFile> Handler<F> for Apologetic {
    fn handle(&self, received: Received<F>) {
        let asked = payload(&received);
        if asked.starts_with(b"answered") {
            echo(received);
            panic!("as the test wants it");
        }
        if asked == "nothing, panic and close" {
            received.responder.nothing();
            panic!("as the test wants it");
        }
        if asked == "gone, panic and close" {
            received.responder.close();
            panic!("as the test wants it");
        }
        assert!(!asked.starts_with(b"panic"), "as the test wants it");
        echo(received);
    }

    fn after_panic(&self, request: &Request) -> Option<Response<F>> {
        let asked: SaslAuthenticateRequest = request.frame.decode().unwrap();
        assert_ne!(asked.auth_bytes, "panic twice", "as the test wants it");
        let id = request.frame.header.correlation_id.get();
        let answer = encoded_answer(id, "sorry");
        (!asked.auth_bytes.ends_with(b"panic and close")).then(|| Response::new(answer))
    }

    fn is_quick(&self, request: &Request) -> bool {
        request.client_id() == "quick"
    }
}

/// On the handlers' threads and where requests are read.
#[tokio::test]
async fn after_a_panic_the_request_has_the_answer_that_its_handler_has_for_it() {
    let told = Arc::new(crate::support::Told::default());
    let server = start_observed(loopback(), told.clone()).await;
    let handler: Arc<dyn Handler<_>> = Arc::new(Apologetic);
    server.handle_quick_requests(Arc::clone(&handler));
    let pool = HandlerPool::start(server.channel().clone(), handler, 1).unwrap();
    for client_id in ["quick", "slow"] {
        let request = |id, payload| request_of(id, Some(client_id), payload);
        let mut client = connect(&server).await;
        for id in 0..3 {
            client.send(&request(id, b"panic")).await;
            assert_eq!(client.answer().await, (id, "sorry".into()));
        }
        client.send(&request(3, b"answered")).await;
        assert_eq!(client.answer().await, (3, "answered".into()));
        // What wants no answer goes on behind it.
        client.send(&request(9, b"nothing, panic and close")).await;
        client.send(&request(4, b"fine")).await;
        assert_eq!(client.answer().await, (4, "fine".into()));
        for without in [
            &b"panic and close"[..],
            b"panic twice",
            b"gone, panic and close",
        ] {
            let mut client = connect(&server).await;
            client.send(&request(5, without)).await;
            client.closed().await;
        }
    }
    // Each has one account, also when all have ended.
    eventually(|| told.completed.lock().len() == 18).await;
    server.stop().await;
    pool.stop();
    assert_eq!(told.completed.lock().len(), 18);
}

/// Covers B2.7.
#[tokio::test]
async fn a_request_s_account_has_the_time_of_each_stage() {
    let simulated = Simulated::start(|_| {}).await;
    let mut client = simulated.connect().await;
    let ms = Duration::from_millis;
    client.ask(1, b"12345").await;
    simulated.settle().await;
    simulated.pass(ms(1)).await;
    let received = simulated.taken().await;
    let bytes = received.request.size;
    simulated.pass(ms(2)).await;
    let answer = answer_to(&received, vec![0; 100_000]);
    let len = answer.len();
    let parked = received.responder.park(Parked::Produce);
    simulated.pass(ms(4)).await;
    parked.send_throttled(Response::new(answer), ms(9));
    simulated.settle().await;
    // More than the connection holds: the rest leaves when the client reads.
    simulated.pass(ms(8)).await;
    client.answer().await;
    simulated.settle().await;
    let completed = simulated.told.completed.lock()[0];
    assert_eq!(completed.key, klamm_wire::ApiKey::SaslAuthenticate);
    assert_eq!(completed.version, 0);
    assert_eq!(
        (completed.request_bytes, completed.response_bytes),
        (bytes, len)
    );
    assert_eq!((completed.queue, completed.local), (ms(1), ms(2)));
    assert_eq!((completed.remote, completed.response_queue), (ms(4), ms(0)));
    assert_eq!((completed.send, completed.throttle), (ms(8), ms(9)));
    assert_eq!(completed.total(), ms(15));
}

/// What happens to one connection while a handler's thread answers is none of the handler's.
#[tokio::test]
async fn a_panic_while_an_answer_is_written_ends_that_connection_alone() {
    struct Panics;

    impl Observer for Panics {
        fn request_completed(&self, _: &ConnectionContext, request: &CompletedRequest) {
            assert!(request.request_bytes < 1_000, "as the test wants it");
        }
    }

    let server = start_observed(loopback(), Arc::new(Panics)).await;
    let handler = |received: Received<_>| echo(received);
    let pool = HandlerPool::start(server.channel().clone(), Arc::new(handler), 1).unwrap();
    let mut other = connect(&server).await;
    for id in 0..3 {
        let mut client = connect(&server).await;
        client.ask(id, &[0; 2_000]).await;
        assert_eq!(client.answer().await.0, id);
        client.closed().await;
        other.ask(id, b"fine").await;
        assert_eq!(other.answer().await.0, id);
    }
    server.stop().await;
    pool.stop();
}
