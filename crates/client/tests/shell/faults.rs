//! What goes wrong, on a simulated network.

use std::sync::{Arc, Mutex};

use klamm_client::{
    Answer, AnswerError, ClientConfig, Failure, NetworkClient, RequestFailure, RequestId,
    SendOptions, Target,
};
use klamm_fake_broker::{Fault, Rule};
use klamm_wire::ApiKey;
use klamm_wire::messages::init_producer_id::InitProducerIdRequest;

use crate::support::*;

fn init() -> InitProducerIdRequest {
    InitProducerIdRequest::default()
}

fn lost(failure: Failure) -> RequestFailure {
    AnswerError::Failed(failure).into()
}

/// Covers CL-026, CL-032, CL-087: whatever ends the connection ends the request, and the next one
/// finds a new connection.
#[tokio::test]
async fn a_connection_that_goes_wrong_fails_its_request_and_no_other() {
    for fault in [
        Fault::CloseBefore,
        Fault::CloseAfter,
        Fault::CloseInAnswer,
        Fault::WrongCorrelationId,
        Fault::Garbage(vec![0xff; 4]),
        Fault::Garbage(vec![0x15, 0x03, 0x01, 0, 2, 2, 70]),
        Fault::Garbage(b"HTTP/1.1 400 Bad Request\r\n".to_vec()),
        Fault::Garbage(vec![0, 0, 0, 0]),
        Fault::Garbage(vec![0, 0, 0, 2, 1, 1]),
    ] {
        let world = World::new(1);
        let (requests, task) = world.requests(World::config());
        world.known(&task).await;
        let to_0 = || requests.send(Target::Node(NODE), init(), SendOptions::default());
        world.run(to_0()).await.unwrap();
        let rule = Rule::once(fault.clone()).of(ApiKey::InitProducerId);
        world.cluster.model().add_rule(rule);
        let started = world.clock.time();
        let failed = world.run(to_0()).await;
        assert_eq!(failed, Err(lost(Failure::Disconnected)), "{fault:?}");
        assert!(world.clock.time() - started < ms(100));
        world.run(world.clock.sleep_for(ms(200))).await;
        assert!(world.run(to_0()).await.is_ok(), "{fault:?}");
    }
}

/// Covers CL-035, P6.6.
#[tokio::test]
async fn a_request_that_is_not_answered_times_out() {
    let world = World::new(1);
    let (requests, task) = world.requests(World::config());
    world.known(&task).await;
    let quick = SendOptions {
        timeout: Some(ms(2_000)),
        ..SendOptions::default()
    };
    let to_0 = || requests.send(Target::Node(NODE), init(), quick);
    world.run(to_0()).await.unwrap();
    world
        .cluster
        .model()
        .add_rule(Rule::once(Fault::Ignore).of(ApiKey::InitProducerId));
    let started = world.clock.time();
    let failed = world.run(to_0()).await;
    assert_eq!(failed, Err(lost(Failure::TimedOut)));
    let waited = world.clock.time() - started;
    assert!(waited > ms(2_000) && waited < ms(2_200), "{waited:?}");
    world.run(world.clock.sleep_for(ms(200))).await;
    assert!(world.run(to_0()).await.is_ok());
}

/// Covers CL-012: a node that takes the connection's first bytes and nothing happens.
#[tokio::test]
async fn a_connection_that_is_not_made_in_time_is_given_up() {
    let world = World::new(2);
    let (requests, task) = world.requests(ClientConfig {
        setup_timeout: ms(1_000),
        setup_timeout_max: ms(1_000),
        ..World::config()
    });
    world.known(&task).await;
    world.net.cut(world.client.address(), World::ip(1));
    let started = world.clock.time();
    let sent = requests.send(Target::Node(1.into_node()), init(), SendOptions::default());
    let failed = world.run(sent).await;
    assert_eq!(failed, Err(RequestFailure::Unreachable(1.into_node())));
    let waited = world.clock.time() - started;
    assert!(waited > ms(1_000) && waited < ms(1_200), "{waited:?}");
}

