//! Requests and their answers.

use bytes::Bytes;
use klamm_wire::messages::metadata::{MetadataRequest, MetadataResponse};

use super::*;

#[test]
fn cl_025_a_node_that_is_not_ready_is_sent_nothing() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
    let refused = try_send(&mut harness, NODE, 1, SendOptions::default());
    assert_eq!(refused, Err(NotReady { node: NODE }));
    harness.set_up(NODE);
    assert!(harness.sent.is_empty() && harness.answers.is_empty());
}

/// Covers CL-026, P6.5.
#[test]
fn answers_belong_to_the_oldest_request() {
    let mut harness = ready(1);
    let ids = [1, 2].map(|number| send(&mut harness, NODE, number));
    respond(&mut harness);
    respond(&mut harness);
    assert_eq!(outcomes(&mut harness), [(ids[0], Ok(())), (ids[1], Ok(()))]);
}

#[test]
fn cl_026_a_wrong_correlation_id_ends_the_connection() {
    let mut harness = ready(1);
    let ids = [1, 2].map(|number| send(&mut harness, NODE, number));
    let _first = harness.next_sent();
    // The answer to the second overtakes.
    respond(&mut harness);
    let lost = || Err(Failure::Disconnected);
    assert_eq!(outcomes(&mut harness), [(ids[0], lost()), (ids[1], lost())]);
    assert_eq!(harness.closed, [harness.connection(NODE)]);
    assert!(harness.client.connection_failed(NODE));
}

/// Covers CL-026.
#[test]
fn an_answer_that_nobody_waits_for_or_of_no_form_ends_the_connection() {
    for frame in [&[0, 0, 0, 9, 1, 2][..], &[0, 0], &[]] {
        let mut harness = ready(1);
        let connection = harness.connection(NODE);
        harness.event(Event::Received(connection, Bytes::from_static(frame)));
        assert_eq!(harness.closed, [connection], "{frame:?}");
    }
}

#[test]
fn cl_027_each_request_has_a_new_correlation_id_and_names_key_version_and_client() {
    let config = ClientConfig {
        client_id: "tester".into(),
        ..ClientConfig::default()
    };
    let mut harness = ready_with(config, 2);
    for node in [NODE, OTHER, NODE] {
        send(&mut harness, node, 7);
    }
    let sent: Vec<_> = harness.sent.drain(..).collect();
    let mut ids: Vec<i32> = Vec::new();
    for sent in &sent {
        assert_eq!(sent.header().client_id.as_deref(), Some("tester"));
        assert_eq!(sent.header().request_api_key, 22);
        assert_eq!(sent.version(), 5, "the newest that is released");
        ids.push(sent.header().correlation_id.get());
    }
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ids:?}");
}

/// Covers CL-027.
#[test]
fn correlation_ids_wrap_to_0() {
    let mut harness = ready(1);
    harness.client.counts.correlation_id = i32::MAX - 1;
    for _ in 0..3 {
        send(&mut harness, NODE, 1);
    }
    let ids = harness
        .sent
        .iter()
        .map(|sent| sent.header().correlation_id.get());
    assert_eq!(ids.collect::<Vec<_>>(), [i32::MAX - 1, i32::MAX, 0]);
    for _ in 0..3 {
        respond(&mut harness);
    }
    assert_eq!(outcomes(&mut harness).len(), 3);
}

/// Covers CL-028, P6.3.
#[test]
fn so_many_requests_wait_and_no_more_the_clients_own_included() {
    let config = ClientConfig {
        max_in_flight: 2,
        ..ClientConfig::default()
    };
    let mut harness = ready_with(config, 1);
    send(&mut harness, NODE, 1);
    harness.client.metadata().request_update();
    harness.tick();
    assert_eq!(
        harness.client.in_flight(NODE),
        2,
        "one of them for metadata"
    );
    let refused = try_send(&mut harness, NODE, 2, SendOptions::default());
    assert_eq!(refused, Err(NotReady { node: NODE }));
    assert_eq!(harness.client.in_flight_total(), 2);
}

