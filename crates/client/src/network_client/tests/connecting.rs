//! Connections are started, made and lost.

use super::*;

#[test]
fn cl_002_asking_starts_a_connection_and_says_yes_only_when_all_is_in_order() {
    let mut harness = Harness::with_nodes(stubborn(), 1);
    let now = harness.now;
    assert!(!harness.client.is_ready(NODE, now));
    harness.tick();
    assert!(harness.resolving.is_empty(), "looking starts nothing");
    assert!(!harness.client.ready(NODE, now));
    assert!(!harness.client.ready(NODE, now));
    harness.tick();
    assert_eq!(harness.resolving.len(), 1);
    harness.connect(NODE);
    assert!(!harness.client.ready(NODE, now), "versions are not known");
    harness.lose(NODE);
    harness.advance_ms(61);
    harness.sent.clear();
    harness.set_up(NODE);
    // The loss asked for metadata, which goes first.
    assert!(!harness.client.ready(NODE, harness.now));
    harness.advance_ms(200);
    harness.answer_metadata(&crate::testing::brokers(1), Vec::new());
    assert!(harness.client.ready(NODE, harness.now));
    for number in 0..5 {
        assert!(harness.client.ready(NODE, harness.now));
        send(&mut harness, NODE, number);
    }
    assert!(!harness.client.ready(NODE, harness.now), "no room");
    assert_eq!(harness.client.in_flight(NODE), 5);
    respond(&mut harness);
    assert!(harness.client.ready(NODE, harness.now));
    harness.client.metadata().request_update();
    harness.now += ms(200);
    assert!(!harness.client.ready(NODE, harness.now), "a refresh is due");
}

/// Covers CL-002: the bytes of the last request must be out.
#[test]
fn while_a_request_is_being_written_the_node_is_not_ready() {
    let mut harness = ready(1);
    harness.reports_written = false;
    send(&mut harness, NODE, 1);
    assert!(!harness.client.ready(NODE, harness.now));
    let refused = try_send(&mut harness, NODE, 2, SendOptions::default());
    assert_eq!(refused, Err(NotReady { node: NODE }));
    harness.event(Event::Written(harness.connection(NODE)));
    assert!(harness.client.ready(NODE, harness.now));
}

#[test]
fn cl_003_a_second_connection_is_not_started() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
    harness.client.ready(NODE, harness.now);
    let delay = harness.client.connection_delay(NODE, harness.now).unwrap();
    assert!(delay >= ms(8_000) && delay <= ms(12_000), "{delay:?}");
    harness.client.ready(NODE, harness.now);
    harness.tick();
    assert_eq!(harness.resolving.len(), 1);
}

#[test]
fn cl_012_several_connections_that_took_too_long_are_closed_in_one_turn() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 3);
    let third = NodeId::new(2);
    harness.client.ready(NODE, harness.now);
    harness.client.ready(OTHER, harness.now);
    harness.advance_ms(7_000);
    harness.client.ready(third, harness.now);
    harness.advance_ms(5_100);
    assert_eq!(harness.closed.len(), 2);
    assert!(harness.client.connection_failed(NODE));
    assert!(harness.client.connection_failed(OTHER));
    assert!(!harness.client.connection_failed(third));
}

#[test]
fn cl_013_a_node_closed_while_connecting_harms_nobody() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 2);
    harness.client.ready(NODE, harness.now);
    harness.client.close_node(NODE, harness.now);
    harness.tick();
    assert_eq!(harness.closed.len(), 1);
    // Its resolver answers all the same.
    let (connection, ..) = harness.resolving.pop_front().unwrap();
    let address = "10.0.0.9:1".parse().unwrap();
    harness.event(Event::Resolved(connection, vec![address]));
    harness.event(Event::Connected(connection));
    assert!(harness.connecting.is_empty());
    harness.set_up(OTHER);
    assert!(harness.client.ready(OTHER, harness.now));
    harness.set_up(NODE);
    assert!(harness.client.ready(NODE, harness.now));
}

#[test]
fn cl_014_a_host_that_cannot_be_resolved_backs_off() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 2);
    assert!(!harness.client.ready(NODE, harness.now));
    harness.tick();
    let (connection, host, port) = harness.resolving.pop_front().unwrap();
    assert_eq!((host.as_str(), port), ("node0", 9092));
    let loss = Loss::new(LossKind::UnknownHost, "no such host");
    harness.event(Event::Disconnected(connection, loss));
    assert!(!harness.client.ready(NODE, harness.now));
    assert!(harness.client.is_backing_off(NODE, harness.now));
    harness.tick();
    assert_eq!(harness.resolving.len(), 1);
    assert_eq!(harness.resolving[0].1, "node1", "for metadata");
    harness.set_up(OTHER);
    assert!(harness.client.versions(OTHER).is_some());
}