/// Covers CL-024: the only broker of the list is gone for a while; nothing ends, nothing spins.
#[tokio::test]
async fn a_cluster_that_was_away_is_found_again() {
    let world = World::new(2);
    let (requests, task) = world.requests(World::config());
    world.known(&task).await;
    for node in [0, 1] {
        world.cluster.stop_node(node);
    }
    world.run(world.clock.sleep_for(ms(60_000))).await;
    assert!(task.handle().cluster().is_bootstrap());
    let dialled = world.cluster.connections();
    for node in [0, 1] {
        world.cluster.start_node(node).unwrap();
    }
    let sent = requests.send(Target::LeastLoaded, init(), SendOptions::default());
    assert!(world.run(sent).await.is_ok());
    assert!(world.cluster.connections() - dialled <= 3);
}

/// Covers CL-029: without an answer a request is done once it is written.
#[tokio::test]
async fn requests_without_an_answer_are_done_when_written() {
    let world = World::new(1);
    let (requests, task) = world.requests(World::config());
    world.known(&task).await;
    world
        .cluster
        .model()
        .add_rule(Rule::always(Fault::Ignore).of(ApiKey::InitProducerId));
    let options = SendOptions {
        no_response: true,
        ..SendOptions::default()
    };
    for _ in 0..20 {
        let sent = requests.send(Target::Node(NODE), init(), options);
        assert!(world.run(sent).await.is_ok());
    }
    settle().await;
    assert_eq!(world.cluster.model().count(ApiKey::InitProducerId), 20);
}

/// Covers CL-031, P6.5: on a network that breaks frames and connections, each request has exactly
/// one outcome, and answers of a connection come in the order of its requests.
#[tokio::test]
async fn cl_031_each_request_has_one_outcome_whatever_happens() {
    type Log = Arc<Mutex<Vec<(RequestId, bool)>>>;
    for seed in 0..12u64 {
        let world = World::new(3);
        world
            .net
            .set_segment_bytes_max(1 + usize::try_from(seed % 23).unwrap());
        world.net.set_default_latency(ms(seed % 4));
        let mut random = fastrand::Rng::with_seed(seed);
        world.cluster.model().set_chance(move |facts| {
            if facts.key != ApiKey::InitProducerId {
                return Vec::new();
            }
            let fault = match random.u8(..100) {
                0..=3 => Fault::CloseBefore,
                4..=6 => Fault::CloseAfter,
                7..=9 => Fault::CloseInAnswer,
                10..=11 => Fault::WrongCorrelationId,
                12..=15 => Fault::Swallow,
                16..=30 => Fault::Delay(ms(random.u64(1..40))),
                31..=33 => Fault::Throttle(ms(random.u64(1..30))),
                _ => return Vec::new(),
            };
            vec![fault]
        });
        let (sent, answered): (Log, Log) = Default::default();
        let guest = Acting {
            turn: {
                let sent = sent.clone();
                move |now, client: &mut NetworkClient| {
                    let cluster = client.metadata().cluster();
                    let mut next = now + ms(50);
                    for node in cluster.nodes() {
                        let full = |sent: &Log| sent.lock().unwrap().len() >= 300;
                        while !full(&sent) && client.ready(node.id, now) {
                            let options = SendOptions {
                                timeout: Some(ms(500)),
                                ..SendOptions::default()
                            };
                            let id = client.send(node.id, &init(), options, now).unwrap();
                            sent.lock().unwrap().push((id, true));
                        }
                        if let Some(delay) = client.poll_delay(node.id, now) {
                            next = next.min(now + delay.max(ms(1)));
                        }
                    }
                    Some(next)
                }
            },
            answered: {
                let answered = answered.clone();
                move |_, answer: Answer, _: &mut NetworkClient| {
                    let ok = answer.decode::<InitProducerIdRequest>().is_ok();
                    answered.lock().unwrap().push((answer.id, ok));
                }
            },
        };
        let task = world.spawn(World::config(), guest);
        world.known(&task).await;
        let mut waited = 0;
        while answered.lock().unwrap().len() < 300 {
            world.run(world.clock.sleep_for(ms(100))).await;
            waited += 1;
            assert!(waited < 10_000, "seed {seed}");
        }
        world.run(world.clock.sleep_for(ms(2_000))).await;
        let ids = |log: &Log| {
            let mut ids: Vec<_> = log.lock().unwrap().iter().map(|(id, _)| *id).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids(&sent), ids(&answered), "seed {seed}");
        let good = answered
            .lock()
            .unwrap()
            .iter()
            .filter(|(_, ok)| *ok)
            .count();
        assert!(good > 100, "seed {seed}: {good}");
        world.run(task.close()).await;
    }
}
