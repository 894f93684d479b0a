//! The least loaded node.

use super::*;

#[test]
fn cl_046_one_node_is_offered_while_connecting_and_ready_but_not_while_it_backs_off() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 1);
    let offered = |harness: &mut Harness| harness.client.least_loaded(harness.now).unwrap().node;
    assert_eq!(offered(&mut harness), Some(NODE), "it may be connected to");
    harness.client.ready(NODE, harness.now);
    assert_eq!(offered(&mut harness), Some(NODE));
    harness.set_up(NODE);
    assert_eq!(offered(&mut harness), Some(NODE));
    harness.lose(NODE);
    assert_eq!(offered(&mut harness), None);
    harness.now += ms(61);
    assert_eq!(offered(&mut harness), Some(NODE));
}

#[test]
fn cl_047_an_idle_node_is_offered_first_then_the_one_with_the_fewest() {
    let mut harness = ready(3);
    let mut offered = Vec::new();
    for _ in 0..50 {
        let node = harness.client.least_loaded(harness.now).unwrap().node;
        offered.extend(node);
    }
    offered.sort();
    offered.dedup();
    assert_eq!(offered.len(), 3, "the search starts anywhere");
    for (id, count) in [(0, 2), (1, 1), (2, 3)] {
        for _ in 0..count {
            send(&mut harness, NodeId::new(id), 1);
        }
    }
    for _ in 0..20 {
        let chosen = harness.client.least_loaded(harness.now).unwrap();
        assert_eq!(chosen.node, Some(OTHER));
    }
}

#[test]
fn cl_048_it_is_told_whether_any_connection_is_up() {
    let config = ClientConfig {
        max_in_flight: 1,
        ..ClientConfig::default()
    };
    let mut harness = Harness::with_nodes(config, 1);
    let chosen = harness.client.least_loaded(harness.now).unwrap();
    assert!(!chosen.any_connected);
    harness.set_up(NODE);
    send(&mut harness, NODE, 1);
    let chosen = harness.client.least_loaded(harness.now).unwrap();
    assert_eq!((chosen.node, chosen.any_connected), (None, true));
}

#[test]
fn cl_049_an_empty_list_is_an_error() {
    let now = Harness::new(ClientConfig::default()).now;
    let mut client = NetworkClient::new(ClientConfig::default(), 1, now);
    assert_eq!(client.least_loaded(now), Err(NoNodes));
    // And no trouble for the refresh that is due.
    let mut actions = Vec::new();
    client.handle(now, Event::Tick, &mut actions);
    assert!(actions.is_empty());
    assert!(client.next_deadline(now).unwrap() > now);
}

/// Covers CL-009.
#[test]
fn any_ready_node_will_do_as_long_as_one_is() {
    let mut harness = ready(2);
    assert!(harness.client.any_ready(harness.now));
    harness.lose(NODE);
    assert!(harness.client.any_ready(harness.now));
    harness.lose(OTHER);
    assert!(!harness.client.any_ready(harness.now));
}
