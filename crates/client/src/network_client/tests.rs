//! The core as a whole: events in, actions out.

mod choosing;
mod connecting;
mod refreshing;
mod requests;
mod throttling;
mod time_limits;
mod versions;

use klamm_wire::Request;
use klamm_wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use std::time::Duration;

use super::*;
use crate::answer::{NotReady, RequestId, SendOptions};
use crate::testing::Harness;
use crate::trouble::{Loss, LossKind};

const NODE: NodeId = NodeId::new(0);
const OTHER: NodeId = NodeId::new(1);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A client with a connection that is ready to each of so many nodes.
fn ready(count: i32) -> Harness {
    ready_with(ClientConfig::default(), count)
}

fn ready_with(config: ClientConfig, count: i32) -> Harness {
    let mut harness = Harness::with_nodes(config, count);
    for id in 0..count {
        harness.set_up(NodeId::new(id));
    }
    harness
}

/// The known nodes are kept, come what may.
fn stubborn() -> ClientConfig {
    ClientConfig {
        recovery: crate::config::RecoveryStrategy::None,
        ..ClientConfig::default()
    }
}

/// A request that names itself by its time-out.
fn request(number: i32) -> InitProducerIdRequest {
    InitProducerIdRequest {
        transaction_timeout_ms: number,
        ..InitProducerIdRequest::default()
    }
}

fn try_send(
    harness: &mut Harness,
    node: NodeId,
    number: i32,
    options: SendOptions,
) -> Result<RequestId, NotReady> {
    let sent = (harness.client).send(node, &request(number), options, harness.now);
    harness.event(Event::Tick);
    sent
}

fn send(harness: &mut Harness, node: NodeId, number: i32) -> RequestId {
    try_send(harness, node, number, SendOptions::default()).unwrap()
}

/// Answers the oldest of the requests that were sent.
fn respond(harness: &mut Harness) {
    let sent = harness.next_sent();
    harness.respond::<InitProducerIdRequest>(&sent, &InitProducerIdResponse::default());
}

fn outcomes(harness: &mut Harness) -> Vec<(RequestId, Result<(), Failure>)> {
    let answers = harness.answers.drain(..);
    answers
        .map(|answer| (answer.id, answer.outcome.map(|_| ())))
        .collect()
}

#[test]
fn cl_040_after_close_nothing_is_sent_and_closing_again_does_nothing() {
    let mut harness = ready(2);
    let id = send(&mut harness, NODE, 1);
    harness.client.close(harness.now);
    harness.tick();
    assert_eq!(outcomes(&mut harness), [(id, Err(Failure::Closed))]);
    assert_eq!(harness.closed.len(), 2, "both sockets");
    assert!(harness.client.is_closed());
    assert!(harness.client.metadata().is_closed());
    assert!(!harness.client.ready(NODE, harness.now));
    let refused = try_send(&mut harness, NODE, 2, SendOptions::default());
    assert_eq!(refused, Err(NotReady { node: NODE }));
    harness.client.close(harness.now);
    harness.advance_ms(600_000);
    assert_eq!(harness.client.next_deadline(harness.now), None);
    assert!(harness.connecting.is_empty() && harness.resolving.is_empty());
}

#[test]
fn cl_039_what_is_known_at_once_is_handled_by_stage() {
    let connection = ConnectionId(1);
    let events = [
        Event::Written(connection),
        Event::Received(connection, bytes::Bytes::new()),
        Event::Disconnected(connection, Loss::new(LossKind::Broken, "")),
        Event::Connected(connection),
        Event::Tick,
    ];
    let stages: Vec<u8> = events.iter().map(Event::stage).collect();
    assert!(stages.is_sorted_by(|a, b| a < b), "{stages:?}");

    // An answer and the loss of its connection, known at once: the answer counts. So does one
    // that comes with the tick after which it would be late.
    let mut harness = ready(1);
    let ids = [1, 2].map(|number| send(&mut harness, NODE, number));
    harness.now += ms(30_001);
    respond(&mut harness);
    harness.lose(NODE);
    harness.tick();
    let lost = Failure::Disconnected;
    assert_eq!(
        outcomes(&mut harness),
        [(ids[0], Ok(())), (ids[1], Err(lost))]
    );
}

#[test]
fn cl_094_what_happens_is_counted_in_all_and_by_node() {
    let mut harness = ready(2);
    let before = *harness.client.stats();
    assert_eq!(before.connections_opened, 3, "one to the bootstrap address");
    assert_eq!(before.connections_closed, 1);
    assert_eq!(before.connections(), 2);
    assert_eq!((before.requests, before.answers), (4, 4));
    send(&mut harness, NODE, 1);
    respond(&mut harness);
    let connection = harness.connection(NODE);
    harness.client.transferred(connection, 100, 7);
    harness.client.transferred(connection, 0, 1);
    let after = *harness.client.stats();
    assert_eq!((after.requests, after.answers), (5, 5));
    assert_eq!((after.bytes_sent, after.bytes_received), (100, 8));
    let of: BTreeMap<NodeId, Stats> = (harness.client.node_stats())
        .map(|(node, stats)| (node, *stats))
        .collect();
    assert_eq!(of[&NODE].requests, 2);
    assert_eq!(of[&NODE].bytes_received, 8);
    assert_eq!(of[&OTHER].requests, 1);
    assert_eq!(of[&OTHER].bytes_sent, 0);
    harness.lose(NODE);
    assert_eq!(harness.client.stats().connections(), 1);
}

#[test]
fn the_same_seed_and_events_give_the_same_choices() {
    let run = |seed| {
        let mut harness = Harness::with_seed(ClientConfig::default(), seed);
        harness.bootstrap(&crate::testing::brokers(9), Vec::new());
        let choose = |_| harness.client.least_loaded(harness.now).unwrap().node;
        (0..20).map(choose).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    assert_eq!(InitProducerIdRequest::KEY, ApiKey::InitProducerId);
}