/// Covers CL-014: who waits in vain can be told why (C029).
#[test]
fn the_last_trouble_is_kept_until_there_is_an_answer() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 2);
    let metadata = harness.client.metadata().clone();
    assert_eq!(metadata.last_trouble(), None);
    harness.connect(NODE);
    let connection = harness.connection(NODE);
    let reason = "frame of 352518400 bytes; the other side seems to speak TLS";
    let loss = Loss::new(LossKind::Unusable, reason);
    harness.event(Event::Disconnected(connection, loss.clone()));
    let trouble = metadata.last_trouble().unwrap();
    assert_eq!((trouble.node, &trouble.loss), (NODE, &loss));
    let told = format!("node 0 at node0:9092: {reason}");
    assert_eq!(trouble.to_string(), told);
    assert_eq!(harness.client.trouble(NODE), Some(&trouble));
    assert_eq!(harness.client.trouble(OTHER), None);
    harness.sent.clear();
    harness.tick();
    harness.set_up(OTHER);
    harness.tick();
    harness.answer_metadata(&crate::testing::brokers(2), Vec::new());
    assert_eq!(metadata.last_trouble(), None);
    // Another node has answered: this one is as far away as ever, until it is ready.
    assert_eq!(harness.client.trouble(NODE), Some(&trouble));
    harness.advance_ms(2_000);
    harness.set_up(NODE);
    assert_eq!(harness.client.trouble(NODE), None);
}

#[test]
fn cl_015_a_node_with_another_host_is_resolved_by_its_new_name() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 2);
    harness.set_up(NODE);
    harness.set_up(OTHER);
    harness.client.metadata().request_update();
    harness.tick();
    let mut brokers = crate::testing::brokers(2);
    brokers[0].host = "moved".into();
    harness.answer_metadata(&brokers, Vec::new());
    harness.lose(NODE);
    harness.advance_ms(61);
    harness.client.ready(NODE, harness.now);
    harness.tick();
    let (_, host, _) = harness.resolving.pop_front().unwrap();
    assert_eq!(host, "moved");
}

#[test]
fn cl_055_versions_vanish_with_the_connection() {
    let mut harness = ready(2);
    assert!(
        harness
            .client
            .usable_versions(NODE, ApiKey::Produce)
            .is_some()
    );
    harness.lose(NODE);
    assert!(harness.client.versions(NODE).is_none());
    assert!(harness.client.versions(OTHER).is_some());
}

#[test]
fn cl_091_a_refused_connection_is_a_disconnect_and_leaves_nothing_behind() {
    let mut harness = Harness::with_nodes(stubborn(), 1);
    harness.client.ready(NODE, harness.now);
    harness.tick();
    let (connection, ..) = harness.resolving.pop_front().unwrap();
    let address = "10.0.0.9:1".parse().unwrap();
    harness.event(Event::Resolved(connection, vec![address]));
    let (dialled, to) = harness.connecting.pop_front().unwrap();
    assert_eq!((dialled, to), (connection, address));
    harness.event(Event::Disconnected(
        connection,
        Loss::new(LossKind::Refused, "refused"),
    ));
    assert_eq!(harness.client.stats().connections_failed, 1);
    assert!(harness.client.connection_failed(NODE));
    assert!(harness.closed.is_empty(), "there is nothing to close");
    // A report that comes after all of that is of nobody's connection.
    harness.event(Event::Connected(connection));
    assert!(harness.sent.is_empty());
    harness.advance_ms(61);
    harness.set_up(NODE);
    assert!(harness.client.versions(NODE).is_some());
}

/// Covers CL-010.
#[test]
fn an_authentication_failure_is_told_to_those_who_wait_and_kept_with_the_node() {
    let mut harness = ready(2);
    let id = send(&mut harness, NODE, 1);
    let connection = harness.connection(NODE);
    let reason: Arc<str> = "wrong password".into();
    harness.event(Event::AuthenticationFailed(connection, reason.clone()));
    let failure = Failure::Authentication(reason.clone());
    assert_eq!(outcomes(&mut harness), [(id, Err(failure.clone()))]);
    assert_eq!(harness.client.authentication_error(NODE), Some(&reason));
    assert!(harness.client.is_backing_off(NODE, harness.now));
    let error = harness.client.metadata().take_error();
    assert_eq!(error, Some(crate::MetadataError::Fatal(failure)));
    harness.advance_ms(61);
    harness.set_up(NODE);
    assert_eq!(harness.client.authentication_error(NODE), None);
}