#[test]
fn cl_029_without_an_answer_a_request_is_done_when_it_is_written() {
    let mut harness = ready(1);
    harness.reports_written = false;
    let options = SendOptions {
        no_response: true,
        ..SendOptions::default()
    };
    let connection = harness.connection(NODE);
    let first = send(&mut harness, NODE, 1);
    harness.event(Event::Written(connection));
    let second = try_send(&mut harness, NODE, 2, options).unwrap();
    assert!(harness.answers.is_empty());
    harness.event(Event::Written(connection));
    let answer = harness.next_answer();
    assert_eq!((answer.id, answer.outcome), (second, Ok(Bytes::new())));
    assert_eq!(harness.client.in_flight(NODE), 1);
    respond(&mut harness);
    assert_eq!(outcomes(&mut harness), [(first, Ok(()))]);
}

#[test]
fn cl_031_each_request_is_answered_once_in_order() {
    let mut harness = ready(2);
    let nodes = [NODE, OTHER, NODE, OTHER];
    let ids = nodes.map(|node| send(&mut harness, node, 1));
    for _ in nodes {
        respond(&mut harness);
    }
    let answered: Vec<_> = outcomes(&mut harness);
    assert_eq!(answered, ids.map(|id| (id, Ok(()))));
    harness.lose(NODE);
    harness.advance_ms(60_000);
    assert!(harness.answers.is_empty());
}

#[test]
fn cl_032_a_disconnect_answers_all_that_waits_oldest_first() {
    let mut harness = ready(1);
    let ids = [1, 2].map(|number| send(&mut harness, NODE, number));
    harness.lose(NODE);
    let lost = || Err(Failure::Disconnected);
    assert_eq!(outcomes(&mut harness), [(ids[0], lost()), (ids[1], lost())]);
    assert_eq!(harness.client.in_flight_total(), 0);
}

#[test]
fn cl_033_a_wished_disconnect_answers_and_a_wished_close_does_not() {
    let mut harness = ready(2);
    let id = send(&mut harness, NODE, 1);
    send(&mut harness, OTHER, 2);
    harness.client.disconnect(NODE, harness.now);
    harness.client.close_node(OTHER, harness.now);
    harness.tick();
    assert_eq!(outcomes(&mut harness), [(id, Err(Failure::Disconnected))]);
    assert_eq!(harness.closed.len(), 2);
    assert!(harness.client.is_backing_off(NODE, harness.now));
    assert!(!harness.client.is_backing_off(OTHER, harness.now));
}

#[test]
fn cl_034_the_clients_own_requests_are_not_shown_but_a_metadata_request_by_a_user_is() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
    harness.connect(NODE);
    harness.lose(NODE);
    assert!(harness.answers.is_empty(), "a question for versions");
    harness.sent.clear();
    harness.advance_ms(200);
    harness.set_up(NODE);
    harness.advance_ms(200);
    let sent = harness.next_sent();
    assert_eq!(sent.key(), ApiKey::Metadata);
    harness.lose(NODE);
    assert!(harness.answers.is_empty(), "a refresh");
    // It counts as failed, so the next one waits.
    assert!(harness.client.metadata().due_at(harness.now) > harness.now);

    let mut harness = ready(1);
    let request = MetadataRequest::default();
    let id = (harness.client)
        .send(NODE, &request, SendOptions::default(), harness.now)
        .unwrap();
    harness.tick();
    let sent = harness.next_sent();
    harness.respond::<MetadataRequest>(&sent, &MetadataResponse::default());
    let answer = harness.next_answer();
    assert_eq!(answer.id, id);
    assert!(answer.decode::<MetadataRequest>().is_ok());
}

/// Covers CL-037.
#[test]
fn what_is_already_known_does_not_wait() {
    let mut harness = ready(1);
    let deadline = harness.client.next_deadline(harness.now);
    assert!(deadline.unwrap() > harness.now);
    send(&mut harness, NODE, 1);
    harness.client.disconnect(NODE, harness.now);
    let deadline = harness.client.next_deadline(harness.now);
    assert_eq!(deadline, Some(harness.now));
    harness.tick();
    assert_eq!(harness.answers.len(), 1);
}

#[test]
fn an_answer_knows_its_request() {
    let mut harness = ready(1);
    let sent_at = harness.now;
    let id = send(&mut harness, NODE, 1);
    harness.now += ms(12);
    respond(&mut harness);
    let answer = harness.next_answer();
    assert_eq!((answer.id, answer.node), (id, NODE));
    assert_eq!((answer.key, answer.version), (ApiKey::InitProducerId, 5));
    assert_eq!(answer.sent_at, sent_at);
    assert_eq!(answer.latency(), ms(12));
    let response = answer.decode::<InitProducerIdRequest>().unwrap();
    assert_eq!(response, InitProducerIdResponse::default());
}
