//! Metadata are asked for when they are due.

use klamm_wire::messages::metadata::{MetadataRequest, MetadataResponse};

use super::*;
use crate::bootstrap::BootstrapAddress;
use crate::config::RecoveryStrategy;
use crate::testing::brokers;

fn metadata_requests(harness: &Harness) -> usize {
    let is_metadata = |sent: &&crate::testing::Sent| sent.key() == ApiKey::Metadata;
    harness.sent.iter().filter(is_metadata).count()
}

/// Covers P1.6.
#[test]
fn cl_021_bootstrap_nodes_have_negative_ids_and_are_replaced_as_a_whole() {
    let config = ClientConfig {
        bootstrap: BootstrapAddress::parse_list("a:1,b:2").unwrap(),
        ..ClientConfig::default()
    };
    let mut harness = Harness::new(config);
    let cluster = harness.client.metadata().cluster();
    assert!(cluster.is_bootstrap());
    let nodes: Vec<String> = cluster.nodes().map(ToString::to_string).collect();
    assert_eq!(nodes, ["-2 at b:2", "-1 at a:1"]);
    harness.tick();
    let (_, host, _) = harness.resolving[0].clone();
    let node = NodeId::new(if host == "a" { -1 } else { -2 });
    harness.set_up(node);
    harness.tick();
    harness.answer_metadata(&brokers(2), Vec::new());
    let cluster = harness.client.metadata().cluster();
    assert!(!cluster.is_bootstrap());
    let ids: Vec<i32> = cluster.nodes().map(|node| node.id.get()).collect();
    assert_eq!(ids, [0, 1]);
    assert_eq!(cluster.version(), 1);
}

#[test]
fn cl_022_right_after_bootstrap_a_full_refresh_is_due_at_once() {
    let mut harness = Harness::new(ClientConfig::default());
    let metadata = harness.client.metadata().clone();
    assert_eq!(metadata.due_at(harness.now), harness.now);
    harness.tick();
    assert_eq!(harness.resolving.len(), 1, "a node is made ready for it");
    harness.set_up(NodeId::bootstrap(0));
    harness.tick();
    let request = harness.answer_metadata(&brokers(1), Vec::new());
    assert_eq!(request.topics, Some(Vec::new()));
}

/// Covers CL-063, P6.7.
#[test]
fn one_refresh_is_out_at_a_time_and_goes_first_to_the_least_loaded_node() {
    let mut harness = ready(2);
    send(&mut harness, NODE, 1);
    harness.client.metadata().request_update();
    assert!(!harness.client.ready(OTHER, harness.now), "others wait");
    harness.tick();
    assert_eq!(metadata_requests(&harness), 1);
    let sent = harness.sent.back().unwrap().clone();
    assert_eq!(sent.connection, harness.connection(OTHER));
    harness.client.metadata().request_update();
    harness.advance_ms(500);
    assert_eq!(
        metadata_requests(&harness),
        1,
        "while it is out no other is sent"
    );
    assert!(harness.client.ready(OTHER, harness.now));
}

/// Covers CL-064: a lost connection and a late request.
#[test]
fn cl_064_losses_and_late_answers_ask_for_a_refresh() {
    let mut harness = ready(2);
    assert!(!harness.client.metadata().update_requested());
    harness.lose(NODE);
    assert!(harness.client.metadata().update_requested());

    let mut harness = ready(2);
    send(&mut harness, NODE, 1);
    harness.advance_ms(30_001);
    assert!(harness.client.metadata().update_requested());

    // By age.
    let mut harness = ready(1);
    harness.advance_ms(299_999);
    assert_eq!(metadata_requests(&harness), 0);
    harness.advance_ms(1);
    assert_eq!(metadata_requests(&harness), 1);
}

#[test]
fn cl_065_without_a_node_the_next_try_waits_for_the_reconnect_backoff() {
    let mut harness = ready(1);
    harness.lose(NODE);
    harness.tick();
    let deadline = harness.client.next_deadline(harness.now);
    assert_eq!(deadline, Some(harness.now + ms(50)));
    assert!(harness.resolving.is_empty());
    harness.advance_ms(61);
    assert_eq!(harness.resolving.len(), 1);
}

/// Covers CL-065.
#[test]
fn while_some_node_is_connecting_no_other_is_dialled_for_metadata() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 5);
    harness.client.metadata().request_update();
    harness.tick();
    assert_eq!(harness.resolving.len(), 1);
    for _ in 0..20 {
        harness.advance_ms(50);
    }
    assert_eq!(harness.resolving.len(), 1);
}

#[test]
fn cl_066_a_loss_while_a_refresh_is_due_counts_as_a_failed_one() {
    let mut harness = ready(2);
    harness.client.metadata().request_update();
    harness.lose(NODE);
    let due_at = harness.client.metadata().due_at(harness.now);
    assert!(due_at >= harness.now + ms(80), "the backoff goes first");
    // Without one being due, the loss only asks for one.
    let mut harness = ready(2);
    harness.lose(NODE);
    assert_eq!(harness.client.metadata().due_at(harness.now), harness.now);
}

#[test]
fn cl_072_an_answer_without_brokers_counts_as_failed_and_the_nodes_stay() {
    let mut harness = ready(2);
    harness.client.metadata().request_update();
    harness.tick();
    harness.answer_metadata(&[], Vec::new());
    let metadata = harness.client.metadata();
    assert_eq!(metadata.cluster().nodes().len(), 2);
    assert_eq!(metadata.cluster().version(), 1);
    assert!(metadata.due_at(harness.now) >= harness.now + ms(80));
    assert!(metadata.update_requested());
}

#[test]
fn an_unreadable_answer_counts_as_failed_and_ends_the_connection() {
    let mut harness = ready(1);
    harness.client.metadata().request_update();
    harness.tick();
    let sent = harness.next_sent();
    let mut frame = sent.response::<MetadataRequest>(&MetadataResponse::default());
    frame.truncate(8);
    harness.event(Event::Received(sent.connection, frame));
    assert_eq!(harness.closed, [sent.connection]);
    let due_at = harness.client.metadata().due_at(harness.now);
    assert!(due_at >= harness.now + ms(80));
    harness.tick();
    assert!(harness.client.next_deadline(harness.now).unwrap() > harness.now);
}

/// Lets every attempt to connect fail for so long.
fn fail_for(harness: &mut Harness, total_ms: u64) -> Vec<String> {
    let mut tried = Vec::new();
    for _ in 0..total_ms / 10 {
        harness.advance_ms(10);
        while let Some((connection, host, _)) = harness.resolving.pop_front() {
            tried.push(host);
            harness.event(Event::Disconnected(
                connection,
                Loss::new(LossKind::Refused, "refused"),
            ));
        }
    }
    tried
}

#[test]
fn cl_024_with_no_node_in_reach_the_bootstrap_list_is_tried_again() {
    let mut harness = Harness::with_nodes(ClientConfig::default(), 2);
    harness.set_up(NODE);
    harness.lose(NODE);
    let tried = fail_for(&mut harness, 2_000);
    for host in ["node0", "node1", "boot"] {
        assert!(
            tried.iter().any(|tried| tried == host),
            "{host} in {tried:?}"
        );
    }
    assert!(harness.client.metadata().cluster().is_bootstrap());
    // A loss alone does not show that a node is out of reach.
    let mut harness = ready(1);
    harness.lose(NODE);
    harness.tick();
    assert!(!harness.client.metadata().cluster().is_bootstrap());
}

/// Covers CL-024.
#[test]
fn without_that_strategy_the_known_nodes_are_tried_on_and_on() {
    let config = ClientConfig {
        recovery: RecoveryStrategy::None,
        ..ClientConfig::default()
    };
    let mut harness = Harness::with_nodes(config, 2);
    harness.set_up(NODE);
    harness.lose(NODE);
    let tried = fail_for(&mut harness, 5_000);
    assert!(tried.len() >= 8, "{tried:?}");
    assert!(!tried.iter().any(|host| host == "boot"), "{tried:?}");
}

/// Covers CL-024: after so long without an answer, even with nodes in reach.
#[test]
fn without_metadata_for_long_the_bootstrap_list_is_tried_again() {
    let mut harness = ready(2);
    harness.client.metadata().request_update();
    harness.tick();
    for _ in 0..11 {
        assert!(!harness.client.metadata().cluster().is_bootstrap());
        let sent = harness.sent.pop_back().unwrap();
        assert_eq!(sent.key(), ApiKey::Metadata);
        harness.respond::<MetadataRequest>(&sent, &MetadataResponse::default());
        harness.advance_ms(30_000);
    }
    assert!(harness.client.metadata().cluster().is_bootstrap());
}

/// Covers CL-024: a broker may ask for it.
#[test]
fn a_broker_can_send_the_client_back_to_the_bootstrap_list() {
    let mut harness = ready(1);
    harness.client.metadata().request_update();
    harness.tick();
    let sent = harness.next_sent();
    let response = MetadataResponse {
        error_code: klamm_wire::ErrorCode::REBOOTSTRAP_REQUIRED,
        brokers: brokers(1),
        ..MetadataResponse::default()
    };
    harness.respond::<MetadataRequest>(&sent, &response);
    assert!(harness.client.metadata().cluster().is_bootstrap());
}
